// A BFV product is the evaluator's operations in another order: extend, tensor, scale by t, divide
// by Q, extend back (Bajard, Eynard, Hasan, Zucca, SAC 2016, by exact conversions).
#include "support/rlwe_rig.h"
#include "support/test.h"

namespace whorl::lattice::rlwe {
namespace {

TEST(BfvProduct, IsMadeOfTheSameOperations) {
  constexpr std::uint32_t N = 256;
  constexpr std::int64_t t = 257;
  const auto primes = math::ntt_primes(27, N, 6);
  const std::vector<std::uint32_t> all(primes.begin(), primes.end());
  const std::span<const std::uint32_t> view = all;
  test::RlweRig<std::uint32_t> rig(
      std::make_shared<const ring::RnsPlan<std::uint32_t>>(N, view.first(2), view.subspan(2), 2));
  const auto e = rig.evaluator(test::StrainedFleet(2).fleet);
  const std::vector<SwitchKeyData> data = {rig.key(1, 2)};
  const Keys keys(e, data, test::any_keys());
  const ring::Basis Q = e->level(2), P = e->special();
  const std::int64_t q = static_cast<std::int64_t>(primes[0] * primes[1]), delta = q / t;

  const auto m = rig.integers(3, 2), n = rig.integers(3, 2);
  const auto encrypted = [&](std::vector<std::int64_t> x) {
    for (auto& each : x) each *= delta;
    return e->upload(rig.encrypt(Q, x), {2, Q, 3});
  };
  const auto raised = [&](const Array& a) { return e->extend(a, Q | P, ring::Lift::exact); };
  const Array wide = e->scale(e->tensor(raised(encrypted(m)), raised(encrypted(n))), t);
  const Array small = e->divide(wide, P, 1);
  const Array back = e->restrict(e->extend(small, Q | P, ring::Lift::exact), Q);
  const Array product = e->relinearise(back, keys, 1);

  const WordArray words = e->download(product);
  const auto residues = words.as<std::uint32_t>();
  const auto due = rig.product(m, n);
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<std::uint32_t> one, phase(2 * N);
    for (std::size_t r = 0; r < 4; ++r)
      one.insert(one.end(), &residues[(r * 3 + i) * N], &residues[(r * 3 + i) * N] + N);
    rig.secret.phase(Q, 2, one, phase);
    const math::Modulus<std::uint64_t> q1(primes[1]);
    for (std::size_t j = 0; j < N; ++j) {
      const std::uint64_t k =
          q1.mul(q1.sub(phase[N + j], phase[j] % primes[1]), q1.inverse(primes[0] % primes[1]));
      const auto x = static_cast<std::int64_t>(phase[j] + primes[0] * k);
      const auto rounded = static_cast<std::int64_t>((__int128{x} * t + q / 2) / q) % t;
      ASSERT_EQ(rounded, ((due[i * N + j] % t) + t) % t) << i << ", " << j;
    }
  }
}

}  // namespace
}  // namespace whorl::lattice::rlwe
