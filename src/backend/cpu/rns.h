// RNS operations on the CPU: what backend/ops.h says of each, shapes being checked by the caller.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backend/block_cache.h"
#include "backend/cpu/rns_kernels.h"
#include "backend/key_memory.h"
#include "backend/parallel.h"
#include "backend/rns.h"
#include "ring/automorphism.h"
#include "ring/base_conversion.h"
#include "ring/host/ntt_tables.h"

namespace whorl::backend::cpu {

template <class Word>
class CpuRnsTables final : public RnsTables<Word> {
 public:
  CpuRnsTables(std::shared_ptr<const ring::RnsPlan<Word>> shared_plan, std::uint64_t plain_modulus);

  /// Of the chain, then of the special primes; so in all that follows.
  KeyMemory<Word> twiddles;
  std::vector<ring::NttTables<Word>> ntt;
  std::vector<math::Montgomery<Word>> montgomery;
  /// From the first `size` limbs of a digit to all moduli.
  const ring::BaseConversion<Word>& up(unsigned digit, unsigned size) const {
    return up_[digit * this->plan().digit_limbs() + size - 1];
  }
  /// From the special primes to the chain, and from limb l >= 1 to those before it; with t.
  const ring::BaseConversion<Word>& down() const { return *down_; }
  const ring::BaseConversion<Word>& last(unsigned limb) const { return last_[limb - 1]; }
  /// q_last^-1 modulo q_limb.
  Word inverse_last(unsigned last, unsigned limb) const {
    return inverse_last_[last * this->plan().limbs() + limb];
  }

 private:
  std::vector<ring::BaseConversion<Word>> up_, last_;
  std::optional<ring::BaseConversion<Word>> down_;
  std::vector<Word> inverse_last_;
};

template <class Word>
class CpuRnsSwitchKey final : public RnsSwitchKey<Word> {
 public:
  CpuRnsSwitchKey(const CpuRnsTables<Word>& tables, const RnsRowSource<Word>& rows,
                  const Workers& workers);
  std::size_t bytes() const override { return words_ * sizeof(Word); }
  /// N words, in Montgomery form. component 0: a's.
  const Word* row(unsigned digit, unsigned component, unsigned limb) const;
  /// X -> X^g in evaluation form; kept, since a key is used with one g.
  std::shared_ptr<const EvaluationPermutation<Word>> permutation(std::uint32_t g) const;

 private:
  mutable std::mutex mutex_;
  mutable std::uint32_t g_ = 1;  ///< of the permutation that is kept
  mutable std::shared_ptr<const EvaluationPermutation<Word>> permutation_;
  std::size_t words_;
  KeyMemory<Word> memory_;
};

/// Where a call gets its threads and memory for intermediate results.
struct Resources {
  const Workers& workers;
  BlockCache& memory;
  /// Threads for so many values: to start one takes as long as a transform of 2^15; one of the crew
  /// takes a microsecond.
  Workers workers_for(std::size_t values) const {
    const auto threads = [&](unsigned log_values) {
      return static_cast<unsigned>(
          std::clamp<std::size_t>(values >> log_values, 1, std::max(1u, workers.threads)));
    };
    return {threads(workers.crew ? 13 : 16), workers.interrupt, workers.crew, threads(16)};
  }
};

/// Of data (parts, limbs [+ K], B, N), in place.
template <class Word>
void rns_transform(const CpuRnsTables<Word>& tables, unsigned limbs, bool with_special,
                   bool is_forward, std::size_t parts, std::size_t batch, Word* data,
                   const Resources& on);
template <class Word>
void mod_up(const CpuRnsTables<Word>& tables, unsigned limbs, std::size_t batch, const Word* in,
            Word* out, const Resources& on);
template <class Word>
void inner_product(const CpuRnsTables<Word>& tables, const CpuRnsSwitchKey<Word>& key,
                   unsigned limbs, std::uint32_t g, std::size_t batch, const Word* digits,
                   Word* out, const Resources& on);
/// `added`: whole parts; it may begin where `out` does.
template <class Word>
void mod_down(const CpuRnsTables<Word>& tables, unsigned limbs, std::size_t parts,
              std::size_t batch, const Word* in, std::span<const Word> added, Word* out,
              const Resources& on);
template <class Word>
void rescale(const CpuRnsTables<Word>& tables, unsigned limbs, std::size_t parts, std::size_t batch,
             const Word* in, Word* out, const Resources& on);
/// `one_b`: b has a batch of 1.
template <class Word>
void tensor(const CpuRnsTables<Word>& tables, unsigned limbs, std::size_t a_parts,
            std::size_t b_parts, std::size_t batch, bool one_b, const Word* a, const Word* b,
            Word* out, const Resources& on);
template <class Word>
void base_convert(const ring::BaseConversion<Word>& conversion, std::uint32_t N, std::size_t batch,
                  const Word* in, Word* out, const Resources& on);

}  // namespace whorl::backend::cpu
