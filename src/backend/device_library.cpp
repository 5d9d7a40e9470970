#include "backend/device_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

namespace whorl::backend {

namespace {

/// The address of a function of the library.
template <class Function>
Function* find(void* handle, const std::string& path, const char* name) {
  auto* const found = reinterpret_cast<Function*>(dlsym(handle, name));
  if (!found)
    throw DeviceError("\"" + path + "\" is no library of Whorl's devices: it has no function " +
                      name);
  return found;
}

}  // namespace

DeviceKind load_device_library(const std::string& path) {
  std::error_code unknown;  // dlopen says what is wrong then
  if (!std::filesystem::exists(path, unknown) && !unknown)
    throw DeviceError("there is no library of devices \"" + path + "\"");
  // Never closed: devices and memory pools may outlive every server.
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* const why = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is
    throw DeviceError("the library of devices \"" + path + "\" cannot be loaded (" +
                      (why ? why : "no reason is known") + ")");
  }
  const std::string theirs =
      find<decltype(whorl_device_library_version)>(handle, path, "whorl_device_library_version")();
  if (theirs != WHORL_DEVICE_LIBRARY_VERSION)
    throw DeviceError("the library of devices \"" + path + "\" is of Whorl " + theirs +
                      ", and this is " WHORL_DEVICE_LIBRARY_VERSION
                      ": install both from the same version, or build both from the same sources");
  DeviceKind kind;
  find<decltype(whorl_device_library_kind)>(handle, path, "whorl_device_library_kind")(&kind);
  return kind;
}

}  // namespace whorl::backend
