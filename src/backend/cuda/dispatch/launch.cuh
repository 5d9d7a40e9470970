// How kernels are launched that follow each other closely.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <type_traits>

#include "backend/cuda/runtime/error.h"
#include "backend/cuda/runtime/stream.h"

namespace whorl::backend::cuda {

/// Launches a kernel that begins with join_chain(): its blocks are brought in while the work before
/// it ends, which hides most of a launch's latency.
template <class... Parameters>
void launch_chained(const Stream& stream, const char* name, void (*kernel)(Parameters...),
                    LaunchShape shape, const std::type_identity_t<Parameters>&... arguments) {
  if (shape.shared_bytes > (48u << 10))
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shape.shared_bytes)),
          std::string("cudaFuncSetAttribute of ") + name + ": " +
              std::to_string(shape.shared_bytes) + " bytes of shared memory");
  shape.overlaps = stream.gpu().has_clusters();
  stream.launch(name, kernel, shape, arguments...);
}

/// Lets a short kernel run before blind rotations that wait: the next piece of a batch, on another
/// stream, would keep it waiting otherwise, and its own next piece with it.
inline LaunchShape urgent(dim3 grid, dim3 block, std::size_t shared_bytes = 0) {
  return {.grid = grid, .block = block, .shared_bytes = shared_bytes, .urgent = true};
}

}  // namespace whorl::backend::cuda
