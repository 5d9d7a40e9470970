// Non-negative integers of any size, as few operations as tests need.
#pragma once

#include "support/test.h"

namespace whorl::test {

class Big {
 public:
  Big(std::uint64_t value = 0) {
    for (; value != 0; value >>= 32) words_.push_back(static_cast<std::uint32_t>(value));
  }
  static Big product(std::span<const std::uint32_t> factors) {
    Big out(1);
    for (const std::uint32_t f : factors) out *= f;
    return out;
  }
  /// The integer below the product of `primes` with these residues.
  static Big from_residues(std::span<const std::uint32_t> residues,
                           std::span<const std::uint32_t> primes) {
    Big out, radix(1);  // mixed radix: out is right modulo the primes before
    for (std::size_t i = 0; i < primes.size(); ++i) {
      const std::uint64_t q = primes[i];
      const std::uint64_t missing = (residues[i] + q - out % primes[i]) % q;
      out += radix * static_cast<std::uint32_t>(missing * power(radix % primes[i], q - 2, q) % q);
      radix *= primes[i];
    }
    return out;
  }
  static std::uint64_t power(std::uint64_t x, std::uint64_t exponent, std::uint64_t q) {
    std::uint64_t out = 1;
    for (; exponent != 0; exponent >>= 1, x = x * x % q)
      if (exponent & 1) out = out * x % q;
    return out;
  }

  Big& operator*=(std::uint32_t factor) {
    std::uint64_t carry = 0;
    for (std::uint32_t& w : words_) {
      carry += std::uint64_t{w} * factor;
      w = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry) words_.push_back(static_cast<std::uint32_t>(carry));
    return trim();
  }
  Big& operator+=(const Big& b) {
    words_.resize(std::max(words_.size(), b.words_.size()) + 1);
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      carry += std::uint64_t{words_[i]} + (i < b.words_.size() ? b.words_[i] : 0);
      words_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    return trim();
  }
  /// b is not larger.
  Big& operator-=(const Big& b) {
    std::int64_t borrow = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      borrow += std::int64_t{words_[i]} - (i < b.words_.size() ? std::int64_t{b.words_[i]} : 0);
      words_[i] = static_cast<std::uint32_t>(borrow);
      borrow >>= 32;
    }
    return trim();
  }
  /// Divides; the remainder.
  std::uint32_t divide(std::uint32_t by) {
    std::uint64_t rest = 0;
    for (std::size_t i = words_.size(); i-- > 0;) {
      rest = rest << 32 | words_[i];
      words_[i] = static_cast<std::uint32_t>(rest / by);
      rest %= by;
    }
    trim();
    return static_cast<std::uint32_t>(rest);
  }
  friend std::uint32_t operator%(Big a, std::uint32_t by) { return a.divide(by); }
  friend Big operator*(Big a, std::uint32_t b) { return a *= b; }
  friend Big operator+(Big a, const Big& b) { return a += b; }
  friend Big operator-(Big a, const Big& b) { return a -= b; }
  friend bool operator<(const Big& a, const Big& b) {
    if (a.words_.size() != b.words_.size()) return a.words_.size() < b.words_.size();
    return std::lexicographical_compare(a.words_.rbegin(), a.words_.rend(), b.words_.rbegin(),
                                        b.words_.rend());
  }
  bool operator==(const Big&) const = default;

 private:
  Big& trim() {
    while (!words_.empty() && words_.back() == 0) words_.pop_back();
    return *this;
  }
  std::vector<std::uint32_t> words_;  ///< the lowest first
};

}  // namespace whorl::test
