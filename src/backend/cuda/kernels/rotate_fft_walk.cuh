// Blind rotation by steps in each ciphertext's own order (walk.h), with the folded FFT: AP and
// automorphisms.
//
// A block carries one ciphertext; the division of work is rotate_fft.cuh's. A product takes ACC's
// own digits and takes ACC's place. So a thread decomposes the coefficients that it has transformed
// back, and without automorphisms ACC lies in the slot of the last digit between steps: blocks take
// a quarter less shared memory. An automorphism permutes a and b; a's digits alone are multiplied,
// and b is added.
#pragma once

#include "backend/cuda/kernels/rotate_fft.cuh"
#include "backend/cuda/kernels/walk.h"

namespace whorl::backend::cuda {

/// A key as the kernel reads it.
template <FftWords words>
struct FftWalkKeyView {
  /// [row][component][frequency], in the shape's order of rows; frequencies as fft_key_place has
  /// them.
  const FftKeyValue<words>* values;
  const double* inverse_scale;  ///< of each row: 1/(scale·M·Q), its P too
  const double2* tables;        ///< GroupFft's
  const GadgetRange* ranges;
  std::uint32_t slots;  ///< rows that a polynomial's digits take
  std::uint64_t Q;
  bool large;     ///< quotients by Q may pass 2^22
  double* spill;  ///< slots of all blocks, for shapes whose slots do not fit shared memory
  Walks walks;
};

/// Memory of a block beside its slots.
template <class Shape, FftWords words, WalkSteps kind>
struct FftWalkMemory {
  using Polynomial = FftPolynomialMemory<Shape, words>;
  using Accumulator = TorusAccumulator<2 * Shape::M, words>;
  /// Whether ACC lies in the slot of the last digit.
  static constexpr bool in_slot = kind == WalkSteps::digits && !Accumulator::is_long;
  static constexpr AccumulatorPlace accumulator =
      in_slot ? AccumulatorPlace::in_slot : AccumulatorPlace::apart;
  static constexpr std::size_t accumulator_words = in_slot ? 0 : Accumulator::bytes / 4;
  static_assert(!in_slot || Accumulator::bytes <= Polynomial::slot_bytes(1));

  static constexpr std::size_t slot_bytes(unsigned slots) {
    return 2 * Polynomial::slot_bytes(slots);
  }
  static constexpr std::size_t other_bytes(unsigned slots) {
    return 8 * accumulator_words +
           (is_wide<words> ? 0 : std::size_t{2} * slots * Polynomial::parts * 4);
  }
};

/// Thread t's part of transforming a digit of ACC, or of a(X^g), into `slot`: value(j) is
/// coefficient j as a fraction of the circle. The rest as in transform_digit; `saved` may be where
/// the accumulator lies.
template <class Shape, FftWords words, class Value, class Sync>
__device__ __forceinline__ void transform_own_digit(const Value& value, const GadgetRange& gadget,
                                                    std::uint32_t digit, std::uint64_t Q,
                                                    const double2* __restrict__ tables, int t,
                                                    void* saved_values, double* buffer,
                                                    double* slot, std::uint32_t* exponents,
                                                    const Sync& sync) {
  using Accumulator = TorusAccumulator<2 * Shape::M, words>;
  using Word = typename Accumulator::Word;
  using Int = std::make_signed_t<Word>;
  constexpr int M = Shape::M, E = Shape::E, G = Shape::threads;
  Complex z[E];
  if constexpr (words == FftWords::one_digit) {
    const auto digit_of = [&](int j) {
      return static_cast<double>(Accumulator::single_digit(value(j), gadget));
    };
#pragma unroll
    for (int k = 0; k < E; ++k) z[k] = {digit_of(t + G * k), digit_of(t + G * k + M)};
  } else {
    const DigitRule rule(gadget, digit);
    Int* const saved = static_cast<Int*>(saved_values);
    const auto offset = [&](int j) {
      return Accumulator::with_offset(value(j), static_cast<Word>(Q), gadget.offset);
    };
#pragma unroll
    for (int k = 0; k < E; ++k) {
      const int j = t + G * k;
      Int x, y;
      if (digit == 0) {
        x = offset(j);
        y = offset(j + M);
        saved[j] = x;
        saved[j + M] = y;
      } else {
        x = saved[j];
        y = saved[j + M];
      }
      z[k] = {static_cast<double>(rule(x)), static_cast<double>(rule(y))};
    }
  }
  sync();  // the slot may be the one that values were read from
  transform_values<Shape, words, slot_exchange<words>>(z, tables, t, buffer, slot, exponents, sync);
}

template <class Shape, FftWords words, WalkSteps kind, int blocks, Slots place>
__global__ void __launch_bounds__(2 * Shape::threads, blocks)
    rotate_fft_walk(const FftWalkKeyView<words> key, const RotationBatch<FftWord<words>> batch) {
  using Word = FftWord<words>;
  using Memory = FftWalkMemory<Shape, words, kind>;
  using Accumulator = typename Memory::Accumulator;
  using Polynomial = typename Memory::Polynomial;
  constexpr int M = Shape::M, E = Shape::E, G = Shape::threads, threads = 2 * G;
  constexpr int parts = Polynomial::parts;
  constexpr std::size_t slot_doubles = Polynomial::slot_doubles;
  constexpr bool moves = kind == WalkSteps::automorphisms;
  // Groups of one warp meet in it: what one of them does, both do.
  constexpr bool of_a_warp = G < 32;

  extern __shared__ double2 shared_memory[];
  const std::uint32_t block_doubles = 2 * key.slots * slot_doubles;
  double* const shared_doubles = reinterpret_cast<double*>(shared_memory);
  double* const slots = place == Slots::device
                            ? key.spill + std::uint64_t{blockIdx.x} * block_doubles
                            : shared_doubles;
  auto* const others = reinterpret_cast<std::uint32_t*>(
      shared_doubles + (place == Slots::device ? 0 : block_doubles));
  std::uint32_t* const exponents = others + 2 * Memory::accumulator_words;

  const int group = threadIdx.x / G, t = threadIdx.x % G;
  const auto sync = [group] { group_sync<G>(group); };
  const std::uint32_t ciphertext = blockIdx.x;
  double* const own = slots + group * key.slots * slot_doubles;
  Accumulator acc{Memory::in_slot
                      ? reinterpret_cast<std::uint32_t*>(own + (key.slots - 1) * slot_doubles)
                      : others + group * Memory::accumulator_words};

  acc.template start<G>(batch, ciphertext, group, t, static_cast<Word>(key.Q),
                        key.walks.start_move);
  sync();

  const WalkStep* const steps = key.walks.steps + std::uint64_t{ciphertext} * key.walks.most;
  const std::uint32_t count = key.walks.length[ciphertext];
  const auto step_at = [&](std::uint32_t s) {
    const uint2 x = __ldg(reinterpret_cast<const uint2*>(steps + s));
    return WalkStep{x.x, x.y};
  };
  WalkStep next{0, 0};
  double next_scale = 0;
  if (count != 0) {
    next = step_at(0);
    next_scale = __ldg(key.inverse_scale + next.row);
  }
  std::uint32_t range = next.range();
  GadgetRange gadget = key.ranges[range];
#pragma unroll 1
  for (std::uint32_t s = 0; s < count; ++s) {
    const WalkStep step = next;
    const double scale = next_scale;
    if (s + 1 < count) {
      next = step_at(s + 1);
      next_scale = __ldg(key.inverse_scale + next.row);
    }
    if (step.range() != range) {
      range = step.range();
      gadget = key.ranges[range];
    }
    const std::uint32_t digits = digits_of<words>(gadget);
    const bool automorphism = moves && step.inverse() != 0;
    const bool keeps = automorphism && group == 1;
    if constexpr (moves) {
      if (automorphism && (keeps || of_a_warp)) {  // b(X^g), in place
        typename Accumulator::Fraction moved[2 * E];
#pragma unroll
        for (int k = 0; k < 2 * E; ++k) moved[k] = acc.moved(t + G * k, step.inverse());
        sync();
#pragma unroll
        for (int k = 0; k < 2 * E; ++k)
          if (keeps) acc.set(t + G * k, moved[k]);
      }
    }
    const std::uint32_t from = automorphism && !keeps ? step.inverse() : 1;
    const auto value = [&](int j) {
      if constexpr (moves)
        return acc.moved(j, from);
      else
        return acc.get(j);
    };
#pragma unroll 1
    for (std::uint32_t digit = 0; digit < (keeps && !of_a_warp ? 0 : digits); ++digit)
      transform_own_digit<Shape, words>(
          value, gadget, digit, key.Q, key.tables, t,
          own + ((Memory::in_slot ? key.slots : digits) - 1) * slot_doubles,
          own + digit * slot_doubles, own + digit * slot_doubles,
          exponents + (group * key.slots + digit) * parts, sync);
    // Other ciphertexts take other keys: the next one has to come into the second-level cache.
    if (s + 1 < count) {
      const auto* const line_at =
          reinterpret_cast<const char*>(key.values + std::uint64_t{next.row} * 2 * M);
      constexpr std::uint32_t line = 128;
      const std::uint32_t rows =
          (moves && next.inverse() != 0 ? 1 : 2) * (next.range() == range ? digits : 1);
      const std::uint32_t bytes = rows * 2 * M * sizeof(*key.values);
      for (std::uint32_t at = threadIdx.x * line; at < bytes; at += threads * line)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(line_at + at));
    }
    const FftStep<Shape, 1, 1, words> product{key.values + std::uint64_t{step.row} * 2 * M,
                                              key.tables,
                                              nullptr,
                                              slots,
                                              exponents,
                                              key.slots};
    if constexpr (words == FftWords::one_digit) {
      if (automorphism)
        product.template multiply<0>(1, 1);
      else
        product.template multiply<1>(1);
    } else {
      if (automorphism || digits > 4)
        product.template multiply<0>(digits, automorphism ? 1 : 2);
      else if (digits == 1)
        product.template multiply<1>(1);
      else if (digits == 2)
        product.template multiply<2>(2);
      else if (digits == 3)
        product.template multiply<3>(3);
      else
        product.template multiply<4>(4);
    }
    __syncthreads();

    transform_back<Shape, words, Roots::table, Memory::accumulator>(
        own, key.tables, scale, key.large, t, acc, sync, keeps ? ~0u : 0u);
    sync();
  }
  acc.template write<G>(batch, ciphertext, group, t, static_cast<Word>(key.Q));
}

}  // namespace whorl::backend::cuda
