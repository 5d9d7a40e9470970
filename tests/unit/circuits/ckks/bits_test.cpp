// Bootstraps of bits, and the functions that they are made of.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "circuits/ckks/bit_fit.h"
#include "circuits/ckks/bootstrap.h"
#include "schemes/ckks/named_sets.h"
#include "schemes/ckks/server_state.h"
#include "support/ckks_party.h"
#include "support/test.h"

namespace whorl::ckks {
namespace {

constexpr double deviations = 48;

std::complex<double> value_of(const std::vector<double>& polynomial, std::complex<double> z) {
  std::complex<double> sum = 0;
  for (std::size_t n = polynomial.size(); n-- > 0;) sum = sum * z + polynomial[n];
  return sum;
}

/// Bits are exact at all numbers, and an error of the number or of z does not do more than stated.
TEST(CkksBits, PolynomialsAreExactAndFlat) {
  for (unsigned bits = 1; bits <= 5; ++bits) {
    const double points = std::exp2(bits);
    const BitSlopes& slopes = slopes_of_bits(bits);
    const auto polynomials = bit_polynomials(bits);
    double curved = 0, steep = 0;
    for (unsigned j = 0; j < bits; ++j)
      for (unsigned m = 0; m < points; ++m) {
        const double bit = m >> j & 1;
        for (int i = -16; i <= 16; ++i) {
          const double off = i / 64.0, angle = 2 * std::numbers::pi * (m + 0.5 + off) / points;
          const double found = 0.5 - value_of(polynomials[j], std::polar(1.0, angle)).imag();
          EXPECT_LE(std::abs(found - bit), slopes.curvature * off * off + 1e-12);
          if (i != 0) curved = std::max(curved, std::abs(found - bit) / (off * off));
        }
        for (int i = 0; i < 8; ++i) {
          const double angle = 2 * std::numbers::pi * (m + 0.5) / points;
          const auto z = std::polar(1.0, angle) + std::polar(1e-4, std::numbers::pi / 4 * i);
          const double found = 0.5 - value_of(polynomials[j], z).imag();
          EXPECT_LE(std::abs(found - bit), slopes.root * 1e-4 * std::pow(1 + 1e-4, points));
          steep = std::max(steep, std::abs(found - bit) / 1e-4);
        }
      }
    // They are not far from what is seen.
    EXPECT_LT(slopes.curvature, 1.5 * curved);
    EXPECT_LT(slopes.root, 1.5 * steep);
  }
}

TEST(CkksBits, ExponentialReachesTheWholeRange) {
  BootstrapLiteral shape;
  shape.range = 17;
  const Polynomial p = exponential_polynomial(shape);
  EXPECT_LT(error_of_exponential(shape, p), 0x1p-26);
  shape.degree = 15;
  EXPECT_GT(error_of_exponential(shape, exponential_polynomial(shape)), 0x1p-5);
  shape.doublings = 4;
  EXPECT_LT(error_of_exponential(shape, exponential_polynomial(shape)), 0x1p-9);
  shape.doublings = 5;
  EXPECT_LT(error_of_exponential(shape, exponential_polynomial(shape)), 0x1p-27);
}

/// The step has both values where errors are small, and no larger errors than are told elsewhere.
TEST(CkksBits, StepBearsLargeErrors) {
  for (unsigned bits = 1; bits <= 5; ++bits) {
    const std::vector<double> p = step_polynomial(bits);
    EXPECT_EQ(p.size(), std::size_t{1} << bits);
    const BitSlopes slopes = slopes_of_step(bits);
    for (unsigned m = 0; m < 2; ++m)
      for (int i = -31; i <= 31; ++i) {
        const double off = i / 64.0;
        const auto z = std::polar(1.0, std::numbers::pi * (m + 0.5 + off));
        const double found = 0.5 - value_of(p, z).imag(), told = error_of_step(bits, std::abs(off));
        EXPECT_NEAR(std::abs(found - m), told, 1e-9);
        EXPECT_LT(told, 0.5);
        for (int k = 0; k < 8; ++k) {
          const auto beside = z + std::polar(1e-4, std::numbers::pi / 4 * k);
          EXPECT_LE(std::abs(0.5 - value_of(p, beside).imag() - m),
                    told + slopes.root * 1e-4 * std::pow(1 + 1e-4, p.size()));
        }
      }
    // Each doubling of the degree bears more.
    EXPECT_LT(error_of_step(bits, 1e-3), 3e-6);
    if (bits > 1) {
      EXPECT_LT(error_of_step(bits, 0.4), 0.8 * error_of_step(bits - 1, 0.4));
    }
  }
  EXPECT_LT(error_of_step(5, 0.4), 0.04);
  EXPECT_LT(error_of_step(5, 0.2), 1e-6);
  EXPECT_EQ(error_of_step(5, 0.5), 1);
}

Parameters small_set(const BitSet& set, std::uint32_t N = 1024) {
  ParameterLiteral literal = for_bits(set);
  literal.N = N;
  return Parameters::create(literal, true);
}

/// Numbers of all sizes, of all numbers of bits, alone and in pairs, in all slots and in a part,
/// with errors that are at the worst for the polynomials: each comes out within its stated error.
TEST(CkksBits, NumbersComeOutAsTheirBits) {
  std::mt19937_64 random(1);
  for (const unsigned most : {1u, 3u, 5u}) {
    const Parameters p =
        most == 5 ? small_set({.levels = 4, .lift = 6, .degree = 15, .doublings = 5})
                  : small_set({.bits = most, .levels = 4, .lift = most == 3 ? 4.0 : 0.0});
    const Client client = lane_client(p);
    for (const std::uint64_t slots : {512u, 64u, 1u}) {
      KeyRequest request;
      request_bootstrap(request, p, slots);
      const Server server(client.evaluation_keys(request),
                          {.device = test::tested_device, .threads = 1});
      const EncodedBootstrap maps = encode_bootstrap(server, slots);
      for (unsigned bits = 1; bits <= most; ++bits)
        for (const unsigned count : {1u, 2u, 3u})
          for (const double error : {0.0, 0x1p-4}) {
            SCOPED_TRACE(std::to_string(bits) + " of " + std::to_string(most) + ", " +
                         std::to_string(count) + " of " + std::to_string(slots));
            std::vector<unsigned> numbers(count * slots);
            std::vector<double> values;
            for (unsigned& number : numbers) {
              number = random() % (1u << bits);
              const double off = random() % 2 == 0 ? error : -error;
              values.push_back((number + 0.5 + off) / std::exp2(bits));
            }
            const Array x =
                server.upload(client.encrypt(values, {.length = slots, .bound = Bounds(0, 1)}));
            // What is stated of x does not have the error that the values have.
            const double bound =
                error_of_bits(server, maps, bits,
                              error + deviations * std::exp2(x.info().error + bits), deviations);
            EXPECT_LT(bound, 0.05);
            // From the highest level, and from the one below which there is no refresh.
            for (const unsigned level : {p.depth(), p.least_bootstrap_level() + 1}) {
              const auto found =
                  bootstrap_bits(server, server.lower(x, level), bits, maps, deviations);
              ASSERT_EQ(found.size(), bits);
              for (unsigned j = 0; j < bits; ++j) {
                EXPECT_EQ(found[j].info().level, p.depth());
                EXPECT_EQ(found[j].info().count, count);
                const auto raw = client.decrypt_raw(server.download(found[j]));
                double worst = 0;
                for (std::size_t i = 0; i < numbers.size(); ++i)
                  worst = std::max(worst, std::abs(raw[i].real() - (numbers[i] >> j & 1)));
                EXPECT_LE(worst, bound);
                if (error > 0) {
                  EXPECT_GT(bits * worst, bound / 64);
                }
              }
            }
          }
    }
  }
}

TEST(CkksBits, AreRefusedWhereNumbersAreNeeded) {
  const Parameters p = small_set({.bits = 2, .levels = 3});
  const Client client = lane_client(p);
  KeyRequest request;
  request_bootstrap(request, p, 64);
  const Server server(client.evaluation_keys(request),
                      {.device = test::tested_device, .threads = 1});
  const EncodedBootstrap maps = encode_bootstrap(server, 64);
  const std::vector<double> values(64, 0.5);
  const Array x = server.upload(client.encrypt(values, {.length = 64, .bound = 1}));
  EXPECT_THROW(static_cast<void>(bootstrap(server, x, maps)), ParameterError);
  EXPECT_THROW(static_cast<void>(bootstrap_bits(server, x, 3, maps, deviations)), ParameterError);
  EXPECT_THROW(static_cast<void>(bootstrap_bits(server, x, 0, maps, deviations)), ParameterError);
  const Array complex = server.multiply_by_i(x);
  EXPECT_THROW(static_cast<void>(bootstrap_bits(server, complex, 1, maps, deviations)), ShapeError);
  const Array large = server.multiply_integer(x, 3);
  EXPECT_THROW(static_cast<void>(bootstrap_bits(server, large, 1, maps, deviations)),
               EncodingError);
}

}  // namespace
}  // namespace whorl::ckks
