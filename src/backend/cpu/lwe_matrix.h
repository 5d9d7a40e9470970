// Matrices of integers times LWE ciphertexts on the CPU, a panel of columns at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/contract/lwe.h"

namespace whorl::backend::cpu {

/// A matrix (results, inputs) of integers, laid out for vectors.
template <class Word>
class Matrix {
 public:
  Matrix(std::uint64_t q, std::span<const std::int64_t> entries, std::size_t results);
  ~Matrix();
  /// Whether vectors serve: not for 32-bit words modulo more than 2^31 that is no power of two, and
  /// not for weights of which even the residue next to 0 has more than 31 bits.
  bool serves() const { return panels_ != nullptr; }
  /// A panel of the columns of in (inputs, size) and out (results, size). Any thread may call it.
  void multiply(const Word* in, std::size_t size, std::size_t panel, Word* out) const;
  static std::size_t panels(std::size_t size);

 private:
  class Panels;
  std::unique_ptr<const Panels> panels_;
};

}  // namespace whorl::backend::cpu
