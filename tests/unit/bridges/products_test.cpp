// Products of integers through ring elements: results, and errors beside their formulas.
#include "whorl/bridges/products.h"

#include <cmath>
#include <vector>

#include "bridges/products_state.h"
#include "lattice/rlwe/secret.h"
#include "schemes/binfhe/packed.h"
#include "support/test.h"
#include "whorl/binfhe/client.h"
#include "whorl/bridges/client.h"
#include "whorl/error.h"

namespace whorl::bridges {
namespace {

/// W128_P128 with a short LWE key.
binfhe::Parameters short_key() {
  binfhe::ParameterLiteral literal = binfhe::Parameters::named("W128_P128").literal();
  literal.n = 64;
  literal.gadget = {{64, 23, 1}};
  return binfhe::Parameters::create(literal, true);
}

struct Party {
  binfhe::Client client{short_key()};
  binfhe::Server server{client.evaluation_keys(1), {.device = test::tested_device, .threads = 1}};
  Multiplier multiplier{server, product_keys(client, 1)};

  /// Digits of radix 4, (digits, numbers).
  binfhe::Array digits(const std::vector<std::uint64_t>& numbers, std::uint32_t count) const {
    std::vector<std::uint32_t> messages;
    for (std::uint32_t i = 0; i < count; ++i)
      for (const std::uint64_t number : numbers)
        messages.push_back(static_cast<std::uint32_t>(number >> 2 * i & 3));
    return server.with_range(
        server.upload(client.encrypt(messages, {32}, 1e-9, binfhe::Under::ring)), {0, 3});
  }
  /// What digits -2 … 2 stand for, modulo 2^64.
  std::vector<std::uint64_t> numbers(const binfhe::Array& digits, std::size_t count) const {
    const std::vector<std::uint32_t> messages = client.decrypt(server.download(digits));
    std::vector<std::uint64_t> out(count);
    for (std::size_t i = messages.size() / count; i-- > 0;)
      for (std::size_t b = 0; b < count; ++b)
        out[b] = 4 * out[b] + messages[i * count + b] - (messages[i * count + b] > 16 ? 32 : 0);
    return out;
  }
};

TEST(BridgesProducts, IntegersAreMultiplied) {
  const Party party;
  test::Random random;
  for (const std::size_t count : {1u, 3u}) {
    std::vector<std::uint64_t> x(count), y(count), exact(count), known(count);
    for (std::uint64_t& each : x) each = random.word();
    for (std::uint64_t& each : y) each = random.word();
    for (std::size_t b = 0; b < count; ++b) {
      exact[b] = x[b] * y[b];
      known[b] = x[b] * y[0];
    }
    const binfhe::Array a = party.digits(x, 32), b = party.digits(y, 32);
    EXPECT_EQ(party.numbers(party.multiplier.multiply({a}, {b}, count, 32), count), exact);
    std::vector<std::uint32_t> factor;
    for (unsigned i = 0; i < 32; ++i)
      factor.push_back(static_cast<std::uint32_t>(y[0] >> 2 * i & 3));
    EXPECT_EQ(party.numbers(party.multiplier.multiply({a}, factor, count, 32), count), known);
  }
}

TEST(BridgesProducts, KnownDigitsAboveTheResultDoNotCount) {
  const Party party;
  const binfhe::Array x = party.digits({5, 15}, 2);
  for (const std::vector<std::uint32_t>& known :
       {std::vector<std::uint32_t>{1, 0, 0, 0, 0, 0, 0, 3}, {1, 0, 0, 0, 0, 0, 3, 3}}) {
    std::vector<std::uint64_t> found =
        party.numbers(party.multiplier.multiply({x}, known, 2, 2), 2);
    for (std::uint64_t& each : found) each %= 16;
    EXPECT_EQ(found, (std::vector<std::uint64_t>{5, 15}));
  }
}

/// Errors of the coefficients of products that are read, beside the formula for their variance.
TEST(BridgesProducts, ErrorsAreThoseOfTheFormula) {
  const Party party;
  test::Random random;
  const auto& s = MultiplierAccess::of(party.multiplier);
  const binfhe::Parameters& p = s.parameters();
  const lattice::rlwe::Secret secret(binfhe::ring_plan(p), party.client.secret_key().ring(),
                                     p.literal().sigma_ring);
  constexpr std::size_t B = 8;
  constexpr std::uint32_t digits = 32;
  std::vector<std::uint64_t> x(B), y(B);
  for (std::uint64_t& each : x) each = random.word();
  for (std::uint64_t& each : y) each = random.word();
  const ProductRing ring(p, digits);
  std::vector<std::int32_t> lows(2 * digits * B);
  std::vector<lattice::lwe::Array> both;
  for (const auto* numbers : {&x, &y})
    both.push_back(binfhe::Access::of(party.digits(*numbers, digits)).rows);
  // (digit, factor, integer)
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < digits; ++i)
    for (std::uint32_t f = 0; f < 2; ++f)
      for (std::uint32_t b = 0; b < B; ++b)
        order.push_back(static_cast<std::uint32_t>((f * digits + i) * B + b));
  const lattice::lwe::Array taken = s.rows().take(s.rows().join(both), order);
  const lattice::rlwe::Array product =
      s.product(s.packed(s.lifted(s.looked_up(taken, lows)), ring, 2 * B * slots), ring, B);
  const auto Q = static_cast<double>(p.Q());
  double squares = 0, mean = 0;
  const WordArray words = s.ring->download(product);
  secret.phases(
      {ring::Basis::range(0, 1), 2, B, words},
      [&](std::size_t b, std::span<double> phase) {
        for (std::uint32_t k = 0; k < digits; ++k) {
          const std::uint64_t mask =
              k == 31 ? ~std::uint64_t{0} : (std::uint64_t{1} << 2 * (k + 1)) - 1;
          const double turns = static_cast<double>(x[b] * y[b] & mask) / std::exp2(2.0 * (k + 1));
          const double error = std::remainder(phase[k * ring.spacing] / Q - turns, 1.0) * Q;
          squares += error * error;
          mean += error;
        }
      },
      {}, 1);
  const double count = digits * B, variance = errors_of_product(p, ring, digits).variance;
  // The formula has digits of 3 where those of random integers have a mean square of 7/2, which
  // matters little: most errors come from rows.
  EXPECT_LT(squares / count, variance * 1.4);
  EXPECT_GT(squares / count, variance * 0.5);
  EXPECT_LT(std::abs(mean / count), std::sqrt(variance) / 2);
}

TEST(BridgesProducts, WhatIsRefused) {
  const Party party, other;
  EXPECT_THROW(Multiplier(party.server, product_keys(other.client, 1)), KeyMismatchError);
  ProductKeys keys = product_keys(party.client, 1);
  keys.ring_b = WordArray(std::vector<std::uint64_t>(2048));
  EXPECT_THROW(Multiplier(party.server, keys), ShapeError);
  const binfhe::Array digits = party.digits({1, 2}, 4);
  EXPECT_THROW(party.multiplier.multiply({digits}, {digits}, 3, 4), ShapeError);
  EXPECT_THROW(party.multiplier.multiply({digits}, {digits}, 2, 129), ShapeError);
  const std::vector<std::int32_t> lows = {0, 0, 0, -4};
  EXPECT_THROW(party.multiplier.multiply({digits, lows}, {digits}, 2, 4), RangeError);
  const std::vector<std::uint32_t> known = {4};
  EXPECT_THROW(party.multiplier.multiply({digits}, known, 2, 4), EncodingError);
}

}  // namespace
}  // namespace whorl::bridges
