// The loop over the steps of one ciphertext with bundles that are made already (ntt_bundles.cuh).
// The division of work is rotate_fft_bundled.cuh's.
#pragma once

#include <cuda_pipeline.h>

#include "backend/cuda/kernels/ntt_bundles.cuh"

namespace whorl::backend::cuda {

/// What the loop reads.
template <class Word>
struct BundledNttView {
  const Word* bundles;  ///< of the first ciphertext; `size` words each
  std::size_t size;
  NttView<Word> plan;
  const GadgetRange* ranges;
  std::uint32_t range_count, slots;  ///< slots: most digits
  Word montgomery;
  unsigned group;  ///< coefficients a step
};

template <class Shape, bool staged>
struct BundledNttMemory {
  using Word = typename Shape::Word;
  /// Bundles of two steps; digits' spectra; accumulators.
  static constexpr std::size_t bytes(unsigned slots) {
    return ((staged ? 8 * slots : 0) + 2 * slots + 2) * std::size_t{Shape::N} * sizeof(Word);
  }
};

template <class Shape, int D, bool staged>
__global__ void __launch_bounds__(2 * D * Shape::threads, 1)
    rotate_ntt_bundled(const BundledNttView<typename Shape::Word> key,
                       const RotationBatch<typename Shape::Word> batch) {
  using Word = typename Shape::Word;
  using Int = std::make_signed_t<Word>;
  constexpr int N = Shape::N, E = Shape::E, G = Shape::threads, F = Shape::F;
  constexpr int last = Shape::passes - 1, nodes = N / F, threads = 2 * D * G;
  constexpr int width = 16 / sizeof(Word);

  extern __shared__ double2 shared_memory[];
  Word* const bundles = reinterpret_cast<Word*>(shared_memory);
  const std::size_t bundle_size = std::size_t{4} * key.slots * N;
  Word* const slots = bundles + (staged ? 2 * bundle_size : 0);
  Int* const accumulators = reinterpret_cast<Int*>(slots + std::size_t{2} * key.slots * N);

  const int group = threadIdx.x / G, t = threadIdx.x % G;
  const unsigned component = group % 2;
  const auto sync = [group] { group_sync<G>(group); };
  const std::uint32_t ciphertext = blockIdx.x;
  const Word q = key.plan.q;
  const Int Q = static_cast<Int>(q);
  Int* const acc = accumulators + component * N;
  const auto slot = [&](unsigned part, unsigned digit) {
    return slots + std::size_t{part * key.slots + digit} * N;
  };
  if (group < 2) start_accumulator<N, G, Word>(batch, ciphertext, group, t, Q, acc);

  const Word* own_bundle = key.bundles + ciphertext * key.size;
  const Word* next_bundle = own_bundle;
  const auto fetch = [&](std::uint32_t parity, std::uint32_t digits) {
    if constexpr (!staged) return;
    const std::uint32_t words = 4 * digits * N;
    Word* const to = bundles + parity * bundle_size;
    for (std::uint32_t j = threadIdx.x * width; j < words; j += threads * width)
      __pipeline_memcpy_async(to + j, next_bundle + j, 16);
    __pipeline_commit();
    next_bundle += words;
  };
  GadgetRange gadget = key.ranges[0];
  fetch(0, gadget.digits);
  __syncthreads();
  std::uint32_t range = 0, parity = 0;
  for (std::uint32_t i = 0; i < batch.n; i += key.group, parity ^= 1) {
    const std::uint32_t digits = gadget.digits;
    const bool more = i + key.group < batch.n;
    GadgetRange next = gadget;
    if (more && i + key.group >= gadget.end) next = key.ranges[++range];
    if (more)
      fetch(parity ^ 1, next.digits);
    else if constexpr (staged)
      __pipeline_commit();
#pragma unroll 1
    for (std::uint32_t digit = group / 2; digit < digits; digit += D) {
      const DigitRule rule(gadget, digit);
      Word x[E];
#pragma unroll
      for (int k = 0; k < E; ++k) {
        const Int value = rule(acc[t + G * k] + static_cast<Int>(gadget.offset));
        x[k] = static_cast<Word>(value < 0 ? value + Q : value);
      }
      Word* const to = slot(component, digit);
      transform_values<Shape>(x, key.plan, t, to, to, sync);
    }
    if constexpr (staged) __pipeline_wait_prior(1);
    __syncthreads();

    const Word* const bundle = staged ? bundles + parity * bundle_size : own_bundle;
    if constexpr (!staged) own_bundle += 4 * digits * N;
    for (int node = threadIdx.x; node < nodes; node += threads) {
      ProductSum<Word> sum[2][F];
      for (std::uint32_t row = 0; row < 2 * digits; ++row) {
        const std::uint32_t part = row >= digits;
        Word x[F];
        rotate_ntt_unrolled_detail::load_node<F>(
            slot(part, row - part * digits) + Shape::template place<last>(node * F), x,
            [](const auto* at) { return *at; });
        forward_rest<Shape>(x, key.plan, node);
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          Word v[F];
          rotate_ntt_unrolled_detail::load_node<F>(bundle + std::size_t{2 * row + s} * N + node * F,
                                                   v, [](const auto* at) { return *at; });
#pragma unroll
          for (int f = 0; f < F; ++f) sum[s][f].add(x[f], v[f], q);
        }
      }
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        Word result[F];
#pragma unroll
        for (int f = 0; f < F; ++f) result[f] = sum[s][f].reduce(q, key.montgomery);
        inverse_rest<Shape>(result, key.plan, node);
        rotate_ntt_unrolled_detail::store_node<F>(
            result, slot(s, 0) + Shape::template place<last>(node * F));
      }
    }
    __syncthreads();

    if (group < 2) {
      if (group == 1 && batch.extract && !more)
        add_constant_back<Shape>(slot(1, 0), t, acc, q, sync);
      else
        transform_back<Shape>(slot(group, 0), slot(group, 0), key.plan, t, acc, sync);
    }
    if constexpr (D > 1)
      __syncthreads();
    else
      sync();
    gadget = next;
  }
  if (group < 2) write_accumulator<N, G, Word>(batch, ciphertext, group, t, Q, acc);
}

}  // namespace whorl::backend::cuda
