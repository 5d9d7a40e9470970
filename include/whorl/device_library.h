// Backends for NVIDIA GPUs that lie in a library of their own.
#pragma once

#include <string>

namespace whorl {

/// Names the library with the devices "cuda", for a build that has none of its own:
/// libwhorl_cuda.so of the same version (CMake's option WHORL_CUDA_LIBRARY). It is loaded when such
/// a device is first asked for. If it cannot be, DeviceError says why, and list_devices does; ""
/// then means the CPU. In a build with the backend inside, nothing changes. ParameterError if the
/// path is not absolute. Any thread may call it; what has been loaded stays.
void set_cuda_library(const std::string& path);

}  // namespace whorl
