// Makes "frail:K" a name for two devices, of the CPU both, in whatever links this. The second fails
// after it has handed out memory and copied values K times.
#include <cstdlib>

#include "support/strained_device.h"

namespace whorl::test {
namespace {

std::vector<std::shared_ptr<const backend::Device>> frail(const std::string& name,
                                                          const backend::DeviceOptions&) {
  const auto firm = std::make_shared<Strain>(), weak = std::make_shared<Strain>();
  weak->calls_left = std::atol(name.c_str() + name.find(':') + 1);
  return {strained_device("frail:0", firm), strained_device("frail:1", weak)};
}

const bool registered = [] {
  backend::register_devices(
      {"frail", "\"frail:K\"", &frail, [] { return std::vector<DeviceInfo>(); }});
  return true;
}();

}  // namespace
}  // namespace whorl::test
