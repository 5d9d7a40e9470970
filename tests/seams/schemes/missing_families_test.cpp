// A device that has not every family of operations: servers that need what it lacks are refused
// when they are made, by its name.
#include "support/bgv_sets.h"
#include "support/binfhe_sets.h"
#include "support/ckks_sets.h"
#include "support/test.h"
#include "whorl/ckks.h"

namespace whorl {
namespace {

using namespace backend;

/// The CPU without some families.
template <class... Missing>
class QueueWithout final : public Relay {
 public:
  QueueWithout(std::shared_ptr<const Device> device, std::unique_ptr<Queue> of)
      : Relay(std::move(device), std::move(of)) {
    (offer(std::shared_ptr<const Missing>()), ...);
  }
};

template <class... Missing>
void register_without(const std::string& name) {
  test::register_relay<QueueWithout<Missing...>>(name);
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

using Narrow = std::uint32_t;
using Wide = std::uint64_t;

void expect_binfhe_refusal(const binfhe::ParameterLiteral& literal, const std::string& device,
                           const std::string& due) {
  const binfhe::Client client(test::insecure(literal));
  const binfhe::EvaluationKeys keys = client.evaluation_keys(1);
  expect_refusal([&] { binfhe::Server(keys, {device, 1}); }, due);
}
binfhe::ParameterLiteral wide_literal() {
  binfhe::ParameterLiteral p = test::small_literal();
  p.Q = math::ntt_primes(50, 256, 1)[0];
  p.gadget = {{16, 13, 4}};
  return p;
}

TEST(MissingFamilies, ABinfheServerNeedsBlindRotation) {
  register_without<RotationOps<Narrow>, RotationOps<Wide>>("rotationless");
  expect_binfhe_refusal(test::small_literal(), "rotationless",
                        "rotationless:0 has no blind rotation in words of 32 bits");
  expect_binfhe_refusal(wide_literal(), "rotationless",
                        "rotationless:0 has no blind rotation in words of 64 bits");
}

TEST(MissingFamilies, ABinfheServerNeedsLweAndRingOperations) {
  register_without<LweOps>("lweless");
  register_without<RingOps<Narrow>, RingOps<Wide>>("ringless");
  register_without<RingOps<Wide>>("narrow");
  expect_binfhe_refusal(test::small_literal(), "lweless", "lweless:0 has no LWE operations");
  expect_binfhe_refusal(test::small_literal(), "ringless",
                        "ringless:0 has no ring operations in words of 32 bits");
  expect_binfhe_refusal(wide_literal(), "narrow",
                        "narrow:0 has no ring operations in words of 64 bits");
  const binfhe::Client client(test::insecure(test::small_literal()));
  EXPECT_NO_THROW(binfhe::Server(client.evaluation_keys(1), {"narrow", 1}));
}

TEST(MissingFamilies, ABgvServerNeedsRnsOperations) {
  register_without<RnsOps<Narrow>, RnsOps<Wide>>("rnsless");
  const auto& pair = test::bgv_pair(test::bgv_insecure({1024, 65537, 30, 4, 2}));
  expect_refusal(
      [&] {
        bgv::Server(pair.keys, {"rnsless", 1, {}});
      },
      "rnsless:0 has no RNS operations in words of 32 bits");
}

TEST(MissingFamilies, ACkksServerNeedsRnsOperationsAndFourierTransforms) {
  register_without<RnsOps<Narrow>, RnsOps<Wide>>("rnsless");
  register_without<FftOps>("fftless");
  const ckks::Client client(test::ckks_insecure());
  const ckks::EvaluationKeys keys = client.evaluation_keys({});
  expect_refusal([&] { ckks::Server(keys, {.device = "rnsless", .threads = 1}); },
                 "rnsless:0 has no RNS operations in words of 32 bits");
  expect_refusal([&] { ckks::Server(keys, {.device = "fftless", .threads = 1}); },
                 "fftless:0 has no Fourier transforms");
}

TEST(MissingFamilies, EachSchemeIgnoresWhatItDoesNotNeed) {
  register_without<RotationOps<Narrow>, RotationOps<Wide>>("rotationless");
  register_without<RnsOps<Narrow>, RnsOps<Wide>>("rnsless");
  const auto& pair = test::bgv_pair(test::bgv_insecure({1024, 65537, 30, 4, 2}));
  EXPECT_NO_THROW(bgv::Server(pair.keys, {"rotationless", 1, {}}));
  register_without<FftOps>("fftless");
  EXPECT_NO_THROW(bgv::Server(pair.keys, {"fftless", 1, {}}));
  const binfhe::Client client(test::insecure(test::small_literal()));
  EXPECT_NO_THROW(binfhe::Server(client.evaluation_keys(1), {"rnsless", 1}));
}

}  // namespace
}  // namespace whorl
