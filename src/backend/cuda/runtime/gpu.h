// Facts about one GPU.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <vector>

namespace whorl::backend::cuda {

/// Facts about a device that dispatch and error messages need.
struct Gpu {
  int ordinal = 0;
  std::string model;         ///< "NVIDIA H200"
  int major = 0, minor = 0;  ///< compute capability
  unsigned multiprocessors = 0;
  std::size_t shared_per_block = 0;           ///< opt-in limit, bytes
  std::size_t shared_per_multiprocessor = 0;  ///< bytes
  std::size_t l2_bytes = 0, memory_bytes = 0;
  int compiled_for = 0;  ///< the architecture that the build's kernels for it were compiled for: 90
  int architecture() const { return 10 * major + minor; }
  /// Clusters of blocks and programmatic launches, if kernels were compiled for them too.
  bool has_clusters() const { return major >= 9 && compiled_for >= 90; }
  std::string name() const { return "cuda:" + std::to_string(ordinal); }
};

/// Number of GPUs. DeviceError if there is no driver, it is too old, or there is no GPU.
int gpu_count();
/// DeviceError if there is no such GPU or this build has no kernel for it.
Gpu describe_gpu(int ordinal);
/// "kernels for sm_90": which of this build's kernels run there. DeviceError if none does.
std::string kernels_for(const Gpu& gpu);
/// The architecture that these kernels were compiled for, such as 90; PTX counts too.
int compiled_for(const Gpu& gpu);
/// Bytes of the GPU's memory that are free, by the driver.
std::size_t free_memory(const Gpu& gpu);

/// While it lives, the calling thread's CUDA calls go to this device.
class CurrentGpu {
 public:
  explicit CurrentGpu(int ordinal);
  ~CurrentGpu();
  CurrentGpu(const CurrentGpu&) = delete;
  CurrentGpu& operator=(const CurrentGpu&) = delete;

 private:
  int before_ = 0;
};

}  // namespace whorl::backend::cuda
