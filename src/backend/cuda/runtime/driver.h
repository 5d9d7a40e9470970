// Why CUDA finds no GPU, and what to do about it. It includes nothing of CUDA: tests need no CUDA.
#pragma once

#include <string>

namespace whorl::backend::cuda {

/// CUDA's number of a version as text: 13020 is 13.2.
inline std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// The oldest driver that runs programs of a CUDA release, whatever its minor version (CUDA release
/// notes, "minimum required driver version for CUDA minor version compatibility").
inline std::string oldest_driver(int runtime) {
  const int major = runtime / 1000;
  const std::string number = major == 12 ? "525 or newer, " : major == 13 ? "580 or newer, " : "";
  return number + "for CUDA " + std::to_string(major);
}

/// What is wrong with the driver, which is for the CUDA version `driver`, or 0 if there is none,
/// where a build needs one for `runtime`; and the remedy.
inline std::string driver_problem(int driver, int runtime) {
  const std::string wrong = driver == 0 ? "no NVIDIA driver is found"
                                        : "the NVIDIA driver is too old: it is for CUDA " +
                                              version_text(driver) + ", and this build for CUDA " +
                                              version_text(runtime);
  return wrong + ": install a driver (" + oldest_driver(runtime) + ")";
}

/// The same where the driver is there, and no GPU.
inline std::string gpu_problem() {
  return "the NVIDIA driver finds no GPU: plug one in, pass it to the container (docker run --gpus "
         "all), or take CUDA_VISIBLE_DEVICES out of the environment if that hides it";
}

}  // namespace whorl::backend::cuda
