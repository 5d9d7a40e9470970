// Tables of the CPU for a plan: twiddles, factors of conversions and divisions; and switching keys.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "backend/contract/rns.h"
#include "backend/cpu/rns_kernels.h"
#include "backend/key_memory.h"
#include "backend/parallel.h"
#include "math/process.h"
#include "ring/host/ntt_tables.h"

namespace whorl::backend::cpu {

/// A division's rows and factors; see RnsOps::divide.
template <class Word>
struct DivisionTables {
  const ring::BaseConversion<Word>* conversion;  ///< from the dropped primes to all
  std::vector<unsigned> dropped, to;             ///< indices of primes
  std::vector<std::size_t> dropped_rows;         ///< in the array that is divided
  static constexpr std::size_t none = ~std::size_t{0};
  std::vector<std::size_t> kept_rows;  ///< there too, for each of `to`; `none` of primes that come
  /// E modulo each dropped prime and each of `to`; empty where no prime comes.
  std::vector<Word> lift_factors, factors;
  std::vector<Word> inverse;  ///< D^-1 modulo each of `to`
};

template <class Word>
class CpuRnsTables final : public RnsTables<Word> {
 public:
  explicit CpuRnsTables(std::shared_ptr<const ring::RnsPlan<Word>> shared_plan);

  /// The tables of all primes, chain and special ones, as everywhere below.
  KeyMemory<Word> twiddles;
  std::vector<ring::NttTables<Word>> ntt;
  std::vector<math::Montgomery<Word>> montgomery;

  /// Returns the conversion to all primes of the plan: row i of its factors is prime i's. Made
  /// once; any thread may ask.
  const ring::BaseConversion<Word>& conversion(const ring::Basis& from, std::uint64_t t,
                                               ring::Lift lift) const;
  const DivisionTables<Word>& division(const Division& division) const;

 private:
  struct ConversionKey {
    ring::Basis from;
    std::uint64_t t;
    ring::Lift lift;
    auto operator<=>(const ConversionKey&) const = default;
  };
  struct DivisionKey {
    ring::Basis from, to;
    std::uint64_t t;
    auto operator<=>(const DivisionKey&) const = default;
  };
  mutable math::ProcessMutex mutex_;  ///< of those below
  mutable std::map<ConversionKey, ring::BaseConversion<Word>> conversions_;
  mutable std::map<DivisionKey, DivisionTables<Word>> divisions_;
};

template <class Word>
class CpuConversion final : public Conversion<Word> {
 public:
  explicit CpuConversion(const ring::BaseConversion<Word>& rule)
      : Conversion<Word>(rule), moduli(rule.to().begin(), rule.to().end()) {}
  std::vector<math::Montgomery<Word>> moduli;
};

template <class Word>
class CpuRnsSwitchKey final : public RnsSwitchKey<Word> {
 public:
  CpuRnsSwitchKey(const CpuRnsTables<Word>& tables, const ring::KeyLayout& layout,
                  const RnsRowSource<Word>& rows, const Workers& workers);
  std::size_t bytes() const override { return words_ * sizeof(Word); }
  /// N words, in Montgomery form, of row `row` of the key's basis. component 0: a's.
  const Word* row(unsigned digit, unsigned component, std::size_t row) const;
  /// X -> X^g in evaluation form; kept, since a key is used with one g.
  std::shared_ptr<const EvaluationPermutation<Word>> permutation(std::uint32_t g) const;

 private:
  mutable math::ProcessMutex mutex_;
  mutable std::uint32_t g_ = 1;  ///< of the permutation that is kept
  mutable std::shared_ptr<const EvaluationPermutation<Word>> permutation_;
  std::size_t words_;
  KeyMemory<Word> memory_;
};

}  // namespace whorl::backend::cpu
