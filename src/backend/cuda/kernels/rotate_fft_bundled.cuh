// The loop over the steps of one ciphertext with bundles that are made already (fft_bundles.cuh):
// ACC <- ACC + ACC ⊡ B_i. For few ciphertexts, each in a block; what counts is how long a step
// takes.
//
// Groups of threads each decompose and transform digits: group g of 2·D those of component g mod 2,
// from g / 2 on in steps of D. The first two transform the products back. `staged`: the tables lie
// in shared memory, and the bundle of the next step comes there while a step is made. All spectra
// are doubles.
#pragma once

#include <cuda_pipeline.h>

#include "backend/cuda/kernels/fft_bundles.cuh"
#include "backend/cuda/kernels/rotate_fft_cluster.cuh"

namespace whorl::backend::cuda {

/// What the loop reads.
struct BundledFftView {
  const double2* bundles;  ///< of the first ciphertext; `size` complex values each
  std::size_t size;
  const double2* tables;  ///< GroupFft's
  const GadgetRange* ranges;
  std::uint32_t range_count, slots;  ///< slots: most digits
  std::uint64_t Q;
  unsigned group;  ///< coefficients a step
  bool large;
};

template <class Shape, bool wide, bool coarse, bool staged>
struct BundledFftMemory {
  using Accumulator = TorusAccumulator<2 * Shape::M, wide, coarse>;
  static constexpr std::size_t slot_doubles = 2 * Shape::plane;
  /// Bundles of two steps and tables; digits' spectra; accumulators.
  static constexpr std::size_t bytes(unsigned slots) {
    return (staged ? std::size_t{2} * slots * 4 * Shape::M * 16 + Shape::table_size * 16 : 0) +
           2 * slots * slot_doubles * 8 + 2 * Accumulator::bytes;
  }
};

template <class Shape, int D, bool wide, bool coarse, bool staged>
__global__ void __launch_bounds__(2 * D * Shape::threads, 1) rotate_fft_bundled(
    const BundledFftView key,
    const RotationBatch<std::conditional_t<wide, std::uint64_t, std::uint32_t>> batch) {
  using Word = std::conditional_t<wide, std::uint64_t, std::uint32_t>;
  using Memory = BundledFftMemory<Shape, wide, coarse, staged>;
  using Accumulator = typename Memory::Accumulator;
  constexpr int M = Shape::M, E = Shape::E, G = Shape::threads, F = Shape::F;
  constexpr int nodes = M / F, threads = 2 * D * G;

  extern __shared__ double2 shared_memory[];
  double2* const bundles = shared_memory;
  const std::size_t bundle_size = std::size_t{4} * key.slots * M;
  double2* const held_tables = bundles + 2 * bundle_size;
  const double2* const tables = staged ? held_tables : key.tables;
  double* const slots =
      reinterpret_cast<double*>(staged ? held_tables + Shape::table_size : shared_memory);
  auto* const accumulators =
      reinterpret_cast<std::uint32_t*>(slots + 2 * key.slots * Memory::slot_doubles);

  const int group = threadIdx.x / G, t = threadIdx.x % G;
  const unsigned component = group % 2;
  const auto sync = [group] { group_sync<G>(group); };
  const std::uint32_t ciphertext = blockIdx.x;
  Accumulator acc{accumulators + component * (Accumulator::bytes / 4)};
  const auto slot = [&](unsigned part, unsigned digit) {
    return slots + (part * key.slots + digit) * Memory::slot_doubles;
  };
  if (group < 2) acc.template start<G>(batch, ciphertext, group, t, static_cast<Word>(key.Q));
  if constexpr (staged)
    for (int j = threadIdx.x; j < Shape::table_size; j += threads) held_tables[j] = key.tables[j];

  const double2* own_bundle = key.bundles + ciphertext * key.size;
  const double2* next_bundle = own_bundle;
  const auto fetch = [&](std::uint32_t parity, std::uint32_t digits) {
    if constexpr (!staged) return;
    const std::uint32_t values = 4 * digits * M;
    double2* const to = bundles + parity * bundle_size;
    for (std::uint32_t j = threadIdx.x; j < values; j += threads)
      __pipeline_memcpy_async(to + j, next_bundle + j, 16);
    __pipeline_commit();
    next_bundle += values;
  };
  GadgetRange gadget = key.ranges[0];
  fetch(0, gadget.digits);
  __syncthreads();
  std::uint32_t range = 0, parity = 0;
  for (std::uint32_t i = 0; i < batch.n; i += key.group, parity ^= 1) {
    const std::uint32_t digits = coarse ? 1 : gadget.digits;
    const bool more = i + key.group < batch.n;
    GadgetRange next = gadget;
    if (more && i + key.group >= gadget.end) next = key.ranges[++range];
    if (more)
      fetch(parity ^ 1, next.digits);
    else if constexpr (staged)
      __pipeline_commit();
#pragma unroll 1
    for (std::uint32_t digit = group / 2; digit < digits; digit += D) {
      Complex z[E];
      const DigitRule rule(gadget, digit);
      const auto digit_of = [&](int j) {
        if constexpr (coarse)
          return static_cast<double>(Accumulator::single_digit(acc.get(j), gadget));
        else
          return static_cast<double>(
              rule(Accumulator::with_offset(acc.get(j), static_cast<Word>(key.Q), gadget.offset)));
      };
#pragma unroll
      for (int k = 0; k < E; ++k) z[k] = {digit_of(t + G * k), digit_of(t + G * k + M)};
      double* const to = slot(component, digit);
      transform_values<Shape, true, true>(z, tables, t, to, to, nullptr, sync);
    }
    if constexpr (staged) __pipeline_wait_prior(1);
    __syncthreads();

    const double2* const bundle = staged ? bundles + parity * bundle_size : own_bundle;
    if constexpr (!staged) own_bundle += 4 * digits * M;
    for (int node = threadIdx.x; node < nodes; node += threads) {
      Complex w[2];
      load_rest<Shape>(tables, node, w);
      Complex sum[2][F] = {};
#pragma unroll 2
      for (std::uint32_t row = 0; row < 2 * digits; ++row) {
        const unsigned part = row % 2, digit = row / 2;
        Complex x[F];
        load_spectrum<Shape, true>(slot(part, digit), nullptr, node, w, x);
#pragma unroll
        for (int s = 0; s < 2; ++s)
#pragma unroll
          for (int f = 0; f < F; ++f) {
            const double2 v = bundle[bundle_place<Shape>(digit, part, s, node * F + f)];
            rotate_fft_detail::multiply_add(sum[s][f], x[f], {v.x, v.y});
          }
      }
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        inverse_rest<Shape>(sum[s]);
        store_result<Shape>(sum[s], node, slot(s, 0));
      }
    }
    __syncthreads();

    if (group < 2) {
      if (group == 1 && batch.extract && !more)
        add_constant_back<Shape, wide, coarse>(slot(1, 0), 1, key.large, t, acc, sync);
      else
        transform_back<Shape, wide, coarse>(slot(group, 0), tables, 1, key.large, t, acc, sync);
    }
    if constexpr (D > 1)
      __syncthreads();
    else
      sync();
    gadget = next;
  }
  if (group < 2) acc.template write<G>(batch, ciphertext, group, t, static_cast<Word>(key.Q));
}

}  // namespace whorl::backend::cuda
