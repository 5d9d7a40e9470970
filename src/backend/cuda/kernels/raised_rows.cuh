// What the preparation of keys with a raised modulus does beside that of others.
#pragma once

#include <cstdint>

#include "backend/cuda/kernels/modular.cuh"

namespace whorl::backend::cuda {

/// Q and P, and P^-1 modulo Q.
template <class Word>
struct RaisedModulus {
  DeviceModulus<Word> Q;
  Word P, inverse_P;
};

/// Turns residues modulo Q and modulo P into centred doubles modulo P·Q, each the nearest:
/// x = x_P + P·((x_Q - x_P)/P modulo Q), of centred residues.
template <class Word>
WHORL_HOST_DEVICE double centred_of_residues(Word modulo_Q, Word modulo_P,
                                             const RaisedModulus<Word>& m) {
  using Int = std::make_signed_t<Word>;
  const bool above = modulo_P > m.P / 2;
  Word quotient = mul_mod<Word>(sub_mod<Word>(modulo_Q, modulo_P % m.Q.q, m.Q.q), m.inverse_P, m.Q);
  if (above) quotient = add_mod<Word>(quotient, 1, m.Q.q);
  const auto centred = [](Word x, Word q) {
    return static_cast<double>(x > q / 2 ? static_cast<Int>(x) - static_cast<Int>(q)
                                         : static_cast<Int>(x));
  };
  return fma(static_cast<double>(m.P), centred(quotient, m.Q.q), centred(modulo_P, m.P));
}

template <class Word>
__global__ void centred_raised(const Word* modulo_Q, const Word* modulo_P, RaisedModulus<Word> m,
                               std::size_t count, double* out) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) out[i] = centred_of_residues(modulo_Q[i], modulo_P[i], m);
}

}  // namespace whorl::backend::cuda
