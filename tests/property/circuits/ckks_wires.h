// The ciphertexts of a random CKKS circuit beside their values in clear, and how each result is
// checked: see ckks_circuits_test.cpp.
#pragma once

#include "schemes/ckks/account.h"
#include "support/circuits.h"
#include "support/ckks_sets.h"
#include "support/test.h"
#include "whorl/circuits/ckks/linear_maps.h"
#include "whorl/ckks.h"

namespace whorl::ckks {

using Complex = std::complex<double>;
using Values = test::Complexes;
using Servers = test::CircuitServers<Server, SessionOptions, EvaluationKeys>;

constexpr unsigned depth = 6;
constexpr double most_deviations = 18;
/// Rotations have these distances; linear maps have these diagonals, in periods that they fit.
inline const std::vector<std::int64_t> distances = {1, 2, -3};
inline const std::vector<std::vector<std::int64_t>> diagonals = {
    {0}, {0, 1, 2}, {-1, 0, 1}, {0, 4, 8, 12}};

/// Rows and columns of matrices at most, a power of two.
constexpr std::size_t most_of_matrix = 8;

inline bool fits(const std::vector<std::int64_t>& map, std::uint64_t period) {
  return map.back() - map.front() < static_cast<std::int64_t>(period);
}

struct Party {
  explicit Party(const Parameters& p) : client(p), keys(client.evaluation_keys(request(p))) {}

  static KeyRequest request(const Parameters& p) {
    KeyRequest out{.relinearise = 4, .rotations = distances, .conjugate = true};
    for (std::size_t k = 1; k < most_of_matrix; ++k)
      out.rotations.push_back(static_cast<std::int64_t>(k));
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
  /// Bounds of the real parts.
  Bounds bounds() const {
    const auto [low, high] = std::ranges::minmax(values, {}, [](Complex z) { return z.real(); });
    return {low.real(), high.real()};
  }
};

/// A value of a circuit: in clear, and on each server of those that take part.
struct Wire {
  Clear clear;
  std::vector<Array> arrays;
  const CiphertextInfo& info() const { return arrays[0].info(); }
};

class Wires {
 public:
  Wires(const Party& party, Servers::Crew crew, test::Random& random, test::CircuitTotals& totals)
      : party_(party),
        crew_(std::move(crew)),
        random_(random),
        totals_(totals),
        packing_(random.below(5) == 0   ? Packing::coefficients
                 : random.below(2) == 0 ? Packing::real
                                        : Packing::complex),
        length_(random_length(party.client.parameters().slots(), random)),
        count_(1 + random.below(2)) {
    ++totals_.circuits;
  }

 protected:
  static std::size_t random_length(std::size_t slots, test::Random& random) {
    switch (random.below(4)) {
      case 0:
        return std::size_t{1} << random.below(std::bit_width(slots));
      case 1:
        return 3 + 2 * random.below(2);
      case 2:
        return slots - random.below(2);
      default:
        return 1 + random.below(slots);
    }
  }

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
  /// Between -1 and 1.
  double random_real() { return static_cast<double>(random_.word() >> 11) * 0x1p-52 - 1; }

  Wire fresh() {
    Wire out{random_clear(count_, length_), {}};
    EncryptOptions how{.length = length_};
    if (packing_ == Packing::real) {
      // Values have some size, between ends of any sign.
      const double size = std::exp2(static_cast<double>(random_.between(-6, 2))),
                   a = size * random_real(), b = size * random_real();
      how.bound = {std::min(a, b), std::max(a, b)};
      for (Complex& z : out.clear.values)
        z = how.bound.low + (how.bound.high - how.bound.low) * (1 + random_real()) / 2;
    }
    if (packing_ == Packing::coefficients && random_.below(2) == 0)
      for (std::size_t i = 1; i < out.clear.values.size(); ++i)
        out.clear.values[i] *= i % length_ == 0 ? 1 : 0x1p-20;
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

  /// operation(server, which of the servers) on all servers; nothing where it is refused.
  template <class Operation>
  std::optional<Wire> made(const char* what, Clear clear, const Operation& operation) {
    Wire out{std::move(clear), {}};
    try {
      for (std::size_t k = 0; k < crew_.size(); ++k)
        out.arrays.push_back(crew_[k]->with([&](const Server& s) { return operation(s, k); }));
    } catch (const NoiseError&) {
      ++totals_.dropped;
      return {};
    }
    ++totals_.operations;
    check(out, what);
    return out;
  }
  /// The result takes a place among wires.
  template <class Operation>
  void apply(const char* what, Clear clear, const Operation& operation) {
    if (auto out = made(what, std::move(clear), operation))
      wires_[pick(wires_.size())] = std::move(*out);
  }
  /// f of each pair of values.
  template <class F>
  static Clear of_both(const Clear& a, const Clear& b, const F& f) {
    Clear out{std::max(a.count, b.count), std::max(a.length, b.length), {}};
    for (std::size_t i = 0; i < out.count; ++i)
      for (std::size_t j = 0; j < out.length; ++j) out.values.push_back(f(a.at(i, j), b.at(i, j)));
    return out;
  }
  template <class F, class Operation>
  void both(const char* what, const Wire& a, const Wire& b, const F& f,
            const Operation& operation) {
    apply(what, of_both(a.clear, b.clear, f),
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
    const std::size_t length = wire.clear.length;
    ASSERT_EQ(c.info.length, length) << what;
    EXPECT_NO_THROW(Account::check(c.parameters, c.info)) << what;
    Ciphertexts whole = c;
    if (!coefficients) whole.info.length = c.info.slots();
    const std::size_t read = whole.info.length;
    const Values got = party_.client.decrypt_raw(whole, true);
    ASSERT_EQ(got.size(), wire.clear.values.size() / length * read) << what;
    double worst = 0, largest = 0, sum = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      // Behind the values are the first ones.
      const std::size_t j = i % read < length ? i % read : i % read - length;
      const Complex& want = wire.clear.values[i / read * length + j];
      worst = std::max(worst, std::abs(got[i] - want));
      if (i % read == 0) sum = 0;
      sum += std::abs(want);
      largest = std::max(largest, coefficients ? sum : std::abs(want));
    }
    if (c.info.packing == Packing::real) {
      const Bounds known = c.info.bounds(), now = wire.clear.bounds();
      const double rounding = 1e-9 * known.most();
      EXPECT_LE(known.low, now.low + rounding) << what;
      EXPECT_GE(known.high, now.high - rounding) << what;
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

}  // namespace whorl::ckks
