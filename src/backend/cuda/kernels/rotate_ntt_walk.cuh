// Blind rotation with the NTT, exact: by steps in each ciphertext's own order (walk.h), and by GINX
// with a raised modulus.
//
// A block carries one ciphertext; the division of work is rotate_ntt.cuh's. With a raised modulus
// there are two limbs, Q and P. A thread carries both limbs of its coefficients, so that their
// transforms share barriers, and the division by P needs none: (x - [x]_P)/P takes x modulo P from
// the same thread.
//
#pragma once

#include "backend/cuda/kernels/roomy_ntt.cuh"
#include "backend/cuda/kernels/rotate_ntt_unrolled.cuh"
#include "backend/cuda/kernels/walk.h"

namespace whorl::backend::cuda {

/// When transforms and products reduce: after each level, or late (roomy_ntt.cuh), if a word holds
/// 16 times both moduli.
enum class Reduction { each_level, late };

enum class NttSteps {
  digits,         ///< AP
  automorphisms,  ///< by automorphisms
  ginx_1,         ///< GINX with one key a coefficient: ACC += D ⊡ (X^a - 1)·K_1
  ginx_2          ///< with two: … + (X^-a - 1)·K_2
};

/// These numbers are for the division by P: covered is a multiple of P above Q/2; P^-1 modulo Q.
template <class Word>
struct RaisedDivision {
  Word covered;
  Word inverse_P, inverse_P_shoup;
};

/// A key as the kernel reads it. Limbs: Q, and P where the modulus is raised.
template <class Word, int limbs>
struct NttWalkKeyView {
  /// [row][component][limb][value], in the shape's order of rows: values at the roots times N^-1,
  /// and modulo Q divided by P, in Montgomery form.
  const Word* values;
  NttView<Word> plan[limbs];
  Word montgomery[limbs];        ///< q^-1 modulo the word
  Word one_shoup[limbs];         ///< floor(2^wordbits/q)
  const Word* monomials[limbs];  ///< psi^e, e < 2N, in Montgomery form: for GINX
  const GadgetRange* ranges;
  std::uint32_t slots;
  RaisedDivision<Word> division;
  Word* spill;  ///< slots of all blocks, for shapes whose slots do not fit shared memory
  Walks walks;  ///< not for GINX
};

/// Memory of a block.
template <class Shape, int limbs, NttSteps steps>
struct NttWalkMemory {
  using Word = typename Shape::Word;
  static constexpr bool ginx = steps == NttSteps::ginx_1 || steps == NttSteps::ginx_2;
  static constexpr int keys = steps == NttSteps::ginx_2 ? 2 : 1;
  /// Roots by which X^a differs between the nodes of a warp, of each limb.
  static constexpr int near = 32, near_roots = ginx ? Shape::F * near : 0;
  static constexpr std::size_t slot_bytes(unsigned slots) {
    return std::size_t{2} * limbs * slots * Shape::N * sizeof(Word);
  }
  static constexpr std::size_t other_bytes =
      (std::size_t{limbs} * near_roots + std::size_t{2} * Shape::N) * sizeof(Word);
};

namespace rotate_ntt_walk_detail {

/// forward_passes of all limbs at once; buffers lie `apart`.
template <class Shape, Reduction reduction, int limbs, int p = 0, class Word = typename Shape::Word,
          class Sync>
__device__ __forceinline__ void forward(Word (&x)[limbs][Shape::E], int t,
                                        const NttView<Word> (&plan)[limbs], Word* buffer,
                                        std::size_t apart, const Sync& sync) {
  constexpr int E = Shape::E, s = Shape::stride(p);
  const int node = (1 << (Shape::log_e * p)) + t / s;
#pragma unroll
  for (int l = 0; l < limbs; ++l) {
    if constexpr (reduction == Reduction::late)
      roomy_ntt::forward_level<E, 0, Shape::log_e * p>(x[l], plan[l].roots, node, plan[l].q);
    else
      group_ntt::forward_level<E, 0>(x[l], plan[l].roots, node, plan[l].q);
  }
  if constexpr (p + 1 < Shape::passes) {
    constexpr int next = Shape::stride(p + 1);
    const int from = t / s * E * s + t % s, to = t / next * E * next + t % next;
#pragma unroll
    for (int l = 0; l < limbs; ++l)
#pragma unroll
      for (int k = 0; k < E; ++k)
        buffer[l * apart + Shape::template place<p>(from + s * k)] = x[l][k];
    sync();
#pragma unroll
    for (int l = 0; l < limbs; ++l)
#pragma unroll
      for (int k = 0; k < E; ++k)
        x[l][k] = buffer[l * apart + Shape::template place<p>(to + next * k)];
    sync();
    forward<Shape, reduction, limbs, p + 1>(x, t, plan, buffer, apart, sync);
  }
}

/// inverse_passes of all limbs at once; late: of values below 2q.
template <class Shape, Reduction reduction, int limbs, int p = Shape::passes - 1,
          class Word = typename Shape::Word, class Sync>
__device__ __forceinline__ void inverse(Word (&x)[limbs][Shape::E], int t,
                                        const NttView<Word> (&plan)[limbs],
                                        const Word (&one_shoup)[limbs], Word* buffer,
                                        std::size_t apart, const Sync& sync) {
  constexpr int E = Shape::E, s = Shape::stride(p);
  const int node = (1 << (Shape::log_e * p)) + t / s;
#pragma unroll
  for (int l = 0; l < limbs; ++l) {
    if constexpr (reduction == Reduction::late)
      roomy_ntt::inverse_level<E, Shape::log_e - 1>(x[l], plan[l].inverse_roots, node, one_shoup[l],
                                                    plan[l].q);
    else
      group_ntt::inverse_level<E, Shape::log_e - 1>(x[l], plan[l].inverse_roots, node, plan[l].q);
  }
  if constexpr (p > 0) {
    constexpr int before = Shape::stride(p - 1);
    const int from = t / s * E * s + t % s, to = t / before * E * before + t % before;
    sync();  // all have read what lies there
#pragma unroll
    for (int l = 0; l < limbs; ++l)
#pragma unroll
      for (int k = 0; k < E; ++k)
        buffer[l * apart + Shape::template place<p - 1>(from + s * k)] = x[l][k];
    sync();
#pragma unroll
    for (int l = 0; l < limbs; ++l)
#pragma unroll
      for (int k = 0; k < E; ++k)
        x[l][k] = buffer[l * apart + Shape::template place<p - 1>(to + before * k)];
    inverse<Shape, reduction, limbs, p - 1>(x, t, plan, one_shoup, buffer, apart, sync);
  }
}

/// A centred value modulo Q, modulo limb l: reduced, or if late below 2q.
template <int l, Reduction reduction, class Word, class Int, int limbs>
__device__ __forceinline__ Word whole_digit(Int value, const NttWalkKeyView<Word, limbs>& key) {
  const Word q = key.plan[l].q;
  if constexpr (l == 0) {
    return static_cast<Word>(reduction == Reduction::late || value < 0 ? value + static_cast<Int>(q)
                                                                       : value);
  } else {
    const Word x = roomy_ntt::below_2q<Word>(static_cast<Word>(value) + key.division.covered,
                                             key.one_shoup[l], q);
    return reduction == Reduction::late ? x : subtract_once<Word>(x, q);
  }
}

/// factor[0] <- X^a - 1 at the F values of a node, in Montgomery form, and factor[1] <- X^-a - 1.
/// Parts of exponents are as in rotate_fft_unrolled.cuh.
template <class Shape, int keys, class Word = typename Shape::Word>
__device__ __forceinline__ void differences(const Word* __restrict__ monomials, const Word* near,
                                            std::uint32_t a, int node, Word q, Word montgomery,
                                            Word (&factor)[keys][Shape::F]) {
  constexpr int F = Shape::F, N = Shape::N, near_nodes = 32, near_roots = F * near_nodes;
  constexpr int far_bits = Shape::log_n - Shape::rest - 5;
  const std::uint32_t near_part = __brev(node & (near_nodes - 1)) >> 27;
  std::uint32_t far_part = 1;
  if constexpr (far_bits > 0) far_part += 2 * (__brev(node / near_nodes) >> (32 - far_bits));
  const Word one = __ldg(monomials);
#pragma unroll
  for (int k = 0; k < keys; ++k) {
    const std::uint32_t e = k == 0 ? a : 0u - a;
    const auto root = [&](std::uint32_t exponent) {
      return __ldg(monomials + ((e * exponent) & (2 * N - 1)));
    };
    // Values of a node differ by roots of order F.
#pragma unroll
    for (int f = 0; f < F; ++f) {
      Word& x = factor[k][f];
      if (f == 0)
        x = mul_montgomery<Word>(root(far_part), near[(e * near_part) & (near_roots - 1)], q,
                                 montgomery);
      else if (f % 2 == 0)
        x = mul_montgomery<Word>(factor[k][0], root(2 * N / F), q, montgomery);
      else
        x = a % 2 == 0 ? factor[k][f - 1] : neg_mod<Word>(factor[k][f - 1], q);
    }
#pragma unroll
    for (int f = 0; f < F; ++f) factor[k][f] = sub_mod<Word>(factor[k][f], one, q);
  }
}

/// The last forward levels of a node, and its first inverse ones; late: these from below 2q to it.
template <class Shape, Reduction reduction, class Word = typename Shape::Word>
__device__ __forceinline__ void last_forward(Word (&x)[Shape::F], const NttView<Word>& plan,
                                             int node) {
  if constexpr (reduction == Reduction::late && Shape::F > 1)
    roomy_ntt::forward_level<Shape::F, 0, Shape::passes * Shape::log_e>(
        x, plan.roots, Shape::N / Shape::F + node, plan.q);
  else
    forward_rest<Shape>(x, plan, node);
}
template <class Shape, Reduction reduction, class Word = typename Shape::Word>
__device__ __forceinline__ void first_inverse(Word (&x)[Shape::F], const NttView<Word>& plan,
                                              int node, Word one_shoup) {
  if constexpr (reduction == Reduction::late && Shape::F > 1)
    roomy_ntt::inverse_level<Shape::F, Shape::rest - 1>(
        x, plan.inverse_roots, Shape::N / Shape::F + node, one_shoup, plan.q);
  else
    inverse_rest<Shape>(x, plan, node);
}

/// A sum of products of residues.
template <class Word, Reduction reduction>
struct SumOf : ProductSum<Word> {};
template <class Word>
struct SumOf<Word, Reduction::late> : roomy_ntt::Sum<Word> {
  __device__ __forceinline__ void add(Word a, Word b, Word /*q*/) {
    roomy_ntt::Sum<Word>::add(a, b);
  }
};

}  // namespace rotate_ntt_walk_detail

template <class Shape, int limbs, NttSteps kind, Reduction reduction, int blocks, Slots place>
__global__ void __launch_bounds__(2 * Shape::threads, blocks)
    rotate_ntt_walk(const NttWalkKeyView<typename Shape::Word, limbs> key,
                    const RotationBatch<typename Shape::Word> batch) {
  using Word = typename Shape::Word;
  using Int = std::make_signed_t<Word>;
  using Memory = NttWalkMemory<Shape, limbs, kind>;
  constexpr bool ginx = Memory::ginx, moves = kind == NttSteps::automorphisms, raised = limbs == 2;
  constexpr int N = Shape::N, E = Shape::E, G = Shape::threads, F = Shape::F, threads = 2 * G;
  constexpr int last = Shape::passes - 1, nodes = N / F, keys = Memory::keys;
  static_assert(nodes >= 32 && threads % 32 == 0);

  extern __shared__ double2 shared_memory[];
  const std::uint32_t slots_each = raised ? 1 : key.slots;
  const std::size_t limb_words = std::size_t{slots_each} * N, part_words = limbs * limb_words;
  Word* const shared_words = reinterpret_cast<Word*>(shared_memory);
  Word* const slots =
      place == Slots::device ? key.spill + blockIdx.x * 2 * part_words : shared_words;
  Word* const near = shared_words + (place == Slots::device ? 0 : 2 * part_words);
  Int* const accumulators = reinterpret_cast<Int*>(near + limbs * Memory::near_roots);

  const int group = threadIdx.x / G, t = threadIdx.x % G;
  const auto sync = [group] { group_sync<G>(group); };
  const std::uint32_t ciphertext = blockIdx.x;
  const Int Q = static_cast<Int>(key.plan[0].q);
  Int* const acc = accumulators + group * N;
  Word* const own = slots + group * part_words;

  if constexpr (ginx)
    for (int j = threadIdx.x; j < limbs * Memory::near_roots; j += threads)
      near[j] = key.monomials[j / Memory::near_roots]
                             [j % Memory::near_roots * (2 * N / Memory::near_roots)];
  start_accumulator<N, G, Word>(batch, ciphertext, group, t, Q, acc,
                                ginx ? 1 : key.walks.start_move);
  __syncthreads();

  const std::uint32_t* const lwe = batch.lwe + std::uint64_t{ciphertext} * (batch.n + 1);
  const WalkStep* const steps =
      ginx ? nullptr : key.walks.steps + std::uint64_t{ciphertext} * key.walks.most;
  const std::uint32_t count = ginx ? batch.n : key.walks.length[ciphertext];
  const auto step_at = [&](std::uint32_t s) {
    // Keys of GINX have two rows each, one for a and one for b.
    if constexpr (ginx) return WalkStep{s * 2 * keys, __ldg(lwe + s)};
    const uint2 x = __ldg(reinterpret_cast<const uint2*>(steps + s));
    return WalkStep{x.x, x.y};
  };
  WalkStep next{0, 0};
  if (count != 0) next = step_at(0);
  std::uint32_t range = ginx ? 0 : next.range();
  [[maybe_unused]] GadgetRange gadget = key.ranges[range];
#pragma unroll 1
  for (std::uint32_t s = 0; s < count; ++s) {
    const WalkStep step = next;
    if (s + 1 < count) next = step_at(s + 1);
    if constexpr (!ginx && !raised) {
      if (step.range() != range) {
        range = step.range();
        gadget = key.ranges[range];
      }
    }
    const std::uint32_t digits = raised ? 1 : gadget.digits;
    const std::uint32_t inverse = moves ? step.inverse() : 0;
    const bool automorphism = moves && inverse != 0, keeps = automorphism && group == 1;

    const auto moved = [&](int j) {
      const std::uint32_t from = (static_cast<std::uint32_t>(j) * inverse) & (2 * N - 1);
      const Int x = acc[from & (N - 1)];
      return from & N ? -x : x;
    };
    if constexpr (moves) {
      if (keeps) {  // b(X^g), in place
        Int x[E];
#pragma unroll
        for (int k = 0; k < E; ++k) x[k] = moved(t + G * k);
        sync();
#pragma unroll
        for (int k = 0; k < E; ++k) acc[t + G * k] = x[k];
      }
    }
#pragma unroll 1
    for (std::uint32_t digit = 0; digit < (keeps ? 0 : digits); ++digit) {
      Word x[limbs][E];
#pragma unroll
      for (int k = 0; k < E; ++k) {
        const int j = t + G * k;
        Int value = acc[j];
        if constexpr (moves)
          if (automorphism) value = moved(j);
        if constexpr (raised) {
          x[0][k] = rotate_ntt_walk_detail::whole_digit<0, reduction>(value, key);
          x[1][k] = rotate_ntt_walk_detail::whole_digit<1, reduction>(value, key);
        } else {
          const Int taken = DigitRule(gadget, digit)(value + static_cast<Int>(gadget.offset));
          x[0][k] =
              static_cast<Word>(reduction == Reduction::late || taken < 0 ? taken + Q : taken);
        }
      }
      Word* const slot = own + digit * N;
      rotate_ntt_walk_detail::forward<Shape, reduction, limbs>(x, t, key.plan, slot, limb_words,
                                                               sync);
      const int base = t / F * F * E + t % F;
#pragma unroll
      for (int l = 0; l < limbs; ++l)
#pragma unroll
        for (int k = 0; k < E; ++k)
          slot[l * limb_words + Shape::template place<last>(base + F * k)] = x[l][k];
    }
    __syncthreads();

    const std::uint32_t rows = raised && !moves ? 2 : (automorphism ? 1 : 2) * digits;
    const Word* const step_key = key.values + std::uint64_t{step.row} * 2 * limbs * N;
#pragma unroll 1
    for (int item = threadIdx.x; item < limbs * nodes; item += threads) {
      const int l = raised ? item / nodes : 0, node = raised ? item % nodes : item;
      const NttView<Word> plan = key.plan[l];
      const Word q = plan.q, montgomery = key.montgomery[l];
      [[maybe_unused]] Word factor[keys][F];
      if constexpr (ginx)
        rotate_ntt_walk_detail::differences<Shape, keys>(
            key.monomials[l], near + l * Memory::near_roots, step.how, node, q, montgomery, factor);
      using Sum = rotate_ntt_walk_detail::SumOf<Word, reduction>;
      Sum sum[2][F];
      const auto add_row = [&](std::uint32_t row) {
        const std::uint32_t component = row >= digits;
        const Word* const slot =
            slots + component * part_words + l * limb_words + (row - component * digits) * N;
        // Where component `part` of a row begins.
        const auto key_at = [&](std::uint32_t of, int part) {
          return step_key + (std::size_t{2 * of + part} * limbs + l) * N + node * F;
        };
        Word x[F];
        rotate_ntt_unrolled_detail::load_node<F>(slot + Shape::template place<last>(node * F), x,
                                                 [](const auto* at) { return *at; });
        rotate_ntt_walk_detail::last_forward<Shape, reduction>(x, plan, node);
#pragma unroll
        for (int part = 0; part < 2; ++part) {
          Word v[keys][F];
#pragma unroll
          for (int k = 0; k < keys; ++k)
            rotate_ntt_unrolled_detail::load_node<F>(key_at(2 * k + row, part), v[k],
                                                     [](const auto* at) { return __ldcg(at); });
#pragma unroll
          for (int f = 0; f < F; ++f) {
            if constexpr (ginx) {
              Sum bundle;
#pragma unroll
              for (int k = 0; k < keys; ++k) bundle.add(factor[k][f], v[k][f], q);
              sum[part][f].add(x[f], bundle.reduce(q, montgomery), q);
            } else {
              sum[part][f].add(x[f], v[0][f], q);
            }
          }
        }
      };
      if constexpr (raised && !moves) {
#pragma unroll
        for (std::uint32_t row = 0; row < 2; ++row) add_row(row);
      } else {
#pragma unroll 2
        for (std::uint32_t row = 0; row < rows; ++row) add_row(row);
      }
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        Word result[F];
#pragma unroll
        for (int f = 0; f < F; ++f) {
          result[f] = sum[part][f].reduce(q, montgomery);
          if constexpr (reduction == Reduction::late)
            result[f] = roomy_ntt::below_2q<Word>(result[f], key.one_shoup[l], q);
        }
        rotate_ntt_walk_detail::first_inverse<Shape, reduction>(result, plan, node,
                                                                key.one_shoup[l]);
        rotate_ntt_unrolled_detail::store_node<F>(
            result,
            slots + part * part_words + l * limb_words + Shape::template place<last>(node * F));
      }
    }
    __syncthreads();

    Word x[limbs][E];
    const int base = t / F * F * E + t % F;
#pragma unroll
    for (int l = 0; l < limbs; ++l)
#pragma unroll
      for (int k = 0; k < E; ++k)
        x[l][k] = own[l * limb_words + Shape::template place<last>(base + F * k)];
    rotate_ntt_walk_detail::inverse<Shape, reduction, limbs>(x, t, key.plan, key.one_shoup, own,
                                                             limb_words, sync);
#pragma unroll
    for (int k = 0; k < E; ++k) {
      Int& to = acc[t + G * k];
      const Int kept = ginx || keeps ? to : 0;
      const Word q = key.plan[0].q,
                 product = reduction == Reduction::late ? subtract_once<Word>(x[0][k], q) : x[0][k];
      if constexpr (!raised) {
        to = centre<Int>(kept + centre<Int>(static_cast<Int>(product), Q), Q);
      } else {
        // x/P modulo Q is there; [x]_P is r - P above P/2, and -P/P is -1.
        const Word P = key.plan[1].q,
                   r = reduction == Reduction::late ? subtract_once<Word>(x[1][k], P) : x[1][k];
        const Word part =
            mul_shoup<Word>(r, key.division.inverse_P, key.division.inverse_P_shoup, q);
        const Word above = r > P / 2 ? 1 : 0;
        if constexpr (reduction == Reduction::late)  // below 3/2·Q: a word's sign is free
          to = centre<Int>(kept + static_cast<Int>(product - part + above), Q);
        else
          to = centre<Int>(kept + centre<Int>(static_cast<Int>(add_mod<Word>(
                                                  sub_mod<Word>(product, part, q), above, q)),
                                              Q),
                           Q);
      }
    }
    sync();
  }
  write_accumulator<N, G, Word>(batch, ciphertext, group, t, Q, acc);
}

}  // namespace whorl::backend::cuda
