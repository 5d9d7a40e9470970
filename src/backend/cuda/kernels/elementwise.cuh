// Element-wise arithmetic of residues, limb-major (L, B, N): memory sets the pace.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "backend/cuda/dispatch/rns/elementwise.h"
#include "backend/cuda/kernels/chain.cuh"
#include "backend/cuda/kernels/modular.cuh"

namespace whorl::backend::cuda {

/// Limbs of one launch: their constants travel in the kernel's parameters (4 KB). Both parts of a
/// ciphertext with 48 primes are one launch.
inline constexpr unsigned limbs_a_launch = 96;
inline constexpr unsigned elementwise_threads = 256;

template <class Word>
struct LimbModuli {
  DeviceModulus<Word> q[limbs_a_launch];
};
/// Factors with floor(w·2^wordbits / q), as mul_shoup takes them.
template <class Word>
struct LimbFactors {
  Word q[limbs_a_launch], w[limbs_a_launch], w_shoup[limbs_a_launch];
};

template <class Word>
struct LimbBounds {
  Word q[limbs_a_launch];
};

/// A vector has as many words as 16 bytes hold, or one.
template <class Word, unsigned width>
struct alignas(width * sizeof(Word)) WordVector {
  Word word[width];
};

/// Grid: pieces of a limb, limbs. Vectors of `width` words; `per_limb` of them in a limb.
template <Elementwise op, class Word, unsigned width>
__global__ void __launch_bounds__(elementwise_threads)
    apply_elementwise(const __grid_constant__ LimbModuli<Word> moduli, std::size_t per_limb,
                      const Word* a, const Word* b, Word* out) {
  join_chain();
  using Vector = WordVector<Word, width>;
  const DeviceModulus<Word>& m = moduli.q[blockIdx.y];
  const std::size_t limb = blockIdx.y * per_limb;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < per_limb;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const Vector x = reinterpret_cast<const Vector*>(a)[limb + i];
    Vector y{}, z{};
    if constexpr (op != Elementwise::neg) y = reinterpret_cast<const Vector*>(b)[limb + i];
    if constexpr (op == Elementwise::mul_add) z = reinterpret_cast<const Vector*>(out)[limb + i];
#pragma unroll
    for (unsigned k = 0; k < width; ++k) {
      if constexpr (op == Elementwise::add)
        z.word[k] = add_mod<Word>(x.word[k], y.word[k], m.q);
      else if constexpr (op == Elementwise::sub)
        z.word[k] = sub_mod<Word>(x.word[k], y.word[k], m.q);
      else if constexpr (op == Elementwise::neg)
        z.word[k] = neg_mod<Word>(x.word[k], m.q);
      else if constexpr (op == Elementwise::mul)
        z.word[k] = mul_mod<Word>(x.word[k], y.word[k], m);
      else
        z.word[k] = add_mod<Word>(z.word[k], mul_mod<Word>(x.word[k], y.word[k], m), m.q);
    }
    reinterpret_cast<Vector*>(out)[limb + i] = z;
  }
}

template <class Word, unsigned width>
__global__ void __launch_bounds__(elementwise_threads)
    scale_elementwise(const __grid_constant__ LimbFactors<Word> factors, std::size_t per_limb,
                      const Word* a, Word* out) {
  join_chain();
  using Vector = WordVector<Word, width>;
  const Word q = factors.q[blockIdx.y], w = factors.w[blockIdx.y],
             w_shoup = factors.w_shoup[blockIdx.y];
  const std::size_t limb = blockIdx.y * per_limb;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < per_limb;
       i += std::size_t{gridDim.x} * blockDim.x) {
    Vector x = reinterpret_cast<const Vector*>(a)[limb + i];
#pragma unroll
    for (unsigned k = 0; k < width; ++k) x.word[k] = mul_shoup<Word>(x.word[k], w, w_shoup, q);
    reinterpret_cast<Vector*>(out)[limb + i] = x;
  }
}

/// *found = 1 if a value is not below its limb's q. Grid: pieces of a limb, limbs.
template <class Word, unsigned width>
__global__ void __launch_bounds__(elementwise_threads)
    find_too_large(const __grid_constant__ LimbBounds<Word> bounds, std::size_t per_limb,
                   const Word* a, std::uint32_t* found) {
  join_chain();
  using Vector = WordVector<Word, width>;
  const std::size_t limb = blockIdx.y * per_limb;
  Word largest = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < per_limb;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const Vector x = reinterpret_cast<const Vector*>(a)[limb + i];
#pragma unroll
    for (unsigned k = 0; k < width; ++k) largest = max(largest, x.word[k]);
  }
  if (largest >= bounds.q[blockIdx.y]) *found = 1;  // whoever writes, writes the same
}

/// Where coefficient i of a(X^g) comes from: coefficient `from` mod N, negated if from >= N; g^-1
/// is the inverse of g modulo 2N. X^(N·g) = -1 for odd g.
__host__ __device__ inline std::uint32_t automorphism_coefficient(std::uint32_t i, std::uint32_t N,
                                                                  std::uint32_t g_inverse) {
  return (i * g_inverse) & (2 * N - 1);  // wraps modulo 2^32, a multiple of 2N
}
/// Where value i comes from in the order of ring::NttPlan: value i is at psi^e, e = 2·brv(i) + 1,
/// and a(X^g) there is a at psi^(g·e).
__host__ __device__ inline std::uint32_t automorphism_value(std::uint32_t i, std::uint32_t log_N,
                                                            std::uint32_t g) {
  auto reverse = [log_N](std::uint32_t x) {
#if defined(__CUDA_ARCH__)
    return log_N == 0 ? 0 : __brev(x) >> (32 - log_N);
#else
    std::uint32_t y = 0;
    for (unsigned b = 0; b < log_N; ++b) y |= (x >> b & 1) << (log_N - 1 - b);
    return y;
#endif
  };
  const std::uint32_t e = 2 * reverse(i) + 1;
  return reverse(((e * g) & ((2u << log_N) - 1)) >> 1);
}

enum class PolynomialForm { coefficients, evaluation };

/// Grid: pieces of a limb, limbs.
template <class Word, PolynomialForm form>
__global__ void __launch_bounds__(elementwise_threads)
    permute_elementwise(const __grid_constant__ LimbFactors<Word> moduli, std::size_t per_limb,
                        std::uint32_t log_N, std::uint32_t g, const Word* a, Word* out) {
  join_chain();
  const std::uint32_t N = 1u << log_N;
  const Word q = moduli.q[blockIdx.y];
  const std::size_t limb = blockIdx.y * per_limb;
  for (std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; at < per_limb;
       at += std::size_t{gridDim.x} * blockDim.x) {
    const auto i = static_cast<std::uint32_t>(at) & (N - 1);
    const Word* polynomial = a + limb + (at - i);
    if constexpr (form == PolynomialForm::evaluation) {
      out[limb + at] = polynomial[automorphism_value(i, log_N, g)];
    } else {  // g is the inverse here
      const std::uint32_t from = automorphism_coefficient(i, N, g);
      const Word x = polynomial[from & (N - 1)];
      out[limb + at] = from < N ? x : neg_mod<Word>(x, q);
    }
  }
}

/// Polynomials of one launch of take: their indices travel in the kernel's parameters.
inline constexpr unsigned polynomials_a_launch = 512;
struct TakenPolynomials {
  std::uint32_t index[polynomials_a_launch];
};

/// Grid: pieces of a polynomial, polynomials, rows. Vectors of `width` words; in a polynomial there
/// are `vectors`, in rows `in_row` and `out_row` of them.
template <class Word, unsigned width>
__global__ void __launch_bounds__(elementwise_threads)
    take_polynomials(const __grid_constant__ TakenPolynomials taken, std::size_t rows,
                     std::uint32_t vectors, std::size_t in_row, const Word* in, std::size_t out_row,
                     Word* out) {
  join_chain();
  using Vector = WordVector<Word, width>;
  const std::uint32_t at = blockIdx.x * elementwise_threads + threadIdx.x;
  if (at >= vectors) return;
  const std::size_t from = std::size_t{taken.index[blockIdx.y]} * vectors + at,
                    to = std::size_t{blockIdx.y} * vectors + at;
  for (std::size_t row = blockIdx.z; row < rows; row += gridDim.z)
    reinterpret_cast<Vector*>(out)[row * out_row + to] =
        reinterpret_cast<const Vector*>(in)[row * in_row + from];
}

}  // namespace whorl::backend::cuda
