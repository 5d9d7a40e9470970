// A secret, keys and ciphertexts under it, for tests of the evaluator.
#pragma once

#include "lattice/rlwe/evaluator.h"
#include "lattice/rlwe/keys.h"
#include "lattice/rlwe/secret.h"
#include "lattice/rlwe/uniform.h"
#include "support/rns.h"
#include "support/strained_device.h"
#include "support/test.h"

namespace whorl::test {

namespace rlwe = lattice::rlwe;

template <class Word>
struct RlweRig {
  static constexpr double sigma = 3.19;

  explicit RlweRig(std::shared_ptr<const ring::RnsPlan<Word>> its_plan)
      : plan(std::move(its_plan)),
        coefficients(lattice::rlwe::random_ternary_secret(plan->N())),
        secret(plan, {coefficients.data(), coefficients.size()}, sigma) {}
  /// Primes of equal size, so that P is about as large as a digit of as many.
  static RlweRig even(unsigned limbs, unsigned special, unsigned digit_limbs,
                      std::uint32_t N = 256) {
    const auto primes = math::ntt_primes(sizeof(Word) == 4 ? 30 : 55, N, limbs + special);
    const std::vector<Word> all(primes.begin(), primes.end());
    return RlweRig(std::make_shared<const ring::RnsPlan<Word>>(
        N, std::span(all).subspan(special), std::span(all).first(special), digit_limbs));
  }
  /// Primes of any sizes.
  static RlweRig mixed(unsigned limbs, unsigned special, unsigned digit_limbs,
                       std::uint32_t N = 256) {
    Random shapes;
    return RlweRig(random_rns_plan<Word>(N, limbs, special, digit_limbs, shapes));
  }

  Random random;
  std::shared_ptr<const ring::RnsPlan<Word>> plan;
  math::SecretVector<std::int32_t> coefficients;
  lattice::rlwe::RnsSecret<Word> secret;

  std::size_t N() const { return plan->N(); }
  std::shared_ptr<const rlwe::Evaluator> evaluator(std::shared_ptr<const run::Fleet> fleet) const {
    return rlwe::Evaluator::make(std::move(fleet), plan);
  }

  /// Random residues: what bits are compared on.
  WordArray residues(const rlwe::Shape& shape) {
    return WordArray(random_rows(*plan, shape.basis, shape.parts, shape.count, random));
  }

  rlwe::SwitchKeyData key(std::uint32_t g, unsigned power, std::uint64_t t = 1,
                          ring::KeyLayout layout = {}) {
    const Seed seed = random.bytes<32>();
    const auto& used = layout.digits.empty() ? plan->key_layout() : layout;
    return {g, power, seed, secret.switch_key_bodies(used, t, {g, power}, seed, 1, {}), layout};
  }

  /// Encryptions (2, basis, count, N) of integers (count, N) with errors that are multiples of t.
  WordArray encrypt(const ring::Basis& basis, std::span<const std::int64_t> messages,
                    std::uint64_t t = 1) {
    const std::size_t count = messages.size() / N(), rows = basis.size(), part = rows * count * N();
    std::vector<Word> out(2 * part);
    math::PrivateStream stream("errors of a test");
    for (std::size_t i = 0; i < count; ++i) {
      const std::vector<Word> a = random_rows(*plan, basis, 1, 1, random);
      std::vector<Word> b(rows * N());
      secret.encrypt(basis, t, a, messages.subspan(i * N(), N()), stream, b);
      for (std::size_t r = 0; r < rows; ++r) {
        std::copy_n(&b[r * N()], N(), &out[(r * count + i) * N()]);
        std::copy_n(&a[r * N()], N(), &out[part + (r * count + i) * N()]);
      }
    }
    return WordArray(std::move(out));
  }

  /// Phases of ciphertexts modulo the first prime of their basis, centred: (count, N).
  std::vector<std::int64_t> phases(const WordArray& words, const rlwe::Shape& shape) const {
    const auto all = words.as<Word>();
    const std::size_t rows = shape.basis.size(), count = shape.count;
    const auto q = static_cast<std::int64_t>(plan->moduli_of(shape.basis)[0].value());
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<Word> one, phase(rows * N());
      for (std::size_t r = 0; r < shape.parts * rows; ++r)
        one.insert(one.end(), &all[(r * count + i) * N()], &all[(r * count + i) * N()] + N());
      secret.phase(shape.basis, shape.parts, one, phase);
      for (std::size_t j = 0; j < N(); ++j) {
        const auto x = static_cast<std::int64_t>(phase[j]);
        out.push_back(x > q / 2 ? x - q : x);
      }
    }
    return out;
  }
  std::vector<std::int64_t> phases(const rlwe::Evaluator& evaluator, const rlwe::Array& a) const {
    return phases(evaluator.download(a), a.shape());
  }

  std::vector<std::int64_t> integers(std::size_t count, std::int64_t most) {
    return random.integers<std::int64_t>(count * N(), -most, most);
  }
  /// m(X^g) modulo X^N + 1, of each of (count, N).
  std::vector<std::int64_t> turned(std::span<const std::int64_t> m, std::uint32_t g) const {
    std::vector<std::int64_t> out(m.size());
    for (std::size_t at = 0; at < m.size(); ++at) {
      const std::size_t to = at % N() * g % (2 * N());
      out[at / N() * N() + to % N()] = to < N() ? m[at] : -m[at];
    }
    return out;
  }
  /// a·b modulo X^N + 1; one b for all, or as many.
  std::vector<std::int64_t> product(std::span<const std::int64_t> a,
                                    std::span<const std::int64_t> b) const {
    std::vector<std::int64_t> out(a.size());
    for (std::size_t row = 0; row < a.size(); row += N()) {
      const std::int64_t* const y = b.data() + (b.size() == a.size() ? row : 0);
      for (std::size_t i = 0; i < N(); ++i)
        for (std::size_t j = 0; j < N(); ++j) {
          const std::int64_t x = a[row + i] * y[j];
          out[row + (i + j) % N()] += i + j < N() ? x : -x;
        }
    }
    return out;
  }
  static std::int64_t largest_difference(std::span<const std::int64_t> a,
                                         std::span<const std::int64_t> b) {
    std::int64_t out = 0;
    for (std::size_t i = 0; i < a.size(); ++i) out = std::max(out, std::abs(a[i] - b[i]));
    return out;
  }
};

inline void expect_same(const WordArray& a, const WordArray& b, const std::string& what = "") {
  ASSERT_EQ(a.bytes(), b.bytes()) << what;
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.bytes()), 0) << what;
}

inline std::shared_ptr<run::KeyBudget> any_keys() { return std::make_shared<run::KeyBudget>(); }

}  // namespace whorl::test
