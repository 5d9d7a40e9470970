// Blind rotation with unrolled keys in one kernel, with the NTT: exact. The division of work is
// rotate_fft_unrolled.cuh's, with one ciphertext a thread (R = 1).
//
// A value of the bundle (bundle_form.h) is a sum of products of keys with factors, X^a_S - 1 or
// X^a_S at its root, reduced once. The factors serve all rows and components. Beyond three
// coefficients a group there are too many for the registers: only the first three have them then,
// and from differences of sets the sum of their keys is taken away at the end.
#pragma once

#include "backend/cuda/kernels/bundle_form.h"
#include "backend/cuda/kernels/rotate_ntt.cuh"

namespace whorl::backend::cuda {

/// An unrolled key as the kernel reads it.
template <class Word>
struct UnrolledNttKeyView {
  /// [row][component][key][node][f], rows in the order component, digit; step by step, all of which
  /// have as many keys: values at the roots times N^-1, in Montgomery form.
  const Word* values;
  NttView<Word> plan;
  const Word* monomials;      ///< psi^e, e < 2N, in Montgomery form
  const GadgetRange* ranges;  ///< of LWE coefficients
  std::uint32_t range_count, slots;
  Word montgomery;  ///< Q^-1 modulo the word
  Word* spill;      ///< slots of all blocks, for shapes whose slots do not fit shared memory
  int group, keys;  ///< coefficients and keys of a step
};

/// Where a value lies among those of a step.
template <class Shape>
__host__ __device__ constexpr std::size_t unrolled_ntt_place(unsigned row, unsigned component,
                                                             unsigned key, unsigned keys,
                                                             unsigned value) {
  return ((std::size_t{2} * row + component) * keys + key) * Shape::N + value;
}

/// Shared memory of a block of L ciphertexts; those lie apart as in UnrolledFftMemory.
template <class Shape, int L>
struct UnrolledNttMemory {
  using Word = typename Shape::Word;
  /// Words a ciphertext.
  static constexpr std::size_t padding =
      L == 1 ? 0 : (sizeof(Word) == 4 ? 128 / L : 16) / sizeof(Word);
  static constexpr int log_l = L == 1 ? 0 : L == 2 ? 1 : 2;
  /// Roots by which X^a differs between the nodes of a warp.
  static constexpr int log_near = 5 - log_l, near = 1 << log_near;
  static constexpr int near_roots = Shape::F * near;
  __host__ __device__ static constexpr std::size_t ciphertext_words(unsigned slots) {
    return std::size_t{2} * slots * Shape::N + padding;
  }
  __host__ __device__ static constexpr std::size_t slot_bytes(unsigned slots) {
    return L * ciphertext_words(slots) * sizeof(Word);
  }
  static constexpr std::size_t other_bytes =
      (near_roots + std::size_t{2} * L * Shape::N) * sizeof(Word);
};

namespace rotate_ntt_unrolled_detail {

/// The F values of a node, 16 bytes at a time where they are as many.
template <int F, class Word, class Load>
__device__ __forceinline__ void load_node(const Word* at, Word (&out)[F], const Load& load) {
  constexpr int width = 16 / sizeof(Word);
  if constexpr (F % width == 0) {
#pragma unroll
    for (int part = 0; part < F / width; ++part) {
      const uint4 v = load(reinterpret_cast<const uint4*>(at) + part);
      if constexpr (width == 4) {
        out[0] = v.x;
        out[1] = v.y;
        out[2] = v.z;
        out[3] = v.w;
      } else {
        out[2 * part] = std::uint64_t{v.y} << 32 | v.x;
        out[2 * part + 1] = std::uint64_t{v.w} << 32 | v.z;
      }
    }
  } else {
#pragma unroll
    for (int f = 0; f < F; ++f) out[f] = load(at + f);
  }
}
template <int F, class Word>
__device__ __forceinline__ void store_node(const Word (&x)[F], Word* at) {
  constexpr int width = 16 / sizeof(Word);
  if constexpr (F % width == 0) {
#pragma unroll
    for (int part = 0; part < F / width; ++part) {
      uint4 v;
      if constexpr (width == 4)
        v = {x[0], x[1], x[2], x[3]};
      else
        v = {static_cast<unsigned>(x[2 * part]), static_cast<unsigned>(x[2 * part] >> 32),
             static_cast<unsigned>(x[2 * part + 1]), static_cast<unsigned>(x[2 * part + 1] >> 32)};
      reinterpret_cast<uint4*>(at)[part] = v;
    }
  } else {
#pragma unroll
    for (int f = 0; f < F; ++f) at[f] = x[f];
  }
}

/// What keys of one frequency are multiplied by, for F frequencies of a node. `monomial[i][f]` is
/// X^a_i there, in Montgomery form, as are all values.
template <BundleForm form, int m, int F, class Word>
struct BundleFactors {
  static constexpr int keys = static_cast<int>(bundle_keys(form, m));
  Word factor[keys][F];

  __device__ __forceinline__ BundleFactors(const Word (&monomial)[m][F], int, Word one, Word q,
                                           Word montgomery) {
    // Number of the key of a set.
    constexpr int first = form == BundleForm::differences ? 1 : 0;
    if constexpr (form == BundleForm::all) set(0, [&](int) { return one; });
#pragma unroll
    for (int i = 0; i < m; ++i) {
      if constexpr (form == BundleForm::block) {
        set(i, [&](int f) { return monomial[i][f]; });
      } else {
        set((1 << i) - first, [&](int f) { return monomial[i][f]; });
#pragma unroll
        for (int of = 1; of < 1 << i; ++of)
          set((1 << i | of) - first, [&](int f) {
            return mul_montgomery<Word>(monomial[i][f], factor[of - first][f], q, montgomery);
          });
      }
    }
    if constexpr (form != BundleForm::all)
#pragma unroll
      for (int k = 0; k < keys; ++k)
        set(k, [&](int f) { return sub_mod<Word>(factor[k][f], one, q); });
  }
  /// The bundle, of keys that load(k, values) reads.
  template <class Load>
  __device__ __forceinline__ void bundle(const Load& load, Word q, Word montgomery,
                                         Word (&out)[F]) const {
    ProductSum<Word> sum[F];
#pragma unroll
    for (int k = 0; k < keys; ++k) {
      Word v[F];
      load(k, v);
#pragma unroll
      for (int f = 0; f < F; ++f) sum[f].add(factor[k][f], v[f], q);
    }
#pragma unroll
    for (int f = 0; f < F; ++f) out[f] = sum[f].reduce(q, montgomery);
  }

 private:
  template <class Value>
  __device__ __forceinline__ void set(int k, const Value& value) {
#pragma unroll
    for (int f = 0; f < F; ++f) factor[k][f] = value(f);
  }
};

/// The same for groups of up to m coefficients: factors of the sets of the first three, and a loop
/// over the sets of the others. Keys that a smaller group lacks are read as 0.
template <BundleForm form, int m, int F, class Word>
requires(form != BundleForm::block && m > 3) struct BundleFactors<form, m, F, Word> {
  static constexpr int low = 3, high = m - low;
  BundleFactors<BundleForm::all, low, F, Word> of_low;
  Word monomial[high][F], one;
  int high_sets;

  __device__ __forceinline__ BundleFactors(const Word (&x)[m][F], int group, Word one, Word q,
                                           Word montgomery)
      : of_low(reinterpret_cast<const Word (&)[low][F]>(x), low, one, q, montgomery),
        one(one),
        high_sets(group > low ? 1 << (group - low) : 1) {
#pragma unroll
    for (int i = 0; i < high; ++i)
#pragma unroll
      for (int f = 0; f < F; ++f) monomial[i][f] = x[low + i][f];
  }
  template <class Load>
  __device__ __forceinline__ void bundle(const Load& load, Word q, Word montgomery,
                                         Word (&out)[F]) const {
    Word plain[F] = {};  // the sum of all keys, for differences
    ProductSum<Word> sum[F];
#pragma unroll 1
    for (int set = 0; set < high_sets; ++set) {
      Word part[F];
      of_low.bundle(
          [&](int k, Word(&v)[F]) {
            if constexpr (form == BundleForm::all) {
              load(set << low | k, v);
            } else {
              if (k == 0 && set == 0) {
#pragma unroll
                for (int f = 0; f < F; ++f) v[f] = 0;
              } else {
                load((set << low | k) - 1, v);
              }
#pragma unroll
              for (int f = 0; f < F; ++f) plain[f] = add_mod<Word>(plain[f], v[f], q);
            }
          },
          q, montgomery, part);
#pragma unroll
      for (int f = 0; f < F; ++f) {
        Word factor = one;
#pragma unroll
        for (int i = 0; i < high; ++i)
          if ((set >> i & 1) != 0)
            factor = mul_montgomery<Word>(factor, monomial[i][f], q, montgomery);
        sum[f].add(factor, part[f], q);
      }
    }
#pragma unroll
    for (int f = 0; f < F; ++f) out[f] = sub_mod<Word>(sum[f].reduce(q, montgomery), plain[f], q);
  }
};

}  // namespace rotate_ntt_unrolled_detail

/// m: the group, or the largest one for a kernel that takes any.
template <class Shape, BundleForm form, int m, int L, int blocks, Slots place>
__global__ void __launch_bounds__(2 * L * Shape::threads, blocks)
    rotate_ntt_unrolled(const UnrolledNttKeyView<typename Shape::Word> key,
                        const RotationBatch<typename Shape::Word> batch) {
  using Word = typename Shape::Word;
  using Int = std::make_signed_t<Word>;
  using Memory = UnrolledNttMemory<Shape, L>;
  constexpr int N = Shape::N, E = Shape::E, G = Shape::threads, F = Shape::F;
  constexpr int last = Shape::passes - 1, nodes = N / F, threads = 2 * L * G;
  constexpr ResultUse use = form == BundleForm::all ? ResultUse::replaces : ResultUse::adds;
  constexpr bool any = m == bundle_sizes(form).most;
  const int group_size = any ? key.group : m;
  const int keys = any ? key.keys : static_cast<int>(bundle_keys(form, m));
  constexpr int bits = Shape::log_n - Shape::rest;
  constexpr int far_bits = bits - Memory::log_near;
  static_assert(nodes >= 32 && threads % 32 == 0);

  extern __shared__ double2 shared_memory[];
  const std::size_t block_words = L * Memory::ciphertext_words(key.slots);
  Word* const shared_words = reinterpret_cast<Word*>(shared_memory);
  Word* const slots = place == Slots::device ? key.spill + blockIdx.x * block_words : shared_words;
  Word* const near = shared_words + (place == Slots::device ? 0 : block_words);
  Int* const accumulators = reinterpret_cast<Int*>(near + Memory::near_roots);

  const int group = threadIdx.x / G, t = threadIdx.x % G;
  const auto sync = [group] { group_sync<G>(group); };
  const std::uint32_t first_ciphertext = blockIdx.x * L;
  const auto clamped = [&](std::uint32_t c) { return min(first_ciphertext + c, batch.count - 1); };
  const std::uint32_t ciphertext = clamped(group / 2);
  const Word q = key.plan.q;
  const Int Q = static_cast<Int>(q);
  Int* const acc = accumulators + group * N;
  Word* const own = slots + group / 2 * Memory::ciphertext_words(key.slots) +
                    std::size_t{group % 2 * key.slots} * N;
  const std::uint32_t multiplied = threadIdx.x % L;
  Word* const multiplied_slots = slots + multiplied * Memory::ciphertext_words(key.slots);
  const std::uint32_t* const lwe = batch.lwe + std::uint64_t{clamped(multiplied)} * (batch.n + 1);

  for (int j = threadIdx.x; j < Memory::near_roots; j += threads)
    near[j] = key.monomials[j * (2 * N / Memory::near_roots)];
  start_accumulator<N, G, Word>(batch, ciphertext, group % 2, t, Q, acc);
  sync();

  for (std::uint32_t range = 0; range < key.range_count; ++range) {
    const GadgetRange gadget = key.ranges[range];
    const std::uint32_t rows = 2 * gadget.digits;
    const Word* step_key = key.values + gadget.first_row * 2 * N;
    for (std::uint32_t i = gadget.first; i < gadget.end;
         i += group_size, step_key += std::size_t{rows} * 2 * keys * N) {
      std::uint32_t a[m];
#pragma unroll
      for (int k = 0; k < m; ++k)
        a[k] = (!any || k < group_size) && i + k < batch.n ? __ldg(lwe + i + k) : 0;

        // Coefficients that a thread decomposes here are those that it adds to below.
#pragma unroll 1
      for (std::uint32_t digit = 0; digit < gadget.digits; ++digit) {
        const DigitRule rule(gadget, digit);
        Word x[E];
#pragma unroll
        for (int k = 0; k < E; ++k) {
          const Int value = rule(acc[t + G * k] + static_cast<Int>(gadget.offset));
          x[k] = static_cast<Word>(value < 0 ? value + Q : value);
        }
        Word* const slot = own + digit * N;
        transform_values<Shape>(x, key.plan, t, slot, slot, sync);
      }
      __syncthreads();

#pragma unroll 1
      for (int item = threadIdx.x; item < nodes * L; item += threads) {
        const int node = item / L;
        // X^a_i at psi^(2·brv(node·F + f) + 1), whose parts are as in rotate_fft_unrolled.cuh.
        Word monomial[m][F];
        const std::uint32_t near_part =
            __brev(node & (Memory::near - 1)) >> (32 - Memory::log_near);
        std::uint32_t far_part = 1;
        if constexpr (far_bits > 0)
          far_part += 2 * (__brev(node >> Memory::log_near) >> (32 - far_bits));
#pragma unroll
        for (int k = 0; k < m; ++k) {
          const auto root = [&](std::uint32_t exponent) {
            return __ldg(key.monomials + ((a[k] * exponent) & (2 * N - 1)));
          };
          // Values of a node differ by roots of order F.
#pragma unroll
          for (int f = 0; f < F; ++f) {
            Word& x = monomial[k][f];
            if (f == 0)
              x = mul_montgomery<Word>(root(far_part),
                                       near[(a[k] * near_part) & (Memory::near_roots - 1)], q,
                                       key.montgomery);
            else if (f % 2 == 0)
              x = mul_montgomery<Word>(monomial[k][0], root(2 * N / F), q, key.montgomery);
            else
              x = a[k] % 2 == 0 ? monomial[k][f - 1] : neg_mod<Word>(monomial[k][f - 1], q);
          }
        }
        const rotate_ntt_unrolled_detail::BundleFactors<form, m, F, Word> factors(
            monomial, group_size, __ldg(key.monomials), q, key.montgomery);

        ProductSum<Word> sum[2][F];
        for (std::uint32_t row = 0; row < rows; ++row) {
          const std::uint32_t component = row >= gadget.digits;
          const std::uint32_t slot_index = component * key.slots + row - component * gadget.digits;
          const Word* const slot = multiplied_slots + std::size_t{slot_index} * N;
          Word x[F];
          rotate_ntt_unrolled_detail::load_node<F>(slot + Shape::template place<last>(node * F), x,
                                                   [](const auto* at) { return *at; });
          forward_rest<Shape>(x, key.plan, node);
#pragma unroll
          for (int s = 0; s < 2; ++s) {
            Word bundle[F];
            factors.bundle(
                [&](int k, Word(&v)[F]) {
                  if (any && k >= keys) {
#pragma unroll
                    for (int f = 0; f < F; ++f) v[f] = 0;
                    return;
                  }
                  rotate_ntt_unrolled_detail::load_node<F>(
                      step_key + (std::size_t{2 * row + s} * keys + k) * N + node * F, v,
                      [](const auto* at) { return __ldcg(at); });
                },
                q, key.montgomery, bundle);
#pragma unroll
            for (int f = 0; f < F; ++f) sum[s][f].add(x[f], bundle[f], q);
          }
        }
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          Word result[F];
#pragma unroll
          for (int f = 0; f < F; ++f) result[f] = sum[s][f].reduce(q, key.montgomery);
          inverse_rest<Shape>(result, key.plan, node);
          Word* const to = multiplied_slots + std::size_t{s * key.slots} * N;
          rotate_ntt_unrolled_detail::store_node<F>(result,
                                                    to + Shape::template place<last>(node * F));
        }
      }
      __syncthreads();

      if constexpr (sizeof(Word) == 4) {
        if (group % 2 == 1 && batch.extract && i + group_size >= batch.n) {
          add_constant_back<Shape, use>(own, t, acc, q, sync);
          sync();
          continue;
        }
      }
      transform_back<Shape, use>(own, own, key.plan, t, acc, sync);
      sync();
    }
  }
  if (first_ciphertext + group / 2 < batch.count)
    write_accumulator<N, G, Word>(batch, ciphertext, group % 2, t, Q, acc);
}

}  // namespace whorl::backend::cuda
