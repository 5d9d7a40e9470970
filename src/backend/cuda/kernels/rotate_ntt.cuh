// Blind rotation in one kernel, with the NTT: exact. The division of work is rotate_fft.cuh's.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cuda/kernels/accumulator.cuh"
#include "backend/cuda/kernels/group_ntt.cuh"

namespace whorl::backend::cuda {

/// A blind-rotation key as the kernel reads it.
template <class Word>
struct NttKeyView {
  /// [row][key, component][value], rows in the order component, digit; LWE coefficient by LWE
  /// coefficient: values at the roots times N^-1, in Montgomery form, as ntt_key_place has them.
  const Word* values;
  NttView<Word> plan;
  const Word* monomials;  ///< psi^e, e < 2N, in Montgomery form: for ternary keys
  const GadgetRange* ranges;
  std::uint32_t range_count, slots;  ///< slots: most digits
  Word montgomery;                   ///< Q^-1 modulo the word
  Word* spill;  ///< slots of all blocks, for shapes whose slots do not fit shared memory
};

/// Where value f of node m lies: threads own nodes and read side by side.
template <class Shape>
__host__ __device__ constexpr int ntt_key_place(int node, int f) {
  return f * (Shape::N / Shape::F) + node;
}

/// A sum of products of residues, as high·R + low, R = 2^wordbits, high < q.
template <class Word>
struct ProductSum {
  Word low = 0, high = 0;

  __device__ __forceinline__ void add(Word a, Word b, Word q) {
    // high + (a·b)/R < q + q/2: below R.
    if constexpr (sizeof(Word) == 4) {
      const std::uint64_t sum =
          (std::uint64_t{high} << 32 | low) + static_cast<std::uint64_t>(a) * b;
      low = static_cast<Word>(sum);
      high = subtract_once<Word>(static_cast<Word>(sum >> 32), q);
    } else {
      const Word product = a * b;
      low += product;
      high = subtract_once<Word>(high + mul_high<Word>(a, b) + (low < product ? 1 : 0), q);
    }
  }
  /// The sum over R, modulo q.
  __device__ __forceinline__ Word reduce(Word q, Word montgomery) const {
    return sub_mod<Word>(high, mul_high<Word>(low * montgomery, q), q);
  }
};

/// Thread t's part of transforming a digit into `slot`: `x` holds the values of pass 0. `buffer`
/// holds N words and may be the slot.
template <class Shape, class Word = typename Shape::Word, class View, class Sync>
__device__ __forceinline__ void transform_values(Word (&x)[Shape::E], const View& plan, int t,
                                                 Word* buffer, Word* slot, const Sync& sync) {
  constexpr int E = Shape::E, F = Shape::F, last = Shape::passes - 1;
  forward_passes<Shape>(x, t, plan, buffer, sync);
  const int base = t / F * F * E + t % F;
#pragma unroll
  for (int k = 0; k < E; ++k) slot[Shape::template place<last>(base + F * k)] = x[k];
}

/// Thread t's part of transforming digit `digit` of (X^a - 1)·acc into `slot`. The first call
/// leaves the differences in `saved`, where the others find them; the last digit's slot may be that
/// place. `buffer` holds N words and may be the slot.
template <class Shape, class Word = typename Shape::Word, class Int, class View, class Sync>
__device__ __forceinline__ void transform_digit(const Int* acc, const GadgetRange& gadget,
                                                std::uint32_t digit, bool first, std::uint32_t a,
                                                const View& plan, int t, Word* saved, Word* buffer,
                                                Word* slot, const Sync& sync) {
  constexpr int E = Shape::E, G = Shape::threads;
  const Int Q = static_cast<Int>(plan.q);
  const DigitRule rule(gadget, digit);
  Word x[E];
#pragma unroll
  for (int k = 0; k < E; ++k) {
    const int j = t + G * k;
    Int difference;
    if (first) {
      difference = rotated_difference<Shape::N>(acc, j, a, Q) + static_cast<Int>(gadget.offset);
      saved[j] = static_cast<Word>(difference);
    } else {
      difference = static_cast<Int>(saved[j]);
    }
    const Int value = rule(difference);
    x[k] = static_cast<Word>(value < 0 ? value + Q : value);
  }
  sync();  // the slot may be the one that differences were read from
  transform_values<Shape>(x, plan, t, buffer, slot, sync);
}

/// What a result does to an accumulator.
enum class ResultUse { adds, replaces };

/// Thread t's part of transforming a result back and adding it to the accumulator, or replacing it.
/// `buffer` holds N words and may be the result.
template <class Shape, ResultUse use = ResultUse::adds, class Word = typename Shape::Word,
          class Int, class View, class Sync>
__device__ __forceinline__ void transform_back(const Word* result, Word* buffer, const View& plan,
                                               int t, Int* acc, const Sync& sync) {
  constexpr int E = Shape::E, G = Shape::threads, F = Shape::F, last = Shape::passes - 1;
  const Int Q = static_cast<Int>(plan.q);
  Word x[E];
  const int base = t / F * F * E + t % F;
#pragma unroll
  for (int k = 0; k < E; ++k) x[k] = result[Shape::template place<last>(base + F * k)];
  inverse_passes<Shape>(x, t, plan, buffer, sync);
#pragma unroll
  for (int k = 0; k < E; ++k) {
    const int j = t + G * k;
    const Int value = centre<Int>(static_cast<Int>(x[k]), Q);
    acc[j] = use == ResultUse::replaces ? value : centre<Int>(acc[j] + value, Q);
  }
}

/// Coefficient 0 of a product alone, the sum of its values, added to the accumulator's, or in its
/// place. A warp or more, as in rotate_fft.cuh.
template <class Shape, ResultUse use = ResultUse::adds, class Word = typename Shape::Word,
          class Int, class Sync>
__device__ __forceinline__ void add_constant_back(Word* values, int t, Int* acc, Word q,
                                                  const Sync& sync) {
  constexpr int G = Shape::threads, F = Shape::F, last = Shape::passes - 1;
  static_assert(G >= 32);
  Word sum = 0;
  for (int node = t; node < Shape::N / F; node += G)
    sum = add_mod<Word>(sum, values[Shape::template place<last>(node * F)], q);
  for (int offset = 16; offset > 0; offset /= 2)
    sum = add_mod<Word>(sum, __shfl_down_sync(~0u, sum, offset), q);
  if constexpr (G > 32) {
    sync();  // all have read
    if (t % 32 == 0) values[t / 32] = sum;
    sync();
    for (int warp = 1; warp < G / 32; ++warp) sum = add_mod<Word>(sum, values[warp], q);
  }
  const Int Q = static_cast<Int>(q);
  if (t != 0) return;
  const Int value = centre<Int>(static_cast<Int>(sum), Q);
  acc[0] = use == ResultUse::replaces ? value : centre<Int>(acc[0] + value, Q);
}

template <class Shape>
struct NttBlockMemory {
  static constexpr std::size_t polynomial_bytes = Shape::N * sizeof(typename Shape::Word);
  static constexpr std::size_t slot_bytes(unsigned ciphertexts, unsigned slots) {
    return std::size_t{2} * ciphertexts * slots * polynomial_bytes;
  }
  static constexpr std::size_t other_bytes(unsigned ciphertexts) {
    return std::size_t{2} * ciphertexts * polynomial_bytes;
  }
};

template <class Shape, int keys, int C, int blocks, Slots place>
__global__ void __launch_bounds__(2 * C * Shape::threads, blocks)
    rotate_ntt(const NttKeyView<typename Shape::Word> key,
               const RotationBatch<typename Shape::Word> batch) {
  using Word = typename Shape::Word;
  using Int = std::make_signed_t<Word>;
  constexpr int N = Shape::N, G = Shape::threads, F = Shape::F;
  constexpr int last = Shape::passes - 1, nodes = N / F, threads = 2 * C * G;

  extern __shared__ double2 shared_memory[];
  const std::uint32_t block_words = 2 * C * key.slots * N;
  Word* const shared_words = reinterpret_cast<Word*>(shared_memory);
  Word* const slots =
      place == Slots::device ? key.spill + std::uint64_t{blockIdx.x} * block_words : shared_words;
  Int* const accumulators =
      reinterpret_cast<Int*>(shared_words + (place == Slots::device ? 0 : block_words));

  const int group = threadIdx.x / G, t = threadIdx.x % G;
  const auto sync = [group] { group_sync<G>(group); };
  const std::uint32_t first_ciphertext = blockIdx.x * C;
  const std::uint32_t ciphertext = min(first_ciphertext + group / 2, batch.count - 1);
  const Word q = key.plan.q;
  const Int Q = static_cast<Int>(q);
  Int* const acc = accumulators + group * N;
  Word* const own = slots + std::size_t{group * key.slots} * N;
  const std::uint32_t* const lwe = batch.lwe + std::uint64_t{ciphertext} * (batch.n + 1);
  [[maybe_unused]] const std::uint32_t* lwe_of[C];
#pragma unroll
  for (int c = 0; c < C; ++c)
    lwe_of[c] =
        batch.lwe + std::uint64_t{min(first_ciphertext + c, batch.count - 1)} * (batch.n + 1);

  start_accumulator<N, G, Word>(batch, ciphertext, group % 2, t, Q, acc);
  sync();

  std::uint32_t next_a = __ldg(lwe);
  for (std::uint32_t range = 0; range < key.range_count; ++range) {
    const GadgetRange gadget = key.ranges[range];
    const std::uint32_t rows = 2 * gadget.digits;
    const Word* step_key = key.values + gadget.first_row * 2 * N;
    for (std::uint32_t i = gadget.first; i < gadget.end; ++i, step_key += rows * keys * 2 * N) {
      const std::uint32_t a = next_a;
      if (i + 1 < batch.n) next_a = __ldg(lwe + i + 1);

      // Digits of (X^a - 1)·acc, transformed. The differences wait in the last digit's slot.
      Word* const saved = own + (gadget.digits - 1) * N;
#pragma unroll 1
      for (std::uint32_t digit = 0; digit < gadget.digits; ++digit) {
        Word* const slot = own + digit * N;
        transform_digit<Shape>(acc, gadget, digit, digit == 0, a, key.plan, t, saved, slot, slot,
                               sync);
      }
      __syncthreads();

#pragma unroll 1
      for (int node = threadIdx.x; node < nodes; node += threads) {
        ProductSum<Word> sum[C][2 * keys][F];
        for (std::uint32_t row = 0; row < rows; ++row) {
          const std::uint32_t component = row >= gadget.digits;
          const std::uint32_t slot_index = component * key.slots + row - component * gadget.digits;
          Word k[2 * keys][F];
#pragma unroll
          for (int s = 0; s < 2 * keys; ++s)
#pragma unroll
            for (int f = 0; f < F; ++f)
              k[s][f] = __ldg(step_key + (row * 2 * keys + s) * N + ntt_key_place<Shape>(node, f));
#pragma unroll
          for (int c = 0; c < C; ++c) {
            const Word* const slot = slots + std::size_t{2 * c * key.slots + slot_index} * N;
            Word x[F];
#pragma unroll
            for (int f = 0; f < F; ++f) x[f] = slot[Shape::template place<last>(node * F + f)];
            forward_rest<Shape>(x, key.plan, node);
#pragma unroll
            for (int s = 0; s < 2 * keys; ++s)
#pragma unroll
              for (int f = 0; f < F; ++f) sum[c][s][f].add(x[f], k[s][f], q);
          }
        }
#pragma unroll
        for (int c = 0; c < C; ++c) {
          Word result[2][F];
#pragma unroll
          for (int s = 0; s < 2; ++s)
#pragma unroll
            for (int f = 0; f < F; ++f) result[s][f] = sum[c][s][f].reduce(q, key.montgomery);
          if constexpr (keys == 2) {
            // minus X^-a times the second key's product; value v is at psi^(2·brv(v) + 1).
            const std::uint32_t minus_a = 0u - __ldg(lwe_of[c] + i);
#pragma unroll
            for (int f = 0; f < F; ++f) {
              const std::uint32_t exponent = 2 * (__brev(node * F + f) >> (32 - Shape::log_n)) + 1;
              const Word monomial = __ldg(key.monomials + ((minus_a * exponent) & (2 * N - 1)));
#pragma unroll
              for (int s = 0; s < 2; ++s) {
                const Word second = sum[c][2 + s][f].reduce(q, key.montgomery);
                result[s][f] = sub_mod<Word>(
                    result[s][f], mul_montgomery<Word>(second, monomial, q, key.montgomery), q);
              }
            }
          }
#pragma unroll
          for (int s = 0; s < 2; ++s) {
            inverse_rest<Shape>(result[s], key.plan, node);
            Word* const to = slots + std::size_t{(2 * c + s) * key.slots} * N;
#pragma unroll
            for (int f = 0; f < F; ++f)
              to[Shape::template place<last>(node * F + f)] = result[s][f];
          }
        }
      }
      __syncthreads();

      // With 64-bit words asking costs more than it saves, as in rotate_fft.cuh.
      if constexpr (sizeof(Word) == 4) {
        if (group % 2 == 1 && batch.constant_only(i)) {
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
