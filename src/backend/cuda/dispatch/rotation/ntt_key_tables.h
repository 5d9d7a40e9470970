// Tables of the NTT by groups of threads, for keys of blind rotations.
#pragma once

#include <vector>

#include "backend/cuda/kernels/ntt.cuh"
#include "backend/cuda/runtime/stream.h"
#include "math/modulus.h"
#include "ring/ntt_plan.h"

namespace whorl::backend::cuda {

/// Roots beside their Shoup words.
template <class Word>
DeviceArray<Twiddle<Word>> upload_roots(const Stream& stream, const std::vector<Word>& roots,
                                        const std::vector<Word>& shoup) {
  std::vector<Twiddle<Word>> out(roots.size());
  for (std::size_t i = 0; i < roots.size(); ++i) out[i] = {roots[i], shoup[i]};
  return stream.upload(out.data(), out.size());
}

/// psi^e for e < 2N, in Montgomery form.
template <class Word>
DeviceArray<Word> upload_monomials(const Stream& stream, const ring::NttPlan<Word>& plan) {
  const math::Montgomery<Word> montgomery(plan.modulus());
  std::vector<Word> monomials(2 * std::size_t{plan.N()});
  const Word psi = montgomery.to_montgomery(plan.psi());
  Word power = montgomery.to_montgomery(1);
  for (Word& value : monomials) {
    value = power;
    power = montgomery.mul(power, psi);
  }
  return stream.upload(monomials.data(), monomials.size());
}

}  // namespace whorl::backend::cuda
