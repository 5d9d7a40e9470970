// Blind rotation of one ciphertext by K blocks, with the folded FFT.
//
// Block r carries component r mod 2 of the accumulator and transforms every (K/2)-th of its digits,
// from digit r / 2 on. Multiplying, it owns the r-th part of all frequencies: it reads digits'
// spectra from the blocks that made them, and gives its part of the results to every block that
// carries their component; these transform back each for itself, so that a step has two barriers
// between blocks. The key's part for the next step is fetched once this step's products are made: a
// barrier between blocks waits for copies that are under way.
#pragma once

#include <cuda_pipeline.h>

#include "backend/cuda/kernels/meeting.cuh"
#include "backend/cuda/kernels/rotate_fft.cuh"

namespace whorl::backend::cuda {

/// The data of a block that the other blocks read: spectra of its digits, their exponents, and the
/// result for its component.
template <class Shape, FftWords words>
struct FftClusterMemory {
  using Polynomial = FftPolynomialMemory<Shape, words>;
  static constexpr int N = 2 * Shape::M;
  static constexpr std::size_t result_bytes = 2 * Shape::plane * 8;

  unsigned slots;  ///< digits a block transforms
  unsigned rows;   ///< most rows of the key a step
  unsigned keys;

  __host__ __device__ std::size_t shown_bytes() const {
    return result_bytes + Polynomial::slot_bytes(slots) +
           (slots * Polynomial::parts * 4 + 15) / 16 * 16;
  }
  __host__ __device__ std::size_t key_bytes(unsigned blocks) const {
    return std::size_t{rows} * keys * 2 * Shape::M / blocks * (is_wide<words> ? 16 : 8);
  }
  /// Decomposed values that wait for their turn, with several digits a block.
  __host__ __device__ std::size_t saved_bytes() const {
    return words == FftWords::one_digit ? 0 : N * (is_wide<words> ? 8 : 4);
  }
  static constexpr std::size_t exchange_bytes = 2 * Shape::plane * 8;
  static constexpr std::size_t table_bytes = Shape::table_size * 16;
  __host__ __device__ std::size_t own_bytes(unsigned blocks) const {
    return table_bytes + exchange_bytes + Polynomial::accumulator_bytes + saved_bytes() +
           key_bytes(blocks);
  }
};

/// Coefficient 0 of a result alone, which is the sum of its spectrum, added to the accumulator's.
template <class Shape, FftWords words, class Sync>
__device__ __forceinline__ void add_constant_back(double* result, double scale, bool large, int t,
                                                  TorusAccumulator<2 * Shape::M, words>& acc,
                                                  const Sync& sync) {
  constexpr int G = Shape::threads, F = Shape::F, last = Shape::passes - 1;
  static_assert(G >= 32);
  double sum = 0;
  for (int node = t; node < Shape::M / F; node += G)
    sum += result[Shape::template place<last>(node * F)];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
  if constexpr (G > 32) {
    sync();  // all have read
    if (t % 32 == 0) result[t / 32] = sum;
    sync();
    for (int warp = 1; warp < G / 32; ++warp) sum += result[warp];
  }
  if (t != 0) return;
  if (!is_wide<words> && large)
    acc.template add_product<Turns::many>(0, sum, scale, 0, 0);
  else
    acc.template add_product<Turns::few>(0, sum, scale, 0, 0);
}

/// The key is in the order of KeyShape.
template <class Shape, class KeyShape, int keys, FftWords words, int blocks, class Meeting>
__global__ void __launch_bounds__(Shape::threads, 1)
    rotate_fft_cluster(const FftKeyView<words> key, const RotationBatch<FftWord<words>> batch,
                       const FftClusterMemory<Shape, words> memory, char* const meeting_memory,
                       unsigned* const arrivals) {
  using Word = FftWord<words>;
  using Polynomial = FftPolynomialMemory<Shape, words>;
  using KeyValue = FftKeyValue<words>;
  constexpr int M = Shape::M, N = 2 * M, G = Shape::threads, F = Shape::F;
  constexpr int nodes = M / F, own_nodes = nodes / blocks, parts = Polynomial::parts;
  constexpr unsigned carriers = blocks / 2;  // blocks that carry one component
  static_assert(own_nodes > 0 && G >= 32);

  extern __shared__ double2 shared_memory[];
  char* const shared = reinterpret_cast<char*>(shared_memory);
  const std::uint32_t ciphertext = blockIdx.x / blocks;
  constexpr bool clustered = std::is_same_v<Meeting, ClusterMeeting>;
  Meeting meet = meeting_of<Meeting>(shared, meeting_memory, memory.shown_bytes(), arrivals,
                                     ciphertext, blocks);
  const unsigned rank = meet.rank(), component = rank % 2, first_digit = rank / 2;
  char* const own_shown = meet.of(rank);
  // Shown: result | slots | exponents.
  const auto result_of = [&](char* shown) { return reinterpret_cast<double*>(shown); };
  const auto slot_of = [&](char* shown, unsigned slot) {
    return reinterpret_cast<double*>(shown + FftClusterMemory<Shape, words>::result_bytes) +
           slot * Polynomial::slot_doubles;
  };
  const auto exponents_of = [&](char* shown, unsigned slot) {
    return reinterpret_cast<std::uint32_t*>(slot_of(shown, memory.slots)) + slot * parts;
  };
  // Own: tables | exchange | key | accumulator | decomposed values.
  double2* const tables =
      reinterpret_cast<double2*>(shared + (clustered ? memory.shown_bytes() : 0));
  double* const exchange = reinterpret_cast<double*>(tables + Shape::table_size);
  KeyValue* const key_part = reinterpret_cast<KeyValue*>(exchange + 2 * Shape::plane);
  auto* const accumulator = reinterpret_cast<std::uint32_t*>(reinterpret_cast<char*>(key_part) +
                                                             memory.key_bytes(blocks));
  TorusAccumulator<N, words> acc{accumulator};
  void* const saved = accumulator + Polynomial::accumulator_bytes / 4;

  const int t = threadIdx.x;
  const auto sync = [] { __syncthreads(); };
  const std::uint32_t* const lwe = batch.lwe + std::uint64_t{ciphertext} * (batch.n + 1);
  acc.template start<G>(batch, ciphertext, component, t, static_cast<Word>(key.Q));

  for (int j = t; j < Shape::table_size; j += G) tables[j] = key.tables[j];

  // This block's frequencies of all polynomials of a step, 16 bytes a copy: where frequencies of a
  // node lie apart, as many stretches a polynomial.
  constexpr int stretches = is_wide<words> ? KeyShape::F : 1,
                stretch_values = own_nodes * F / stretches;
  constexpr int copies = stretch_values * static_cast<int>(sizeof(KeyValue)) / 16;
  const auto fetch = [&](const KeyValue* from, std::uint32_t rows) {
    const std::uint32_t all = rows * keys * 2 * stretches * copies;
    for (std::uint32_t c = t; c < all; c += G) {
      const std::uint32_t stretch = c / copies, at = c % copies * (16 / sizeof(KeyValue));
      __pipeline_memcpy_async(key_part + stretch * stretch_values + at,
                              from + stretch * (M / stretches) + rank * stretch_values + at, 16);
    }
    __pipeline_commit();
  };

  GadgetRange gadget = key.ranges[0];
  const KeyValue* step_key = key.values;
  fetch(step_key, 2 * gadget.digits);
  std::uint32_t next_a = __ldg(lwe), range = 0;
  double next_scale = __ldg(key.inverse_scale);
  __syncthreads();
  for (std::uint32_t i = 0; i < batch.n; ++i) {
    const std::uint32_t a = next_a, rows = 2 * gadget.digits;
    const double scale = next_scale;
    if (i + 1 < batch.n) {
      next_a = __ldg(lwe + i + 1);
      next_scale = __ldg(key.inverse_scale + i + 1);
    }
#pragma unroll 1
    for (unsigned digit = first_digit, slot = 0; digit < gadget.digits; digit += carriers, ++slot)
      transform_digit<Shape, words, Exchange::together>(
          acc, gadget, digit, slot == 0, a, key.Q, tables, t, saved, exchange,
          slot_of(own_shown, slot), exponents_of(own_shown, slot), sync);
    __pipeline_wait_prior(0);
    meet();

    for (int local = t; local < own_nodes; local += G) {
      const int node = rank * own_nodes + local;
      Complex w[2];
      load_rest<Shape>(tables, node, w);
      Complex turn[keys == 2 ? F : 1];
      if constexpr (keys == 2) second_key_factors<Shape>(node, a, key.roots, turn);
      Complex sum[2][F] = {};
#pragma unroll 2
      for (std::uint32_t row = 0; row < rows; ++row) {
        const std::uint32_t of_component = row >= gadget.digits;
        const std::uint32_t digit = row - of_component * gadget.digits;
        char* const maker = meet.of(digit % carriers * 2 + of_component);
        const unsigned slot = digit / carriers;
        Complex x[F];
        load_spectrum<Shape, words>(slot_of(maker, slot), exponents_of(maker, slot), node, w, x);
#pragma unroll
        for (int s = 0; s < 2; ++s)
#pragma unroll
          for (int f = 0; f < F; ++f) {
            const auto value = [&](int of) {
              const KeyValue v = key_part[(row * 2 * keys + of) * own_nodes * F +
                                          (local * F + f) % stretches * stretch_values +
                                          (local * F + f) / stretches];
              if constexpr (is_wide<words>)
                return Complex{v.x, v.y};
              else
                return Complex{static_cast<double>(v.x), static_cast<double>(v.y)};
            };
            Complex k = value(s);
            if constexpr (keys == 2) rotate_fft_detail::multiply_add(k, turn[f], value(2 + s));
            rotate_fft_detail::multiply_add(sum[s][f], x[f], k);
          }
      }
#pragma unroll
      for (int s = 0; s < 2; ++s) inverse_rest<Shape>(sum[s]);
#pragma unroll
      for (unsigned r = 0; r < blocks; ++r)
        store_result<Shape>(sum[r % 2], node, result_of(meet.of(r)));
    }
    meet();

    if (i + 1 < batch.n) {
      step_key += rows * keys * 2 * M;
      if (i + 1 == gadget.end) gadget = key.ranges[++range];
      fetch(step_key, 2 * gadget.digits);
    }
    if (component == 1 && batch.constant_only(i))
      add_constant_back<Shape, words>(result_of(own_shown), scale, key.large, t, acc, sync);
    else
      transform_back<Shape, words, Roots::thread>(result_of(own_shown), tables, scale, key.large, t,
                                                  acc, sync);
    __syncthreads();
  }
  if (first_digit == 0)
    acc.template write<G>(batch, ciphertext, component, t, static_cast<Word>(key.Q));
}

}  // namespace whorl::backend::cuda
