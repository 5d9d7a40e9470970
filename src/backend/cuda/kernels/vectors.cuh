// Residues 16 bytes at a time.
#pragma once

#include <cstdint>

#include "backend/cuda/kernels/elementwise.cuh"

namespace whorl::backend::cuda {

/// Words of 16 bytes, which a thread moves at once.
template <class Word>
inline constexpr unsigned rns_width = 16 / sizeof(Word);
template <class Word>
using RnsVector = WordVector<Word, rns_width<Word>>;

/// Stores 16 bytes at once. (nvcc 13.0 turns a plain store after inline assembly into one store for
/// each word.)
template <class Word>
__device__ __forceinline__ void store_vector(Word* to, const RnsVector<Word>& x) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Word) == 4)
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),
                 "r"(x.word[0]), "r"(x.word[1]), "r"(x.word[2]), "r"(x.word[3])
                 : "memory");
  else
    asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)),
                 "l"(x.word[0]), "l"(x.word[1])
                 : "memory");
#else
  *reinterpret_cast<RnsVector<Word>*>(to) = x;
#endif
}

/// A vector of the values that X -> X^g brings to places j …: an aligned block of 2^k values goes
/// to an aligned block. (j's low bits are its exponent's high ones: they add multiples of N/2^(k-1)
/// to e = 2·brv(j) + 1, and so to g·e modulo 2N.)
template <class Word, unsigned width = rns_width<Word>>
struct Gathered {
  using Vector = WordVector<Word, width>;
  std::uint32_t block, place[width];
  __device__ __forceinline__ Gathered(std::uint32_t j, std::uint32_t log_N, std::uint32_t g) {
#pragma unroll
    for (unsigned k = 0; k < width; ++k) {
      const std::uint32_t from = automorphism_value(j + k, log_N, g);
      block = from & ~(width - 1);
      place[k] = from & (width - 1);
    }
  }
  __device__ __forceinline__ Vector operator()(const Vector& x) const {
    Vector out;
#pragma unroll
    for (unsigned k = 0; k < width; ++k) {
      if constexpr (width == 4) {
        const Word low = place[k] & 1 ? x.word[1] : x.word[0];
        const Word high = place[k] & 1 ? x.word[3] : x.word[2];
        out.word[k] = place[k] & 2 ? high : low;
      } else if constexpr (width == 2) {
        out.word[k] = place[k] & 1 ? x.word[1] : x.word[0];
      } else {
        out.word[k] = x.word[0];
      }
    }
    return out;
  }
};

}  // namespace whorl::backend::cuda
