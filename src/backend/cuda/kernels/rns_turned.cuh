// Linear maps' sums of a ciphertext's images, each times a plaintext: the images stay in registers.
// Rows as in rns.cuh.
#pragma once

#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "backend/cuda/kernels/rns.cuh"
#include "backend/cuda/kernels/rns_sums.cuh"

namespace whorl::backend::cuda {

template <class Word>
struct TurnedSumArguments {
  struct Term {
    const Word* key;  ///< null: nothing is switched, and g = 1
    std::uint32_t g;
    SumFactor<Word> factor[sums_together];
  };
  const Word* digits;  ///< (count, rows, batch, N)
  const Word* x;       ///< (2, rows of `over`, batch, N)
  PrimeSet over;
  std::uint32_t x_rows;
  SumPlace<Word> to[sums_together];
  const RnsModulus<Word>* moduli;  ///< of all primes
  std::uint32_t count, row_count, key_limbs, log_N, batch, batch_groups, onto, term_count;
  std::uint32_t sum_count;
  std::uint8_t limb[ring::Basis::most], key_row[ring::Basis::most], digit[ring::Basis::most];
  Word weights[ring::Basis::most];  ///< of x in each row, in Montgomery form
  Term terms[tuning::turned_terms_a_launch];
};
static_assert(sizeof(TurnedSumArguments<std::uint64_t>) <= 4000);

/// A block's threads: each has rns_width values of one of `group` ciphertexts, which share what is
/// read of keys.
template <unsigned group>
inline constexpr unsigned turned_threads = group <= 4 ? rns_threads : 32 * group;
/// Words of a row that a block works on.
template <class Word, unsigned group>
inline constexpr unsigned turned_words = turned_threads<group> / group* rns_width<Word>;
/// One digit of a term in shared memory: both of a key's components, then each ciphertext's digit.
template <class Word, unsigned group>
inline constexpr unsigned turned_stage = (2 + group) * turned_words<Word, group>;

/// The digits of all terms, one after another, on their way to shared memory. A thread reads the
/// values that X -> X^g brings to its place, which lie in one block of 16 bytes.
template <class Word, unsigned group>
class TurnedStages {
 public:
  static constexpr unsigned stages = tuning::turned_stages, lanes = turned_threads<group> / group,
                            width = rns_width<Word>, words = turned_words<Word, group>;
  // Of the threads that bring a key's words, each brings so many.
  static constexpr unsigned key_parts = group == 1 ? 2 : 1;

  __device__ __forceinline__ TurnedStages(const TurnedSumArguments<Word>& a, Word* memory,
                                          std::uint32_t j, const Word* digits)
      : a_(a), memory_(memory), j_(j), digits_(digits) {
    const std::size_t key_words = static_cast<std::size_t>(a.key_limbs) << a.log_N;
    const std::uint32_t half = group == 1 ? 0 : threadIdx.x / lanes;
    brings_ = half < 2;
    in_key_ = half * key_words + (static_cast<std::size_t>(a.key_row[blockIdx.y]) << a.log_N) + j;
    key_words_ = key_words;
    digit_words_ = static_cast<std::size_t>(a.row_count) * a.batch << a.log_N;
    begin_term();
    for (unsigned s = 0; s + 1 < stages; ++s) fetch();
  }
  /// The next digit in shared memory: both of a key's components, then digits. What was taken
  /// before may no longer be read.
  __device__ __forceinline__ const Word* take() {
    __pipeline_wait_prior(stages - 2);
    if constexpr (group > 1) __syncthreads();
    fetch();
    const Word* const out = memory_ + taken_;
    taken_ = taken_ + stage == stages * stage ? 0 : taken_ + stage;
    return out;
  }
  static __device__ __forceinline__ std::uint32_t lane() { return threadIdx.x % lanes; }
  static __device__ __forceinline__ std::uint32_t number() { return threadIdx.x / lanes; }

 private:
  static constexpr unsigned stage = turned_stage<Word, group>;

  /// Passes terms that have no key.
  __device__ __forceinline__ void begin_term() {
    while (term_ < a_.term_count && a_.terms[term_].key == nullptr) ++term_;
    digit_ = 0;
    if (term_ == a_.term_count) return;
    from_ = digits_ + (automorphism_value(j_, a_.log_N, a_.terms[term_].g) & ~(width - 1));
    key_ = a_.terms[term_].key + in_key_;
  }
  __device__ __forceinline__ void fetch() {
    if (term_ < a_.term_count) {
      Word* const to = memory_ + fetched_ + threadIdx.x * width;
      if (brings_) {
        const Word* const key = key_ + a_.digit[digit_] * 2 * key_words_;
#pragma unroll
        for (unsigned i = 0; i < key_parts; ++i)
          __pipeline_memcpy_async(to + i * words, key + i * key_words_, 16);
      }
      __pipeline_memcpy_async(to + 2 * words, from_, 16);
      from_ += digit_words_;
      if (++digit_ == a_.count) {
        ++term_;
        begin_term();
      }
    }
    __pipeline_commit();
    fetched_ = fetched_ + stage == stages * stage ? 0 : fetched_ + stage;
  }

  const TurnedSumArguments<Word>& a_;
  Word* const memory_;
  const std::uint32_t j_;
  const Word* const digits_;
  const Word *from_ = nullptr, *key_ = nullptr;
  std::size_t in_key_, key_words_, digit_words_;
  std::uint32_t term_ = 0, digit_ = 0, fetched_ = 0, taken_ = 0;
  bool brings_;
};

/// rns_width values of each of `group` ciphertexts in up to `sums` sums. Digits and keys come
/// through shared memory, some stages ahead, so that few threads keep enough loads under way; keys
/// come once for the group. Grid: (pieces of N × groups of the batch, the latter first; rows): all
/// digits of a row stay in the second-level cache, which serves them for every term. Bound by that
/// cache: count·(1 + 2/group) words a value and term; memory serves keys, digits, plaintexts and
/// sums once.
template <class Word, unsigned group, unsigned sums>
__global__ void __launch_bounds__(turned_threads<group>, 512 / turned_threads<group>)
    sum_turned_products(const __grid_constant__ TurnedSumArguments<Word> a) {
  join_chain();
  constexpr unsigned width = rns_width<Word>;
  using Vector = RnsVector<Word>;
  using Stages = TurnedStages<Word, group>;
  extern __shared__ unsigned char rns_memory[] __attribute__((aligned(16)));
  const std::uint32_t piece = blockIdx.x / a.batch_groups, row = blockIdx.y;
  const std::uint32_t number = (blockIdx.x - piece * a.batch_groups) * group + Stages::number();
  // Places that are missing from the last group repeat its last ciphertext.
  const std::size_t ciphertext = static_cast<std::size_t>(min(number, a.batch - 1)) << a.log_N;
  const std::uint32_t j = piece * turned_words<Word, group> + Stages::lane() * width;
  const std::uint32_t prime = a.limb[row];
  const RnsModulus<Word> m = a.moduli[prime];
  const std::size_t row_words = static_cast<std::size_t>(a.batch) << a.log_N;
  Stages stages(a, reinterpret_cast<Word*>(rns_memory), j, a.digits + row * row_words + ciphertext);
  const bool adds = a.over.contains(prime);
  const Word* const of_x = a.x + a.over.rank(prime) * row_words + ciphertext;
  const Word weight = a.weights[row];
  ProductSum<Word> sum[sums][2][width];
#pragma unroll 1
  for (std::uint32_t t = 0; t < a.term_count; ++t) {
    const auto& term = a.terms[t];
    const Gathered<Word> gathered(j, a.log_N, term.g);
    // What is used after the digits is read before them.
    Vector x = {}, other = {}, factor[sums];
    if (adds) x = *reinterpret_cast<const Vector*>(of_x + gathered.block);
    if (adds && term.key == nullptr)
      other = *reinterpret_cast<const Vector*>(of_x + a.x_rows * row_words + j);
#pragma unroll
    for (unsigned s = 0; s < sums; ++s) {
      const auto& by = term.factor[s];
      factor[s] = {};
      if (by.m == nullptr) continue;
      const std::size_t at = static_cast<std::size_t>(by.over.rank(prime)) * by.batch;
      factor[s] = *reinterpret_cast<const Vector*>(by.m + (at << a.log_N) +
                                                   (by.batch == 1 ? 0 : ciphertext) + j);
    }
    ProductSum<Word> inner[2][width];
    if (term.key != nullptr) {
#pragma unroll 1
      for (std::uint32_t d = 0; d < a.count; ++d) {
        const Word* const stage = stages.take() + Stages::lane() * width;
        constexpr unsigned words = turned_words<Word, group>;
        const Vector key_a = *reinterpret_cast<const Vector*>(stage),
                     key_b = *reinterpret_cast<const Vector*>(stage + words);
        const Word* const digit = stage + (2 + Stages::number()) * words;
        const bool full = d % ProductSum<Word>::safe_terms == ProductSum<Word>::safe_terms - 1;
#pragma unroll
        for (unsigned k = 0; k < width; ++k) {
          const Word value = digit[gathered.place[k]];
          inner[0][k].add(value, key_b.word[k]);
          inner[1][k].add(value, key_a.word[k]);
        }
        if (full || d + 1 == a.count)
#pragma unroll
          for (unsigned k = 0; k < width; ++k) {
            inner[0][k].correct(m.q);
            inner[1][k].correct(m.q);
          }
      }
    }
    x = gathered(x);
    const bool corrects = t % ProductSum<Word>::safe_terms == ProductSum<Word>::safe_terms - 1;
#pragma unroll
    for (unsigned k = 0; k < width; ++k) {
      inner[0][k].add(x.word[k], weight);
      inner[0][k].correct(m.q);
      if (term.key == nullptr) {
        inner[1][k].add(other.word[k], weight);
        inner[1][k].correct(m.q);
      }
#pragma unroll
      for (unsigned c = 0; c < 2; ++c) {
        const Word y = inner[c][k].reduce(m.q, m.inverse);
#pragma unroll
        for (unsigned s = 0; s < sums; ++s) {
          sum[s][c][k].add(y, factor[s].word[k]);
          if (corrects) sum[s][c][k].correct(m.q);
        }
      }
    }
  }
  if (number >= a.batch) return;
#pragma unroll
  for (unsigned s = 0; s < sums; ++s) {
    if (s >= a.sum_count) break;
    const auto& place = a.to[s];
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      Word* const to = place.first + c * place.part + row * place.row + ciphertext + j;
      Vector before = {}, result;
      if (a.onto != 0) before = *reinterpret_cast<const Vector*>(to);
#pragma unroll
      for (unsigned k = 0; k < width; ++k)
        result.word[k] = add_mod<Word>(before.word[k], finish_product<Word>(sum[s][c][k], m), m.q);
      store_vector<Word>(to, result);
    }
  }
}

}  // namespace whorl::backend::cuda
