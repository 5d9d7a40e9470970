// CUDA's return codes as Whorl's exceptions, with the call and the sizes.
#pragma once

#include <cuda_runtime.h>

#include <string>

namespace whorl::backend::cuda {

/// Throws unless `code` is cudaSuccess: OutOfMemoryError where memory was short, DeviceError
/// otherwise. `call` says what failed and with which sizes: "cudaMemcpyAsync of 64 bytes".
void check(cudaError_t code, const std::string& call);

/// The same for the launch just made; takes the error out of the runtime.
void check_launch(const char* kernel, dim3 grid, dim3 block, std::size_t shared_bytes);

}  // namespace whorl::backend::cuda
