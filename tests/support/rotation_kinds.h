// Blind rotations of every kind with random keys, and the exact results that they are tested
// against.
#pragma once

#include "lattice/lwe/rotation_method.h"
#include "support/reference_rotation.h"
#include "support/slow_rotation.h"
#include "support/test.h"

namespace whorl::test {

/// A key's kind and sizes, to be filled with random rows.
struct RotationOfKind {
  using Kind = backend::RotationKind;
  Kind kind;
  unsigned group;
  std::uint32_t n, N;
  unsigned bits;              ///< of Q
  unsigned log_base, digits;  ///< ignored with a raised modulus
  unsigned raised_bits = 0;   ///< of P
  std::uint32_t unit = 1;
  lattice::SecretKind secret = lattice::SecretKind::binary;
  /// Further gadgets, log_base and digits: the coefficients are divided among all of them.
  std::vector<std::pair<unsigned, unsigned>> gadgets = {};
};

inline std::string describe(const RotationOfKind& c) {
  std::string gadgets;
  const auto add = [&](unsigned log_base, unsigned digits) {
    gadgets += " (" + std::to_string(log_base) + ", " + std::to_string(digits) + ")";
  };
  add(c.log_base, c.digits);
  for (const auto& [log_base, digits] : c.gadgets) add(log_base, digits);
  return lattice::lwe::RotationMethod(c.kind, c.group, 1, c.unit).describe() +
         ", n = " + std::to_string(c.n) + ", N = " + std::to_string(c.N) + ", Q of " +
         std::to_string(c.bits) + " bits, gadgets" + gadgets + ", P of " +
         std::to_string(c.raised_bits) + " bits, secret " +
         std::to_string(static_cast<int>(c.secret));
}

/// A key of random rows: the formula holds for any.
template <class Word>
RotationRows<Word> random_key(const RotationOfKind& c, backend::Arithmetic arithmetic,
                              Random& random) {
  const std::uint64_t Q = math::ntt_primes(c.bits, c.N, 1)[0];
  std::uint64_t P = 1;
  if (c.raised_bits != 0) {
    const auto primes = math::ntt_primes(c.raised_bits, c.N, 2);
    P = primes[0] == Q ? primes[1] : primes[0];
  }
  std::vector<ring::Gadget> gadgets;
  for (std::size_t i = 0; i < c.n; ++i) {
    const std::size_t which = i * (c.gadgets.size() + 1) / c.n;
    const auto [log_base, digits] =
        which == 0 ? std::pair{c.log_base, P == 1 ? c.digits : 1} : c.gadgets[which - 1];
    gadgets.emplace_back(Q, log_base, digits);
  }
  RotationRows<Word> key;
  key.shape = lattice::lwe::RotationMethod(c.kind, c.group, P, c.unit)
                  .shape(c.N, Q, c.secret, std::move(gadgets), arithmetic);
  for (std::size_t r = 0; r < key.shape.row_count; ++r)
    for (auto* half : {&key.a, &key.b}) {
      half->push_back(random.residues<Word>(c.N, Q));
      if (P == 1) continue;
      const auto modulo_P = random.residues<Word>(c.N, P);
      half->back().insert(half->back().end(), modulo_P.begin(), modulo_P.end());
    }
  return key;
}

/// Exponents that the kind takes, at random, with edges among them.
inline std::vector<std::uint32_t> exponents(const RotationOfKind& c, std::size_t count,
                                            Random& random) {
  std::vector<std::uint32_t> lwe(count * (c.n + 1));
  const std::uint32_t edges[] = {0, c.N, 1, 2 * c.N - 1, c.N - 1, c.N + 1, 5, 2 * c.N - 5};
  for (std::size_t j = 0; j < lwe.size(); ++j) {
    auto& a = lwe[j];
    a = random.below(3) == 0 ? edges[random.below(8)]
                             : static_cast<std::uint32_t>(random.below(2ULL * c.N));
    if (j % (c.n + 1) == c.n) continue;
    if (c.kind == RotationOfKind::Kind::automorphism) a |= 1;
    a = a / c.unit * c.unit;
  }
  // A ciphertext whose exponents are all 0, where they may be.
  if (c.kind != RotationOfKind::Kind::automorphism) std::fill_n(lwe.begin(), c.n, 0u);
  return lwe;
}

template <class Word>
std::vector<Word> rotate(const backend::Queue& queue, const backend::RotationKey& key,
                         const std::vector<std::uint32_t>& lwe, const std::vector<Word>& luts,
                         const std::vector<std::uint32_t>& index) {
  const auto x = put(queue, lwe);
  const auto tables = put(queue, luts);
  auto out = queue.allocate<Word>(index.size() * 2 * key.shape().N);
  queue.rotation<Word>().rotate(key, {x.slice(), tables.slice(), index}, out.slice());
  return get(queue, out);
}

/// blind_rotate_extract's samples are those of blind_rotate's accumulators.
template <class Word>
void check_samples(const backend::Queue& queue, const backend::RotationKey& key,
                   const std::vector<std::uint32_t>& lwe, const std::vector<Word>& luts,
                   const std::vector<std::uint32_t>& index, Random& random) {
  const std::uint32_t N = key.shape().N;
  const std::uint64_t Q = key.shape().Q, constant = random.below(Q);
  const auto x = put(queue, lwe);
  const auto tables = put(queue, luts);
  const auto accumulators = put(queue, rotate(queue, key, lwe, luts, index));
  auto two = queue.allocate<Word>(index.size() * (N + 1));
  queue.rotation<Word>().extract(Q, N, constant, accumulators.slice(), two.slice());
  auto one = queue.allocate<Word>(index.size() * (N + 1));
  queue.rotation<Word>().rotate_extract(key, {x.slice(), tables.slice(), index}, constant,
                                        one.slice());
  EXPECT_TRUE(get(queue, one) == get(queue, two));
}

/// The largest difference modulo Q, of residues.
template <class Word>
double largest_difference(const std::vector<Word>& a, const std::vector<Word>& b, std::uint64_t Q) {
  double largest = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    EXPECT_LT(a[j], Q);
    largest = std::max(largest, std::abs(static_cast<double>(centred((a[j] + Q - b[j]) % Q, Q))));
  }
  return largest;
}

/// Numbers of tables, one for each ciphertext.
inline std::vector<std::uint32_t> random_tables(std::size_t count, std::size_t tables,
                                                Random& random) {
  auto index = random.numbers(count, tables);
  return index;
}

/// What the device that computes the formula gives.
template <class Word>
std::vector<Word> by_formula(const RotationRows<Word>& key, const std::vector<std::uint32_t>& lwe,
                             const std::vector<Word>& luts,
                             const std::vector<std::uint32_t>& index) {
  const auto slow = exact_queue();
  const auto prepared = slow->rotation<Word>().prepare(key.shape, key.source());
  return rotate<Word>(*slow, *prepared, lwe, luts, index);
}

/// Whether GPUs have a kernel for keys of such a shape; they refuse the others.
inline bool has_gpu_kernel(const backend::RotationShape& shape) {
  using Kind = backend::RotationKind;
  const bool fft = shape.arithmetic == backend::Arithmetic::fft;
  if (shape.kind == Kind::unrolled || shape.kind == Kind::unrolled_all)
    return !shape.raised() && shape.group <= 6;
  if (shape.kind == Kind::block) return !shape.raised();
  return !(fft && shape.raised() && shape.Q >> 31 != 0);
}
template <class Word>
void expect_refused(const Executor& on, const RotationRows<Word>& key) {
  const auto queue = on.queue();
  EXPECT_THROW(queue->template rotation<Word>().prepare(key.shape, key.source()), DeviceError)
      << on.name();
}

}  // namespace whorl::test
