// The negacyclic NTT, written once for every SIMD width and both word sizes.
#if defined(WHORL_BACKEND_CPU_NTT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WHORL_BACKEND_CPU_NTT_INL_H_
#undef WHORL_BACKEND_CPU_NTT_INL_H_
#else
#define WHORL_BACKEND_CPU_NTT_INL_H_
#endif

#include "backend/cpu/ntt_tables.h"
#include "backend/cpu/words-inl.h"

HWY_BEFORE_NAMESPACE();
namespace whorl::backend::cpu {
namespace HWY_NAMESPACE {

/// Butterflies with values below 4q between levels where 4q fits a word ("lazy", Harvey 2014), else
/// below q.
template <class Word, bool lazy>
struct Butterfly {
  Vw<Word> q, two_q;
  HWY_INLINE explicit Butterfly(Word modulus)
      : q(hn::Set(Dw<Word>(), modulus)),
        two_q(hn::Set(Dw<Word>(), static_cast<Word>(2 * modulus))) {}

  /// (u, v) <- (u + w·v, u - w·v); lazy: in and out below 4q.
  HWY_INLINE void forward(Vw<Word>& u, Vw<Word>& v, Vw<Word> w, Vw<Word> w_shoup) const {
    Vw<Word> t = mul_shoup_lazy(v, w, w_shoup, q);
    if constexpr (lazy) {
      u = reduce_once(u, two_q);
      v = hn::Add(hn::Sub(u, t), two_q);
      u = hn::Add(u, t);
    } else {
      t = reduce_once(t, q);
      v = sub_mod(u, t, q);
      u = add_mod(u, t, q);
    }
  }
  /// (u, v) <- (u + v, w·(u - v)); lazy: in and out below 2q.
  HWY_INLINE void inverse(Vw<Word>& u, Vw<Word>& v, Vw<Word> w, Vw<Word> w_shoup) const {
    if constexpr (lazy) {
      const Vw<Word> t = hn::Add(hn::Sub(u, v), two_q);
      u = reduce_once(hn::Add(u, v), two_q);
      v = mul_shoup_lazy(t, w, w_shoup, q);
    } else {
      const Vw<Word> t = sub_mod(u, v, q);
      u = add_mod(u, v, q);
      v = reduce_once(mul_shoup_lazy(t, w, w_shoup, q), q);
    }
  }
  /// Into [0, q).
  HWY_INLINE Vw<Word> finish(Vw<Word> x) const {
    return lazy ? reduce_once(reduce_once(x, two_q), q) : x;
  }
};

template <class Word>
HWY_INLINE void transpose_words([[maybe_unused]] Vw<Word>* x) {
#if HWY_TARGET != HWY_SCALAR
  const Dw<Word> d;
  constexpr std::size_t lanes = kWords<Word>, half = lanes / 2;
  for (int round = 0; round < kLogWords<Word>; ++round) {
    Vw<Word> y[lanes];
    for (std::size_t i = 0; i < half; ++i) {
      y[i] = hn::ConcatEven(d, x[2 * i + 1], x[2 * i]);
      y[i + half] = hn::ConcatOdd(d, x[2 * i + 1], x[2 * i]);
    }
    for (std::size_t i = 0; i < lanes; ++i) x[i] = y[i];
  }
#endif
}

/// `levels` (1 or 2) levels over nodes of `node_vectors` vectors, starting where there are m nodes.
template <class Word, bool lazy, int levels, class Load, class Store>
HWY_INLINE void ntt_forward_pass(const NttTables<Word>& t, std::size_t m, const Load& load,
                                 const Store& store) {
  const Butterfly<Word, lazy> butterfly(t.q);
  const Dw<Word> d;
  constexpr int radix = 1 << levels;
  const std::size_t node_vectors = t.vectors / m, stride = node_vectors / radix;
  for (std::size_t node = 0; node < m; ++node) {
    Vw<Word> w[3], s[3];
    w[0] = hn::Set(d, t.roots[m + node]);
    s[0] = hn::Set(d, t.roots_shoup[m + node]);
    if constexpr (levels == 2)
      for (std::size_t i = 0; i < 2; ++i) {
        w[1 + i] = hn::Set(d, t.roots[2 * (m + node) + i]);
        s[1 + i] = hn::Set(d, t.roots_shoup[2 * (m + node) + i]);
      }
    const std::size_t base = node * node_vectors;
    for (std::size_t r = base; r < base + stride; ++r) {
      Vw<Word> x[radix];
      for (int i = 0; i < radix; ++i) x[i] = load(r + i * stride);
      for (int i = 0; i < radix / 2; ++i) butterfly.forward(x[i], x[i + radix / 2], w[0], s[0]);
      if constexpr (levels == 2) {
        butterfly.forward(x[0], x[1], w[1], s[1]);
        butterfly.forward(x[2], x[3], w[2], s[2]);
      }
      for (int i = 0; i < radix; ++i) store(r + i * stride, x[i]);
    }
  }
}
template <class Word, bool lazy, int levels, class Load, class Store>
HWY_INLINE void ntt_inverse_pass(const NttTables<Word>& t, std::size_t m, const Load& load,
                                 const Store& store) {
  const Butterfly<Word, lazy> butterfly(t.q);
  const Dw<Word> d;
  constexpr int radix = 1 << levels;
  const std::size_t node_vectors = t.vectors / m, stride = node_vectors / radix;
  for (std::size_t node = 0; node < m; ++node) {
    Vw<Word> w[3], s[3];
    w[0] = hn::Set(d, t.inverse_roots[m + node]);
    s[0] = hn::Set(d, t.inverse_roots_shoup[m + node]);
    if constexpr (levels == 2)
      for (std::size_t i = 0; i < 2; ++i) {
        w[1 + i] = hn::Set(d, t.inverse_roots[2 * (m + node) + i]);
        s[1 + i] = hn::Set(d, t.inverse_roots_shoup[2 * (m + node) + i]);
      }
    const std::size_t base = node * node_vectors;
    for (std::size_t r = base; r < base + stride; ++r) {
      Vw<Word> x[radix];
      for (int i = 0; i < radix; ++i) x[i] = load(r + i * stride);
      if constexpr (levels == 2) {
        butterfly.inverse(x[0], x[1], w[1], s[1]);
        butterfly.inverse(x[2], x[3], w[2], s[2]);
      }
      for (int i = 0; i < radix / 2; ++i) butterfly.inverse(x[i], x[i + radix / 2], w[0], s[0]);
      for (int i = 0; i < radix; ++i) store(r + i * stride, x[i]);
    }
  }
}

/// Levels within a vector; internal order (results transposed) unless `standard_order`.
template <class Word, bool lazy, bool is_forward, bool standard_order>
HWY_INLINE void ntt_lane_pass(const NttTables<Word>& t, Word* HWY_RESTRICT data) {
  constexpr std::size_t lanes = kWords<Word>;
  if constexpr (lanes > 1) {
    const Butterfly<Word, lazy> butterfly(t.q);
    const Dw<Word> d;
    const Word* table = is_forward ? t.forward_lanes.get() : t.inverse_lanes.get();
    for (std::size_t group = 0; group < t.vectors / lanes; ++group) {
      Word* base = data + group * lanes * lanes;
      const Word* w = table + group * (lanes - 1) * 2 * lanes;
      Vw<Word> x[lanes];
      for (std::size_t i = 0; i < lanes; ++i) x[i] = hn::Load(d, base + i * lanes);
      if constexpr (is_forward || standard_order) transpose_words<Word>(x);
      for (int l = 0; l < kLogWords<Word>; ++l) {
        const int level = is_forward ? l : kLogWords<Word> - 1 - l;
        const std::size_t half = lanes >> (level + 1);
        for (std::size_t node = 0; node < std::size_t{1} << level; ++node) {
          const Word* at = w + ((std::size_t{1} << level) - 1 + node) * 2 * lanes;
          const Vw<Word> root = hn::Load(d, at), shoup = hn::Load(d, at + lanes);
          Vw<Word>* first = x + node * 2 * half;
          for (std::size_t i = 0; i < half; ++i) {
            if constexpr (is_forward)
              butterfly.forward(first[i], first[i + half], root, shoup);
            else
              butterfly.inverse(first[i], first[i + half], root, shoup);
          }
        }
      }
      if constexpr (!is_forward || standard_order) transpose_words<Word>(x);
      for (std::size_t i = 0; i < lanes; ++i) hn::Store(x[i], d, base + i * lanes);
    }
  }
}

template <class Word>
struct LoadWords {
  const Word* data;
  HWY_INLINE Vw<Word> operator()(std::size_t v) const {
    return hn::Load(Dw<Word>(), data + v * kWords<Word>);
  }
};
template <class Word>
struct StoreWords {
  Word* data;
  HWY_INLINE void operator()(std::size_t v, Vw<Word> x) const {
    hn::Store(x, Dw<Word>(), data + v * kWords<Word>);
  }
};

/// Forward transform of residues below q read by `load`; results in `out` below 4q (lazy) or q.
template <class Word, bool lazy, bool standard_order = false, class Load>
HWY_INLINE void ntt_forward(const NttTables<Word>& t, const Load& load, Word* out) {
  ntt_forward_pass<Word, lazy, 2>(t, 1, load, StoreWords<Word>{out});
  std::size_t m = 4;
  for (; 4 * m <= t.vectors; m *= 4)
    ntt_forward_pass<Word, lazy, 2>(t, m, LoadWords<Word>{out}, StoreWords<Word>{out});
  if (2 * m <= t.vectors)
    ntt_forward_pass<Word, lazy, 1>(t, m, LoadWords<Word>{out}, StoreWords<Word>{out});
  ntt_lane_pass<Word, lazy, true, standard_order>(t, out);
}

/// Inverse transform, times N, of values below 2q (lazy) or q in `data`, which is destroyed; what
/// `store` gets is below 2q (lazy) or q.
template <class Word, bool lazy, bool standard_order = false, class Store>
HWY_INLINE void ntt_inverse(const NttTables<Word>& t, Word* data, const Store& store) {
  ntt_lane_pass<Word, lazy, false, standard_order>(t, data);
  std::size_t m = 4;
  while (4 * m <= t.vectors) m *= 4;
  if (2 * m <= t.vectors)
    ntt_inverse_pass<Word, lazy, 1>(t, m, LoadWords<Word>{data}, StoreWords<Word>{data});
  for (m /= 4; m >= 4; m /= 4)
    ntt_inverse_pass<Word, lazy, 2>(t, m, LoadWords<Word>{data}, StoreWords<Word>{data});
  ntt_inverse_pass<Word, lazy, 2>(t, 1, LoadWords<Word>{data}, store);
}

}  // namespace HWY_NAMESPACE
}  // namespace whorl::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
