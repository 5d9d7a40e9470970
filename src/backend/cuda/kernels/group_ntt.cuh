// The negacyclic NTT by a group of threads: residues in registers, exchanged through shared memory.
// Passes, places and remaining levels are as in group_fft.cuh, with N residues for M values;
// results are ring::NttPlan's, in its order.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/kernels/modular.cuh"
#include "backend/cuda/kernels/ntt.cuh"

namespace whorl::backend::cuda {

template <class Word_, int log_n_, int log_e_>
struct GroupNtt {
  using Word = Word_;
  static constexpr int log_n = log_n_, log_e = log_e_;
  static constexpr int N = 1 << log_n, E = 1 << log_e, threads = N / E;
  static constexpr int passes = log_n / log_e, rest = log_n % log_e, F = 1 << rest;
  static_assert(rest <= 2 && passes >= 2);
  /// Words in the 128 bytes that shared memory serves at once.
  static constexpr int line = 128 / sizeof(Word);

  __host__ __device__ static constexpr int stride(int p) { return N >> (log_e * (p + 1)); }

  /// What GroupFft::place is, in words.
  template <int p>
  __host__ __device__ static constexpr int place(int e) {
    if constexpr (p < passes - 1)
      return e ^ (e / stride(p) * stride(p + 1) & (line - 1));
    else
      return e ^ ((e / (F * E) * F) & (line - 1));
  }
};

/// Twiddles in device memory or in shared memory.
template <class Word>
struct TwiddlesAnywhere {
  const Twiddle<Word>* at;
  __device__ __forceinline__ TwiddlesAnywhere operator+(int i) const { return {at + i}; }
};
template <class Word>
__device__ __forceinline__ Twiddle<Word> load_twiddle(TwiddlesAnywhere<Word> from) {
  return *from.at;
}

/// The tables of a plan that a transform needs, on the device: heaps as in ring::NttPlan.
template <class Word, class Twiddles = const Twiddle<Word>*>
struct NttView {
  Twiddles roots;
  Twiddles inverse_roots;
  Word q;
};

namespace group_ntt {

template <class Word>
__device__ __forceinline__ void forward_butterfly(Word& a, Word& b, const Twiddle<Word>& w,
                                                  Word q) {
  const Word t = mul_shoup<Word>(b, w.w, w.shoup, q);
  b = sub_mod<Word>(a, t, q);
  a = add_mod<Word>(a, t, q);
}
template <class Word>
__device__ __forceinline__ void inverse_butterfly(Word& a, Word& b, const Twiddle<Word>& w,
                                                  Word q) {
  const Word difference = sub_mod<Word>(a, b, q);
  a = add_mod<Word>(a, b, q);
  b = mul_shoup<Word>(difference, w.w, w.shoup, q);
}

/// Sub-level `level` of E values below `node` of the heap, where the children of i are 2i and
/// 2i + 1.
template <int E, int level, class Word, class Twiddles>
__device__ __forceinline__ void forward_level(Word (&x)[E], Twiddles roots, int node, Word q) {
  if constexpr ((1 << level) < E) {
    constexpr int half = E >> (level + 1);
#pragma unroll
    for (int c = 0; c < (1 << level); ++c) {
      const Twiddle<Word> w = load_twiddle(roots + (node << level) + c);
#pragma unroll
      for (int i = 0; i < half; ++i)
        forward_butterfly(x[c * 2 * half + i], x[c * 2 * half + i + half], w, q);
    }
    forward_level<E, level + 1>(x, roots, node, q);
  }
}
/// The same back; `level` counts down.
template <int E, int level, class Word, class Twiddles>
__device__ __forceinline__ void inverse_level(Word (&x)[E], Twiddles roots, int node, Word q) {
  if constexpr (level >= 0) {
    constexpr int half = E >> (level + 1);
#pragma unroll
    for (int c = 0; c < (1 << level); ++c) {
      const Twiddle<Word> w = load_twiddle(roots + (node << level) + c);
#pragma unroll
      for (int i = 0; i < half; ++i)
        inverse_butterfly(x[c * 2 * half + i], x[c * 2 * half + i + half], w, q);
    }
    inverse_level<E, level - 1>(x, roots, node, q);
  }
}

}  // namespace group_ntt

/// Forward passes of thread t's residues, below q: on entry those of pass 0, on return those of the
/// last pass. `buffer` holds N words; all may write it.
template <class Shape, int p = 0, class Word = typename Shape::Word, class View, class Sync>
__device__ __forceinline__ void forward_passes(Word (&x)[Shape::E], int t, const View& plan,
                                               Word* buffer, const Sync& sync) {
  constexpr int E = Shape::E, s = Shape::stride(p);
  group_ntt::forward_level<E, 0>(x, plan.roots, (1 << (Shape::log_e * p)) + t / s, plan.q);
  if constexpr (p + 1 < Shape::passes) {
    constexpr int next = Shape::stride(p + 1);
    const int from = t / s * E * s + t % s, to = t / next * E * next + t % next;
#pragma unroll
    for (int k = 0; k < E; ++k) buffer[Shape::template place<p>(from + s * k)] = x[k];
    sync();
#pragma unroll
    for (int k = 0; k < E; ++k) x[k] = buffer[Shape::template place<p>(to + next * k)];
    sync();
    forward_passes<Shape, p + 1>(x, t, plan, buffer, sync);
  }
}

/// Inverse passes, times N: on entry the residues of the last pass, on return those of pass 0.
template <class Shape, int p = Shape::passes - 1, class Word = typename Shape::Word, class View,
          class Sync>
__device__ __forceinline__ void inverse_passes(Word (&x)[Shape::E], int t, const View& plan,
                                               Word* buffer, const Sync& sync) {
  constexpr int E = Shape::E, s = Shape::stride(p);
  group_ntt::inverse_level<E, Shape::log_e - 1>(x, plan.inverse_roots,
                                                (1 << (Shape::log_e * p)) + t / s, plan.q);
  if constexpr (p > 0) {
    constexpr int before = Shape::stride(p - 1);
    const int from = t / s * E * s + t % s, to = t / before * E * before + t % before;
    sync();  // all have read what lies there
#pragma unroll
    for (int k = 0; k < E; ++k) buffer[Shape::template place<p - 1>(from + s * k)] = x[k];
    sync();
#pragma unroll
    for (int k = 0; k < E; ++k) x[k] = buffer[Shape::template place<p - 1>(to + before * k)];
    inverse_passes<Shape, p - 1>(x, t, plan, buffer, sync);
  }
}

/// The last `rest` forward levels, and the first inverse ones, on node `node` of N/F.
template <class Shape, class Word = typename Shape::Word, class View>
__device__ __forceinline__ void forward_rest(Word (&x)[Shape::F], const View& plan, int node) {
  if constexpr (Shape::F > 1)
    group_ntt::forward_level<Shape::F, 0>(x, plan.roots, Shape::N / Shape::F + node, plan.q);
}
template <class Shape, class Word = typename Shape::Word, class View>
__device__ __forceinline__ void inverse_rest(Word (&x)[Shape::F], const View& plan, int node) {
  if constexpr (Shape::F > 1)
    group_ntt::inverse_level<Shape::F, Shape::rest - 1>(x, plan.inverse_roots,
                                                        Shape::N / Shape::F + node, plan.q);
}

}  // namespace whorl::backend::cuda
