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
// A circuit has complex numbers in slots, real ones, or coefficients, in vectors of any length; the
// slots behind them must hold copies of the first ones. Real numbers lie between two bounds, around
// 0 or away from it, and some coefficients are much larger than the others. Besides the operations
// of a server there are polynomials (one of all values, or several) on intervals that hold the
// values and on others, which must be refused, comparisons, inverses, linear maps of the slots,
// matrices, and sums of slots. Every result must be one that a file may hold.
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
#include "property/circuits/ckks_wires.h"
#include "whorl/circuits/ckks/functions.h"
#include "whorl/circuits/ckks/polynomials.h"

namespace whorl::ckks {
namespace {

class Circuit : Wires {
 public:
  using Wires::Wires;

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
  void step_of_slots() {
    const std::size_t kind = pick(28);
    if (common(kind)) return;
    const Wire &a = some(), &b = some();
    const Clear plain = random_clear(1, random_.below(4) == 0 ? 1 : a.clear.length);
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
        if (!std::has_single_bit(a.clear.length)) return;
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
        const bool whole = std::has_single_bit(a.clear.length);
        const std::size_t count =
            whole ? std::size_t{1} << pick(std::bit_width(a.clear.length)) : 1;
        const std::size_t first = count * pick(a.clear.length / count);
        return moved(
            "replicate", a, a.clear.length, [&](std::size_t j) { return first + j % count; },
            [&](const Server& s, const Array& x) {
              return s.repeat(s.replicate(x, first, count), a.clear.length);
            });
      }
      case 20:
        return linear_map(a);
      case 21:
        return matrix(a);
      case 22:
        return not_relinearised(a, b);
      case 23:
        return bounded(a);
      case 24:
        return compared(a, b);
      case 25:
        return inverted(a);
      default:
        return random_.below(2) ? polynomial(a) : polynomials(a);
    }
  }

  /// What is known of a batch's values.
  void bounded(const Wire& a) {
    if (a.info().packing != Packing::real) return;
    const Bounds now = a.clear.bounds();
    // A bound below the errors says that nothing can be read.
    const double error = 32 * std::exp2(a.info().error), more = error * (1 + random_real());
    const Bounds known{now.low - error - more, now.high + error};
    each(
        "with_bound", a, [](Complex x, std::size_t) { return x; },
        [&](const Server& s, const Array& x) { return s.with_bound(x, known); });
  }

  void matrix(const Wire& a) {
    const std::size_t columns = a.clear.length, rows = 1 + pick(most_of_matrix);
    if (columns > most_of_matrix || a.info().level == 0) return;
    Clear of = random_clear(rows, columns);
    for (Complex& z : of.values)
      if (random_.below(3) == 0) z = 0;
    Clear out{a.clear.count, rows, Values(a.clear.count * rows)};
    for (std::size_t i = 0; i < out.count; ++i)
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) out.at(i, r) += of.at(r, c) * a.clear.at(i, c);
    const LinearMap map = matrix_map(of.values, rows, columns);
    made("matrix", std::move(out), [&](const Server& s, std::size_t k) {
      return ckks::apply(s, a.arrays[k], encode(s, map, a.info().level));
    });
  }

  /// Products of three and four parts, rescaled.
  void not_relinearised(const Wire& a, const Wire& b) {
    const auto [shorter, longer] = std::minmax(a.clear.length, b.clear.length);
    if (shorter != longer && shorter != 1) return;
    const auto times = std::multiplies<Complex>();
    const auto two =
        made("three parts", of_both(a.clear, b.clear, times), [&](const Server& s, std::size_t k) {
          return s.multiply(a.arrays[k], b.arrays[k], {.relinearised = false});
        });
    if (two)
      made("four parts", of_both(two->clear, a.clear, times), [&](const Server& s, std::size_t k) {
        return s.multiply(two->arrays[k], a.arrays[k], {.relinearised = false});
      });
  }

  /// What the page says of comparisons, on the first server.
  void compared(const Wire& a, const Wire& b) {
    if (a.info().packing != Packing::real || b.info().packing != Packing::real ||
        a.clear.length != b.clear.length)
      return;
    static const SignStages stages = minimax_sign(0x1p-3, 0x1p-2);
    const Array &x = a.arrays[0], &y = b.arrays[0];
    const auto values = [&](const auto& operation) {
      return crew_[0]->with([&](const Server& s) {
        const Array out = operation(s);
        return std::pair(party_.client.decrypt_raw(s.download(out), true),
                         most_deviations * std::exp2(out.info().error));
      });
    };
    try {
      const double d = crew_[0]->with([&](const Server& s) {
        const double most = s.sub(x, y).info().bounds().most();
        return most > 1 ? most : 1 / std::floor(1 / most);
      });
      const auto [is_greater, error] =
          values([&](const Server& s) { return greater(s, x, y, stages); });
      const auto [larger, error_of_larger] =
          values([&](const Server& s) { return maximum(s, x, y, stages); });
      totals_.operations += 2;
      for (std::size_t i = 0; i < is_greater.size(); ++i) {
        const std::size_t row = i / a.clear.length, j = i % a.clear.length;
        const double p = a.clear.at(row, j).real(), q = b.clear.at(row, j).real(),
                     told = is_greater[i].real();
        // Values have errors themselves, which stages multiply where they tell no sign.
        const double near =
            stages.epsilon * d * (1 + 1e-6) +
            most_deviations * (std::exp2(x.info().error) + std::exp2(y.info().error));
        if (std::abs(p - q) >= near) {
          EXPECT_NEAR(told, p > q ? 1 : 0, stages.error / 2 + error) << p << " " << q << " " << d;
        }
        EXPECT_NEAR(told, 0.5, 0.5 + stages.error / 2 + error) << p << " " << q;
        EXPECT_NEAR(larger[i].real(), std::max(p, q),
                    std::max(near, std::abs(p - q) / 2 * stages.error) + error_of_larger)
            << p << " " << q << " " << d;
      }
    } catch (const NoiseError&) {
      ++totals_.dropped;
    }
  }

  void inverted(const Wire& a) {
    const Bounds known = a.info().bounds();
    const bool fits = known.low > 0 || known.high < 0;
    const double low = known.low, high = known.high,
                 least = std::min(std::abs(low), std::abs(high));
    if (a.info().packing != Packing::real || !(low < high)) return;
    const auto inverse_on = [&](double from, double to) {
      const InverseStages stages = inverse_stages(from, to, 0.05 / least);
      return crew_[0]->with([&](const Server& s) {
        const Array out = inverse(s, a.arrays[0], stages);
        return std::pair(party_.client.decrypt_raw(s.download(out), true),
                         stages.error + most_deviations * std::exp2(out.info().error));
      });
    };
    try {
      if (!fits || known.most() > 16 * least) return;
      const auto [got, error] = inverse_on(low, high);
      ++totals_.operations;
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i].real(), 1 / a.clear.values[i].real(), error);
      const double middle = (low + high) / 2;
      EXPECT_THROW(inverse_on(low, middle), Error);
    } catch (const NoiseError&) {
      ++totals_.dropped;
    }
  }

  /// Adds values a period apart. The sums are repeated, or, where there is one, it stands for all.
  void sum(const Wire& a) {
    const bool whole = std::has_single_bit(a.clear.length);
    const std::size_t period = whole ? std::size_t{1} << pick(std::bit_width(a.clear.length)) : 1;
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
    if (!std::has_single_bit(n) || !fits(which, n) || a.info().level == 0) return;
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

  /// An interval that holds all values of an array: -1 … 1 or a larger one, or just those.
  Bounds random_interval(const CiphertextInfo& info) {
    const Bounds known = info.bounds();
    if (random_.below(2) == 0 && known.high - known.low > 1e-3) return known;
    return std::exp2(std::max(0.0, std::ceil(std::log2(known.most()))));
  }
  Polynomial random_polynomial(const Bounds& interval, Polynomial::Basis basis) {
    Polynomial p;
    p.basis = basis;
    p.low = interval.low;
    p.high = interval.high;
    const std::size_t degree = pick(basis == Polynomial::Basis::chebyshev ? 16 : 8);
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
    const Polynomial p = random_polynomial(random_interval(a.info()), random_basis(a));
    Polynomial narrow = p;
    const Bounds known = a.info().bounds();
    narrow.low = known.low;
    narrow.high = known.low + (known.high - known.low) * 0.9;
    // Narrower intervals differ by roundings only.
    if (known.high - known.low > 1e-6 * known.most())
      crew_[0]->with([&](const Server& s) {
        EXPECT_THROW(static_cast<void>(evaluate(s, a.arrays[0], narrow)), EncodingError);
        return 0;
      });
    each(
        "polynomial", a, [&](Complex x, std::size_t) { return p(x.real()); },
        [&](const Server& s, const Array& x) { return evaluate(s, x, p); });
  }
  /// One of three for each slot, or none.
  void polynomials(const Wire& a) {
    if (!has_polynomials(a)) return;
    PolynomialVector v;
    const Polynomial::Basis basis = random_basis(a);
    const Bounds interval = random_interval(a.info());
    for (int i = 0; i < 3; ++i) v.polynomials.push_back(random_polynomial(interval, basis));
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
    for (std::size_t i = 0; i < out.count; ++i)
      for (std::size_t j = 0; j < a.length; ++j)
        for (std::size_t k = 0; k < b.length; ++k)
          out.at(i, (j + k) % N) += (j + k < N ? 1.0 : -1.0) * a.at(i, j) * b.at(i, k);
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
      return of_both(padded(x, length), padded(y, length),
                     [&](Complex p, Complex q) { return p + sign * q; });
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
