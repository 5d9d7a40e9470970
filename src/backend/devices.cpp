// Which kinds of devices there are. A name's prefix says which kind it is of.
#include <algorithm>
#include <filesystem>
#include <mutex>
#include <string_view>

#include "backend/contract/device.h"
#include "backend/cpu/cpu_device.h"
#include "backend/device_library.h"
#include "backend/rtl/rtl_device.h"
#include "math/process.h"
#include "whorl/device_library.h"
#ifdef WHORL_CUDA
#include "backend/cuda/cuda_device.h"
#endif

namespace whorl::backend {

namespace {

#ifndef WHORL_CUDA
/// A build without the CUDA backend has that of a library, once one is named.
namespace cuda {
struct Library {
  math::ProcessMutex mutex;
  std::string path;
  DeviceKind kind;  ///< once it is loaded
};
Library& library() {
  static Library& only = *new Library;
  return only;
}
/// The kind that the library has. DeviceError if there is none.
DeviceKind loaded() {
  Library& all = library();
  const std::scoped_lock lock(all.mutex);
  if (all.path.empty())
    throw DeviceError(
        "this build has no CUDA backend: `pip install \"whorl-fhe[cuda13]\"` brings one for "
        "Python; "
        "in C++ name a library that has one (whorl::set_cuda_library), or install the CUDA toolkit "
        "(nvcc) and build Whorl again");
  if (!all.kind.make) all.kind = load_device_library(all.path);
  return all.kind;
}
DeviceKind kind() {
  return {"cuda",
          "\"cuda\" (the first GPU), \"cuda:K\" (GPU K), \"cuda:0,1\" (several), \"cuda:all\"",
          [](const std::string& name, const DeviceOptions& options) {
            DeviceKind kind;
            try {
              kind = loaded();
            } catch (const DeviceError& error) {
              throw DeviceError("device \"" + name + "\": " + error.what());
            }
            return kind.make(name, options);
          },
          []() -> std::vector<DeviceInfo> {
            try {
              return loaded().list();
            } catch (const DeviceError& error) {
              return {{"cuda", "NVIDIA GPUs", false, error.what(), 0, 0}};
            }
          },
          [] {
            try {
              return loaded().best();
            } catch (const DeviceError&) {  // list says why
              return std::string();
            }
          }};
}
}  // namespace cuda
#endif

struct Registry {
  math::ProcessMutex mutex;
  std::vector<DeviceKind> kinds{cpu::kind(), cuda::kind(), rtl::model_kind(),
                                rtl::simulation_kind()};
};
Registry& registry() {
  // Never destroyed: other threads may work until the process has ended.
  static Registry& all = *new Registry;
  return all;
}
std::vector<DeviceKind> kinds() {
  const std::scoped_lock lock(registry().mutex);
  return registry().kinds;
}

/// The best device is that of the last kind that has one: what was added goes before what was
/// there.
std::string best(const std::vector<DeviceKind>& kinds) {
  for (auto kind = kinds.rbegin(); kind != kinds.rend(); ++kind)
    if (kind->best)
      if (std::string name = kind->best(); !name.empty()) return name;
  throw DeviceError("there is no device at all");
}

/// What is added to an error about a device: the names that there are, and where no device of the
/// kind can be used, what can in their place.
std::string remedy(const DeviceKind& kind, const std::string& names) {
  if (std::ranges::any_of(kind.list(), &DeviceInfo::usable)) return names;
  return "; device \"cpu\" is always there, and whorl::list_devices says what others lack" + names;
}

}  // namespace

void register_devices(DeviceKind kind) {
  const std::scoped_lock lock(registry().mutex);
  std::vector<DeviceKind>& all = registry().kinds;
  // It takes the place of the old one: which kind is the last to have a best device stays as it
  // was.
  const auto same = std::ranges::find(all, kind.prefix, &DeviceKind::prefix);
  if (same == all.end())
    all.push_back(std::move(kind));
  else
    *same = std::move(kind);
}

std::vector<std::shared_ptr<const Device>> make_devices(const std::string& name,
                                                        const DeviceOptions& options) {
  const std::vector<DeviceKind> all = kinds();
  const std::string wanted = name.empty() ? best(all) : name;
  const std::string_view prefix = std::string_view(wanted).substr(0, wanted.find(':'));
  std::string accepted;
  for (const DeviceKind& kind : all) accepted += kind.accepted + ", ";
  accepted = "; names are " + accepted + "and \"\" for the best there is";
  for (const DeviceKind& kind : all) {
    if (kind.prefix != prefix) continue;
    try {
      return kind.make(wanted, options);
    } catch (const DeviceError& error) {
      const std::string why = error.what(), named = "device \"" + wanted + '"';
      throw DeviceError((why.starts_with(named) ? "" : named + ": ") + why +
                        remedy(kind, accepted));
    }
  }
  throw DeviceError("device \"" + name + "\" does not exist" + accepted);
}

std::shared_ptr<const Device> make_device(const std::string& name, const DeviceOptions& options) {
  auto devices = make_devices(name, options);
  if (devices.size() != 1)
    throw DeviceError("device \"" + name + "\" names " + std::to_string(devices.size()) +
                      " devices, but only one is allowed here");
  return std::move(devices.front());
}

std::unique_ptr<Queue> open_queue(const std::string& name, const DeviceOptions& options) {
  return make_device(name, options)->open();
}

}  // namespace whorl::backend

namespace whorl {

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> out;
  for (const backend::DeviceKind& kind : backend::kinds())
    for (DeviceInfo& each : kind.list()) out.push_back(std::move(each));
  return out;
}

void set_cuda_library([[maybe_unused]] const std::string& path) {
  if (!std::filesystem::path(path).is_absolute())
    throw ParameterError("the path of a library of devices must be absolute, not \"" + path + "\"");
#ifndef WHORL_CUDA
  backend::cuda::Library& library = backend::cuda::library();
  const std::scoped_lock lock(library.mutex);
  if (!library.kind.make) library.path = path;
#endif
}

std::string device_name(const std::string& device) {
  std::string names;
  for (const auto& each : backend::make_devices(device))
    names += (names.empty() ? "" : ", ") + each->name();
  return names;
}

}  // namespace whorl
