#include "backend/cuda/runtime/error.h"
#include "backend/cuda/runtime/gpu.h"
#include "whorl/error.h"

namespace whorl::backend::cuda {

namespace {

__global__ void nothing() {}

cudaFuncAttributes kernel_of(const Gpu& gpu) {
  const std::string architecture = "sm_" + std::to_string(gpu.architecture());
  if (gpu.architecture() < 80)
    throw DeviceError(gpu.name() + " (" + gpu.model + ") is of " + architecture +
                      "; Whorl's kernels need sm_80 or later");
  const CurrentGpu current(gpu.ordinal);
  cudaFuncAttributes attributes{};
  const cudaError_t code = cudaFuncGetAttributes(&attributes, nothing);
  if (code != cudaSuccess) {
    cudaGetLastError();
    throw DeviceError("no kernel of this build runs on " + gpu.name() + " (" + gpu.model + ", " +
                      architecture + "): " + cudaGetErrorString(code));
  }
  return attributes;
}

}  // namespace

int compiled_for(const Gpu& gpu) { return kernel_of(gpu).ptxVersion; }

std::string kernels_for(const Gpu& gpu) {
  const cudaFuncAttributes attributes = kernel_of(gpu);
  const std::string compiled = "sm_" + std::to_string(attributes.binaryVersion);
  // Machine code runs on later chips of its own generation; others have it made from PTX.
  if (attributes.binaryVersion <= gpu.architecture() &&
      attributes.binaryVersion / 10 == gpu.major &&
      attributes.ptxVersion == attributes.binaryVersion)
    return "kernels for " + compiled;
  return "kernels for " + compiled + ", from PTX for sm_" + std::to_string(attributes.ptxVersion);
}

}  // namespace whorl::backend::cuda
