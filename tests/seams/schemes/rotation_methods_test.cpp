// Rotations that no backend has a kernel for fit through the same entries: a device takes
// blind_rotate alone, and clients, keys and servers know nothing of it.
#include <gtest/gtest.h>

#include "math/primes.h"
#include "support/binfhe_sets.h"
#include "support/random.h"
#include "support/slow_rotation.h"
#include "whorl/binfhe.h"

namespace whorl::binfhe {
namespace {

void register_slow() {
  backend::register_devices({"slow", "\"slow\"",
                             [](const std::string&, const backend::DeviceOptions& options) {
                               return std::vector<std::shared_ptr<const backend::Device>>{
                                   std::make_shared<backend::RelayDevice<test::SlowRotationQueue>>(
                                       "slow:0", backend::make_device("cpu", options))};
                             },
                             [] { return std::vector<DeviceInfo>(); }});
}

ParameterLiteral with(Rotation rotation, SecretDistribution secret) {
  ParameterLiteral p = test::small_literal();
  p.rotation = rotation;
  p.lwe_secret = secret;
  return p;
}

void check_gates_and_tables(const Parameters& parameters) {
  const Client client(parameters);
  const EvaluationKeys keys = client.evaluation_keys(2);
  EXPECT_EQ(keys.rotation_b.size(),
            parameters.rotation_key_rows() * parameters.rotation_row_words());
  const Server server(keys, test::failing({"slow", 2}));
  const std::vector<std::uint32_t> x = {0, 0, 1, 1}, y = {0, 1, 0, 1}, m = {0, 1, 2, 3};
  const Array a = server.upload(client.encrypt(x)), b = server.upload(client.encrypt(y));
  const Array* both[] = {&a, &b};
  const auto bits = [&](const Array& array) { return client.decrypt(server.download(array)); };
  EXPECT_EQ(bits(server.gate(Gate::nand, both)), (std::vector<std::uint32_t>{1, 1, 1, 0}));
  EXPECT_EQ(bits(server.gate(Gate::xor_, both)), (std::vector<std::uint32_t>{0, 1, 1, 0}));
  const Lut lut = Lut::create(parameters, {3, 1, 0, 2}, {4, false}, {4, false});
  EXPECT_EQ(client.decrypt(server.apply({&lut, 1}, {}, client.encrypt(m))),
            (std::vector<std::uint32_t>{3, 1, 0, 2}));
}

TEST(RotationMethods, ADeviceTakesUnrolledRotationsAlone) {
  register_slow();
  check_gates_and_tables(
      test::insecure(with({RotationKind::unrolled, 2}, SecretDistribution::binary)));
  // A last group of one coefficient.
  ParameterLiteral odd = with({RotationKind::unrolled, 2}, SecretDistribution::binary);
  odd.n = odd.gadget[0].count = 17;
  const Parameters parameters = test::insecure(odd);
  EXPECT_EQ(parameters.rotation_key_rows(), (8 * 3 + 1) * 2 * odd.gadget[0].digits);
  check_gates_and_tables(parameters);
}

TEST(RotationMethods, ADeviceTakesApAlone) {
  register_slow();
  for (const auto secret : {SecretDistribution::ternary, SecretDistribution::gaussian}) {
    const Parameters parameters = test::insecure(with({RotationKind::ap, 32}, secret));
    // 2N = 512 = 16·32: two places, of which the second has 15 values that are not 0.
    EXPECT_EQ(parameters.keys_per_coefficient(), 31u + 15u);
    check_gates_and_tables(parameters);
  }
}

TEST(RotationMethods, ADeviceTakesAutomorphismsAlone) {
  register_slow();
  for (const auto secret : {SecretDistribution::ternary, SecretDistribution::gaussian}) {
    const Parameters parameters = test::insecure(with({RotationKind::automorphism, 10}, secret));
    // A key for each coefficient, and 11 of digits of a alone.
    EXPECT_EQ(parameters.rotation_key_rows(), 16u * 2 * 3 + 11 * 3);
    check_gates_and_tables(parameters);
  }
}

TEST(RotationMethods, ADeviceTakesARaisedModulusAlone) {
  register_slow();
  const std::uint64_t P = math::ntt_primes(30, 256, 1)[0];
  for (const auto& [kind, group] : {std::pair{RotationKind::ginx, 1u},
                                    {RotationKind::unrolled, 2u},
                                    {RotationKind::ap, 32u},
                                    {RotationKind::automorphism, 10u}}) {
    ParameterLiteral literal = with({kind, group, P}, SecretDistribution::binary);
    literal.gadget[0].digits = 1;
    check_gates_and_tables(test::insecure(literal));
  }
}

TEST(RotationMethods, WhoHasNoKernelRefusesTheKeys) {
  for (const auto& [rotation, name] : {std::pair{Rotation{RotationKind::unrolled, 2}, "unrolled"},
                                       {Rotation{RotationKind::ap, 32}, "AP"},
                                       {Rotation{RotationKind::automorphism, 4}, "automorphism"}}) {
    const Parameters parameters = test::insecure(with(rotation, SecretDistribution::binary));
    const Client client(parameters);
    try {
      const Server server(client.evaluation_keys(2), {"cpu", 1});
      FAIL() << name;
    } catch (const DeviceError& error) {
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace whorl::binfhe
