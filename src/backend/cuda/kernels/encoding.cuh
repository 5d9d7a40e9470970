// From complex values to residues: the order of powers of 5, and rounding.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "backend/cuda/kernels/chain.cuh"
#include "backend/cuda/kernels/fft.cuh"
#include "backend/cuda/kernels/modular.cuh"

namespace whorl::backend::cuda {

inline constexpr unsigned encoding_threads = 256;
/// Limbs of one launch: their constants travel in the kernel's parameters.
inline constexpr unsigned rounding_limbs_a_launch = 64;

/// 5^j modulo 2^32.
WHORL_HOST_DEVICE std::uint32_t power_of_5(std::uint32_t j) {
  std::uint32_t out = 1;
  for (std::uint32_t power = 5; j != 0; j >>= 1, power *= power)
    if (j & 1) out *= power;
  return out;
}

/// out[s] = in[j] where result s of ring::FftPlan is the value at zeta^(5^j). Grid: pieces of the
/// 2^log_m values, polynomials in strides.
__global__ void __launch_bounds__(encoding_threads)
    scatter_powers_of_5(std::uint32_t log_m, std::size_t batch, const FftValue* in, FftValue* out) {
  join_chain();
  const std::uint32_t M = 1u << log_m, j = blockIdx.x * encoding_threads + threadIdx.x;
  if (j >= M) return;
  // 5^j = 4k + 1 modulo 2N = 4M; log_m is at least 7.
  const std::uint32_t k = power_of_5(j) >> 2 & (M - 1), s = __brev(k) >> (32 - log_m);
  for (std::size_t b = blockIdx.y; b < batch; b += gridDim.y) out[b * M + s] = in[b * M + j];
}

/// A modulus q with floor(2^64 / q).
struct RoundingLimb {
  std::uint64_t q, ratio;
};
struct RoundingLimbs {
  RoundingLimb limb[rounding_limbs_a_launch];
};

/// v mod q. Barrett (CRYPTO 1986) with floor(2^64 / q): the quotient is short by at most one.
WHORL_HOST_DEVICE std::uint64_t residue_of_signed(long long v, const RoundingLimb& limb) {
  const auto u = static_cast<std::uint64_t>(v);
  const std::uint64_t size = v < 0 ? 0 - u : u;
  const std::uint64_t r = subtract_once<std::uint64_t>(
      size - mul_high<std::uint64_t>(size, limb.ratio) * limb.q, limb.q);
  return v < 0 ? neg_mod<std::uint64_t>(r, limb.q) : r;
}

/// Coefficient i of polynomial b is round(scale·in[b][i / 2^log_apart]) where `step` divides i,
/// else 0. Grid: pieces of the batch's values, limbs.
template <class Word>
__global__ void __launch_bounds__(encoding_threads)
    round_to_residues(const __grid_constant__ RoundingLimbs limbs, double scale,
                      std::uint32_t log_apart, std::uint32_t step, std::size_t per_limb,
                      const double* in, Word* out) {
  join_chain();
  const RoundingLimb limb = limbs.limb[blockIdx.y];
  const std::size_t between = step - 1;
  for (std::size_t i = std::size_t{blockIdx.x} * encoding_threads + threadIdx.x; i < per_limb;
       i += std::size_t{gridDim.x} * encoding_threads) {
    Word x = 0;
    if ((i & between) == 0)
      x = static_cast<Word>(
          residue_of_signed(__double2ll_rn(__dmul_rn(scale, in[i >> log_apart])), limb));
    out[blockIdx.y * per_limb + i] = x;
  }
}

}  // namespace whorl::backend::cuda
