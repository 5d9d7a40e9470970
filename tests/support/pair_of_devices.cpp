// Makes "pair" a name for two devices, of the CPU both, in whatever links this.
#include "backend/contract/relay.h"

namespace whorl::test {
namespace {

std::vector<std::shared_ptr<const backend::Device>> pair(const std::string&,
                                                         const backend::DeviceOptions& options) {
  const auto cpu = backend::make_device("cpu", options);
  return {std::make_shared<backend::RelayDevice<>>("pair:0", cpu),
          std::make_shared<backend::RelayDevice<>>("pair:1", cpu)};
}

const bool registered = [] {
  backend::register_devices({"pair", "\"pair\"", &pair, [] { return std::vector<DeviceInfo>(); }});
  return true;
}();

}  // namespace
}  // namespace whorl::test
