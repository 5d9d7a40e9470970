// For benches: which kernels a call launches, and what each of them takes.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace whorl::backend::cuda {

struct WatchedKernel {
  std::string name;
  std::size_t launches = 0;
  double seconds = 0;  ///< of all launches, by the GPU's clock
  /// The share of a multiprocessor's threads that are resident, weighted by time: what registers,
  /// shared memory and the size of the grid allow (cudaOccupancyMaxActiveBlocksPerMultiprocessor).
  double occupancy = 0;
};

/// Kernels that f() launches through Stream::launch on any stream, in the order of their names. f
/// must wait for its work. Meanwhile kernels are launched one by one, each after the end of the one
/// before, without graphs: the times do not add up to that of an undisturbed call. One thread at a
/// time may watch, and no other thread may launch meanwhile.
std::vector<WatchedKernel> watch_launches(const std::function<void()>& f);

struct LaunchShape;

/// Sees every launch of every LaunchQueue.
class LaunchWatch {
 public:
  virtual ~LaunchWatch() = default;
  virtual void before(const char* name, const void* kernel, const LaunchShape& shape,
                      cudaStream_t stream) = 0;
  virtual void after(cudaStream_t stream) = 0;
};
/// The watch that launches go to, defined beside LaunchQueue. Null: none.
void set_launch_watch(LaunchWatch* watch);

}  // namespace whorl::backend::cuda
