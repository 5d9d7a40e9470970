// How often lanes come out wrong where scales are so low that they do, against what the account's
// deviations say. A lane is encrypted as a fraction of a bit, which is encryption at so much lower
// a scale, and then multiplied by an integer. Lanes are told that there is no error, as they would
// refuse such lanes.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <functional>
#include <numbers>
#include <numeric>

#include "circuits/ckks/bit_fit.h"
#include "circuits/ckks/bootstrap.h"
#include "circuits/ckks/lane_errors.h"
#include "circuits/ckks/lanes_access.h"
#include "math/primes.h"
#include "support/binomial.h"
#include "support/ckks_lanes.h"
#include "support/ckks_sets.h"
#include "support/test.h"

namespace whorl::ckks {
namespace {

using Doubles = std::vector<double>;
using Complex = std::complex<double>;

constexpr std::uint64_t slots = 512;

TEST(ClopperPearson, IntervalsAreThoseOfTables) {
  // 1 - (α/2)^(1/n) where nothing was counted, and the quantiles of a beta distribution.
  EXPECT_NEAR(test::clopper_pearson(0, 100, 0.05).second, 1 - std::pow(0.025, 0.01), 1e-9);
  EXPECT_EQ(test::clopper_pearson(0, 100, 0.05).first, 0);
  const auto [least, most] = test::clopper_pearson(10, 100, 0.05);
  EXPECT_NEAR(least, 0.0490047, 1e-6);
  EXPECT_NEAR(most, 0.1762226, 1e-6);
}

struct Counted {
  std::size_t wrong = 0, all = 0;
};

/// `count(vectors)` must find as many wrong ones as are predicted, by an interval of confidence
/// 99.9 %. What lies outside may be chance, so that there are two more counts, each four times as
/// long: the chance of a false alarm is 10^-9.
void expect_rate(const char* what, double predicted, std::size_t vectors,
                 const std::function<Counted(std::size_t)>& count) {
  for (unsigned attempt = 0; attempt < 3; ++attempt) {
    const Counted found = count(attempt == 0 ? vectors : 4 * vectors);
    const auto [least, most] = test::clopper_pearson(found.wrong, found.all, 1e-3);
    std::printf("%s: %zu wrong of %zu, between %.3g and %.3g; %.3g predicted\n", what, found.wrong,
                found.all, least, most, predicted);
    // It must fail visibly, or little is seen.
    ASSERT_GT(found.wrong, 50u) << what;
    if (least <= predicted && predicted <= most) return;
  }
  ADD_FAILURE() << what << ": " << predicted << " is in none of the intervals";
}

/// Lanes whose errors are those of encryptions at a scale that is `by` times lower.
class Degraded {
 public:
  /// The errors of lanes will have a standard deviation near `wanted`.
  Degraded(const Parameters& p, double wanted) : party_(p, slots) {
    const Array one = fresh(Bits(slots), 1);
    by_ = static_cast<std::int64_t>(std::round(wanted / deviation(one)));
    deviation_ = deviation(fresh(Bits(slots), by_));
    EXPECT_NEAR(deviation_ / wanted, 1, 0.01);
  }

  const LaneParty& party() const { return party_; }
  const Lanes& lanes() const { return party_.lanes; }
  /// The standard deviation of a lane's real part, and of its imaginary part, by the account: each
  /// has half of a slot's variance.
  double deviation() const { return deviation_; }

  LaneArray encrypt(const Bits& bits) const {
    return LanesAccess::wrap(
        party_.lanes,
        party_.server.with_error(party_.server.with_bound(fresh(bits, by_), {0, 1}), no_error));
  }
  /// Bits, to the nearest, however far they are.
  Bits decrypt(const LaneArray& a) const {
    Bits out;
    for (const auto& z : party_.client.decrypt_raw(party_.server.download(party_.lanes.finish(a))))
      out.push_back(z.real() >= 0.5 ? 1 : 0);
    return out;
  }

 private:
  static double deviation(const Array& a) {
    return std::exp2(a.info().error) / std::numbers::sqrt2;
  }
  Array fresh(const Bits& bits, std::int64_t by) const {
    Doubles values;
    for (const std::uint8_t bit : bits)
      values.push_back(static_cast<double>(bit) / static_cast<double>(by));
    const double most = 1 / static_cast<double>(by);
    return party_.server.multiply_integer(party_.server.upload(party_.client.encrypt(
                                              values, {.length = slots, .bound = Bounds(0, most)})),
                                          by);
  }

  LaneParty party_;
  std::int64_t by_ = 1;
  double deviation_ = 0;
};

/// Random bits in clear, and slots that have them with Gaussian errors: imaginary parts too, which
/// products bring to real parts.
struct Clear {
  explicit Clear(double deviation) : error(0, deviation) {}

  std::mt19937_64 random{12};
  std::normal_distribution<double> error;

  int bit() { return static_cast<int>(random() & 1); }
  Complex off(int bit) {
    const double real = bit + error(random);
    return {real, error(random)};
  }
  /// How often wrong() is true.
  double rate(const std::function<bool(Clear&)>& wrong) {
    constexpr std::size_t many = 1 << 22;
    std::size_t count = 0;
    for (std::size_t i = 0; i < many; ++i) count += wrong(*this) ? 1 : 0;
    return static_cast<double>(count) / static_cast<double>(many);
  }
};

bool is_wrong(double x, int bit) { return (x >= 0.5 ? 1 : 0) != bit; }
Complex centred_xor(Complex x, Complex y) { return (2.0 * x - 1.0) * (0.5 - y); }

/// Gates of lanes of which a few in a thousand are wrong.
TEST(LaneFailures, GatesFailAsOftenAsTheAccountSays) {
  const Degraded set(small_ring(7), 0.17);
  const Lanes& lanes = set.lanes();
  std::mt19937_64 random(1);
  /// f(lanes) of three arrays against want(bits).
  const auto counting = [&](const auto& f, const auto& want) {
    return [&, f, want](std::size_t vectors) {
      Counted out;
      constexpr std::size_t together = 64;
      for (std::size_t done = 0; done < vectors; done += together) {
        const Bits a = random_bits(random, together * slots), b = random_bits(random, a.size()),
                   c = random_bits(random, a.size());
        const Bits found = set.decrypt(f(set.encrypt(a), set.encrypt(b), set.encrypt(c)));
        for (std::size_t i = 0; i < a.size(); ++i) out.wrong += found[i] != want(a[i], b[i], c[i]);
        out.all += a.size();
      }
      return out;
    };
  };
  const auto predicted = [&](const auto& f, const auto& want) {
    return Clear(set.deviation()).rate([&](Clear& clear) {
      const int a = clear.bit(), b = clear.bit(), c = clear.bit();
      return is_wrong(f(clear.off(a), clear.off(b), clear.off(c)).real(), want(a, b, c));
    });
  };
  using A = const LaneArray&;
  const auto expect = [&](const char* what, const auto& gate, const auto& polynomial,
                          const auto& want) {
    expect_rate(what, predicted(polynomial, want), 512, counting(gate, want));
  };
  expect(
      "encryption", [](A x, A, A) { return x; }, [](Complex x, Complex, Complex) { return x; },
      [](int a, int, int) { return a; });
  expect(
      "AND", [&](A x, A y, A) { return lanes.bit_and(x, y); },
      [](Complex x, Complex y, Complex) { return x * y; }, [](int a, int b, int) { return a & b; });
  expect(
      "OR", [&](A x, A y, A) { return lanes.bit_or(x, y); },
      [](Complex x, Complex y, Complex) { return x + y - x * y; },
      [](int a, int b, int) { return a | b; });
  expect(
      "XOR", [&](A x, A y, A) { return lanes.bit_xor(x, y); },
      [](Complex x, Complex y, Complex) { return centred_xor(x, y) + 0.5; },
      [](int a, int b, int) { return a ^ b; });
  expect(
      "a choice", [&](A x, A y, A z) { return lanes.select(x, y, z); },
      [](Complex x, Complex y, Complex z) { return x * (y - z) + z; },
      [](int a, int b, int c) { return a ? b : c; });
  expect(
      "a sum", [&](A x, A y, A z) { return lanes.full_add(x, y, z)[0]; },
      [](Complex x, Complex y, Complex z) { return 0.5 + 2.0 * centred_xor(x, y) * (0.5 - z); },
      [](int a, int b, int c) { return a ^ b ^ c; });
  expect(
      "a carry", [&](A x, A y, A z) { return lanes.full_add(x, y, z)[1]; },
      [](Complex x, Complex y, Complex z) {
        return (x + y + z) / 2.0 - 0.25 - centred_xor(x, y) * (0.5 - z);
      },
      [](int a, int b, int c) { return a + b + c >= 2 ? 1 : 0; });
  // Real bits beyond 1.366 come out of cleaning as 0, and those below -0.366 as 1.
  expect(
      "cleaning",
      [&](A x, A, A) {
        lanes.clean(std::span(&x, 1));
        return x;
      },
      [](Complex x, Complex, Complex) { return x * x * (3.0 - 2.0 * x); },
      [](int a, int, int) { return a; });
}

/// A rounding meets the secret: at slot ζ its variance is N/12·(1 + |s(ζ)|²), of which the account
/// states the mean over slots. The product of two fractions of bits has the scale of its level, so
/// that its threshold is low.
TEST(LaneFailures, RoundingsFailAsTheSecretsSlotsSay) {
  const Parameters p = test::ckks_insecure({28, 32, 1});
  const Client client(p);
  const Server server(client.evaluation_keys({}), {.device = test::tested_device, .threads = 1});
  const double N = p.N();
  // 1. |s(ζ)|², and the rate that it predicts.
  Doubles norms(slots);
  const auto secret = client.secret_key().coefficients();
  std::uint64_t power = 1;
  for (double& norm : norms) {
    std::complex<double> value = 0;
    for (std::size_t i = 0; i < secret.size(); ++i)
      value += static_cast<double>(secret[i]) *
               std::polar(1.0, std::numbers::pi * static_cast<double>(power * i % (2 * p.N())) / N);
    norm = std::norm(value);
    power = power * 5 % (2 * p.N());
  }
  const double mean = std::accumulate(norms.begin(), norms.end(), 0.0) / slots;
  EXPECT_NEAR(mean / (2 * N / 3), 1, 0.2);
  const double fraction = std::exp2(-9);
  const auto encrypted = [&](const Bits& bits) {
    Doubles values;
    for (const std::uint8_t bit : bits) values.push_back(fraction * bit);
    return server.upload(client.encrypt(values, {.length = slots, .bound = Bounds(0, fraction)}));
  };
  const Array one = encrypted(Bits(slots, 1)), product = server.multiply(one, one);
  const double scale = product.info().scale, threshold = fraction * fraction / 2;
  const auto rate_of = [&](double variance) {
    return std::erfc(threshold / std::sqrt(variance / 2) / std::numbers::sqrt2) / 2;
  };
  double predicted = 0;
  for (const double norm : norms) predicted += rate_of(N / 12 * (1 + norm) / scale / scale) / slots;
  // 2. The account has the mean, and little besides.
  const double stated = std::exp2(product.info().error) * scale;
  EXPECT_NEAR(stated / std::sqrt(N / 12 * (1 + 2 * N / 3)), 1, 0.1);
  // 3. What is counted.
  std::mt19937_64 random(2);
  expect_rate("a rounding", predicted, 512, [&](std::size_t vectors) {
    Counted out;
    constexpr std::size_t together = 64;
    for (std::size_t done = 0; done < vectors; done += together) {
      const Bits a = random_bits(random, together * slots), b = random_bits(random, a.size());
      const auto found =
          client.decrypt_raw(server.download(server.multiply(encrypted(a), encrypted(b))), true);
      for (std::size_t i = 0; i < a.size(); ++i)
        out.wrong += (found[i].real() >= threshold ? 1 : 0) != (a[i] & b[i]);
      out.all += a.size();
    }
    return out;
  });
}

/// The number that a coefficient of a bootstrap holds comes out wrong if its bits' errors, Σ 2^j·e,
/// take it to a neighbour. Two vectors share a ciphertext, so that the real part of one's error
/// meets the imaginary part of the other's.
TEST(LaneFailures, BootstrapsFailAsOftenAsTheirInputsSay) {
  for (const unsigned bits : {1u, 5u}) {
    const double weight = std::sqrt((std::exp2(2 * bits) - 1) / 3);
    const Degraded set(small_bits({.bits = bits, .levels = 7}), 0.12 / weight);
    const BitPolynomials polynomials = bit_polynomials(bits);
    const double predicted = Clear(set.deviation()).rate([&](Clear& clear) {
      unsigned m = 0;
      double s = 0;
      for (unsigned j = 0; j < bits; ++j) {
        const int bit = clear.bit();
        m |= static_cast<unsigned>(bit) << j;
        s += std::exp2(j) * (clear.off(bit).real() + clear.off(0).imag());
      }
      const double angle = 2 * std::numbers::pi * (s + 0.5) / std::exp2(bits);
      bool wrong = false;
      for (unsigned j = 0; j < bits; ++j) {
        double imaginary = 0;
        for (std::size_t n = 1; n < polynomials[j].size(); ++n)
          imaginary += polynomials[j][n] * std::sin(static_cast<double>(n) * angle);
        wrong = wrong || is_wrong(0.5 - imaginary, static_cast<int>(m >> j & 1));
      }
      return wrong;
    });
    std::mt19937_64 random(bits);
    const std::string what = "a bootstrap of " + std::to_string(bits) + " bits";
    expect_rate(what.c_str(), predicted, 64, [&](std::size_t vectors) {
      Counted out;
      constexpr std::size_t together = 16;  // vectors of numbers
      for (std::size_t done = 0; done < vectors; done += together) {
        const Bits given = random_bits(random, together * bits * slots);
        const LaneArray x = set.encrypt(given);
        set.lanes().refresh(std::span(&x, 1));
        const Bits found = set.decrypt(x);
        // Vector v is bit v mod `bits` of number v / bits.
        for (std::size_t u = 0; u < together; ++u)
          for (std::size_t i = 0; i < slots; ++i) {
            bool wrong = false;
            for (std::size_t j = 0; j < bits; ++j) {
              const std::size_t at = (u * bits + j) * slots + i;
              wrong = wrong || given[at] != found[at];
            }
            out.wrong += wrong ? 1 : 0;
          }
        out.all += together * slots;
      }
      return out;
    });
  }
}

/// Key switches divide by special primes that are `lower` bits smaller in all than they should be,
/// so that a bootstrap's own errors grow by as many bits, and by those of keys.
Parameters with_small_divisor(const BitSet& set, unsigned lower, double sigma) {
  ParameterLiteral literal = for_bits(set);
  literal.sigma = sigma;
  literal.N = 1024;
  std::vector<std::uint64_t> taken = literal.chain, special;
  for (std::size_t i = 0; i < literal.special.size(); ++i) {
    const unsigned here = std::min(lower, 5u);
    lower -= here;
    special.push_back(math::ntt_primes_below(30 - here, literal.N, 1, taken)[0]);
    taken.push_back(special.back());
  }
  EXPECT_EQ(lower, 0u);
  literal.special = special;
  return Parameters::create(literal, true);
}

/// Its own errors are bounded, not estimated: they are added up as if all had one direction. So the
/// account's deviation fails more often than lanes do, and is so many times theirs.
TEST(LaneFailures, BootstrapsFailLessOftenThanTheirOwnErrorsSay) {
  struct Case {
    unsigned bits, lower;
    double sigma;
  };
  for (const auto& [bits, lower, sigma] : {Case{1, 24, 2.6}, Case{5, 21, 3.0}}) {
    const Parameters p = with_small_divisor({.bits = bits, .levels = 7}, lower, sigma);
    const Client client = lane_client(p);
    const Server server(client.evaluation_keys(LaneParty::request(p, slots, {})),
                        {.device = test::tested_device, .threads = 1});
    const EncodedBootstrap maps = encode_bootstrap(server, slots);
    const double stated = error_of_bits(server, maps, bits, 0, 1);
    std::mt19937_64 random(bits);
    Counted found;
    double squares = 0;
    constexpr std::size_t together = 8;
    for (unsigned run = 0; run < 8; ++run) {
      const Bits given = random_bits(random, together * bits * slots);
      Doubles numbers;
      for (std::size_t u = 0; u < together; ++u)
        for (std::size_t i = 0; i < slots; ++i) {
          double m = 0.5;
          for (std::size_t j = 0; j < bits; ++j)
            m += std::exp2(static_cast<double>(j)) * given[(u * bits + j) * slots + i];
          numbers.push_back(m / std::exp2(bits));
        }
      const Array x =
          server.upload(client.encrypt(numbers, {.length = slots, .bound = Bounds(0, 1)}));
      const std::vector<Array> out = bootstrap_bits(server, x, bits, maps, 1);
      for (std::size_t j = 0; j < bits; ++j) {
        const auto raw = client.decrypt_raw(
            server.download(server.lower(server.with_error(out[j], no_error), 0)), true);
        for (std::size_t u = 0; u < together; ++u)
          for (std::size_t i = 0; i < slots; ++i) {
            const double off = raw[u * slots + i].real() - given[(u * bits + j) * slots + i];
            squares += off * off;
            found.wrong += std::abs(off) >= 0.5 ? 1 : 0;
          }
        found.all += together * slots;
      }
    }
    const double deviation = std::sqrt(squares / static_cast<double>(found.all)),
                 ratio = stated / deviation;
    // Of a Gaussian with the stated deviation.
    const double predicted = std::erfc(0.5 / stated / std::numbers::sqrt2);
    const auto [least, most] = test::clopper_pearson(found.wrong, found.all, 1e-3);
    std::printf(
        "%u bits: %zu wrong of %zu, between %.3g and %.3g; %.3g predicted; deviation %.3g, "
        "%.1f times that is stated\n",
        bits, found.wrong, found.all, least, most, predicted, deviation, ratio);
    EXPECT_GT(found.wrong, 50u);
    EXPECT_LE(least, predicted);
    EXPECT_GT(ratio, 1);
    EXPECT_LT(ratio, 8);
  }
}

}  // namespace
}  // namespace whorl::ckks
