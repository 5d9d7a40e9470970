// The GPU's clock: what the work of a stream takes.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <utility>
#include <vector>

#include "backend/cuda/runtime/error.h"
#include "backend/cuda/runtime/stream.h"
#include "common/statistics.h"

namespace whorl::bench {

class CudaEvent {
 public:
  CudaEvent() { backend::cuda::check(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~CudaEvent() {
    if (event_) cudaEventDestroy(event_);
  }
  CudaEvent(CudaEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  void record(const backend::cuda::Stream& stream) const {
    backend::cuda::check(cudaEventRecord(event_, stream.handle()), "cudaEventRecord");
  }
  /// Waits for this event. Seconds since the other.
  double seconds_since(const CudaEvent& other) const {
    backend::cuda::check(cudaEventSynchronize(event_), "cudaEventSynchronize");
    float milliseconds = 0;
    backend::cuda::check(cudaEventElapsedTime(&milliseconds, other.event_, event_),
                         "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaTimer {
 public:
  explicit CudaTimer(const backend::cuda::Stream& stream) : stream_(&stream) {}

  /// Returns the time of what `work` enqueues.
  double seconds(const std::function<void()>& work) const {
    begin_.record(*stream_);
    work();
    end_.record(*stream_);
    return end_.seconds_since(begin_);
  }
  /// The same `runs` times, after some that do not count.
  Times measure(int warm_ups, int runs, const std::function<void()>& work) const {
    std::vector<double> out;
    for (int run = 0; run < warm_ups + runs; ++run) {
      const double took = seconds(work);
      if (run >= warm_ups) out.push_back(took);
    }
    return Times(std::move(out));
  }

 private:
  const backend::cuda::Stream* stream_;
  CudaEvent begin_, end_;
};

}  // namespace whorl::bench
