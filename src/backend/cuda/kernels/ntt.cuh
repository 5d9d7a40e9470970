// The negacyclic NTT in registers and shared memory, for kernels: results in the order of
// ring::NttPlan, the twist by psi merged in the butterflies (Longa and Naehrig, CANS 2016).
//
// Lazy reduction: `headroom` is how many times q fits in a word, a power of two: values stay below
// headroom·q. Where it is 2 they stay below q. Bounds are followed at compile time, and a
// correction is made only where the next sum would not fit (Harvey 2014 is the case of 4).
#pragma once

#include <type_traits>

#include "backend/cuda/kernels/modular.cuh"
#include "backend/cuda/kernels/split.cuh"

namespace whorl::backend::cuda {

/// A factor and its companion floor(w·2^wordbits / q).
template <class Word>
struct alignas(2 * sizeof(Word)) Twiddle {
  Word w, shoup;
};

/// The data of a kernel about one modulus.
template <class Word>
struct NttLimb {
  const Twiddle<Word>* table;  ///< of one direction and one split
  Word q;
  Word two_q;       ///< given, since the compiler would make 2q anew in each butterfly from q
  Word ratio;       ///< floor(2^wordbits / q)
  Word montgomery;  ///< q^-1 mod 2^wordbits
};

/// Twiddles c and c+1 (c even) of a node.
template <class Word>
WHORL_HOST_DEVICE void load_twiddles(const Twiddle<Word>* from, Twiddle<Word> (&to)[2]) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Word) == 4) {
    const uint4 both = __ldg(reinterpret_cast<const uint4*>(from));
    to[0] = {both.x, both.y};
    to[1] = {both.z, both.w};
  } else {
    const ulonglong2 a = __ldg(reinterpret_cast<const ulonglong2*>(from)),
                     b = __ldg(reinterpret_cast<const ulonglong2*>(from) + 1);
    to[0] = {a.x, a.y};
    to[1] = {b.x, b.y};
  }
#else
  to[0] = from[0];
  to[1] = from[1];
#endif
}
/// The same before a wait: the compiler leaves the load where it is written.
template <class Word>
WHORL_HOST_DEVICE void load_twiddles_early(const Twiddle<Word>* from, Twiddle<Word> (&to)[2]) {
#if defined(__CUDA_ARCH__)
  static_assert(sizeof(Word) == 4);
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0].w), "=r"(to[0].shoup), "=r"(to[1].w), "=r"(to[1].shoup)
               : "l"(from));
#else
  load_twiddles(from, to);
#endif
}
template <class Word>
WHORL_HOST_DEVICE Twiddle<Word> load_twiddle(const Twiddle<Word>* from) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Word) == 4) {
    const uint2 one = __ldg(reinterpret_cast<const uint2*>(from));
    return {one.x, one.y};
  } else {
    const ulonglong2 one = __ldg(reinterpret_cast<const ulonglong2*>(from));
    return {one.x, one.y};
  }
#else
  return *from;
#endif
}

/// Multiples of a modulus that butterflies add. They come from two_q, which a kernel is given: of
/// multiples of q the compiler makes products anew in each butterfly, and then an addition and a
/// minimum are no longer one instruction.
template <int headroom, class Word>
struct Multiples {
  Word q, two_q, minus_half;  ///< minus_half = -headroom/2·q

  WHORL_HOST_DEVICE explicit Multiples(const NttLimb<Word>& limb)
      : q(limb.q),
        two_q(limb.two_q),
        minus_half(Word{0} - static_cast<Word>(headroom / 4) * limb.two_q) {}
  template <int k>
  WHORL_HOST_DEVICE Word times() const {
    return k == 2 ? two_q : static_cast<Word>(k) * q;
  }
};
/// Reduces a value below bound·q to one below ceil(bound / 2)·q.
template <int bound, int headroom, class Word>
WHORL_HOST_DEVICE Word halve_bound(Word x, const Multiples<headroom, Word>& m) {
  constexpr int half = (bound + 1) / 2;
  static_assert(headroom > 2, "values stay below q: there is no multiple to take off");
  if constexpr (sizeof(Word) == 4 && half == headroom / 2)
    return least_of_sum(x, m.minus_half);
  else
    return subtract_once<Word>(x, static_cast<Word>(half) * m.q);
}
/// Reduces a value below bound·q to one below q.
template <int bound, int headroom, class Word>
WHORL_HOST_DEVICE Word reduce_fully(Word x, const Multiples<headroom, Word>& m, Word ratio) {
  if constexpr (bound <= 1) {
    return x;
  } else if constexpr (bound <= 4) {
    return reduce_fully<(bound + 1) / 2>(halve_bound<bound>(x, m), m, ratio);
  } else {  // Barrett's quotient is short by at most one
    return subtract_once<Word>(x - mul_high<Word>(x, ratio) * m.q, m.q);
  }
}

/// Values below bound·q are below forward_bound(bound, levels)·q after that many forward levels.
template <int headroom>
WHORL_HOST_DEVICE constexpr int forward_bound(int bound, int levels) {
  for (int i = 0; i < levels; ++i) bound = (bound + 2 > headroom ? (bound + 1) / 2 : bound) + 2;
  return headroom == 2 ? 1 : bound;
}

/// (u, v) <- (u + w·v, u - w·v)
template <int headroom, int bound, class Word>
WHORL_HOST_DEVICE void forward_butterfly(Word& u, Word& v, Twiddle<Word> w,
                                         const Multiples<headroom, Word>& m) {
  if constexpr (headroom == 2) {
    const Word t = mul_shoup<Word>(v, w.w, w.shoup, m.q);
    v = sub_mod<Word>(u, t, m.q);
    u = add_mod<Word>(u, t, m.q);
  } else {
    if constexpr (bound + 2 > headroom) u = halve_bound<bound>(u, m);
    const Word t = mul_shoup_lazy<Word>(v, w.w, w.shoup, m.q);
    v = u - t + m.two_q;
    u = u + t;
  }
}
/// (u, v) <- (u + v, w·(u - v)), both below bound·q before; the sum is then below
/// inverse_sum_bound·q, the product below 2q (q, where headroom is 2).
template <int headroom, int bound, class Word>
WHORL_HOST_DEVICE void inverse_butterfly(Word& u, Word& v, Twiddle<Word> w,
                                         const Multiples<headroom, Word>& m) {
  if constexpr (headroom == 2) {
    const Word t = sub_mod<Word>(u, v, m.q);
    u = add_mod<Word>(u, v, m.q);
    v = mul_shoup<Word>(t, w.w, w.shoup, m.q);
  } else {
    static_assert(2 * bound <= headroom);
    const Word t = u - v + m.template times<bound>();
    u = u + v;
    if constexpr (4 * bound > headroom) u = halve_bound<2 * bound>(u, m);
    v = mul_shoup_lazy<Word>(t, w.w, w.shoup, m.q);
  }
}
template <int headroom>
WHORL_HOST_DEVICE constexpr int inverse_sum_bound(int bound) {
  if (headroom == 2) return 1;
  return 4 * bound > headroom ? bound : 2 * bound;
}
/// Bound of a value after `done` levels of an inverse pass, k its position's low `done` bits: it is
/// a product of the level of its highest set bit, and has been a sum since.
template <int headroom>
WHORL_HOST_DEVICE constexpr int inverse_bound(int entry, int k, int done) {
  if (headroom == 2) return 1;
  int bound = entry;
  for (int i = 0; i < done; ++i) bound = (k >> i) & 1 ? 2 : inverse_sum_bound<headroom>(bound);
  return bound;
}

/// The first twiddles that a pass needs, which a thread loads before it waits for its values: for
/// kernels with 64 words a thread, whose warps are too few to hide it otherwise.
template <class Word, Split split, int p, Direction direction>
struct EarlyTwiddles {
  using P = Pass<split, p>;
  static constexpr bool forward = direction == Direction::forward;
  static constexpr bool some =
      sizeof(Word) == 4 && split.log_e == 6 && p > 0 && P::outer == 0 && !split.is_cyclic(p);
  /// Numbers of twiddles of a node: all of the first four levels of a forward pass, and the 32 (or
  /// all) of the last level, with which an inverse pass begins.
  static constexpr int first = forward ? 0 : 1 << (P::levels - 1);
  static constexpr int count = !some     ? 0
                               : forward ? 1 << (P::levels < 4 ? P::levels : 4)
                                         : 1 << (P::levels < 6 ? P::levels - 1 : 5);
  Twiddle<Word> w[count > 0 ? count : 1];

  static WHORL_HOST_DEVICE constexpr bool has(int c) { return c >= first && c < first + count; }
  WHORL_HOST_DEVICE void load(const NttLimb<Word>& limb, std::uint32_t thread) {
    if constexpr (some) {
      const auto* table = limb.table + split.table_start(p);
      WHORL_UNROLL
      for (int c = 0; c < count; c += 2) {
        Twiddle<Word> two[2];
        load_twiddles_early(table + twiddle_slot(1u << P::start, P::node(thread), first + c), two);
        w[c] = two[0];
        w[c + 1] = two[1];
      }
    }
  }
};
/// The place of EarlyTwiddles where there are none.
struct NoEarlyTwiddles {
  static WHORL_HOST_DEVICE constexpr bool has(int) { return false; }
};
/// Twiddles (1 << t) + g, and the next where t > 0, of a node in a pass.
template <int start, int t, class Word, class Early>
WHORL_HOST_DEVICE void node_twiddles(Twiddle<Word> (&w)[2], const Twiddle<Word>* table,
                                     std::uint32_t node, int g, const Early& early) {
  const int c = (1 << t) + g;
  if constexpr (!std::is_same_v<Early, NoEarlyTwiddles>) {
    if (early.has(c)) {
      w[0] = early.w[c - early.first];
      if constexpr (t > 0) w[1] = early.w[c + 1 - early.first];
      return;
    }
  }
  const auto* at = table + twiddle_slot(1u << start, node, c);
  if constexpr (t == 0)
    w[0] = load_twiddle(at);
  else
    load_twiddles(at, w);
}

/// Level `t` of pass p and those after it, on the registers of a thread whose first node is `node`,
/// values below entry·q before the pass. `table`: the pass's twiddles.
template <int headroom, Split split, int p, int entry, int t = 0, class Word, class Early>
WHORL_HOST_DEVICE void forward_levels(Word (&x)[1 << split.log_e], const Twiddle<Word>* table,
                                      std::uint32_t node, const Multiples<headroom, Word>& m,
                                      const Early& early) {
  using P = Pass<split, p>;
  if constexpr (t < P::levels) {
    constexpr int bound = forward_bound<headroom>(entry, t);
    constexpr int half = 1 << (P::levels - 1 - t + P::inner);
    constexpr int step = t == 0 ? 1 : 2;
    WHORL_UNROLL
    for (int n = 0; n < 1 << P::outer; ++n) WHORL_UNROLL
    for (int g = 0; g < 1 << t; g += step) {
      Twiddle<Word> w[2];
      node_twiddles<P::start, t>(w, table, node + n, g, early);
      WHORL_UNROLL
      for (int h = 0; h < step; ++h) WHORL_UNROLL
      for (int i = 0; i < half; ++i) {
        const int u = (n << (P::levels + P::inner)) + (g + h) * 2 * half + i;
        forward_butterfly<headroom, bound>(x[u], x[u + half], w[h], m);
      }
    }
    forward_levels<headroom, split, p, entry, t + 1>(x, table, node, m, early);
  }
}

/// Butterfly i … half-1 of a group of an inverse level, each with its own bound.
template <int headroom, int entry, int done, int inner, int i, int half, class Word, int size>
WHORL_HOST_DEVICE void inverse_group(Word (&x)[size], int u, Twiddle<Word> w,
                                     const Multiples<headroom, Word>& m) {
  if constexpr (i < half) {
    constexpr int bound = inverse_bound<headroom>(entry, i >> inner, done);
    inverse_butterfly<headroom, bound>(x[u + i], x[u + i + half], w, m);
    inverse_group<headroom, entry, done, inner, i + 1, half>(x, u, w, m);
  }
}
/// Brings a group of sums and products below 2q.
template <int headroom, int entry, int done, int inner, int i, class Word, int size>
WHORL_HOST_DEVICE void settle(Word (&x)[size], const Multiples<headroom, Word>& m) {
  if constexpr (i < size && headroom > 4) {
    constexpr int bound = inverse_bound<headroom>(entry, (i >> inner) & ((1 << done) - 1), done);
    if constexpr (bound > 4) x[i] = halve_bound<bound>(x[i], m);
    if constexpr (bound > 2) x[i] = halve_bound<(bound > 4 ? (bound + 1) / 2 : bound)>(x[i], m);
    settle<headroom, entry, done, inner, i + 1>(x, m);
  }
}

/// Level `t` of pass p and those before it (an inverse goes up), values below `entry`·q on entry to
/// the pass and below 2q (q, where headroom is 2) after it. Level 0 of pass 0 multiplies by N^-1 as
/// well: its results are below 2q or q.
template <int headroom, Split split, int p, int entry, int t = split.levels[p] - 1, class Word,
          class Early>
WHORL_HOST_DEVICE void inverse_levels(Word (&x)[1 << split.log_e], const Twiddle<Word>* table,
                                      std::uint32_t node, const Multiples<headroom, Word>& m,
                                      const Early& early) {
  using P = Pass<split, p>;
  constexpr int half = 1 << (P::levels - 1 - t + P::inner);
  constexpr int done = P::levels - 1 - t;
  if constexpr (p == 0 && t == 0) {
    static_assert(P::outer == 0);
    Twiddle<Word> w[2];
    load_twiddles(table, w);  // N^-1, and the level's twiddle times N^-1
    WHORL_UNROLL
    for (int i = 0; i < half; ++i) {
      // inverse_bound is at most headroom / 2 whatever the position.
      const Word sum = headroom == 2 ? add_mod<Word>(x[i], x[i + half], m.q) : x[i] + x[i + half];
      const Word difference = headroom == 2 ? sub_mod<Word>(x[i], x[i + half], m.q)
                                            : x[i] - x[i + half] + m.template times<headroom / 2>();
      x[i] = mul_shoup_lazy<Word>(sum, w[0].w, w[0].shoup, m.q);
      x[i + half] = mul_shoup_lazy<Word>(difference, w[1].w, w[1].shoup, m.q);
    }
  } else {
    constexpr int step = t == 0 ? 1 : 2;
    WHORL_UNROLL
    for (int n = 0; n < 1 << P::outer; ++n) WHORL_UNROLL
    for (int g = 0; g < 1 << t; g += step) {
      Twiddle<Word> w[2];
      node_twiddles<P::start, t>(w, table, node + n, g, early);
      WHORL_UNROLL
      for (int h = 0; h < step; ++h)
        inverse_group<headroom, entry, done, P::inner, 0, half>(
            x, (n << (P::levels + P::inner)) + (g + h) * 2 * half, w[h], m);
    }
    if constexpr (t == 0)
      settle<headroom, entry, P::levels, P::inner, 0>(x, m);
    else
      inverse_levels<headroom, split, p, entry, t - 1>(x, table, node, m, early);
  }
}

/// Bounds within a cyclic pass, before level `done` of a forward transform or after `done` levels
/// of an inverse, by position: all values enter below 2q (q, where headroom is 2).
template <int headroom, int levels, Direction direction>
struct CyclicBounds {
  static constexpr bool forward = direction == Direction::forward;
  int at[levels + 1][1 << levels] = {};
  WHORL_HOST_DEVICE constexpr CyclicBounds() {
    for (int k = 0; k < 1 << levels; ++k) at[0][k] = headroom == 2 ? 1 : 2;
    for (int done = 0; done < levels; ++done) {
      const int t = forward ? done : levels - 1 - done, half = 1 << (levels - 1 - t);
      for (int k = 0; k < 1 << levels; ++k) {
        if (k & half) continue;
        const bool plain = k < 2 * half;  // group 0: its twiddle is one
        int u = at[done][k], v = at[done][k + half];
        if (headroom == 2) {
          u = v = 1;
        } else if (forward && !plain) {
          u = v = reduced(u, 2) + 2;
        } else {
          const int sum = reduced(u, v) + reduced(v, u);
          u = sum;
          v = plain ? sum : 2;
        }
        at[done + 1][k] = u;
        at[done + 1][k + half] = v;
      }
    }
  }
  /// A value's bound when another is to be added: halved where the sum would not fit.
  static WHORL_HOST_DEVICE constexpr int reduced(int bound, int other) {
    return bound + other > headroom ? (bound + 1) / 2 : bound;
  }
  WHORL_HOST_DEVICE constexpr int largest() const {
    int out = 0;
    for (int k = 0; k < 1 << levels; ++k) out = at[levels][k] > out ? at[levels][k] : out;
    return out;
  }
};

/// The twiddle of a group of a cyclic level.
enum class GroupTwiddle { one, w };
/// Butterflies i … of a group of a cyclic level.
template <int headroom, int levels, Direction direction, int t, int k, GroupTwiddle twiddle,
          int inner, class Word, int size>
WHORL_HOST_DEVICE void cyclic_butterflies(Word (&x)[size], int first, Twiddle<Word> w,
                                          const Multiples<headroom, Word>& m) {
  constexpr bool plain = twiddle == GroupTwiddle::one;
  constexpr int half = 1 << (levels - 1 - t);
  constexpr CyclicBounds<headroom, levels, direction> bounds{};
  constexpr bool forward = direction == Direction::forward;
  constexpr int done = forward ? t : levels - 1 - t;
  constexpr int bu = bounds.at[done][k], bv = bounds.at[done][k + half];
  WHORL_UNROLL
  for (int i = 0; i < 1 << inner; ++i) {
    Word& u = x[first + (k << inner) + i];
    Word& v = x[first + ((k + half) << inner) + i];
    if constexpr (headroom == 2) {
      if constexpr (forward && !plain) v = mul_shoup<Word>(v, w.w, w.shoup, m.q);
      const Word difference = sub_mod<Word>(u, v, m.q);
      u = add_mod<Word>(u, v, m.q);
      v = forward || plain ? difference : mul_shoup<Word>(difference, w.w, w.shoup, m.q);
    } else if constexpr (forward && !plain) {
      forward_butterfly<headroom, bu>(u, v, w, m);
    } else {
      if constexpr (bu + bv > headroom) {
        u = halve_bound<bu>(u, m);
        v = halve_bound<bv>(v, m);
      }
      constexpr int offset = bounds.reduced(bv, bu);
      const Word difference = u - v + m.template times<offset>();
      u = u + v;
      v = plain ? difference : mul_shoup_lazy<Word>(difference, w.w, w.shoup, m.q);
    }
  }
}
/// Group g and those after it of level t; constants[g] is the group's twiddle.
template <int headroom, int levels, Direction direction, int t, int g, int i, int inner, class Word,
          int size>
WHORL_HOST_DEVICE void cyclic_groups(Word (&x)[size], int first, const Twiddle<Word>* constants,
                                     Twiddle<Word> one, Twiddle<Word> w,
                                     const Multiples<headroom, Word>& m) {
  constexpr int half = 1 << (levels - 1 - t);
  if constexpr (g < 1 << t) {
    if constexpr (i == 0 && g == 1) w = one;
    if constexpr (i == 0 && g > 1) w = load_twiddle(constants + g);
    constexpr GroupTwiddle twiddle = g == 0 ? GroupTwiddle::one : GroupTwiddle::w;
    cyclic_butterflies<headroom, levels, direction, t, 2 * half * g + i, twiddle, inner>(x, first,
                                                                                         w, m);
    cyclic_groups<headroom, levels, direction, t, i + 1 < half ? g : g + 1,
                  i + 1 < half ? i + 1 : 0, inner>(x, first, constants, one, w, m);
  }
}
/// All levels. `one`: the twiddle of group 1, the fourth root of unity.
template <int headroom, int levels, Direction direction, int done, int inner, class Word, int size>
WHORL_HOST_DEVICE void cyclic_levels(Word (&x)[size], int first, const Twiddle<Word>* constants,
                                     Twiddle<Word> one, const Multiples<headroom, Word>& m) {
  if constexpr (done < levels) {
    constexpr int t = direction == Direction::forward ? done : levels - 1 - done;
    cyclic_groups<headroom, levels, direction, t, 0, 0, inner>(x, first, constants, one, one, m);
    cyclic_levels<headroom, levels, direction, done + 1, inner>(x, first, constants, one, m);
  }
}
/// x_k times power k of its node, k >= 1: below 2q (q, where headroom is 2).
template <int headroom, Split split, int p, class Word>
WHORL_HOST_DEVICE void multiply_powers(Word (&x)[1 << split.log_e], const NttLimb<Word>& limb,
                                       std::uint32_t node) {
  using P = Pass<split, p>;
  constexpr int together = 16 / sizeof(Word);
  const auto* powers = reinterpret_cast<const Word*>(limb.table + split.table_start(p));
  WHORL_UNROLL
  for (int n = 0; n < 1 << P::outer; ++n) WHORL_UNROLL
  for (int k = 0; k < 1 << P::levels; k += together) {
    Twiddle<Word> pairs[together / 2];
    const auto* at = reinterpret_cast<const Twiddle<Word>*>(
        powers + power_slot<Word>(1u << P::start, node + n, k));
    if constexpr (together == 4)
      load_twiddles(at, pairs);
    else
      pairs[0] = load_twiddle(at);
    WHORL_UNROLL
    for (int j = 0; j < together; ++j) {
      if (k + j == 0) continue;
      const Word power = j % 2 == 0 ? pairs[j / 2].w : pairs[j / 2].shoup;
      WHORL_UNROLL
      for (int i = 0; i < 1 << P::inner; ++i) {
        Word& v = x[(((n << P::levels) + k + j) << P::inner) + i];
        v = headroom == 2 ? mul_montgomery<Word>(v, power, limb.q, limb.montgomery)
                          : mul_montgomery_lazy<Word>(v, power, limb.q, limb.montgomery);
      }
    }
  }
}
/// Reduces a value below bound·q to one below 2q.
template <int bound, int headroom, class Word>
WHORL_HOST_DEVICE Word reduce_to_two(Word x, const Multiples<headroom, Word>& m, Word ratio) {
  if constexpr (bound <= 2)
    return x;
  else if constexpr (bound <= 8)
    return reduce_to_two<(bound + 1) / 2>(halve_bound<bound>(x, m), m, ratio);
  else
    return x - mul_high<Word>(x, ratio) * m.q;
}
/// Values that no power multiplies, into the same range as the others.
template <int headroom, Split split, int p, int bound, class Word>
WHORL_HOST_DEVICE void reduce_unmultiplied(Word (&x)[1 << split.log_e], const NttLimb<Word>& limb) {
  using P = Pass<split, p>;
  const Multiples<headroom, Word> m(limb);
  WHORL_UNROLL
  for (int n = 0; n < 1 << P::outer; ++n) WHORL_UNROLL
  for (int i = 0; i < 1 << P::inner; ++i) {
    Word& v = x[(n << (P::levels + P::inner)) + i];
    v = reduce_to_two<bound>(v, m, limb.ratio);
  }
}
template <int headroom, Split split, int p, Direction direction, class Word>
WHORL_HOST_DEVICE void cyclic_pass(Word (&x)[1 << split.log_e], const NttLimb<Word>& limb) {
  using P = Pass<split, p>;
  // The table of an inverse transform has another use for place 1.
  const Twiddle<Word> one = load_twiddle(
      limb.table + (direction == Direction::forward ? 1u : split.table_start(split.passes)));
  const Multiples<headroom, Word> m(limb);
  WHORL_UNROLL
  for (int n = 0; n < 1 << P::outer; ++n)
    cyclic_levels<headroom, P::levels, direction, 0, P::inner>(x, n << (P::levels + P::inner),
                                                               limb.table, one, m);
}

/// Values of a forward transform are below pass_bound·q before pass p.
template <int headroom>
WHORL_HOST_DEVICE constexpr int pass_bound(const Split& split, int p) {
  if (headroom == 2) return 1;
  int bound = 1;
  for (int i = 0; i < p; ++i) {
    if (split.is_cyclic(i)) {
      bound = split.levels[i] == 2   ? CyclicBounds<headroom, 2, Direction::forward>{}.largest()
              : split.levels[i] == 3 ? CyclicBounds<headroom, 3, Direction::forward>{}.largest()
              : split.levels[i] == 4 ? CyclicBounds<headroom, 4, Direction::forward>{}.largest()
              : split.levels[i] == 5 ? CyclicBounds<headroom, 5, Direction::forward>{}.largest()
                                     : CyclicBounds<headroom, 6, Direction::forward>{}.largest();
    } else {
      bound = forward_bound<headroom>(bound, split.levels[i]);
    }
  }
  return bound;
}

/// What a thread does between exchanges of a forward transform: pass p, and the correction after
/// the last.
template <int headroom, Split split, int p, class Word, class Early = NoEarlyTwiddles>
WHORL_HOST_DEVICE void forward_pass(Word (&x)[1 << split.log_e], const NttLimb<Word>& limb,
                                    std::uint32_t thread, const Early& early = {}) {
  constexpr int entry = pass_bound<headroom>(split, p);
  const Multiples<headroom, Word> m(limb);
  const std::uint32_t node = Pass<split, p>::node(thread);
  if constexpr (split.is_cyclic(p)) {
    multiply_powers<headroom, split, p>(x, limb, node);
    reduce_unmultiplied<headroom, split, p, entry>(x, limb);
    cyclic_pass<headroom, split, p, Direction::forward>(x, limb);
  } else {
    forward_levels<headroom, split, p, entry>(x, limb.table + split.table_start(p), node, m, early);
  }
  if constexpr (p + 1 == split.passes) {
    WHORL_UNROLL
    for (int i = 0; i < 1 << split.log_e; ++i)
      x[i] = reduce_fully<pass_bound<headroom>(split, split.passes)>(x[i], m, limb.ratio);
  }
}
/// The same for an inverse transform, which takes the passes from the last to the first.
template <int headroom, Split split, int p, class Word, class Early = NoEarlyTwiddles>
WHORL_HOST_DEVICE void inverse_pass(Word (&x)[1 << split.log_e], const NttLimb<Word>& limb,
                                    std::uint32_t thread, const Early& early = {}) {
  constexpr int entry = headroom == 2 || p + 1 == split.passes ? 1 : 2;
  const std::uint32_t node = Pass<split, p>::node(thread);
  if constexpr (split.is_cyclic(p)) {
    cyclic_pass<headroom, split, p, Direction::inverse>(x, limb);
    multiply_powers<headroom, split, p>(x, limb, node);
    constexpr CyclicBounds<headroom, split.levels[p], Direction::inverse> bounds{};
    reduce_unmultiplied<headroom, split, p, bounds.at[split.levels[p]][0]>(x, limb);
  } else {
    inverse_levels<headroom, split, p, entry>(x, limb.table + split.table_start(p), node,
                                              Multiples<headroom, Word>(limb), early);
  }
  if constexpr (p == 0) {
    WHORL_UNROLL
    for (int i = 0; i < 1 << split.log_e; ++i) x[i] = subtract_once<Word>(x[i], limb.q);
  }
}

}  // namespace whorl::backend::cuda
