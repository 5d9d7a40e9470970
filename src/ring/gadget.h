// Signed gadget decomposition, exact and approximate: the rule that every backend follows.
#pragma once

#include <cstdint>

namespace whorl::ring {

/// x, centred modulo Q, is written as sum_j d_j·2^(dropped + j·log_base) + r with |r| <=
/// 2^(dropped-1) (r = 0 if nothing is dropped). Digits below the top one lie in [-B/2, B/2); the
/// top one is signed and takes whatever is left, |d_top| <= B/2. Dropping low bits is the
/// approximate gadget of Lee et al. (EUROCRYPT 2023), §2; the carry-free rule with one added
/// constant is Chillotti et al. (TFHE, J. Cryptology 2020), Algorithm 1.
class Gadget {
 public:
  /// ParameterError unless 1 <= log_base <= 31, digits >= 1 and log_base·(digits-1) < log2 Q.
  Gadget(std::uint64_t Q, unsigned log_base, unsigned digits);

  std::uint64_t modulus() const { return modulus_; }
  unsigned log_base() const { return log_base_; }
  unsigned digits() const { return digits_; }
  unsigned dropped() const { return dropped_; }
  bool exact() const { return dropped_ == 0; }
  /// Right shift that brings digit j to the bottom.
  unsigned shift(unsigned j) const { return dropped_ + j * log_base_; }
  /// g_j = 2^shift(j) modulo Q.
  std::uint64_t factor(unsigned j) const { return (1ULL << shift(j)) % modulus_; }
  /// Constant added before shifting: rounds off the dropped bits and makes low digits signed.
  std::int64_t offset() const { return offset_; }
  /// Digit j of a centred value.
  std::int64_t digit(std::int64_t centred, unsigned j) const {
    const std::int64_t shifted = (centred + offset_) >> shift(j);
    if (j + 1 == digits_) return shifted;
    const std::int64_t base = std::int64_t{1} << log_base_;
    return (shifted & (base - 1)) - base / 2;
  }
  /// Largest |digit j|: B/2, or what Q leaves for the top digit.
  std::uint64_t bound(unsigned j) const {
    if (j + 1 < digits_) return std::uint64_t{1} << (log_base_ - 1);
    return (modulus_ / 2 + static_cast<std::uint64_t>(offset_)) >> shift(j);
  }
  /// Mean square of digit j of a uniform residue: (B^2 + 2)/12 for B consecutive integers from
  /// -B/2; the top digit's B is Q/g_top.
  double digit_mean_square(unsigned j) const;

 private:
  std::uint64_t modulus_;
  unsigned log_base_, digits_, dropped_;
  std::int64_t offset_;
};

}  // namespace whorl::ring
