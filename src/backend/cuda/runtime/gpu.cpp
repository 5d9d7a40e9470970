#include "backend/cuda/runtime/gpu.h"

#include "backend/cuda/runtime/error.h"
#include "whorl/error.h"

namespace whorl::backend::cuda {

int gpu_count() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  return count;
}

Gpu describe_gpu(int ordinal) {
  const int count = gpu_count();
  if (ordinal < 0 || ordinal >= count)
    throw DeviceError("device \"cuda:" + std::to_string(ordinal) +
                      "\" is not there: the system has " + std::to_string(count) +
                      (count == 1 ? " GPU" : " GPUs") + "; their numbers begin at 0");
  cudaDeviceProp p{};
  check(cudaGetDeviceProperties(&p, ordinal),
        "cudaGetDeviceProperties of cuda:" + std::to_string(ordinal));
  Gpu gpu;
  gpu.ordinal = ordinal;
  gpu.model = p.name;
  gpu.major = p.major;
  gpu.minor = p.minor;
  gpu.multiprocessors = static_cast<unsigned>(p.multiProcessorCount);
  gpu.shared_per_block = p.sharedMemPerBlockOptin;
  gpu.shared_per_multiprocessor = p.sharedMemPerMultiprocessor;
  gpu.l2_bytes = static_cast<std::size_t>(p.l2CacheSize);
  gpu.memory_bytes = p.totalGlobalMem;
  gpu.compiled_for = compiled_for(gpu);
  return gpu;
}

std::size_t free_memory(const Gpu& gpu) {
  const CurrentGpu current(gpu.ordinal);
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo of " + gpu.name());
  return free;
}

CurrentGpu::CurrentGpu(int ordinal) {
  check(cudaGetDevice(&before_), "cudaGetDevice");
  if (before_ != ordinal) check(cudaSetDevice(ordinal), "cudaSetDevice " + std::to_string(ordinal));
}
CurrentGpu::~CurrentGpu() { cudaSetDevice(before_); }

}  // namespace whorl::backend::cuda
