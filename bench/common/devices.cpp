#include "common/devices.h"

#include <cctype>
#include <string_view>

#include "whorl/devices.h"

namespace whorl::bench {
namespace {

bool is(const DeviceInfo& info, const std::string& device) {
  const std::string first = device.substr(0, device.find(','));
  return info.name == first || (info.name == "cuda:0" && (first == "cuda" || first == "cuda:all"));
}

}  // namespace

std::unique_ptr<Queue> open_queue(const std::string& name, unsigned threads) {
  return backend::open_queue(name, {threads, {}, {}});
}

std::string record_name(const std::string& model) {
  std::string out;
  for (const char c : model)
    out += c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view brand : {"nvidia_", "geforce_"})
    if (out.starts_with(brand)) out.erase(0, brand.size());
  return out;
}

Machine machine_of(const std::string& device, unsigned threads) {
  const auto open = backend::make_devices(device, {threads, {}, {}});
  Machine out{device, open.size(), open.front()->threads()};
  for (const auto& info : list_devices())
    if (info.name != "cpu" && is(info, device)) out.name = record_name(info.description);
  return out;
}

std::size_t free_memory(const std::string& device) {
  for (const auto& info : list_devices())
    if (is(info, device)) return info.free_memory;
  return 0;
}

}  // namespace whorl::bench
