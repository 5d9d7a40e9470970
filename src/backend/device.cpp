// Which devices there are, and how they are named.
#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/kernels.h"
#include "backend/ops.h"
#ifdef WHORL_CUDA
#include "backend/cuda/cuda_device.h"
#endif

namespace whorl::backend {

namespace {

constexpr std::string_view accepted =
    "names are \"cpu\", \"cuda\" (the first GPU), \"cuda:K\" (GPU K), \"cuda:0,1\" (several), "
    "\"cuda:all\", and \"\" for the best there is";

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw DeviceError("device \"" + name + "\": " + why + "; " + std::string(accepted));
}

/// What a name asks for.
struct Wanted {
  bool cuda = false;
  bool all = false;           ///< every GPU
  std::vector<int> ordinals;  ///< otherwise these
};

std::vector<int> parse_ordinals(const std::string& name, std::string_view list) {
  std::vector<int> out;
  for (;;) {
    const std::size_t comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    int ordinal = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), ordinal);
    if (error != std::errc() || end != item.data() + item.size() || ordinal < 0)
      refuse(name, '"' + std::string(item) + "\" is not the number of a GPU");
    if (std::find(out.begin(), out.end(), ordinal) != out.end())
      refuse(name, "GPU " + std::to_string(ordinal) + " is named twice");
    out.push_back(ordinal);
    if (comma == std::string_view::npos) return out;
    list.remove_prefix(comma + 1);
  }
}

Wanted parse(const std::string& name) {
  constexpr std::string_view prefix = "cuda:";
  if (name == "cpu") return {};
  if (name == "cuda") return {true, false, {0}};
  if (name == "cuda:all") return {true, true, {}};
  if (name.starts_with(prefix))
    return {true, false, parse_ordinals(name, std::string_view(name).substr(prefix.size()))};
  refuse(name, "no such device");
}

#ifdef WHORL_CUDA
/// None where there is no driver or no GPU.
std::vector<int> usable_gpus() {
  try {
    return cuda::usable_gpus();
  } catch (const DeviceError&) {
    return {};
  }
}
#else
constexpr const char* no_cuda =
    "this build has no CUDA backend: install the CUDA toolkit (nvcc) and build Whorl again";
#endif

Wanted best() {
#ifdef WHORL_CUDA
  if (const std::vector<int> gpus = usable_gpus(); !gpus.empty())
    return {true, false, {gpus.front()}};
#endif
  return {};
}

std::vector<std::unique_ptr<Device>> make(const std::string& name, const Wanted& wanted,
                                          DeviceOptions options) {
  std::vector<std::unique_ptr<Device>> out;
  if (!wanted.cuda) {
    out.push_back(cpu::make_cpu_device(std::move(options)));
    return out;
  }
#ifdef WHORL_CUDA
  std::vector<int> ordinals = wanted.ordinals;
  if (wanted.all) ordinals = cuda::usable_gpus();
  if (ordinals.empty()) throw DeviceError("device \"" + name + "\": no GPU can be used");
  out.reserve(ordinals.size());
  for (const int ordinal : ordinals) out.push_back(cuda::make_cuda_device(ordinal, options));
  return out;
#else
  throw DeviceError("device \"" + name + "\": " + no_cuda);
#endif
}

/// What Linux says of `field` in a file of lines "field: value"; empty where it says nothing.
std::string system_fact(const char* file, std::string_view field) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with(field) || colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

DeviceInfo describe_cpu() {
  const auto kibibytes = [](std::string_view field) {
    std::size_t value = 0;
    const std::string text = system_fact("/proc/meminfo", field);
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value << 10;
  };
  const std::string model = system_fact("/proc/cpuinfo", "model name");
  return {"cpu",
          model.empty() ? "processor of unknown name" : model,
          true,
          cpu::simd_name() + " kernels",
          kibibytes("MemTotal"),
          kibibytes("MemAvailable")};
}

}  // namespace

std::vector<std::unique_ptr<Device>> make_devices(const std::string& name,
                                                  const DeviceOptions& options) {
  return make(name, name.empty() ? best() : parse(name), options);
}

std::unique_ptr<Device> make_device(const std::string& name, DeviceOptions options) {
  const Wanted wanted = name.empty() ? best() : parse(name);
  if (wanted.all || wanted.ordinals.size() > 1)
    throw DeviceError("device \"" + name + "\" names several devices where one is due");
  std::vector<std::unique_ptr<Device>> devices = make(name, wanted, std::move(options));
  return std::move(devices.front());
}

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> out{describe_cpu()};
#ifdef WHORL_CUDA
  for (DeviceInfo& gpu : cuda::list_gpus()) out.push_back(std::move(gpu));
#else
  out.push_back({"cuda", "NVIDIA GPUs", false, no_cuda, 0, 0});
#endif
  return out;
}

}  // namespace whorl::backend
