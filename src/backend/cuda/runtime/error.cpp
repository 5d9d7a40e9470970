#include "backend/cuda/runtime/error.h"

#include "backend/cuda/runtime/driver.h"
#include "whorl/error.h"

namespace whorl::backend::cuda {

namespace {

/// What keeps every GPU away, and the remedy; "" for other errors. The runtime reports a driver
/// that is not there as one that is too old.
std::string obstacle(cudaError_t code) {
  if (code == cudaErrorNoDevice) return gpu_problem();
  if (code != cudaErrorInsufficientDriver) return "";
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  return driver_problem(driver, CUDART_VERSION);
}

std::string advice(cudaError_t code) {
  switch (code) {
    case cudaErrorNoKernelImageForDevice:
      return "; this build has no kernel for the GPU's architecture";
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorMisalignedAddress:
      return "; the device is lost to this process, which must be restarted to use it";
    default:
      return "";
  }
}

std::string numbers(dim3 d) {
  std::string out = std::to_string(d.x);
  if (d.y != 1 || d.z != 1) out += "×" + std::to_string(d.y);
  if (d.z != 1) out += "×" + std::to_string(d.z);
  return out;
}

}  // namespace

void check(cudaError_t code, const std::string& call) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // not to be reported again by the next call
  const std::string message =
      "cuda: " + call + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")";
  if (code == cudaErrorMemoryAllocation) throw OutOfMemoryError(message);
  if (const std::string why = obstacle(code); !why.empty())
    throw DeviceError(why + " (" + message + ")");
  throw DeviceError(message + advice(code));
}

void check_launch(const char* kernel, dim3 grid, dim3 block, std::size_t shared_bytes) {
  const cudaError_t code = cudaGetLastError();
  if (code == cudaSuccess) return;
  check(code, std::string("launch of ") + kernel + ", " + numbers(grid) + " blocks of " +
                  numbers(block) + " threads, " + std::to_string(shared_bytes) +
                  " bytes of shared memory each");
}

}  // namespace whorl::backend::cuda
