// A device that has not every family of operations: servers that need what it lacks are refused
// when they are made, by its name.
#include <gtest/gtest.h>

#include "backend/contract/relay.h"
#include "support/bgv_sets.h"
#include "support/binfhe_sets.h"

namespace whorl {
namespace {

using namespace backend;

/// The CPU without one family, in words of either size.
template <template <class> class Family>
class QueueWithout final : public Relay {
 public:
  QueueWithout(std::shared_ptr<const Device> device, std::unique_ptr<Queue> of)
      : Relay(std::move(device), std::move(of)) {
    offer(std::shared_ptr<const Family<std::uint32_t>>());
    offer(std::shared_ptr<const Family<std::uint64_t>>());
  }
};

template <template <class> class Family>
void register_without(const std::string& name) {
  register_devices({name, '"' + name + '"',
                    [name](const std::string&, const DeviceOptions& options) {
                      return std::vector<std::shared_ptr<const Device>>{
                          std::make_shared<RelayDevice<QueueWithout<Family>>>(
                              name + ":0", make_device("cpu", options))};
                    },
                    [] { return std::vector<DeviceInfo>(); }});
}

template <class Make>
void expect_refusal(const Make& make, const std::string& due) {
  try {
    make();
    ADD_FAILURE() << "no error; due: " << due;
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find(due), std::string::npos) << error.what();
  }
}

TEST(MissingFamilies, ABinfheServerNeedsBlindRotation) {
  register_without<RotationOps>("rotationless");
  const binfhe::Client client(test::insecure(test::small_literal()));
  const binfhe::EvaluationKeys keys = client.evaluation_keys(1);
  expect_refusal(
      [&] {
        binfhe::Server(keys, {"rotationless", 1, {}, {}});
      },
      "rotationless:0 has no blind rotation in words of 32 bits");
}

TEST(MissingFamilies, ABgvServerNeedsRnsOperations) {
  register_without<RnsOps>("rnsless");
  const auto& pair = test::bgv_pair(test::bgv_insecure({1024, 65537, 30, 4, 2}));
  expect_refusal(
      [&] {
        bgv::Server(pair.keys, {"rnsless", 1, {}});
      },
      "rnsless:0 has no RNS operations in words of 32 bits");
}

TEST(MissingFamilies, EachSchemeIgnoresWhatItDoesNotNeed) {
  register_without<RotationOps>("rotationless");
  register_without<RnsOps>("rnsless");
  const auto& pair = test::bgv_pair(test::bgv_insecure({1024, 65537, 30, 4, 2}));
  EXPECT_NO_THROW(bgv::Server(pair.keys, {"rotationless", 1, {}}));
  const binfhe::Client client(test::insecure(test::small_literal()));
  EXPECT_NO_THROW(binfhe::Server(client.evaluation_keys(1), {"rnsless", 1, {}, {}}));
}

}  // namespace
}  // namespace whorl
