// The negacyclic NTT, written once for every SIMD width and both word sizes.
#if defined(WHORL_RING_HOST_NTT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WHORL_RING_HOST_NTT_INL_H_
#undef WHORL_RING_HOST_NTT_INL_H_
#else
#define WHORL_RING_HOST_NTT_INL_H_
#endif

#include <type_traits>
#include <utility>

#include "hwy/cache_control.h"
#include "ring/host/forms.h"
#include "ring/host/ntt_tables.h"
#include "ring/host/words-inl.h"

HWY_BEFORE_NAMESPACE();
namespace whorl::ring {
namespace HWY_NAMESPACE {

/// Whether four times q is a word.
constexpr bool lazy_butterflies(std::uint32_t q) { return q < (1u << 30); }
constexpr bool lazy_butterflies(std::uint64_t) { return true; }

/// Butterflies with values below 4q between levels where 4q fits a word ("lazy", Harvey 2014), else
/// below q.
template <class Word, Reduction reduction>
struct Butterfly {
  Vw<Word> q, two_q;
  HWY_INLINE explicit Butterfly(Word modulus)
      : q(hn::Set(Dw<Word>(), modulus)),
        two_q(hn::Set(Dw<Word>(), static_cast<Word>(2 * modulus))) {}

  template <Twiddles twiddles>
  HWY_INLINE Vw<Word> product(Vw<Word> x, Vw<Word> w, Vw<Word> w_shoup) const {
    return twiddles == Twiddles::one ? mul_shoup_lazy_same(x, w, w_shoup, q)
                                     : mul_shoup_lazy(x, w, w_shoup, q);
  }
  /// (u, v) <- (u + w·v, u - w·v); lazy: in and out below 4q. `below` bounds u.
  template <Twiddles twiddles, Below below = Below::four_q>
  HWY_INLINE void forward(Vw<Word>& u, Vw<Word>& v, Vw<Word> w, Vw<Word> w_shoup) const {
    Vw<Word> t = whole(product<twiddles>(v, w, w_shoup));
    if constexpr (reduction == Reduction::lazy) {
      if constexpr (below == Below::four_q) u = reduce_once(u, two_q);
      v = hn::Add(hn::Sub(u, t), two_q);
      u = hn::Add(u, t);
    } else {
      t = reduce_once(t, q);
      v = sub_mod(u, t, q);
      u = add_mod(u, t, q);
    }
  }
  /// u + v and u - v, of u and v below 2q (lazy) or q: below 4q or q.
  HWY_INLINE Vw<Word> sum(Vw<Word> u, Vw<Word> v) const {
    return reduction == Reduction::lazy ? hn::Add(u, v) : add_mod(u, v, q);
  }
  HWY_INLINE Vw<Word> difference(Vw<Word> u, Vw<Word> v) const {
    return reduction == Reduction::lazy ? hn::Add(hn::Sub(u, v), two_q) : sub_mod(u, v, q);
  }
  /// (u, v) <- (u + v, w·(u - v)); lazy: in and out below 2q.
  template <Twiddles twiddles>
  HWY_INLINE void inverse(Vw<Word>& u, Vw<Word>& v, Vw<Word> w, Vw<Word> w_shoup) const {
    const Vw<Word> t = difference(u, v);
    u = sum(u, v);
    v = product<twiddles>(t, w, w_shoup);
    if constexpr (reduction == Reduction::lazy)
      u = reduce_once(u, two_q);
    else
      v = reduce_once(v, q);
  }
  template <Direction direction, Twiddles twiddles>
  HWY_INLINE void step(Vw<Word>& u, Vw<Word>& v, Vw<Word> w, Vw<Word> w_shoup) const {
    if constexpr (direction == Direction::forward)
      forward<twiddles>(u, v, w, w_shoup);
    else
      inverse<twiddles>(u, v, w, w_shoup);
  }
  /// Returns x reduced into [0, q).
  HWY_INLINE Vw<Word> finish(Vw<Word> x) const {
    return reduction == Reduction::lazy ? reduce_once(reduce_once(x, two_q), q) : x;
  }
};

#if HWY_TARGET != HWY_SCALAR
/// (a, b) <- their words, or pairs of words, in turns, within blocks of 128 bits: cheaper than what
/// crosses blocks.
template <class Part, class V>
HWY_INLINE void interleave(V& a, V& b) {
  const hn::ScalableTag<Part> d;
  const hn::DFromV<V> of;
  const auto x = hn::BitCast(d, a), y = hn::BitCast(d, b);
  a = hn::BitCast(of, hn::InterleaveLower(d, x, y));
  b = hn::BitCast(of, hn::InterleaveUpper(d, x, y));
}
#endif
/// The transpose of as many vectors as each has words: bits of the vector's number change places
/// with bits of the lane's.
template <class Word>
HWY_INLINE void transpose_words([[maybe_unused]] Vw<Word>* x) {
#if HWY_TARGET != HWY_SCALAR
  [[maybe_unused]] const Dw<Word> d;
  constexpr std::size_t lanes = kWords<Word>, in_block = 16 / sizeof(Word);
  for (std::size_t first = 0; first < lanes; first += in_block) {
    Vw<Word>* const y = x + first;
    if constexpr (in_block == 4) {
      for (std::size_t i = 0; i < 4; i += 2) interleave<std::uint32_t>(y[i], y[i + 1]);
      for (std::size_t i = 0; i < 2; ++i) interleave<std::uint64_t>(y[i], y[i + 2]);
      std::swap(y[1], y[2]);
    } else {
      interleave<std::uint64_t>(y[0], y[1]);
    }
  }
  if constexpr (lanes >= 4 * in_block)  // blocks next to one another
    for (std::size_t i = 0; i < lanes; ++i)
      if ((i & in_block) == 0) {
        const Vw<Word> a = x[i], b = x[i + in_block];
        x[i] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
        x[i + in_block] = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
      }
  if constexpr (lanes >= 2 * in_block)  // halves of several blocks
    for (std::size_t i = 0; i < lanes / 2; ++i) {
      const Vw<Word> a = x[i], b = x[i + lanes / 2];
      x[i] = hn::ConcatLowerLower(d, b, a);
      x[i + lanes / 2] = hn::ConcatUpperUpper(d, b, a);
    }
#endif
}

/// Brings nothing nearer.
struct NothingAhead {
  HWY_INLINE void operator()(std::size_t) {}
};
/// Brings memory into the second-level cache, some lines at each call, so that butterflies hide the
/// time that it takes.
struct LinesAhead {
  const char* from[kMostAhead];
  unsigned count;
  std::size_t at = 0, bytes;
  HWY_INLINE explicit LinesAhead(const Ahead& ahead) : count(ahead.count), bytes(ahead.bytes) {
    for (unsigned i = 0; i < count; ++i) from[i] = static_cast<const char*>(ahead.from[i]);
  }
  HWY_INLINE void operator()(std::size_t lines) {
    for (; lines > 0 && at < bytes; --lines, at += 64)
      for (unsigned i = 0; i < count; ++i) __builtin_prefetch(from[i] + at, 0, 2);
  }
};

/// The same of both.
template <class A, class B>
struct BothAhead {
  A& a;
  B& b;
  HWY_INLINE void operator()(std::size_t lines) {
    a(lines);
    b(lines);
  }
};
/// The twiddles of the levels within vectors of `words` words from word `at` on, of which there is
/// a pair for each but one of every vector's words: in `pieces` pieces.
template <class Word>
HWY_INLINE void lanes_ahead(const Word* table, std::size_t at, std::size_t words,
                            std::size_t pieces, Ahead& ahead) {
  constexpr std::size_t lanes = kWords<Word>;
  const std::size_t piece = words * 2 * (lanes - 1) / lanes / pieces;
  for (std::size_t i = 0; i < pieces; ++i)
    ahead.from[ahead.count++] = table + at / lanes * 2 * (lanes - 1) + i * piece;
  ahead.bytes = HWY_MAX(ahead.bytes, piece * sizeof(Word));
}

/// `levels` (1 or 2) levels over nodes first … first + count - 1 of m, which are those of
/// `node_vectors` vectors. `below`: bounds what a forward pass loads.
template <class Word, Reduction reduction, Direction direction, int levels,
          Below below = Below::four_q, class Load, class Store, class Near = NothingAhead>
HWY_INLINE void ntt_pass(const NttTables<Word>& t, std::size_t m, std::size_t first,
                         std::size_t count, const Load& load, const Store& store,
                         Near&& near = {}) {
  const Butterfly<Word, reduction> butterfly(t.q);
  const Dw<Word> d;
  const Word* const roots = direction == Direction::forward ? t.roots : t.inverse_roots;
  const Word* const roots_shoup =
      direction == Direction::forward ? t.roots_shoup : t.inverse_roots_shoup;
  constexpr int radix = 1 << levels;
  const std::size_t node_vectors = t.vectors / m, stride = node_vectors / radix;
  for (std::size_t node = first; node < first + count; ++node) {
    Vw<Word> w[3], s[3];
    w[0] = hn::Set(d, roots[m + node]);
    s[0] = hn::Set(d, roots_shoup[m + node]);
    if constexpr (levels == 2)
      for (std::size_t i = 0; i < 2; ++i) {
        w[1 + i] = hn::Set(d, roots[2 * (m + node) + i]);
        s[1 + i] = hn::Set(d, roots_shoup[2 * (m + node) + i]);
      }
    const std::size_t base = node * node_vectors;
    for (std::size_t r = base; r < base + stride; ++r) {
      Vw<Word> x[radix];
      for (int i = 0; i < radix; ++i) x[i] = load(r + i * stride);
      if constexpr (direction == Direction::forward)
        for (int i = 0; i < radix / 2; ++i)
          butterfly.template forward<Twiddles::one, below>(x[i], x[i + radix / 2], w[0], s[0]);
      if constexpr (levels == 2)
        for (int i = 0; i < 2; ++i)
          butterfly.template step<direction, Twiddles::one>(x[2 * i], x[2 * i + 1], w[1 + i],
                                                            s[1 + i]);
      if constexpr (direction == Direction::inverse)
        for (int i = 0; i < radix / 2; ++i)
          butterfly.template inverse<Twiddles::one>(x[i], x[i + radix / 2], w[0], s[0]);
      for (int i = 0; i < radix; ++i) store(r + i * stride, x[i]);
      if (r % 2 == 0) near(1);
    }
  }
}

template <class Word>
struct LoadWords {
  const Word* data;
  HWY_INLINE Vw<Word> operator()(std::size_t v) const {
    return hn::LoadU(Dw<Word>(), data + v * kWords<Word>);
  }
};
template <class Word>
struct StoreWords {
  Word* data;
  HWY_INLINE void operator()(std::size_t v, Vw<Word> x) const {
    hn::StoreU(x, Dw<Word>(), data + v * kWords<Word>);
  }
};

/// Butterfly `i` of a level of one group. Indices of x are constants everywhere, so that x stays in
/// registers.
template <class Word, Reduction reduction, Direction direction, std::size_t level, std::size_t i>
HWY_INLINE void lane_butterfly(const Butterfly<Word, reduction>& butterfly, const Word* w,
                               Vw<Word>* x) {
  constexpr std::size_t lanes = kWords<Word>, half = lanes >> (level + 1), node = i / half,
                        u = node * 2 * half + i % half;
  const Dw<Word> d;
  const Word* const at = w + ((std::size_t{1} << level) - 1 + node) * 2 * lanes;
  butterfly.template step<direction, Twiddles::per_lane>(x[u], x[u + half], hn::Load(d, at),
                                                         hn::Load(d, at + lanes));
}
template <class Word, Reduction reduction, Direction direction, std::size_t level, std::size_t... i>
HWY_INLINE void lane_level(const Butterfly<Word, reduction>& butterfly, const Word* w, Vw<Word>* x,
                           std::index_sequence<i...>) {
  (lane_butterfly<Word, reduction, direction, level, i>(butterfly, w, x), ...);
}
template <class Word, Reduction reduction, Direction direction, std::size_t... l>
HWY_INLINE void lane_levels([[maybe_unused]] const Butterfly<Word, reduction>& butterfly,
                            [[maybe_unused]] const Word* w, [[maybe_unused]] Vw<Word>* x,
                            std::index_sequence<l...>) {
  (lane_level<Word, reduction, direction,
              (direction == Direction::forward ? l : sizeof...(l) - 1 - l)>(
       butterfly, w, x, std::make_index_sequence<kWords<Word> / 2>()),
   ...);
}

/// Levels within a vector, for groups first … first + count - 1 of `lanes` vectors; internal order
/// (results transposed) unless `order` is the standard one.
template <class Word, Reduction reduction, Direction direction, Order order, class Load,
          class Store, class Near = NothingAhead>
HWY_INLINE void ntt_lane_pass(const NttTables<Word>& t, std::size_t first_group, std::size_t count,
                              const Load& load, const Store& store, Near&& near = {}) {
  constexpr std::size_t lanes = kWords<Word>;
  const Butterfly<Word, reduction> butterfly(t.q);
  const Word* table = direction == Direction::forward ? t.forward_lanes : t.inverse_lanes;
  for (std::size_t group = first_group; group < first_group + count; ++group) {
    constexpr std::size_t words = (lanes - 1) * 2 * lanes;
    const Word* w = table + group * words;
    Vw<Word> x[lanes];
    for (std::size_t i = 0; i < lanes; ++i) x[i] = load(group * lanes + i);
    if constexpr (direction == Direction::forward || order == Order::standard)
      transpose_words<Word>(x);
    lane_levels<Word, reduction, direction>(butterfly, w, x,
                                            std::make_index_sequence<kLogWords<Word>>());
    if constexpr (direction == Direction::inverse || order == Order::standard)
      transpose_words<Word>(x);
    for (std::size_t i = 0; i < lanes; ++i) store(group * lanes + i, x[i]);
    near(lanes / 2);
  }
}

/// Blocks that fit half of a small first-level cache are finished one after another.
template <class Word>
inline constexpr std::size_t kBlockVectors = 16384 / sizeof(Word) / kWords<Word>;

/// Nodes of which each is such a block, after whole passes with m = 1, 4, ….
template <class Word>
HWY_INLINE std::size_t ntt_blocks(const NttTables<Word>& t) {
  std::size_t m = 4;
  while (t.vectors / m > kBlockVectors<Word>) m *= 4;
  return m;
}
/// How many blocks there are: one where all of it is as small as one.
template <class Word>
HWY_INLINE std::size_t ntt_block_number(const NttTables<Word>& t) {
  return t.vectors > kBlockVectors<Word> ? ntt_blocks(t) : 1;
}
/// The number of nodes below which less than two levels of whole vectors are left.
template <class Word>
HWY_INLINE std::size_t ntt_last(const NttTables<Word>& t) {
  std::size_t m = 4;
  while (4 * m <= t.vectors) m *= 4;
  return m;
}

/// The levels of a forward transform that come before its blocks.
template <class Word, Reduction reduction, class Load>
HWY_INLINE void ntt_forward_above(const NttTables<Word>& t, const Load& load, Word* out) {
  const LoadWords<Word> from{out};
  const StoreWords<Word> to{out};
  ntt_pass<Word, reduction, Direction::forward, 2, Below::two_q>(t, 1, 0, 1, load, to);
  const std::size_t start = ntt_blocks(t);
  for (std::size_t m = 4; m < start; m *= 4)
    ntt_pass<Word, reduction, Direction::forward, 2>(t, m, 0, m, from, to);
}
/// One of `blocks` blocks after those: ntt_block_number(t).
template <class Word, Reduction reduction, Order order, class Finish, class Near = NothingAhead>
HWY_INLINE void ntt_forward_block(const NttTables<Word>& t, std::size_t block, std::size_t blocks,
                                  Word* out, const Finish& finish, Near&& near = {}) {
  const LoadWords<Word> from{out};
  const StoreWords<Word> to{out};
  // The vertical levels hide the time that the twiddles of the others take to come.
  Ahead twiddles;
  if (blocks > 1)
    lanes_ahead(t.forward_lanes, t.N / blocks * block, t.N / blocks, kMostAhead, twiddles);
  LinesAhead lanes(twiddles);
  BothAhead<LinesAhead, std::remove_reference_t<Near>> ahead{lanes, near};
  std::size_t m = ntt_blocks(t);
  for (; 4 * m <= t.vectors; m *= 4)
    ntt_pass<Word, reduction, Direction::forward, 2>(t, m, m / blocks * block, m / blocks, from, to,
                                                     ahead);
  if (2 * m <= t.vectors)
    ntt_pass<Word, reduction, Direction::forward, 1>(t, m, m / blocks * block, m / blocks, from, to,
                                                     ahead);
  const std::size_t groups = t.vectors / kWords<Word> / blocks;
  ntt_lane_pass<Word, reduction, Direction::forward, order>(t, groups * block, groups, from, finish,
                                                            near);
}

/// Forward transform of residues below q read by `load`; `finish` gets results below 4q (lazy) or
/// q, to be stored in `out`, which holds intermediate results as well.
template <class Word, Reduction reduction, Order order = Order::internal, class Load, class Finish>
HWY_INLINE void ntt_forward(const NttTables<Word>& t, const Load& load, Word* out,
                            const Finish& finish) {
  ntt_forward_above<Word, reduction>(t, load, out);
  const std::size_t blocks = ntt_block_number(t);
  for (std::size_t block = 0; block < blocks; ++block)
    ntt_forward_block<Word, reduction, order>(t, block, blocks, out, finish);
}
template <class Word, Reduction reduction, Order order = Order::internal, class Load>
HWY_INLINE void ntt_forward(const NttTables<Word>& t, const Load& load, Word* out) {
  ntt_forward<Word, reduction, order>(t, load, out, StoreWords<Word>{out});
}

/// What comes ahead of block `next` of inverse transforms.
struct NoBlockAhead {
  HWY_INLINE NothingAhead operator()(std::size_t, std::size_t) const { return {}; }
};
/// The next of `words` words from `in` and of those to `out`, and their twiddles, if there are
/// more.
template <class Word>
struct BlockAhead {
  const NttTables<Word>& tables;
  const Word *in, *out;
  HWY_INLINE LinesAhead operator()(std::size_t at, std::size_t words) const {
    Ahead ahead{{in + at, out + at}, in == out ? 1u : 2u, words * sizeof(Word)};
    lanes_ahead(tables.inverse_lanes, at, words, 2, ahead);
    return LinesAhead(ahead);
  }
};

/// All levels of an inverse transform but the last two, of values below 2q (lazy) or q read by
/// `load`; the results in `data` are below 2q (lazy) or q.
template <class Word, Reduction reduction, Order order, class Load, class Next>
HWY_INLINE void ntt_inverse_below(const NttTables<Word>& t, const Load& load, Word* data,
                                  const Next& next) {
  const LoadWords<Word> from{data};
  const StoreWords<Word> to{data};
  const std::size_t start = ntt_blocks(t), last = ntt_last(t);
  const std::size_t blocks = ntt_block_number(t), words = t.N / blocks;
  for (std::size_t block = 0; block < blocks; ++block) {
    auto near = next((block + 1) * words, block + 1 < blocks ? words : 0);
    const std::size_t groups = t.vectors / kWords<Word> / blocks;
    ntt_lane_pass<Word, reduction, Direction::inverse, order>(t, groups * block, groups, load, to,
                                                              near);
    if (2 * last <= t.vectors)
      ntt_pass<Word, reduction, Direction::inverse, 1>(t, last, last / blocks * block,
                                                       last / blocks, from, to, near);
    for (std::size_t m = last / 4; m >= start; m /= 4)
      ntt_pass<Word, reduction, Direction::inverse, 2>(t, m, m / blocks * block, m / blocks, from,
                                                       to, near);
  }
  for (std::size_t m = start / 4; m >= 4; m /= 4)
    ntt_pass<Word, reduction, Direction::inverse, 2>(t, m, 0, m, from, to);
}
/// Inverse transform, times N, of values below 2q (lazy) or q read by `load`; what `store` gets is
/// below 2q (lazy) or q. `data` holds intermediate results.
template <class Word, Reduction reduction, Order order = Order::internal, class Load, class Store>
HWY_INLINE void ntt_inverse(const NttTables<Word>& t, const Load& load, Word* data,
                            const Store& store) {
  ntt_inverse_below<Word, reduction, order>(t, load, data, NoBlockAhead());
  ntt_pass<Word, reduction, Direction::inverse, 2>(t, 1, 0, 1, LoadWords<Word>{data}, store);
}
template <class Word, Reduction reduction, Order order = Order::internal, class Store>
HWY_INLINE void ntt_inverse(const NttTables<Word>& t, Word* data, const Store& store) {
  ntt_inverse<Word, reduction, order>(t, LoadWords<Word>{data}, data, store);
}

/// A factor modulo q and its Shoup companion.
template <class Word>
struct ShoupFactor {
  Word w, shoup;
};
template <class Word>
HWY_INLINE ShoupFactor<Word> times(const ShoupFactor<Word>& factor, Word x, Word q) {
  using Wide = std::conditional_t<sizeof(Word) == 4, std::uint64_t, unsigned __int128>;
  const Word w = static_cast<Word>(Wide{factor.w} * x % q);
  return {w, static_cast<Word>((Wide{w} << (8 * sizeof(Word))) / q)};
}
/// The same times scale·N. The last level's products scale too, so that only its sums need products
/// of their own. What `store` gets is below 2q.
template <class Word, Reduction reduction, Order order, class Load, class Store, class Next>
HWY_INLINE void ntt_inverse_scaled(const NttTables<Word>& t, ShoupFactor<Word> scale,
                                   const Load& load, Word* data, const Store& store,
                                   const Next& next) {
  ntt_inverse_below<Word, reduction, order>(t, load, data, next);
  const Butterfly<Word, reduction> butterfly(t.q);
  const Dw<Word> d;
  const ShoupFactor<Word> root = times(scale, t.inverse_roots[1], t.q);
  const Vw<Word> s = hn::Set(d, scale.w), s_shoup = hn::Set(d, scale.shoup), w = hn::Set(d, root.w),
                 w_shoup = hn::Set(d, root.shoup);
  Vw<Word> below[2], below_shoup[2];
  for (std::size_t i = 0; i < 2; ++i) {
    below[i] = hn::Set(d, t.inverse_roots[2 + i]);
    below_shoup[i] = hn::Set(d, t.inverse_roots_shoup[2 + i]);
  }
  const LoadWords<Word> from{data};
  const std::size_t stride = t.vectors / 4;
  for (std::size_t r = 0; r < stride; ++r) {
    Vw<Word> x[4];
    for (std::size_t i = 0; i < 4; ++i) x[i] = from(r + i * stride);
    for (std::size_t i = 0; i < 2; ++i)
      butterfly.template inverse<Twiddles::one>(x[2 * i], x[2 * i + 1], below[i], below_shoup[i]);
    for (std::size_t i = 0; i < 2; ++i) {
      const Vw<Word> difference = butterfly.difference(x[i], x[i + 2]);
      store(r + i * stride,
            butterfly.template product<Twiddles::one>(butterfly.sum(x[i], x[i + 2]), s, s_shoup));
      store(r + (i + 2) * stride,
            butterfly.template product<Twiddles::one>(difference, w, w_shoup));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace whorl::ring
HWY_AFTER_NAMESPACE();

#endif  // include guard
