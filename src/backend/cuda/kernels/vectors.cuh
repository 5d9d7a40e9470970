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

/// Loads 16 bytes of shared memory at once. (Of a plain load whose words are then chosen, the
/// compiler makes a load for each word.)
template <class Word>
__device__ __forceinline__ RnsVector<Word> load_shared_vector(std::uint32_t at) {
  RnsVector<Word> x;
  if constexpr (sizeof(Word) == 4)
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.word[0]), "=r"(x.word[1]), "=r"(x.word[2]), "=r"(x.word[3])
                 : "r"(at));
  else
    asm volatile("ld.shared.v2.u64 {%0, %1}, [%2];" : "=l"(x.word[0]), "=l"(x.word[1]) : "r"(at));
  return x;
}

template <class Word>
__device__ __forceinline__ Word load_shared_word(std::uint32_t at) {
  Word x;
  if constexpr (sizeof(Word) == 4)
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at));
  else
    asm volatile("ld.shared.u64 %0, [%1];" : "=l"(x) : "r"(at));
  return x;
}

/// One word in all places.
template <class Word>
__device__ __forceinline__ RnsVector<Word> in_all_places(Word word) {
  RnsVector<Word> x;
#pragma unroll
  for (unsigned k = 0; k < rns_width<Word>; ++k) x.word[k] = word;
  return x;
}

/// Whether values are read where they are, or at X^g.
enum class Turn { none, by_g };

/// A vector of the values that X -> X^g brings to places j …: an aligned block of 2^k values goes
/// to an aligned block. Value i is at psi^e, e = 2·brv(i) + 1, and comes from psi^(g·e). j's low k
/// bits, reversed, are the highest bits t of e: they add t·N/2^(k-1) to it, and so g·t times as
/// much to g·e. So in the order of t a block is turned, and reversed where g = 3 modulo 4 and k
/// = 2.
template <class Word>
struct Gathered {
  static constexpr unsigned width = rns_width<Word>;
  using Vector = RnsVector<Word>;
  std::uint32_t block;  ///< where the vector comes from
  __device__ __forceinline__ Gathered(std::uint32_t j, std::uint32_t log_N, std::uint32_t g) {
    const std::uint32_t from = automorphism_value(j, log_N, g), place = from & (width - 1);
    block = from - place;
    reversed_ = width == 4 && (g & 2) != 0;
    const std::uint32_t t = width == 4 ? (place & 1) << 1 | place >> 1 : place;
    turned_ = reversed_ ? 0u - t : t;
  }
  __device__ __forceinline__ Vector operator()(const Vector& x) const {
    Vector out;
    if constexpr (width == 4) {  // the values for t = 0 … 3 are words 0, 2, 1 and 3
      const bool once = (turned_ & 1) != 0, twice = (turned_ & 2) != 0;
      const Word x1 = reversed_ ? x.word[3] : x.word[2], x3 = reversed_ ? x.word[2] : x.word[3];
      const Word y0 = once ? x1 : x.word[0], y1 = once ? x.word[1] : x1, y2 = once ? x3 : x.word[1],
                 y3 = once ? x.word[0] : x3;
      out.word[0] = twice ? y2 : y0;
      out.word[2] = twice ? y3 : y1;
      out.word[1] = twice ? y0 : y2;
      out.word[3] = twice ? y1 : y3;
    } else {
      static_assert(width == 2);
      out.word[0] = (turned_ & 1) != 0 ? x.word[1] : x.word[0];
      out.word[1] = (turned_ & 1) != 0 ? x.word[0] : x.word[1];
    }
    return out;
  }

 private:
  std::uint32_t turned_;  ///< by how many values, modulo the width
  bool reversed_;
};

}  // namespace whorl::backend::cuda
