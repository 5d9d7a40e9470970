// The CUDA backend as a library of its own: what it exports.
#include "backend/cuda/cuda_device.h"
#include "backend/device_library.h"

#pragma GCC visibility push(default)
const char* whorl_device_library_version() { return WHORL_DEVICE_LIBRARY_VERSION; }
void whorl_device_library_kind(whorl::backend::DeviceKind* kind) {
  *kind = whorl::backend::cuda::kind();
}
#pragma GCC visibility pop
