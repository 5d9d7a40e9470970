// CKKS of what schemes write for themselves: an encoder, an account, circuits. All else is
// lattice/rlwe's. Scales are exact, and rescaling drops some primes and takes others back.
#pragma once

#include "lattice/rlwe/evaluator.h"
#include "lattice/rlwe/keys.h"
#include "support/test.h"

namespace whorl::ckks {

namespace rlwe = lattice::rlwe;
using Complex = std::complex<double>;
using Slots = std::vector<Complex>;

inline constexpr std::uint32_t N = 1 << 10;
inline constexpr double sigma = 3.19;

// ---- the encoder

/// Slot j is the value at zeta^(5^j), zeta = exp(i·pi/N) (Cheon, Kim, Kim, Song, ASIACRYPT 2017),
/// by sums over all roots.
struct Encoder {
  Slots roots;
  std::vector<std::uint32_t> exponents{1};

  Encoder() {
    for (std::uint32_t k = 0; k < 2 * N; ++k)
      roots.push_back(std::polar(1.0, k * std::numbers::pi / N));
    while (exponents.size() < N / 2) exponents.push_back(exponents.back() * 5 % (2 * N));
  }
  Complex root(std::uint32_t slot, std::uint32_t k) const {
    return roots[exponents[slot] * k % (2 * N)];
  }
  void encode(const Complex* z, double scale, std::span<std::int64_t> out) const {
    for (std::uint32_t k = 0; k < N; ++k) {
      Complex sum = 0;
      for (std::uint32_t j = 0; j < N / 2; ++j) sum += z[j] * std::conj(root(j, k));
      out[k] = std::llround(scale * 2 / N * sum.real());
    }
  }
  Slots decode(const std::int64_t* m, double scale) const {
    Slots out(N / 2);
    for (std::uint32_t j = 0; j < N / 2; ++j)
      for (std::uint32_t k = 0; k < N; ++k)
        out[j] += static_cast<double>(m[k]) / scale * root(j, k);
    return out;
  }
};

// ---- the account

/// A ratio of integers by their factors: no digit of it is ever lost.
struct Scale {
  std::map<std::uint64_t, int> powers;

  Scale& times(std::uint64_t factor, int power) {
    if ((powers[factor] += power) == 0) powers.erase(factor);
    return *this;
  }
  Scale& operator*=(const Scale& b) {
    for (const auto& [factor, power] : b.powers) times(factor, power);
    return *this;
  }
  double value() const {
    long double log = 0;
    for (const auto& [factor, power] : powers)
      log += power * std::log2(static_cast<long double>(factor));
    return static_cast<double>(std::exp2(log));
  }
  bool operator==(const Scale&) const = default;
};

/// What is known of an array. Sizes are largest absolute values over slots; bounds of noise are
/// those of Cheon, Kim, Kim, Song, ASIACRYPT 2017, Lemmas 1 to 3, for a ternary secret.
struct Account {
  unsigned level;
  Scale scale;
  double size, noise;

  double precision() const { return noise / scale.value(); }
};
/// What the evaluator does to an operand first: a multiple, and a division.
struct First {
  std::int64_t times;
  unsigned level;
};

struct Rules {
  std::vector<ring::Basis> levels;
  std::vector<math::Modulus<std::uint32_t>> primes;

  static double rounding() { return std::sqrt(N / 3.0) * (3 + 8 * std::sqrt(N)); }
  /// Three digits, each an eighth of P or less.
  static double switching() { return 3.0 / 8 * 8 * sigma * N / std::sqrt(3) + rounding(); }

  Account fresh(double size) const {
    return {0, Scale().times(2, 34), size, 6 * sigma * std::sqrt(N) + std::sqrt(3.0 * N)};
  }
  Account rescaled(Account a) const {
    const ring::Basis from = levels[a.level], to = levels[++a.level];
    Scale by;
    (from - to).for_each([&](unsigned i) { by.times(primes[i].value(), -1); });
    (to - from).for_each([&](unsigned i) { by.times(primes[i].value(), 1); });
    a.scale *= by;
    a.noise = a.noise * by.value() + rounding();
    return a;
  }
  Account product(const Account& a, const Account& b) const {
    Account out = a;
    out.scale *= b.scale;
    out.size *= b.size;
    out.noise = a.size * a.scale.value() * b.noise + b.size * b.scale.value() * a.noise +
                a.noise * b.noise + switching();
    return rescaled(out);
  }
  /// One level down and to another's scale: the multiple is rounded, which is noise.
  std::pair<Account, First> match(const Account& a, const Scale& to) const {
    Account out = rescaled(a);
    const double ratio = to.value() / out.scale.value(), times = std::round(ratio);
    out.noise = (out.noise - rounding()) * times + rounding() +
                std::abs(ratio - times) * out.scale.value() * a.size;
    out.scale = to;
    return {out, {static_cast<std::int64_t>(times), out.level}};
  }
};

// ---- circuits

struct Vector {
  Account account;
  rlwe::Array array;
};

struct Server {
  const rlwe::Evaluator& e;
  const rlwe::Keys& keys;
  const Rules& rules;

  Vector multiply(const Vector& a, const Vector& b) const {
    const Account account = rules.product(a.account, b.account);
    const rlwe::Array two = e.relinearise(e.tensor(a.array, b.array), keys, 1);
    return {account, e.divide(two, rules.levels[account.level], 1)};
  }
  Vector match(const Vector& a, const Scale& scale) const {
    const auto [account, first] = rules.match(a.account, scale);
    return {account, e.divide(e.scale(a.array, first.times), rules.levels[first.level], 1)};
  }
  Vector add(const Vector& a, const Vector& b) const {
    if (a.account.level != b.account.level || !(a.account.scale == b.account.scale))
      throw MismatchError("add: levels or scales differ");
    Account account = a.account;
    account.size += b.account.size;
    account.noise += b.account.noise;
    return {account, e.add(a.array, b.array)};
  }
  Vector rotate(const Vector& a, std::uint32_t g) const {
    Account account = a.account;
    account.noise += Rules::switching();
    return {account, e.automorphisms(a.array, {&g, 1}, keys, 1).at(0)};
  }
};

}  // namespace whorl::ckks
