// Records of the kernels that a call launches on a GPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "common/records.h"
#include "whorl/error.h"
#if defined(WHORL_CUDA)
#include "backend/cuda/runtime/launch_watch.h"
#endif

namespace whorl::bench {

/// A record like `blank` for each kernel: "kernel", "launches", seconds of one call, the mean
/// of three, the "share" of all kernels and the "occupancy". DeviceError in a build without CUDA.
inline void add_kernels(const Records& records, const Record& blank,
                        const std::function<void()>& call, const std::function<void()>& wait) {
#if defined(WHORL_CUDA)
  constexpr int calls = 3;
  call();
  wait();
  const auto kernels = backend::cuda::watch_launches([&] {
    for (int i = 0; i < calls; ++i) call();
    wait();
  });
  double all = 0;
  for (const auto& kernel : kernels) all += kernel.seconds;
  for (const auto& kernel : kernels) {
    Record record = blank;
    record.set(kernel.seconds / calls);
    record.runs = calls;
    record.more = {{"kernel", kernel.name},
                   {"launches", std::uint64_t{kernel.launches / calls}},
                   {"share", kernel.seconds / all},
                   {"occupancy", kernel.occupancy}};
    records.add(record);
  }
#else
  (void)records, (void)blank, (void)call, (void)wait;
  throw DeviceError("--kernels: this build has no CUDA backend, whose kernels are watched");
#endif
}

}  // namespace whorl::bench
