// Blind rotation with unrolled keys in one kernel, with the NTT: exact. The division of work is
// rotate_fft_unrolled.cuh's, with one ciphertext a thread (R = 1).
//
// A value of the bundle sum_S (X^a_S - 1)·K_S is a sum of products with all X^a_S - 1 at its root,
// reduced once. Those serve all rows and components.
#pragma once

#include "backend/cuda/kernels/rotate_ntt.cuh"

namespace whorl::backend::cuda {

/// An unrolled key as the kernel reads it.
template <class Word>
struct UnrolledNttKeyView {
  /// [row][component][key][node][f], rows in the order component, digit; step by step, all of which
  /// have 2^m - 1 keys: values at the roots times N^-1, in Montgomery form.
  const Word* values;
  NttView<Word> plan;
  const Word* monomials;      ///< psi^e, e < 2N, in Montgomery form
  const GadgetRange* ranges;  ///< of LWE coefficients
  std::uint32_t range_count, slots;
  Word montgomery;  ///< Q^-1 modulo the word
  Word* spill;      ///< slots of all blocks, for shapes whose slots do not fit shared memory
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

}  // namespace rotate_ntt_unrolled_detail

template <class Shape, int m, int L, int blocks, bool spills>
__global__ void __launch_bounds__(2 * L * Shape::threads, blocks)
    rotate_ntt_unrolled(const UnrolledNttKeyView<typename Shape::Word> key,
                        const RotationBatch<typename Shape::Word> batch) {
  using Word = typename Shape::Word;
  using Int = std::make_signed_t<Word>;
  using Memory = UnrolledNttMemory<Shape, L>;
  constexpr int N = Shape::N, E = Shape::E, G = Shape::threads, F = Shape::F;
  constexpr int last = Shape::passes - 1, nodes = N / F, threads = 2 * L * G;
  constexpr int keys = (1 << m) - 1, bits = Shape::log_n - Shape::rest;
  constexpr int far_bits = bits - Memory::log_near;
  static_assert(nodes >= 32 && threads % 32 == 0);

  extern __shared__ double2 shared_memory[];
  const std::size_t block_words = L * Memory::ciphertext_words(key.slots);
  Word* const shared_words = reinterpret_cast<Word*>(shared_memory);
  Word* const slots = spills ? key.spill + blockIdx.x * block_words : shared_words;
  Word* const near = shared_words + (spills ? 0 : block_words);
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
         i += m, step_key += std::size_t{rows} * 2 * keys * N) {
      std::uint32_t a[m];
#pragma unroll
      for (int k = 0; k < m; ++k) a[k] = i + k < batch.n ? __ldg(lwe + i + k) : 0;

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
        // factor[S - 1][f] = X^a_S - 1 at psi^(2·brv(node·F + f) + 1), whose parts are as in
        // rotate_fft_unrolled.cuh.
        Word factor[keys][F];
        const std::uint32_t near_part =
            __brev(node & (Memory::near - 1)) >> (32 - Memory::log_near);
        std::uint32_t far_part = 1;
        if constexpr (far_bits > 0)
          far_part += 2 * (__brev(node >> Memory::log_near) >> (32 - far_bits));
#pragma unroll
        for (int k = 0; k < m; ++k) {
          const auto root = [&](std::uint32_t exponent) {
            return __ldg(key.monomials + (a[k] * exponent & (2 * N - 1)));
          };
          // Values of a node differ by roots of order F.
#pragma unroll
          for (int f = 0; f < F; ++f) {
            Word& x = factor[(1 << k) - 1][f];
            if (f == 0)
              x = mul_montgomery<Word>(root(far_part),
                                       near[a[k] * near_part & (Memory::near_roots - 1)], q,
                                       key.montgomery);
            else if (f % 2 == 0)
              x = mul_montgomery<Word>(factor[(1 << k) - 1][0], root(2 * N / F), q, key.montgomery);
            else
              x = a[k] % 2 == 0 ? factor[(1 << k) - 1][f - 1]
                                : neg_mod<Word>(factor[(1 << k) - 1][f - 1], q);
          }
#pragma unroll
          for (int of = 1; of < 1 << k; ++of)
#pragma unroll
            for (int f = 0; f < F; ++f)
              factor[(1 << k | of) - 1][f] = mul_montgomery<Word>(
                  factor[(1 << k) - 1][f], factor[of - 1][f], q, key.montgomery);
        }
        const Word one = __ldg(key.monomials);
#pragma unroll
        for (int k = 0; k < keys; ++k)
#pragma unroll
          for (int f = 0; f < F; ++f) factor[k][f] = sub_mod<Word>(factor[k][f], one, q);

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
            ProductSum<Word> bundle[F];
#pragma unroll
            for (int k = 0; k < keys; ++k) {
              Word v[F];
              rotate_ntt_unrolled_detail::load_node<F>(
                  step_key + (std::size_t{2 * row + s} * keys + k) * N + node * F, v,
                  [](const auto* at) { return __ldcg(at); });
#pragma unroll
              for (int f = 0; f < F; ++f) bundle[f].add(factor[k][f], v[f], q);
            }
#pragma unroll
            for (int f = 0; f < F; ++f) sum[s][f].add(x[f], bundle[f].reduce(q, key.montgomery), q);
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
        if (group % 2 == 1 && batch.extract && i + m >= batch.n) {
          add_constant_back<Shape>(own, t, acc, q, sync);
          sync();
          continue;
        }
      }
      transform_back<Shape>(own, own, key.plan, t, acc, sync);
      sync();
    }
  }
  if (first_ciphertext + group / 2 < batch.count)
    write_accumulator<N, G, Word>(batch, ciphertext, group % 2, t, Q, acc);
}

}  // namespace whorl::backend::cuda
