// Secrets and keys of LWE ciphertexts, for tests of the evaluator.
#pragma once

#include "lattice/lwe/evaluator.h"
#include "lattice/lwe/keys.h"
#include "lattice/lwe/rotation_method.h"
#include "support/test.h"

namespace whorl::test {

namespace lwe = lattice::lwe;

template <class Word>
struct LweRig {
  static constexpr std::uint32_t N = 256, n = 20;
  static constexpr std::uint64_t Q_ks = 1 << 14;

  /// Q has `bits` bits; the words of the key-switching key are looked up in a table, or multiplied.
  explicit LweRig(unsigned bits, bool table = false,
                  const lwe::RotationMethod& method = lwe::RotationMethod())
      : Q(math::ntt_primes(bits, N, 1)[0]) {
    const std::vector<ring::Gadget> gadgets(n, ring::Gadget(Q, 7, (bits + 6) / 7));
    keys.rotation =
        method.shape(N, Q, lattice::SecretKind::ternary, gadgets, backend::Arithmetic::ntt);
    keys.rotation_b =
        lwe::RotationMethod::generate<Word>(keys.rotation, lwe_secret, ring_secret,
                                            math::GaussianSampler(3.19), keys.rotation_seed, 1, {});
    const ring::Gadget switching(Q_ks, 7, 2);
    keys.key_switch = {N, n, Q_ks, switching, table};
    keys.switch_b = lattice::switch_key_bodies(ring_secret, lwe_secret, Q_ks, switching, table,
                                               math::GaussianSampler(0.5), keys.switch_seed, 1, {});
  }

  Random random;
  std::uint64_t Q;
  std::vector<std::int32_t> lwe_secret = random.integers(n, -1, 1),
                            ring_secret = random.integers(N, -1, 1);
  lwe::KeyMaterial keys;

  std::shared_ptr<const lwe::Keys> on_host(std::shared_ptr<run::KeyBudget> budget = nullptr) const {
    if (!budget) budget = std::make_shared<run::KeyBudget>();
    return std::make_shared<const lwe::Keys>(budget, keys);
  }

  /// The formula of LweOps::key_switch on one row (N + 1) modulo Q_ks, straight from the key.
  std::vector<std::uint64_t> switched(std::span<const std::uint64_t> row) const {
    const ring::Gadget& gadget = keys.key_switch.gadget;
    const auto bodies = keys.switch_b.as<std::uint16_t>();
    std::vector<Int128> out(n + 1, 0);
    out[n] = row[N];
    std::size_t first = 0;
    for (std::uint32_t i = 0; i < N; ++i)
      for (unsigned j = 0; j < gadget.digits(); ++j) {
        const std::int64_t digit = gadget.digit(centred(row[i], Q_ks), j);
        const auto size = static_cast<std::size_t>(std::abs(digit));
        const bool table = keys.key_switch.table;
        if (size != 0) {
          const std::size_t r = first + (table ? size - 1 : 0);
          const std::int64_t times = table ? (digit < 0 ? -1 : 1) : digit;
          std::vector<std::uint16_t> a(n);
          math::expand_uniform<std::uint16_t>(keys.switch_seed, r, Q_ks, a);
          for (std::uint32_t k = 0; k < n; ++k) out[k] -= Int128{times} * a[k];
          out[n] -= Int128{times} * bodies[r];
        }
        first += table ? gadget.bound(j) : 1;
      }
    std::vector<std::uint64_t> reduced;
    for (const Int128 x : out) reduced.push_back(reduce(x, Q_ks));
    return reduced;
  }
};

/// The words of an array, widened.
inline std::vector<std::uint64_t> words_of(const lwe::Evaluator& evaluator,
                                           const lwe::Array& array) {
  return lwe::with_words(array.form(), [&]<class Word>(Word) {
    std::vector<Word> out(array.count() * array.form().row());
    evaluator.download(array, out.data());
    return std::vector<std::uint64_t>(out.begin(), out.end());
  });
}

}  // namespace whorl::test
