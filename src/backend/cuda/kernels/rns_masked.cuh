// Products of ciphertexts with sums of others that masks choose, in one pass over all of them.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "backend/contract/rns_operands.h"
#include "backend/cuda/kernels/chain.cuh"
#include "backend/cuda/kernels/conversion.cuh"
#include "backend/cuda/kernels/modular.cuh"
#include "ring/basis.h"

namespace whorl::backend::cuda {

inline constexpr unsigned most_masked = MaskedTensors<std::uint32_t>::most;
/// Outputs of one launch.
inline constexpr unsigned masked_outputs = 32;

template <class Word>
struct MaskedArguments {
  const Word *high[most_masked], *low[most_masked];  ///< as CheckedMasks
  Word* out[masked_outputs];
  const RnsModulus<Word>* moduli;  ///< of all primes
  std::size_t row, part;           ///< words of a row, B·N, and of a part
  std::uint32_t highs, lows, outputs;
  /// Each word has the masks of two of `high` for an output, the first in its low half, or zeros.
  std::uint32_t masks[masked_outputs][most_masked / 2];
  std::uint8_t prime[ring::Basis::most];
};

/// The same coefficient of both parts.
template <class Word>
struct alignas(2 * sizeof(Word)) MaskedPair {
  Word part[2];
};

/// A thread makes one coefficient of all outputs. Of each four low arrays it keeps all sixteen sums
/// in shared memory, where no other thread reads them; so a sum of any is one of each group.
///
/// Lazy: these sums are added up to less than 4q, which is a word, and sums of products are
/// corrected to below 2q·R. `terms` products of a factor below q and one below 4q are not above
/// 2q·R together (2q·terms <= R), so that a sum stays below 4q·R, a double word. Else factors are
/// below q, and sums of products below q·R as in sum_products.
///
/// Grid: (columns / threads; rows). Bound by instructions and by shared memory: for a mask `groups`
/// loads of a pair, and four products.
template <class Word, unsigned threads, unsigned groups, bool lazy>
__global__ void __launch_bounds__(threads)
    masked_tensors(const __grid_constant__ MaskedArguments<Word> a) {
  using Pair = MaskedPair<Word>;
  constexpr unsigned subsets = 16, terms = sizeof(Word) == 4 ? 2 : 4;
  static_assert(lazy || sizeof(Word) == 4, "moduli of 64-bit words are below 2^61");
  __shared__ Pair sums[groups * subsets][threads];
  join_chain();
  const std::size_t at =
      blockIdx.y * a.row + static_cast<std::size_t>(blockIdx.x) * threads + threadIdx.x;
  const RnsModulus<Word> modulus = a.moduli[a.prime[blockIdx.y]];
  const Word bound = lazy ? 2 * modulus.q : modulus.q;
  const auto load = [&](const Word* from) { return Pair{{from[at], from[at + a.part]}}; };

  Pair high[most_masked];
#pragma unroll
  for (unsigned h = 0; h < most_masked; ++h) {
    high[h] = Pair{};
    if (h < a.highs) high[h] = load(a.high[h]);
  }
#pragma unroll
  for (unsigned g = 0; g < groups; ++g) {
    Pair x[4], sum[subsets];
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      x[i] = Pair{};
      if (4 * g + i < a.lows) x[i] = load(a.low[4 * g + i]);
    }
    sum[0] = Pair{};
#pragma unroll
    for (unsigned i = 1; i < subsets; ++i) {
      const unsigned bit = i >= 8 ? 3 : i >= 4 ? 2 : i >= 2 ? 1 : 0;
#pragma unroll
      for (unsigned k = 0; k < 2; ++k)
        sum[i].part[k] = add_mod<Word>(sum[i - (1u << bit)].part[k], x[bit].part[k], modulus.q);
    }
#pragma unroll
    for (unsigned i = 0; i < subsets; ++i) sums[g * subsets + i][threadIdx.x] = sum[i];
  }

  for (std::uint32_t j = 0; j < a.outputs; ++j) {
    ProductSum<Word> product[3];
#pragma unroll
    for (unsigned two = 0; two < most_masked / 2; ++two) {
      const std::uint32_t masks = a.masks[j][two];
      if (masks != 0) {  // for all threads alike
#pragma unroll
        for (unsigned k = 0; k < 2; ++k) {
          const Pair x = high[2 * two + k];
          Pair y = sums[masks >> 16 * k & (subsets - 1)][threadIdx.x];
#pragma unroll
          for (unsigned g = 1; g < groups; ++g) {
            const Pair more =
                sums[g * subsets + (masks >> (16 * k + 4 * g) & (subsets - 1))][threadIdx.x];
#pragma unroll
            for (unsigned part = 0; part < 2; ++part)
              y.part[part] = lazy ? y.part[part] + more.part[part]
                                  : add_mod<Word>(y.part[part], more.part[part], modulus.q);
          }
          product[0].add(x.part[0], y.part[0]);
          product[1].add(x.part[0], y.part[1]);
          product[1].add(x.part[1], y.part[0]);
          product[2].add(x.part[1], y.part[1]);
          if (terms == 2 || k == 1) product[1].correct(bound);
        }
        product[0].correct(bound);
        product[2].correct(bound);
      }
    }
    Word* const out = a.out[j] + at;
#pragma unroll
    for (unsigned part = 0; part < 3; ++part)
      out[part * a.part] = finish_product<Word>(product[part], modulus);
  }
}

}  // namespace whorl::backend::cuda
