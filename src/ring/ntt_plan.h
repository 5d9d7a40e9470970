// Negacyclic NTT: the tables and the order of results that every backend follows.
#pragma once

#include <cstdint>
#include <vector>

#include "math/modulus.h"

namespace whorl::ring {

/// Evaluates a polynomial of Z_q[X]/(X^N + 1) at the odd powers of psi, a primitive 2N-th root of
/// unity. Result i is the value at psi^(2·brv(i) + 1), brv reversing log2 N bits. The twist by psi
/// is merged into the butterflies (Longa and Naehrig, CANS 2016); twiddles carry Shoup companions
/// (Harvey, 2014).
template <class Word>
class NttPlan {
 public:
  /// ParameterError unless N is a power of two in 2^8 … 2^17 and q a prime = 1 mod 2N.
  NttPlan(std::uint32_t N, Word q);

  std::uint32_t N() const { return N_; }
  const math::Modulus<Word>& modulus() const { return modulus_; }
  Word psi() const { return psi_; }

  /// Twiddle of node i at the level with m nodes is roots()[m + i] = psi^brv(m + i).
  const std::vector<Word>& roots() const { return roots_; }
  const std::vector<Word>& roots_shoup() const { return roots_shoup_; }
  const std::vector<Word>& inverse_roots() const { return inverse_roots_; }
  const std::vector<Word>& inverse_roots_shoup() const { return inverse_roots_shoup_; }
  /// N^-1 modulo q.
  Word inverse_N() const { return inverse_N_; }

 private:
  std::uint32_t N_;
  math::Modulus<Word> modulus_;
  Word psi_, inverse_N_;
  std::vector<Word> roots_, roots_shoup_, inverse_roots_, inverse_roots_shoup_;
};

/// The low `bits` bits of `value` in reverse order.
constexpr std::uint32_t bit_reverse(std::uint32_t value, unsigned bits) {
  std::uint32_t out = 0;
  for (unsigned i = 0; i < bits; ++i, value >>= 1) out = 2 * out | (value & 1);
  return out;
}

/// ParameterError unless N is a power of two in 2^8 … 2^17.
void check_ring_dimension(std::uint32_t N);

}  // namespace whorl::ring
