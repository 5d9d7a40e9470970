// Sums of few rows of LWE ciphertexts each, on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/contract/lwe.h"
#include "math/modulus.h"

namespace whorl::backend::cpu {

class RowSums final : public LweSums {
 public:
  explicit RowSums(LweSumsShape shape);
  std::size_t bytes() const override { return weights_.size() * sizeof(std::int64_t); }
  /// Sum r, a row. Any thread may call it.
  template <class Word>
  void sum(std::size_t r, std::span<const ConstWords> in, Word* out) const;

 private:
  template <class Word>
  void sum_any(std::size_t r, std::span<const ConstWords> in, Word* out) const;

  math::Modulus<std::uint64_t> q_;
  std::vector<std::int64_t> weights_;  ///< residues next to 0
  std::vector<bool> small_;            ///< whether a sum's terms add up to less than 2^62
  std::uint64_t above_;                ///< a multiple of q, 2^62 at least
};

}  // namespace whorl::backend::cpu
