// What a client keeps to when it releases results: how many there may be, and what they must state.
#pragma once

#include <cstdint>
#include <mutex>

#include "whorl/ckks/ciphertexts.h"
#include "whorl/ckks/client.h"

namespace whorl::ckks {

/// What is released under a key, counted by the process that began the count. In a child that this
/// forks all but give_back throw ParameterError: parent and child would spend the same twice.
class Ledger {
 public:
  Ledger();

  Released released() const;
  void add(const Released& more);
  /// Counts `results` that are of so many in all; ParameterError if that is more than there may be.
  void spend(std::uint64_t results, double queries);
  /// Takes back what was counted, since nobody has seen it.
  void give_back(std::uint64_t results, double queries);
  void check_process() const;

 private:
  std::uint64_t process_;
  mutable std::mutex mutex_;
  Released released_;
};

/// ParameterError, which names the field, unless ciphertexts state what is expected of them: the
/// same packing, parts, level, scale and length, and no larger bound or error. Their count is not
/// compared.
void check_expected(const CiphertextInfo& expected, const CiphertextInfo& stated);

}  // namespace whorl::ckks
