// Limbs are a set: a chain of 43 main, 4 terminal and 12 special primes, rescaled by ratios and
// raised, on two devices, against integers of any size.
#include "support/big.h"
#include "support/rlwe_rig.h"
#include "support/test.h"

namespace whorl::lattice::rlwe {
namespace {

using test::Big;

constexpr unsigned main_primes = 43, terminal = 4, special = 12;
constexpr std::uint32_t N = 256;

std::shared_ptr<const ring::RnsPlan<std::uint32_t>> chain_of_59() {
  std::vector<std::uint32_t> chain, others;
  const auto some = [](unsigned bits, unsigned count, auto& to) {
    for (const std::uint64_t q : math::ntt_primes(bits, N, count))
      to.push_back(static_cast<std::uint32_t>(q));
  };
  some(29, main_primes, chain);
  some(26, terminal, chain);
  some(31, special, others);
  return std::make_shared<const ring::RnsPlan<std::uint32_t>>(N, chain, others, special);
}

std::vector<std::uint32_t> primes_of(const ring::RnsPlan<std::uint32_t>& plan,
                                     const ring::Basis& basis) {
  std::vector<std::uint32_t> out;
  for (const auto& q : plan.moduli_of(basis)) out.push_back(q.value());
  return out;
}

struct RationalRescaling : ::testing::Test {
  test::RlweRig<std::uint32_t> rig{chain_of_59()};
  test::StrainedFleet two{2};
  std::shared_ptr<const Evaluator> e = rig.evaluator(two.fleet);

  Array upload(const WordArray& words, const ring::Basis& basis, std::size_t count) const {
    return e->transform(e->upload(words, {1, basis, count, Form::coefficient}), Form::evaluation);
  }
  WordArray download(const Array& a) const {
    return e->download(e->transform(a, Form::coefficient));
  }
  /// Residues of coefficient j of (basis, count·N).
  static std::vector<std::uint32_t> residues(const WordArray& words, std::size_t rows,
                                             std::size_t j) {
    const auto all = words.as<std::uint32_t>();
    std::vector<std::uint32_t> out;
    for (std::size_t r = 0; r < rows; ++r) out.push_back(all[r * (all.size() / rows) + j]);
    return out;
  }

  void divide(const ring::Basis& from, const ring::Basis& to, std::uint32_t t) {
    SCOPED_TRACE(from.describe() + " to " + to.describe() + ", t = " + std::to_string(t));
    const std::size_t count = 2;
    const WordArray in = rig.residues({1, from, count});
    const WordArray out = download(e->divide(upload(in, from, count), to, t));
    const auto primes = primes_of(*rig.plan, from), wanted = primes_of(*rig.plan, to),
               going = primes_of(*rig.plan, from - to), coming = primes_of(*rig.plan, to - from);
    const Big Q = Big::product(primes), D = Big::product(going), E = Big::product(coming);
    for (std::size_t j = 0; j < count * N; ++j) {
      // delta = t·u, u = E·x/t mod D, centred.
      Big x = Big::from_residues(residues(in, primes.size(), j), primes);
      x += Q;  // y is the same modulo the primes that are wanted
      for (const std::uint32_t q : coming) x *= q;
      std::vector<std::uint32_t> of_u;
      for (const std::uint32_t q : going)
        of_u.push_back(
            static_cast<std::uint32_t>(std::uint64_t{x % q} * Big::power(t % q, q - 2, q) % q));
      const Big u = Big::from_residues(of_u, going);
      const Big twice = u + u;
      Big y = D < twice ? x + (D - u) * t : x - u * t;
      for (const std::uint32_t q : going) ASSERT_EQ(y.divide(q), 0u) << "the reference is exact";
      // Where u is a hair from D/2 it may be rounded the other way: y is t more or less.
      const Big away = D < twice ? twice - D : D - twice;
      const bool near = away * (1u << 16) < D;
      const auto got = residues(out, wanted.size(), j);
      const auto is = [&](const Big& due) {
        return std::ranges::equal(got, wanted, {}, {}, [&](std::uint32_t q) { return due % q; });
      };
      ASSERT_TRUE(is(y) || (near && (is(y + Big(t)) || is(y - Big(t))))) << "coefficient " << j;
    }
  }
};

TEST_F(RationalRescaling, DropsMainPrimesAndTakesTerminalOnes) {
  const ring::Basis all_main = ring::Basis::range(0, main_primes);
  const ring::Basis terminals = ring::Basis::range(main_primes, terminal);
  for (const std::uint32_t t : {1u, 65537u}) {
    // Two main primes go, two terminal ones come.
    divide(all_main, ring::Basis::range(0, 41) | ring::Basis{43, 44}, t);
    // Terminal ones go, main ones come back.
    divide(ring::Basis::range(0, 20) | terminals, ring::Basis::range(0, 22) | ring::Basis{43}, t);
    divide(ring::Basis{0, 1, 2, 44}, ring::Basis{0, 1, 45, 46}, t);
    // What mod_down and rescale are.
    divide(all_main | terminals | e->special(), all_main | terminals, t);
    divide(all_main, ring::Basis::range(0, 42), t);
  }
  for (int i = 0; i < 4; ++i) {
    ring::Basis from{0}, to{0};
    for (unsigned q = 1; q < main_primes + terminal; ++q) {
      if (rig.random.below(3) != 0) from.insert(q);
      if (rig.random.below(3) != 0) to.insert(q);
    }
    if ((from - to).empty()) continue;
    divide(from, to, rig.random.below(2) ? 1 : 3);
  }
}

TEST_F(RationalRescaling, RaisesFromTwoPrimesTo47) {
  const ring::Basis from{0, 1}, to = ring::Basis::range(0, main_primes + terminal);
  const std::size_t count = 3;
  const WordArray in = rig.residues({1, from, count});
  const WordArray out = download(e->extend(upload(in, from, count), to, ring::Lift::exact));
  const auto primes = primes_of(*rig.plan, from), wanted = primes_of(*rig.plan, to);
  const auto Q = static_cast<std::int64_t>(std::uint64_t{primes[0]} * primes[1]);
  for (std::size_t j = 0; j < count * N; ++j) {
    const auto of = residues(in, 2, j);
    const std::uint64_t q0 = primes[0], q1 = primes[1];
    const std::uint64_t k = (of[1] + q1 - of[0] % q1) * Big::power(q0 % q1, q1 - 2, q1) % q1;
    auto x = static_cast<std::int64_t>(of[0] + q0 * k);
    const bool near = std::abs(2 * x - Q) < Q / (1 << 16);
    if (x > Q / 2) x -= Q;
    const auto got = residues(out, wanted.size(), j);
    const auto is = [&](std::int64_t due) {
      return std::ranges::equal(got, wanted, {}, {}, [&](std::uint32_t q) {
        return static_cast<std::uint32_t>((due % q + q) % q);
      });
    };
    ASSERT_TRUE(is(x) || (near && (is(x + Q) || is(x - Q)))) << "coefficient " << j;
  }
}

}  // namespace
}  // namespace whorl::lattice::rlwe
