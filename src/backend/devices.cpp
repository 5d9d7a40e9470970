// Which kinds of devices there are. A name's prefix says which kind it is of.
#include <algorithm>
#include <mutex>
#include <string_view>

#include "backend/contract/device.h"
#include "backend/cpu/cpu_device.h"
#include "backend/rtl/rtl_device.h"
#include "math/process.h"
#ifdef WHORL_CUDA
#include "backend/cuda/cuda_device.h"
#endif

namespace whorl::backend {

namespace {

#ifndef WHORL_CUDA
/// A build without CUDA still knows the names of GPUs, so that the error for such a name can say
/// why no GPU can be used.
namespace cuda {
constexpr const char* missing =
    "this build has no CUDA backend: install the CUDA toolkit (nvcc) and build Whorl again";
DeviceKind kind() {
  return {"cuda",
          "\"cuda\" (the first GPU), \"cuda:K\" (GPU K), \"cuda:0,1\" (several), \"cuda:all\"",
          [](const std::string& name,
             const DeviceOptions&) -> std::vector<std::shared_ptr<const Device>> {
            throw DeviceError("device \"" + name + "\": " + missing);
          },
          [] {
            return std::vector<DeviceInfo>{{"cuda", "NVIDIA GPUs", false, missing, 0, 0}};
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

}  // namespace

void register_devices(DeviceKind kind) {
  const std::scoped_lock lock(registry().mutex);
  std::vector<DeviceKind>& all = registry().kinds;
  // In its place: which kind is the last to have a best device stays as it was.
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
      throw DeviceError(error.what() + accepted);
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

std::string device_name(const std::string& device) {
  std::string names;
  for (const auto& each : backend::make_devices(device))
    names += (names.empty() ? "" : ", ") + each->name();
  return names;
}

}  // namespace whorl
