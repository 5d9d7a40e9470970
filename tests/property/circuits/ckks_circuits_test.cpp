// Random CKKS circuits against the same on numbers in clear, on every device that is present:
// errors within 18 of the deviations that the account gives, values within its bounds, the same
// bits everywhere.
//
// The rounding of a division is r·s at a root, where both r and the secret s are close to complex
// Gaussians (docs/ckks-noise.md). Such a product is above x deviations with a probability of about
// sqrt(pi·x)·exp(-2x): 2·10^-15 for x = 18. 10,000 circuits compare 2·10^7 values, so that one of
// them fails by chance with a probability of 4·10^-8 at most. (At 10 deviations it would be 0.2, if
// the account had no slack.)
//
// A circuit has complex numbers in slots, real ones, or coefficients. Besides the operations of a
// server there are polynomials (one of all values, or several), linear maps of the slots, and sums
// of slots.
//
// support/circuits.h says how the environment chooses number, part and seed (tools/circuits.sh,
// which `make test-full` calls: 10,000). Each process closes with one line:
//
//   CKKS-CIRCUITS shard=3/16 seed=… devices=cpu+cuda:0 circuits=625 deep=… operations=… dropped=…
//   wrong=0 differing=0 over_bound=0 least_slack=1.2 cpu_seconds=… seconds=…
//
// deep: circuits that came down to level 0. dropped: operations that were refused, because no level
// was left, or because values might not fit. wrong: ciphertexts with an error above 18 deviations;
// differing: those that were not the same bits on all devices; over_bound: those with a value above
// its bound; least_slack: how far below 18 deviations errors stayed at least, in bits.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/circuits.h"
#include "support/ckks_sets.h"
#include "whorl/circuits/linear_maps.h"
#include "whorl/circuits/polynomials.h"
#include "whorl/ckks.h"
#include "whorl/error.h"

namespace whorl::ckks {
namespace {

using Complex = std::complex<double>;
using Values = test::Complexes;
using Servers = test::CircuitServers<Server, ServerOptions, EvaluationKeys>;

constexpr unsigned depth = 6;
constexpr double most_deviations = 18;
/// Rotations have these distances; linear maps have these diagonals, in periods that they fit.
const std::vector<std::int64_t> distances = {1, 2, -3};
const std::vector<std::vector<std::int64_t>> diagonals = {
    {0}, {0, 1, 2}, {-1, 0, 1}, {0, 4, 8, 12}};

bool fits(const std::vector<std::int64_t>& map, std::uint64_t period) {
  return map.back() - map.front() < static_cast<std::int64_t>(period);
}

struct Party {
  explicit Party(const Parameters& p) : client(p), keys(client.evaluation_keys(request(p))) {}

  static KeyRequest request(const Parameters& p) {
    KeyRequest out{.rotations = distances, .conjugate = true};
    request_sum(out, p.slots());
    for (std::uint64_t period = 1; period <= p.slots(); period *= 2)
      for (const auto& map : diagonals) {
        if (!fits(map, period)) continue;
        LinearMap of{period, period, 0, {}};
        for (const std::int64_t k : map) of.diagonals[k].resize(period);
        const auto rotations = rotations_of(of);
        out.rotations.insert(out.rotations.end(), rotations.begin(), rotations.end());
      }
    return out;
  }

  Client client;
  EvaluationKeys keys;
};

/// `count` vectors of `length` values each. One vector stands for any number of them, one value for
/// a vector.
struct Clear {
  std::size_t count = 1, length = 1;
  Values values;

  Complex at(std::size_t i, std::size_t j) const {
    return values[(count == 1 ? 0 : i) * length + (length == 1 ? 0 : j)];
  }
  Complex& at(std::size_t i, std::size_t j) { return values[i * length + j]; }
};

/// A value of a circuit: in clear, and on each server of those that take part.
struct Wire {
  Clear clear;
  std::vector<Array> arrays;
  const CiphertextInfo& info() const { return arrays[0].info(); }
};

class Circuit {
 public:
  Circuit(const Party& party, Servers::Crew crew, test::Random& random, test::CircuitTotals& totals)
      : party_(party),
        crew_(std::move(crew)),
        random_(random),
        totals_(totals),
        packing_(random.below(5) == 0   ? Packing::coefficients
                 : random.below(2) == 0 ? Packing::real
                                        : Packing::complex),
        length_(std::size_t{1} << random.below(10)),
        count_(1 + random.below(2)) {
    ++totals_.circuits;
  }

  void run(std::size_t steps) {
    for (int i = 0; i < 3; ++i) wires_.push_back(fresh());
    for (std::size_t i = 0; i < steps && !::testing::Test::HasFailure(); ++i)
      if (packing_ == Packing::coefficients)
        step_of_coefficients();
      else
        step_of_slots();
    totals_.deep += deepest_ == 0 ? 1u : 0u;
  }

 private:
  std::size_t pick(std::size_t below) { return static_cast<std::size_t>(random_.below(below)); }
  const Wire& some() { return wires_[pick(wires_.size())]; }

  Clear random_clear(std::size_t count, std::size_t length) {
    const auto word = [&] { return random_.word(); };
    Clear out{count, length, test::random_complexes(word, count * length)};
    if (packing_ != Packing::complex)
      for (Complex& z : out.values) z = z.real();
    return out;
  }
  Complex random_number() { return random_clear(1, 1).values[0]; }

  Wire fresh() {
    Wire out{random_clear(count_, length_), {}};
    const EncryptOptions how{.length = length_};
    std::vector<double> reals;
    for (const Complex& z : out.clear.values) reals.push_back(z.real());
    const Ciphertexts c = packing_ == Packing::complex
                              ? party_.client.encrypt(out.clear.values, how)
                              : party_.client.encrypt(reals, how, packing_);
    for (const Servers::Member* member : crew_)
      out.arrays.push_back(member->with([&](const Server& s) { return s.upload(c); }));
    check(out, "encrypt");
    return out;
  }

  /// operation(server, which of the servers) on all servers; the result takes a place among wires.
  template <class Operation>
  void apply(const char* what, Clear clear, const Operation& operation) {
    Wire out{std::move(clear), {}};
    try {
      for (std::size_t k = 0; k < crew_.size(); ++k)
        out.arrays.push_back(crew_[k]->with([&](const Server& s) { return operation(s, k); }));
    } catch (const NoiseError&) {
      ++totals_.dropped;
      return;
    }
    ++totals_.operations;
    check(out, what);
    wires_[pick(wires_.size())] = std::move(out);
  }
  /// f of each pair of values.
  template <class F, class Operation>
  void both(const char* what, const Wire& a, const Wire& b, const F& f,
            const Operation& operation) {
    Clear out{std::max(a.clear.count, b.clear.count), std::max(a.clear.length, b.clear.length), {}};
    out.values.resize(out.count * out.length);
    for (std::size_t i = 0; i < out.count; ++i)
      for (std::size_t j = 0; j < out.length; ++j)
        out.at(i, j) = f(a.clear.at(i, j), b.clear.at(i, j));
    apply(what, std::move(out),
          [&](const Server& s, std::size_t k) { return operation(s, a.arrays[k], b.arrays[k]); });
  }
  /// f of each value of a, and its number in the vector.
  template <class F, class Operation>
  void each(const char* what, const Wire& a, const F& f, const Operation& operation) {
    Clear out = a.clear;
    for (std::size_t i = 0; i < out.values.size(); ++i)
      out.values[i] = f(out.values[i], i % out.length);
    apply(what, std::move(out),
          [&](const Server& s, std::size_t k) { return operation(s, a.arrays[k]); });
  }
  /// Value `from(j)` of each vector of a at place j of `length`.
  template <class From, class Operation>
  void moved(const char* what, const Wire& a, std::size_t length, const From& from,
             const Operation& operation) {
    Clear out{a.clear.count, length, Values(a.clear.count * length)};
    for (std::size_t i = 0; i < out.count; ++i)
      for (std::size_t j = 0; j < length; ++j) out.at(i, j) = a.clear.at(i, from(j));
    apply(what, std::move(out),
          [&](const Server& s, std::size_t k) { return operation(s, a.arrays[k]); });
  }

  /// What slots and coefficients have in common; false if it is none of that.
  bool common(std::size_t kind) {
    const Wire &a = some(), &b = some();
    switch (kind) {
      case 0: {
        const std::int64_t by = random_.between(-4, 4);
        each(
            "multiply_integer", a,
            [&](Complex x, std::size_t) { return x * static_cast<double>(by); },
            [&](const Server& s, const Array& x) { return s.multiply_integer(x, by); });
        return true;
      }
      case 1: {
        const double by = random_number().real();
        each(
            "multiply by a real number", a, [&](Complex x, std::size_t) { return x * by; },
            [&](const Server& s, const Array& x) { return s.multiply_scalar(x, by); });
        return true;
      }
      case 2:
        each(
            "negate", a, [](Complex x, std::size_t) { return -x; },
            [](const Server& s, const Array& x) { return s.negate(x); });
        return true;
      case 3: {
        const auto level = static_cast<unsigned>(pick(a.info().level + 1));
        if (random_.below(3) != 0) return true;  // else no level would be left soon
        each(
            "lower", a, [](Complex x, std::size_t) { return x; },
            [&](const Server& s, const Array& x) { return s.lower(x, level); });
        return true;
      }
      case 4: {  // some of both
        if (a.clear.length != b.clear.length) return true;
        const std::size_t all = a.clear.count + b.clear.count;
        std::vector<std::uint32_t> which(random_.below(2) ? 1 : count_);
        for (auto& i : which) i = static_cast<std::uint32_t>(pick(all));
        Clear out{which.size(), a.clear.length, {}};
        for (const std::uint32_t i : which)
          for (std::size_t j = 0; j < out.length; ++j)
            out.values.push_back(i < a.clear.count ? a.clear.at(i, j)
                                                   : b.clear.at(i - a.clear.count, j));
        apply("concatenate and take", std::move(out), [&](const Server& s, std::size_t k) {
          const std::vector<Array> two = {a.arrays[k], b.arrays[k]};
          return s.take(s.concatenate(two), which);
        });
        return true;
      }
      default:
        return false;
    }
  }

  void step_of_slots() {
    const std::size_t kind = pick(23);
    if (common(kind)) return;
    const Wire &a = some(), &b = some();
    const Clear plain = random_clear(1, a.clear.length);
    const Complex number = random_number();
    switch (kind) {
      case 5:
        return both("add", a, b, std::plus<Complex>(),
                    [](const Server& s, const Array& x, const Array& y) { return s.add(x, y); });
      case 6:
        return both("sub", a, b, std::minus<Complex>(),
                    [](const Server& s, const Array& x, const Array& y) { return s.sub(x, y); });
      case 7:
      case 8:
        return both(
            "multiply", a, b, std::multiplies<Complex>(),
            [](const Server& s, const Array& x, const Array& y) { return s.multiply(x, y); });
      case 9:
        return each(
            "square", a, [](Complex x, std::size_t) { return x * x; },
            [](const Server& s, const Array& x) { return s.square(x); });
      case 10:
        return each(
            "add_plain", a, [&](Complex x, std::size_t j) { return x + plain.at(0, j); },
            [&](const Server& s, const Array& x) { return s.add_plain(x, plain.values); });
      case 11:
        return each(
            "multiply_plain", a, [&](Complex x, std::size_t j) { return x * plain.at(0, j); },
            [&](const Server& s, const Array& x) { return s.multiply_plain(x, plain.values); });
      case 12:
        return each(
            "multiply by a number", a, [&](Complex x, std::size_t) { return x * number; },
            [&](const Server& s, const Array& x) { return s.multiply_scalar(x, number); });
      case 13:
        return each(
            "add a number", a, [&](Complex x, std::size_t) { return x + number; },
            [&](const Server& s, const Array& x) { return s.add_scalar(x, number); });
      case 14:
        if (packing_ == Packing::real) return;  // what follows may need real values
        return each(
            "multiply by i", a, [](Complex x, std::size_t) { return x * Complex(0, 1); },
            [](const Server& s, const Array& x) { return s.multiply_by_i(x); });
      case 15:
        return each(
            "conjugate", a, [](Complex x, std::size_t) { return std::conj(x); },
            [](const Server& s, const Array& x) { return s.conjugate(x); });
      case 16: {
        const std::int64_t by = distances[pick(distances.size())];
        const auto n = static_cast<std::int64_t>(a.clear.length);
        return moved(
            "rotate", a, a.clear.length,
            [&](std::size_t j) {
              return static_cast<std::size_t>(((static_cast<std::int64_t>(j) + by) % n + n) % n);
            },
            [&](const Server& s, const Array& x) { return s.rotate(x, by); });
      }
      case 17:
        return both(
            "multiply, add, relinearise and rescale", a, b,
            [](Complex x, Complex y) { return x * y + x; },
            [](const Server& s, const Array& x, const Array& y) {
              return s.rescale(s.relinearise(s.add(s.multiply(x, y, {false, false}), x)));
            });
      case 18:
        return sum(a);
      case 19: {
        const std::size_t count = std::size_t{1} << pick(std::bit_width(a.clear.length));
        const std::size_t first = count * pick(a.clear.length / count);
        return moved(
            "replicate", a, a.clear.length, [&](std::size_t j) { return first + j % count; },
            [&](const Server& s, const Array& x) {
              return s.repeat(s.replicate(x, first, count), a.clear.length);
            });
      }
      case 20:
        return linear_map(a);
      default:
        return random_.below(2) ? polynomial(a) : polynomials(a);
    }
  }

  /// Of the values a period apart. The sums are repeated, or, where there is one, stand for all.
  void sum(const Wire& a) {
    const std::size_t period = std::size_t{1} << pick(std::bit_width(a.clear.length));
    const bool repeated = period > 1 || random_.below(2);
    Clear sums{a.clear.count, period, Values(a.clear.count * period)};
    for (std::size_t i = 0; i < a.clear.values.size(); ++i)
      sums.at(i / a.clear.length, i % a.clear.length % period) += a.clear.values[i];
    Clear out{sums.count, repeated ? a.clear.length : period, {}};
    for (std::size_t i = 0; i < out.count; ++i)
      for (std::size_t j = 0; j < out.length; ++j) out.values.push_back(sums.at(i, j % period));
    apply("sum", std::move(out), [&](const Server& s, std::size_t k) {
      const Array due = s.sum(a.arrays[k], period);
      return repeated ? s.repeat(due, a.clear.length) : due;
    });
  }

  void linear_map(const Wire& a) {
    const std::size_t n = a.clear.length;
    const auto& which = diagonals[pick(diagonals.size())];
    if (!fits(which, n) || a.info().level == 0) return;
    LinearMap map{n, n, 0, {}};
    for (const std::int64_t k : which) map.diagonals[k] = random_clear(1, n).values;
    Clear out{a.clear.count, n, Values(a.clear.values.size())};
    for (const auto& [k, values] : map.diagonals)
      for (std::size_t i = 0; i < out.count; ++i)
        for (std::size_t j = 0; j < n; ++j)
          out.at(i, j) += values[j] * a.clear.at(i, (j + n + static_cast<std::size_t>(k)) % n);
    apply("linear map", std::move(out), [&](const Server& s, std::size_t k) {
      return ckks::apply(s, a.arrays[k], encode(s, map, a.info().level));
    });
  }

  /// On an interval that holds all values of an array with this bound.
  Polynomial random_polynomial(double log2_bound, Polynomial::Basis basis) {
    Polynomial p;
    p.basis = basis;
    p.high = std::exp2(std::max(0.0, std::ceil(log2_bound)));
    p.low = -p.high;
    const std::size_t degree = 1 + pick(basis == Polynomial::Basis::chebyshev ? 15 : 7);
    for (std::size_t i = 0; i <= degree; ++i)
      p.coefficients.push_back(i < degree && random_.below(4) == 0 ? 0 : random_number().real());
    return p;
  }
  Polynomial::Basis random_basis(const Wire& a) {
    // Powers of large values, and their errors, say little.
    return a.info().bound <= 1 && random_.below(2) ? Polynomial::Basis::monomial
                                                   : Polynomial::Basis::chebyshev;
  }
  static bool has_polynomials(const Wire& a) {
    return a.info().packing == Packing::real && a.info().bound < 10;
  }

  void polynomial(const Wire& a) {
    if (!has_polynomials(a)) return;
    const Polynomial p = random_polynomial(a.info().bound, random_basis(a));
    each(
        "polynomial", a, [&](Complex x, std::size_t) { return p(x.real()); },
        [&](const Server& s, const Array& x) { return evaluate(s, x, p); });
  }
  /// One of three for each slot, or none.
  void polynomials(const Wire& a) {
    if (!has_polynomials(a)) return;
    PolynomialVector v;
    const Polynomial::Basis basis = random_basis(a);
    for (int i = 0; i < 3; ++i) v.polynomials.push_back(random_polynomial(a.info().bound, basis));
    v.length = a.clear.length;
    for (std::size_t j = 0; j < v.length; ++j)
      v.mapping.push_back(static_cast<std::int32_t>(random_.between(-1, 2)));
    each(
        "polynomial of each slot", a,
        [&](Complex x, std::size_t j) -> Complex {
          const std::int32_t which = v.mapping[j];
          return which < 0 ? 0 : v.polynomials[static_cast<std::size_t>(which)](x.real());
        },
        [&](const Server& s, const Array& x) { return evaluate(s, x, v); });
  }

  /// The product of two polynomials modulo X^N + 1.
  Clear product(const Clear& a, const Clear& b) const {
    const std::size_t N = party_.client.parameters().N();
    Clear out{std::max(a.count, b.count), std::min(N, a.length + b.length - 1), {}};
    out.values.resize(out.count * out.length);
    const auto at = [](const Clear& of, std::size_t i, std::size_t j) {
      return of.values[(of.count == 1 ? 0 : i) * of.length + j].real();
    };
    for (std::size_t i = 0; i < out.count; ++i)
      for (std::size_t j = 0; j < a.length; ++j)
        for (std::size_t k = 0; k < b.length; ++k)
          out.at(i, (j + k) % N) += (j + k < N ? 1 : -1) * at(a, i, j) * at(b, i, k);
    return out;
  }

  void step_of_coefficients() {
    const std::size_t kind = pick(11);
    if (common(kind)) return;
    const Wire &a = some(), &b = some();
    const Clear plain = random_clear(1, 1 + pick(8));
    const auto padded = [](const Clear& x, std::size_t length) {
      Clear out{x.count, length, Values(x.count * length)};
      for (std::size_t i = 0; i < x.values.size(); ++i)
        out.at(i / x.length, i % x.length) = x.values[i];
      return out;
    };
    /// a + sign·b, behind whose ends there are zeros.
    const auto total = [&](const Clear& x, const Clear& y, double sign) {
      const std::size_t length = std::max(x.length, y.length);
      const Clear p = padded(x, length), q = padded(y, length);
      Clear out{std::max(x.count, y.count), length, {}};
      for (std::size_t i = 0; i < out.count; ++i)
        for (std::size_t j = 0; j < length; ++j)
          out.values.push_back(p.at(p.count == 1 ? 0 : i, j) +
                               sign * q.at(q.count == 1 ? 0 : i, j));
      return out;
    };
    switch (kind) {
      case 5:
        return apply("add", total(a.clear, b.clear, 1), [&](const Server& s, std::size_t k) {
          return s.add(a.arrays[k], b.arrays[k]);
        });
      case 6:
        return apply("sub", total(a.clear, b.clear, -1), [&](const Server& s, std::size_t k) {
          return s.sub(a.arrays[k], b.arrays[k]);
        });
      case 7:
        return apply("multiply", product(a.clear, b.clear), [&](const Server& s, std::size_t k) {
          return s.multiply(a.arrays[k], b.arrays[k]);
        });
      case 8:
        return apply("square", product(a.clear, a.clear),
                     [&](const Server& s, std::size_t k) { return s.square(a.arrays[k]); });
      case 9:
        return apply("add_plain", total(a.clear, plain, 1), [&](const Server& s, std::size_t k) {
          return s.add_plain(a.arrays[k], plain.values);
        });
      default:
        return apply("multiply_plain", product(a.clear, plain),
                     [&](const Server& s, std::size_t k) {
                       return s.multiply_plain(a.arrays[k], plain.values);
                     });
    }
  }

  /// Same bits on all servers; values with no larger error than stated, and within their bound.
  void check(const Wire& wire, const char* what) {
    const auto download = [&](std::size_t k) {
      return crew_[k]->with([&](const Server& s) { return s.download(wire.arrays[k]); });
    };
    const auto same_info = [](const CiphertextInfo& other, const CiphertextInfo& first) {
      EXPECT_EQ(other.scale, first.scale);
      EXPECT_EQ(other.error, first.error);
    };
    const Ciphertexts c = test::same_on_all(crew_.size(), download, same_info, what, totals_);
    const bool coefficients = c.info.packing == Packing::coefficients;
    const Values got = party_.client.decrypt_raw(c, true);
    ASSERT_EQ(got.size(), wire.clear.values.size()) << what;
    double worst = 0, largest = 0, sum = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      worst = std::max(worst, std::abs(got[i] - wire.clear.values[i]));
      if (i % wire.clear.length == 0) sum = 0;
      sum += std::abs(wire.clear.values[i]);
      largest = std::max(largest, coefficients ? sum : std::abs(wire.clear.values[i]));
    }
    // A slot's error is sqrt(N) times a coefficient's.
    const double of_each = coefficients ? 0.5 * std::log2(party_.client.parameters().N()) : 0;
    const double slack = std::log2(most_deviations) + c.info.error - of_each - std::log2(worst);
    totals_.least_slack = std::min(totals_.least_slack, slack);
    totals_.wrong += slack >= 0 ? 0u : 1u;
    EXPECT_GE(slack, 0) << what << ": an error of 2^" << std::log2(worst) << " where 2^"
                        << c.info.error - of_each << " is stated, of " << wire.clear.length
                        << " values at level " << c.info.level;
    const bool within = largest <= std::exp2(c.info.bound) * (1 + 1e-9);
    totals_.over_bound += within ? 0u : 1u;
    EXPECT_TRUE(within) << what << ": values of 2^" << std::log2(largest) << " where 2^"
                        << c.info.bound << " is the bound";
    deepest_ = std::min(deepest_, c.info.level);
  }

  const Party& party_;
  Servers::Crew crew_;
  test::Random& random_;
  test::CircuitTotals& totals_;
  Packing packing_;
  std::size_t length_, count_;
  unsigned deepest_ = depth;
  std::vector<Wire> wires_;
};

test::CircuitReport& report = test::CircuitReport::of("CKKS");

/// This process's part of `total` circuits; `set` is a number of its own for each shape.
void run(std::size_t total, std::size_t set, test::CkksShape shape) {
  const test::Shard shard = test::Shard::chosen();
  const auto [begin, end] = shard.part(total, set);
  if (begin == end) return;
  const double start = test::cpu_seconds();
  shape.depth = depth;
  const Party party(test::ckks_insecure(shape));
  const std::string& name = party.client.parameters().literal().name;
  SCOPED_TRACE(name + ", WHORL_TEST_SHARD=" + shard.text() +
               ", WHORL_TEST_CIRCUITS=" + std::to_string(test::circuits_wanted(1000, 300)));
  test::Random random = shard.random(report.seed(), set);
  test::CircuitTotals& totals = report.next_set();
  // Servers encode plaintexts by an FFT on the host, whose rounding depends on the SIMD target.
  Servers servers(party.keys, 1, false);
  for (std::size_t i = begin; i < end; ++i) {
    Circuit circuit(party, servers.crew(i), random, totals);
    circuit.run(16);
    totals.cpu_seconds = test::cpu_seconds() - start;
    ASSERT_FALSE(::testing::Test::HasFailure()) << "circuit " << i;
  }
  std::printf("%s: %s\n", name.c_str(), totals.text().c_str());
  std::fflush(stdout);
  // Where most operations are refused, little is tested.
  EXPECT_GE(totals.operations, 2 * totals.dropped);
}

TEST(CkksCircuits, SmallRings) {
  const std::size_t total = test::circuits_wanted(1000, 300), sets = std::size(test::ckks_shapes);
  for (std::size_t set = 0; set < sets && !HasFailure(); ++set)
    run(total * (set + 1) / sets - total * set / sets, set, test::ckks_shapes[set]);
}

}  // namespace
}  // namespace whorl::ckks
