// Lanes of CKKS that are given out as LWE ciphertexts of FHEW/TFHE.
#include <array>
#include <cmath>
#include <vector>

#include "bridges/output.h"
#include "schemes/binfhe/account.h"
#include "schemes/ckks/named_sets.h"
#include "support/test.h"
#include "whorl/binfhe/server.h"
#include "whorl/bridges/client.h"
#include "whorl/circuits/ckks/bootstrap.h"
#include "whorl/error.h"

namespace whorl::bridges {
namespace {

ckks::Parameters small_bits(unsigned bits) {
  ckks::ParameterLiteral literal = ckks::for_bits({.bits = bits, .levels = 4});
  literal.N = 1024;
  return ckks::Parameters::create(literal, true);
}

ckks::EvaluationKeys keys_of(const ckks::Client& client, std::uint64_t lanes) {
  ckks::KeyRequest request;
  ckks::request_bootstrap(request, client.parameters(), lanes);
  return client.evaluation_keys(request);
}

struct Party {
  Party(const ckks::Parameters& p, const char* set, std::uint64_t slots)
      : client(ckks::lane_client(p)),
        lwe(binfhe::Parameters::named(set)),
        server(keys_of(client, slots), {.device = test::tested_device, .threads = 1}),
        lanes(server, ckks::encode_bootstrap(server, slots)),
        keys(lwe_output_keys(client, lwe)),
        output(lanes, keys) {}

  ckks::LaneArray encrypt(const std::vector<std::uint32_t>& bits, std::size_t length) const {
    const std::vector<double> values(bits.begin(), bits.end());
    return lanes.take_in(
        server.upload(client.encrypt(values, {.length = length, .bound = ckks::Bounds(0, 1)})));
  }

  ckks::Client client;
  binfhe::Client lwe;
  ckks::Server server;
  ckks::Lanes lanes;
  LweOutputKeys keys;
  LweOutput output;
};

std::vector<std::uint32_t> random_bits(std::size_t count) {
  static std::mt19937_64 random(1);
  std::vector<std::uint32_t> out(count);
  for (auto& bit : out) bit = random() & 1;
  return out;
}

/// All bits are right, and their errors are as stated: no larger, and not far smaller.
TEST(LweOutput, BitsGoOutWithTheStatedNoise) {
  for (const char* const set : {"W128_P64", "W128_P128", "W128_P64_RTL_M2"})
    for (const std::uint64_t slots : {512u, 64u}) {
      const Party party(small_bits(2), set, slots);
      for (const std::size_t vectors : {1u, 2u, 3u})
        for (const binfhe::Encoding encoding :
             {binfhe::Encoding{4, false}, {2, true}, {2, false}}) {
          SCOPED_TRACE(testing::Message() << set << ", " << slots << " lanes, " << vectors
                                          << " vectors, p = " << encoding.p);
          const auto bits = random_bits(vectors * slots);
          const ckks::LaneArray a = party.encrypt(bits, slots);
          const binfhe::Ciphertexts c = party.output.give_out(party.lanes.bit_not(a), encoding);
          std::vector<std::uint32_t> wanted;
          for (const std::uint32_t bit : bits) wanted.push_back(1 - bit);
          ASSERT_EQ(party.lwe.decrypt(c), wanted);
          double sum = 0, squares = 0;
          for (const std::int64_t e : party.lwe.noise(c, wanted)) {
            sum += static_cast<double>(e);
            squares += static_cast<double>(e) * static_cast<double>(e);
          }
          const auto count = static_cast<double>(bits.size());
          const double stated = c.noise * binfhe::unit_of_noise(c.parameters), mean = sum / count,
                       variance = squares / count - mean * mean;
          // Under one key a part of the errors is the same: its square is stated as a mean.
          EXPECT_LT(variance, (1.1 + 6 * std::sqrt(2 / count)) * stated);
          EXPECT_LT(mean * mean, 16 * stated);
          EXPECT_GT(squares / count, stated / 16);
          EXPECT_LT(c.noise, 1);
        }
    }
}

/// From each level, the lowest one too, where numbers of bits have more than their scale.
TEST(LweOutput, ManySectorsGoOutFromAllLevels) {
  const Party party(small_bits(2), "W128_P128", 512);
  const auto bits = random_bits(2 * 512);
  ckks::LaneArray a = party.encrypt(bits, 512);
  const unsigned least = party.server.parameters().least_bootstrap_level();
  for (unsigned level = a.info().level; level >= least; --level) {
    ASSERT_EQ(a.info().level, level);
    for (const binfhe::Encoding encoding : {binfhe::Encoding{32, true}, {64, true}, {128, false}}) {
      SCOPED_TRACE(testing::Message() << "level " << level << ", p = " << encoding.p);
      // What is refreshed for it is a copy.
      const std::array<std::uint32_t, 2> both{0, 1};
      const auto found = party.output.give_out(party.lanes.take(a, both), encoding);
      EXPECT_EQ(party.lwe.decrypt(found), bits);
    }
    if (level > least) a = party.lanes.bit_and(a, a);
  }
}

TEST(LweOutput, GatesGoOn) {
  const Party party(small_bits(2), "W128_P64", 64);
  const auto a = random_bits(64), b = random_bits(64);
  const ckks::LaneArray x = party.encrypt(a, 64), y = party.encrypt(b, 64);
  const binfhe::Server gates(party.lwe.evaluation_keys(1),
                             {.device = test::tested_device, .threads = 1});
  // Errors of lanes that are too large are cleaned first.
  party.lanes.refresh(std::vector{x});
  const double before = party.lanes.bit_xor(x, y).error();
  const ckks::LaneArray both = party.lanes.bit_xor(x, y);
  const binfhe::Ciphertexts c = party.output.give_out(both), d = party.output.give_out(x);
  EXPECT_LE(both.error(), before);
  const auto found = party.lwe.decrypt(gates.and_(c, d));
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(found[i], (a[i] ^ b[i]) & a[i]);
}

TEST(LweOutput, WrongKeysAndEncodingsAreRefused) {
  const Party party(small_bits(2), "W128_P64", 64);
  const ckks::LaneArray a = party.encrypt(random_bits(64), 64);
  EXPECT_THROW(party.output.give_out(a, {6, false}), EncodingError);
  EXPECT_THROW(party.output.give_out(a, {1, false}), EncodingError);
  EXPECT_THROW(party.output.give_out(a, {64, false}), NoiseError);
  EXPECT_THROW(party.output.give_out(ckks::LaneArray{}), ShapeError);
  const ckks::Client other = ckks::lane_client(party.client.parameters());
  EXPECT_THROW(LweOutput(party.lanes, lwe_output_keys(other, party.lwe)), KeyMismatchError);
  LweOutputKeys keys = party.keys;
  keys.b = keys.switch_b;
  EXPECT_THROW(LweOutput(party.lanes, keys), ShapeError);
  keys = party.keys;
  keys.switch_b = keys.b;
  EXPECT_THROW(LweOutput(party.lanes, keys), ShapeError);
  // In a secure ring the keys are small.
  const ckks::Parameters large = ckks::Parameters::named("W128_BITS5_L10");
  const backend::SwitchShape shape = output_switch(Packing(large), party.lwe.parameters());
  EXPECT_EQ(shape.N, 4096u);
  EXPECT_LE(shape.gadget.digits(), 8u);
}

}  // namespace
}  // namespace whorl::bridges
