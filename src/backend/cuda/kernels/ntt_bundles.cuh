// The bundles of an unrolled key for some ciphertexts, ahead of their rotations, as fft_bundles.cuh
// has them, by NTT.
#pragma once

#include "backend/cuda/kernels/rotate_ntt_unrolled.cuh"

namespace whorl::backend::cuda {

template <class Word>
struct NttBundleView {
  const Word* values;     ///< of the key, as in UnrolledNttKeyView
  const Word* monomials;  ///< psi^e, e < 2N, in Montgomery form
  const BundleStep* steps;
  std::size_t size;  ///< words of a ciphertext's bundles
  Word q, montgomery;
};

namespace ntt_bundles_detail {

/// The sum over the sets T of coefficients level … m - 1 of k[base and T] times the product of
/// their p, for C ciphertexts; what was read of the key is added to `all`.
template <int m, int level, int C, class Word, class Key>
__device__ __forceinline__ void with_sets(const Key& key, const Word (&p)[C][m], int base,
                                          Word (&out)[C], Word& all, Word q, Word montgomery) {
  if constexpr (level == m) {
    const Word k = key(base - 1);
    all = add_mod<Word>(all, k, q);
#pragma unroll
    for (int c = 0; c < C; ++c) out[c] = k;
  } else {
    with_sets<m, level + 1>(key, p, base, out, all, q, montgomery);
    Word rest[C];
    with_sets<m, level + 1>(key, p, base | 1 << level, rest, all, q, montgomery);
#pragma unroll
    for (int c = 0; c < C; ++c)
      out[c] = add_mod<Word>(out[c], mul_montgomery<Word>(p[c][level], rest[c], q, montgomery), q);
  }
}
template <int m, int level = 0, int C, class Word, class Key>
__device__ __forceinline__ void bundle(const Key& key, const Word (&p)[C][m], Word (&out)[C],
                                       Word& all, Word q, Word montgomery) {
  if constexpr (level < m) {
    Word rest[C];
    with_sets<m, level + 1>(key, p, 1 << level, rest, all, q, montgomery);
#pragma unroll
    for (int c = 0; c < C; ++c)
      out[c] = add_mod<Word>(out[c], mul_montgomery<Word>(p[c][level], rest[c], q, montgomery), q);
    bundle<m, level + 1>(key, p, out, all, q, montgomery);
  }
}

}  // namespace ntt_bundles_detail

inline constexpr unsigned ntt_bundle_threads = 256;

/// Blocks (step, row, component and values, C ciphertexts), a thread a value: the sum of the
/// X^a_S·K_S less that of the K_S.
template <int log_n, int m, int C, class Word>
__global__ void __launch_bounds__(ntt_bundle_threads)
    make_ntt_bundles(const NttBundleView<Word> key, const std::uint32_t* lwe, std::uint32_t n,
                     std::uint32_t count, Word* out) {
  constexpr std::uint32_t N = 1u << log_n, blocks = N / ntt_bundle_threads;
  constexpr int keys = (1 << m) - 1;
  const BundleStep step = key.steps[blockIdx.x];
  const std::uint32_t polynomial = blockIdx.y / blocks;  // 2·row + component
  if (polynomial >= 4 * step.digits) return;
  const std::uint32_t value = blockIdx.y % blocks * ntt_bundle_threads + threadIdx.x;
  const std::uint32_t exponent = 2 * (__brev(value) >> (32 - log_n)) + 1;
  const std::uint32_t ciphertext = blockIdx.z * C;
  Word p[C][m];
#pragma unroll
  for (int c = 0; c < C; ++c)
#pragma unroll
    for (int i = 0; i < m; ++i) {
      const std::uint32_t row = min(ciphertext + c, count - 1), at = step.first + i;
      const std::uint32_t a = at < n ? __ldg(lwe + std::size_t{row} * (n + 1) + at) : 0;
      p[c][i] = __ldg(key.monomials + (a * exponent & (2 * N - 1)));
    }
  const Word* const from = key.values + step.key + std::size_t{polynomial} * keys * N + value;
  Word sum[C] = {}, all = 0;
  ntt_bundles_detail::bundle<m>([&](int set) { return __ldcg(from + set * N); }, p, sum, all, key.q,
                                key.montgomery);
#pragma unroll
  for (int c = 0; c < C; ++c)
    if (ciphertext + c < count)
      out[(ciphertext + c) * key.size + step.bundle + std::size_t{polynomial} * N + value] =
          sub_mod<Word>(sum[c], all, key.q);
}

}  // namespace whorl::backend::cuda
