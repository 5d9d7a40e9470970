// Levels of the negacyclic NTT whose values are not reduced after each (Harvey 2014, section 3):
// for moduli of which a word holds 16 times. Bounds are counted in moduli while compiling.
#pragma once

#include <utility>

#include "backend/cuda/kernels/group_ntt.cuh"

namespace whorl::backend::cuda::roomy_ntt {

/// Values stay below so many times the modulus.
constexpr int most = 16;

/// body(std::integral_constant<int, 0 … n - 1>).
template <int n, class Body>
__device__ __forceinline__ void for_constants(const Body& body) {
  [&]<int... i>(std::integer_sequence<int, i...>) { (body(std::integral_constant<int, i>{}), ...); }
  (std::make_integer_sequence<int, n>{});
}

/// Any word to one below 2q; `one_shoup` = floor(2^wordbits/q).
template <class Word>
__device__ __forceinline__ Word below_2q(Word x, Word one_shoup, Word q) {
  return mul_shoup_lazy<Word>(x, 1, one_shoup, q);
}

/// Below which multiple values lie after `levels` forward levels of values below 2q.
__host__ __device__ constexpr int forward_bound(int levels) {
  int bound = 2;
  for (int i = 0; i < levels; ++i) bound = (bound + 2 > most ? most / 2 : bound) + 2;
  return bound;
}

/// group_ntt::forward_level for values after `done` levels: a ± w·b, where w·b is below 2q.
template <int E, int level, int done, class Word, class Twiddles>
__device__ __forceinline__ void forward_level(Word (&x)[E], Twiddles roots, int node, Word q) {
  if constexpr ((1 << level) < E) {
    constexpr int half = E >> (level + 1);
#pragma unroll
    for (int c = 0; c < (1 << level); ++c) {
      const Twiddle<Word> w = load_twiddle(roots + (node << level) + c);
#pragma unroll
      for (int i = 0; i < half; ++i) {
        Word &a = x[c * 2 * half + i], &b = x[c * 2 * half + i + half];
        const Word product = mul_shoup_lazy<Word>(b, w.w, w.shoup, q);
        if constexpr (forward_bound(done) + 2 > most) a = subtract_once<Word>(a, most / 2 * q);
        b = a - product + 2 * q;
        a = a + product;
      }
    }
    forward_level<E, level + 1, done + 1>(x, roots, node, q);
  }
}

/// Below which multiple value i lies after `levels` inverse levels of values below 2q, of which a
/// sum that would pass `most` is made of values that are reduced to 2q first.
__host__ __device__ constexpr int inverse_bound(int i, int levels) {
  if (levels == 0) return 2;
  const int half = 1 << (levels - 1);
  if (i & half) return 2;
  const int sum = inverse_bound(i, levels - 1) + inverse_bound(i + half, levels - 1);
  return sum > most ? 4 : sum;
}

/// group_ntt::inverse_level, of values below 2q: all levels, counted from the deepest. On return
/// they are below 2q again.
template <int E, int level, class Word, class Twiddles>
__device__ __forceinline__ void inverse_level(Word (&x)[E], Twiddles roots, int node,
                                              Word one_shoup, Word q) {
  constexpr int levels = E == 2 ? 1 : E == 4 ? 2 : E == 8 ? 3 : 4;
  static_assert(E == 1 << levels);
  if constexpr (level >= 0) {
    constexpr int half = E >> (level + 1), done = levels - 1 - level;
    for_constants<(1 << level)>([&](auto c) {
      const Twiddle<Word> w = load_twiddle(roots + (node << level) + c.value);
      for_constants<half>([&](auto i) {
        constexpr int at = decltype(c)::value * 2 * half + decltype(i)::value;
        constexpr int of_a = inverse_bound(at, done), of_b = inverse_bound(at + half, done);
        constexpr bool reduces = of_a + of_b > most;
        Word &a = x[at], &b = x[at + half];
        if constexpr (reduces && of_a > 2) a = below_2q<Word>(a, one_shoup, q);
        if constexpr (reduces && of_b > 2) b = below_2q<Word>(b, one_shoup, q);
        const Word difference = a - b + (reduces ? 2 : of_b) * q;
        a = a + b;
        b = mul_shoup_lazy<Word>(difference, w.w, w.shoup, q);
      });
    });
    inverse_level<E, level - 1>(x, roots, node, one_shoup, q);
  } else {
    for_constants<E>([&](auto i) {
      constexpr int bound = inverse_bound(decltype(i)::value, levels);
      if constexpr (bound == 4)
        x[i.value] = subtract_once<Word>(x[i.value], 2 * q);
      else if constexpr (bound > 4)
        x[i.value] = below_2q<Word>(x[i.value], one_shoup, q);
    });
  }
}

/// A sum of products that a word of twice the bits holds.
template <class Word>
struct Sum {
  static_assert(sizeof(Word) == 4);
  std::uint64_t sum = 0;

  __device__ __forceinline__ void add(Word a, Word b) { sum += static_cast<std::uint64_t>(a) * b; }
  /// The sum over R, R = 2^wordbits, modulo q: at most q above sum/R.
  __device__ __forceinline__ Word reduce(Word q, Word montgomery) const {
    return montgomery_reduce_lazy<Word>(static_cast<Word>(sum >> 32), static_cast<Word>(sum), q,
                                        montgomery);
  }
};
/// Rows that are summed up at most: their products are below 16·q·q each.
constexpr unsigned most_rows = 14;

}  // namespace whorl::backend::cuda::roomy_ntt
