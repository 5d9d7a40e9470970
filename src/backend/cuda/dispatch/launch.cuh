// How kernels are launched that follow each other closely.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "backend/cuda/runtime/error.h"
#include "backend/cuda/runtime/stream.h"

namespace whorl::backend::cuda {

/// Launches a kernel that begins with join_chain(): its blocks are brought in while the work before
/// it ends, which hides most of a launch's latency. `cluster`: blocks of a cluster.
template <class Arguments>
void launch_chained(const Stream& stream, const char* name, void (*kernel)(Arguments), dim3 grid,
                    dim3 block, std::size_t shared_bytes, const Arguments& arguments,
                    unsigned cluster = 1) {
  if (shared_bytes > (48u << 10))
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared_bytes)),
          std::string("cudaFuncSetAttribute of ") + name + ": " + std::to_string(shared_bytes) +
              " bytes of shared memory");
  cudaLaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (stream.gpu().has_clusters()) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count++].val.clusterDim = {cluster, 1, 1};
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream.handle();
  config.attrs = attributes;
  config.numAttrs = count;
  // The error, if any, is reported by check_launch, which names the sizes.
  (void)cudaLaunchKernelEx(&config, kernel, arguments);
  check_launch(name, grid, block, shared_bytes);
}

}  // namespace whorl::backend::cuda
