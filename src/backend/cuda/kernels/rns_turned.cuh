// Linear maps' sums of a ciphertext's images, each times a plaintext: the images stay in registers.
// Rows as in rns.cuh.
#pragma once

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
    /// (plaintext rows, batch or 1, N >> log_repeats); null: not in that sum.
    const Word* m[sums_together];
    std::uint32_t g;
    std::uint32_t each;  ///< bit s: m[s] has a polynomial for each ciphertext
    std::uint8_t log_repeats[sums_together];
  };
  const Word* digits;  ///< (count, rows, batch, N)
  const Word* x;       ///< (2, rows of `over`, batch, N)
  PrimeSet over;
  std::uint32_t x_rows;
  SumPlace<Word> to[sums_together];
  const RnsModulus<Word>* moduli;  ///< of all primes
  std::uint32_t count, row_count, key_limbs, log_N, batch, batch_groups, onto, term_count;
  std::uint32_t sum_count;
  std::uint32_t first_digit;  ///< in keys; the others follow it
  std::uint32_t uncorrected;  ///< ProductSum::terms_below
  std::uint8_t limb[ring::Basis::most], key_row[ring::Basis::most];
  std::uint8_t plain_row[ring::Basis::most];
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
/// One digit of a term in shared memory: both of a key's components, each ciphertext's digit, and
/// with a term's last digit the plaintexts that all ciphertexts share. Of one that is stored by its
/// period there is a word for each vector.
template <class Word, unsigned group, unsigned sums>
inline constexpr unsigned turned_stage = (2 + group + sums) * turned_words<Word, group>;

/// The digits of all terms, one after another, on their way to shared memory. A thread reads the
/// values that X -> X^g brings to its place, which lie in one block of 16 bytes. `storage` is
/// that of the plaintexts.
template <class Word, unsigned group, unsigned sums, Storage storage>
class TurnedStages {
 public:
  using Vector = RnsVector<Word>;
  static constexpr unsigned stages = tuning::turned_stages, lanes = turned_threads<group> / group,
                            words = turned_words<Word, group>, width = rns_width<Word>;

  __device__ __forceinline__ TurnedStages(const TurnedSumArguments<Word>& a, const void* memory,
                                          std::uint32_t j, const Word* digits)
      : a_(a), j_(j), digits_(digits) {
    key_words_ = a.key_limbs << a.log_N;
    const std::uint32_t half = group == 1 ? 0 : threadIdx.x / lanes;
    brings_ = half < 2;
    in_key_ = static_cast<std::size_t>(2 * a.first_digit + half) * key_words_ +
              (std::uint32_t{a.key_row[blockIdx.y]} << a.log_N) + j;
    digit_words_ = static_cast<std::size_t>(a.row_count) * a.batch << a.log_N;
    memory_ = kept(static_cast<std::uint32_t>(__cvta_generic_to_shared(memory)));
    fetched_ = memory_;
    taken_ = memory_ + (stages - 1) * stage;
    plain_ = (std::uint32_t{a.plain_row[blockIdx.y]} << a.log_N) + j;
    begin_term();
    for (unsigned s = 0; s + 1 < stages; ++s) fetch();
  }
  /// The corrected sums of a term's digits times its key: of its b half, then of its a half. The
  /// term's plaintexts may be read until the next call.
  __device__ __forceinline__ void sum_term(const Gathered<Word>& gathered, Word q,
                                           ProductSum<Word> (&sum)[2][width]) {
    const std::uint32_t key_place = lane() * 16, digit_place = key_place + (2 + number()) * bytes;
#pragma unroll 1
    for (std::uint32_t d = 0; d < a_.count;) {
      const std::uint32_t corrected = min(d + a_.uncorrected, a_.count);
#pragma unroll 1
      for (; d < corrected; ++d) {
        take();
        const Vector key_a = load_shared_vector<Word>(taken_ + key_place),
                     key_b = load_shared_vector<Word>(taken_ + key_place + bytes),
                     digit = gathered(load_shared_vector<Word>(taken_ + digit_place));
#pragma unroll
        for (unsigned k = 0; k < width; ++k) {
          sum[0][k].add(digit.word[k], key_b.word[k]);
          sum[1][k].add(digit.word[k], key_a.word[k]);
        }
      }
#pragma unroll
      for (unsigned k = 0; k < width; ++k) {
        sum[0][k].correct(q);
        sum[1][k].correct(q);
      }
    }
  }
  __device__ __forceinline__ Vector plaintext(unsigned s, std::uint32_t log_repeats) const {
    const std::uint32_t at = taken_ + (2 + group + s) * bytes;
    if constexpr (storage == Storage::periodic)
      if (log_repeats != 0) return in_all_places(load_shared_word<Word>(at + lane() * word_step));
    return load_shared_vector<Word>(at + lane() * 16);
  }
  static __device__ __forceinline__ std::uint32_t lane() { return threadIdx.x % lanes; }
  static __device__ __forceinline__ std::uint32_t number() { return threadIdx.x / lanes; }

 private:
  // Bytes of a piece of a row, and of a stage.
  static constexpr std::uint32_t bytes = words * sizeof(Word),
                                 stage = turned_stage<Word, group, sums> * sizeof(Word);
  // Bytes from one word to the next of a plaintext that is stored by its period: threads that never
  // wait for each other keep to the 16 bytes that each has of other plaintexts.
  static constexpr std::uint32_t word_step = group == 1 ? 16 : sizeof(Word);

  /// Waits for the next digit. What was taken before may no longer be read.
  __device__ __forceinline__ void take() {
    asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2) : "memory");
    if constexpr (group > 1) __syncthreads();
    fetch();
    taken_ = after(taken_);
  }
  __device__ __forceinline__ std::uint32_t after(std::uint32_t at) const {
    return at == memory_ + (stages - 1) * stage ? memory_ : at + stage;
  }
  /// The compiler would make it anew for each digit.
  static __device__ __forceinline__ std::uint32_t kept(std::uint32_t x) {
    asm volatile("" : "+r"(x));
    return x;
  }
  static __device__ __forceinline__ void bring(std::uint32_t to, const Word* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to),
                 "l"(__cvta_generic_to_global(from))
                 : "memory");
  }
  static __device__ __forceinline__ void bring_word(std::uint32_t to, const Word* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to),
                 "l"(__cvta_generic_to_global(from)), "n"(sizeof(Word))
                 : "memory");
  }
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
      const std::uint32_t to = fetched_ + threadIdx.x * 16;
      if (brings_) bring(to, key_);
      if constexpr (group == 1) bring(to + bytes, key_ + key_words_);
      bring(to + 2 * bytes, from_);
      key_ += 2 * key_words_;
      from_ += digit_words_;
      if (++digit_ == a_.count) {
        fetch_plaintexts();
        ++term_;
        begin_term();
      }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    fetched_ = after(fetched_);
  }
  /// Other threads than those that bring keys, where there are so many.
  __device__ __forceinline__ void fetch_plaintexts() {
    const auto& term = a_.terms[term_];
#pragma unroll
    for (unsigned s = 0; s < sums; ++s)
      if ((s + 2) % group == number() && term.m[s] != nullptr && (term.each >> s & 1) == 0) {
        const std::uint32_t to = fetched_ + (2 + group + s) * bytes;
        if (storage == Storage::periodic && term.log_repeats[s] != 0)
          bring_word(to + lane() * word_step, term.m[s] + (plain_ >> term.log_repeats[s]));
        else
          bring(to + lane() * 16, term.m[s] + plain_);
      }
  }

  const TurnedSumArguments<Word>& a_;
  const std::uint32_t j_;
  const Word* const digits_;
  const Word *from_ = nullptr, *key_ = nullptr;
  std::size_t digit_words_, in_key_;
  std::uint32_t key_words_;                 ///< of one component of a digit
  std::uint32_t plain_;                     ///< this thread's value in plaintexts
  std::uint32_t memory_, fetched_, taken_;  ///< addresses of the first, the next, the last stage
  std::uint32_t term_ = 0, digit_ = 0;
  bool brings_;
};

/// rns_width values of each of `group` ciphertexts in up to `sums` sums. Digits and keys come
/// through shared memory, some stages ahead, so that few threads keep enough loads under way; keys
/// come once for the group. Grid: (pieces of N × groups of the batch, the latter first; rows): all
/// digits of a row stay in the second-level cache, which serves them for every term: count·(1 +
/// 2/group) words a value and term. Memory serves keys, digits, plaintexts and sums once.
template <class Word, unsigned group, unsigned sums, Storage storage>
__global__ void __launch_bounds__(turned_threads<group>, 512 / turned_threads<group>)
    sum_turned_products(const __grid_constant__ TurnedSumArguments<Word> a) {
  join_chain();
  constexpr unsigned width = rns_width<Word>, words = turned_words<Word, group>;
  using Vector = RnsVector<Word>;
  using Stages = TurnedStages<Word, group, sums, storage>;
  extern __shared__ unsigned char rns_memory[] __attribute__((aligned(16)));
  const std::uint32_t piece = blockIdx.x / a.batch_groups, row = blockIdx.y;
  const std::uint32_t number = (blockIdx.x - piece * a.batch_groups) * group + Stages::number();
  // Places that are missing from the last group repeat its last ciphertext.
  const std::uint32_t ciphertext = min(number, a.batch - 1);
  const std::uint32_t j = piece * words + Stages::lane() * width;
  const std::uint32_t prime = a.limb[row];
  const RnsModulus<Word> m = a.moduli[prime];
  const auto row_of = [&](std::uint32_t number_of_row) {
    return (static_cast<std::size_t>(number_of_row) * a.batch + ciphertext) << a.log_N;
  };
  Stages stages(a, rns_memory, j, a.digits + row_of(row));
  const bool adds = a.over.contains(prime);
  const Word* const of_x = a.x + row_of(a.over.rank(prime));
  const Word weight = a.weights[row];
  ProductSum<Word> sum[sums][2][width];
#pragma unroll 1
  for (std::uint32_t t = 0; t < a.term_count;) {
    const std::uint32_t corrected = min(t + a.uncorrected, a.term_count);
#pragma unroll 1
    for (; t < corrected; ++t) {
      const auto& term = a.terms[t];
      const Gathered<Word> gathered(j, a.log_N, term.g);
      // It is used after the digits.
      Vector x = {};
      if (adds) x = *reinterpret_cast<const Vector*>(of_x + gathered.block);
      ProductSum<Word> inner[2][width];
      if (term.key != nullptr) {
        stages.sum_term(gathered, m.q, inner);
      } else if (adds) {
        const std::size_t part = static_cast<std::size_t>(a.x_rows) * a.batch << a.log_N;
        const Vector other = *reinterpret_cast<const Vector*>(of_x + part + j);
#pragma unroll
        for (unsigned k = 0; k < width; ++k) {
          inner[1][k].add(other.word[k], weight);
          inner[1][k].correct(m.q);
        }
      }
      x = gathered(x);
      Vector image[2];
#pragma unroll
      for (unsigned k = 0; k < width; ++k) {
        inner[0][k].add(x.word[k], weight);
        inner[0][k].correct(m.q);
#pragma unroll
        for (unsigned c = 0; c < 2; ++c) image[c].word[k] = inner[c][k].reduce(m.q, m.inverse);
      }
#pragma unroll
      for (unsigned s = 0; s < sums; ++s) {
        if (term.m[s] == nullptr) continue;
        const bool each = (term.each >> s & 1) != 0;
        Vector factor;
        if (term.key != nullptr && !each)
          factor = stages.plaintext(s, term.log_repeats[s]);
        else
          factor = load_factor<Word, storage>(
              term.m[s],
              (each ? row_of(a.plain_row[row])
                    : static_cast<std::size_t>(a.plain_row[row]) << a.log_N) +
                  j,
              term.log_repeats[s]);
#pragma unroll
        for (unsigned c = 0; c < 2; ++c)
#pragma unroll
          for (unsigned k = 0; k < width; ++k) sum[s][c][k].add(image[c].word[k], factor.word[k]);
      }
    }
#pragma unroll
    for (unsigned s = 0; s < sums; ++s)
#pragma unroll
      for (unsigned k = 0; k < width; ++k) {
        sum[s][0][k].correct(m.q);
        sum[s][1][k].correct(m.q);
      }
  }
  if (number >= a.batch) return;
#pragma unroll
  for (unsigned s = 0; s < sums; ++s) {
    if (s >= a.sum_count) break;
    const auto& place = a.to[s];
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      Word* const to = place.first + c * place.part + row * place.row +
                       (static_cast<std::size_t>(ciphertext) << a.log_N) + j;
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
