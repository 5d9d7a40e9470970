#include "math/inner_product.h"

#include <string>
#include <type_traits>

#include "whorl/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/inner_product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Plain loops, which the compiler vectorises for each target. Their vectors need no lane tricks.
HWY_BEFORE_NAMESPACE();
namespace whorl::math::HWY_NAMESPACE {

template <class Word>
Word wrapping_sum(const Word* HWY_RESTRICT a, const int32_t* HWY_RESTRICT s, size_t n) {
  // Narrow words multiply as 32-bit ones: the low bits are the same, and promotion to int would
  // overflow.
  using Product = std::conditional_t<sizeof(Word) == 8, uint64_t, uint32_t>;
  Product sum = 0;
  for (size_t i = 0; i < n; ++i) {
    sum += static_cast<Product>(a[i]) * static_cast<Product>(static_cast<int64_t>(s[i]));
  }
  return static_cast<Word>(sum);
}

// The high (floored) and low halves of a_i s_i, each summed without overflow for n <= 2^31.
void half_sums(const uint32_t* HWY_RESTRICT a, const int32_t* HWY_RESTRICT s, size_t n,
               int64_t* high, uint64_t* low) {
  int64_t high_sum = 0;
  uint64_t low_sum = 0;
  for (size_t i = 0; i < n; ++i) {
    const int64_t product = static_cast<int64_t>(a[i]) * s[i];
    high_sum += product >> 32;
    low_sum += static_cast<uint32_t>(product);
  }
  *high = high_sum;
  *low = low_sum;
}

uint16_t wrapping_sum_16(const uint16_t* a, const int32_t* s, size_t n) {
  return wrapping_sum(a, s, n);
}
uint32_t wrapping_sum_32(const uint32_t* a, const int32_t* s, size_t n) {
  return wrapping_sum(a, s, n);
}
uint64_t wrapping_sum_64(const uint64_t* a, const int32_t* s, size_t n) {
  return wrapping_sum(a, s, n);
}

}  // namespace whorl::math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace whorl::math {

HWY_EXPORT(wrapping_sum_16);
HWY_EXPORT(wrapping_sum_32);
HWY_EXPORT(wrapping_sum_64);
HWY_EXPORT(half_sums);

namespace {

void check_lengths(size_t a, size_t s) {
  if (a != s) {
    throw ShapeError("inner product: the vectors have lengths " + std::to_string(a) + " and " +
                     std::to_string(s) + ", which must be equal");
  }
  if (a > size_t{1} << 31) {
    throw ShapeError("inner product: the length " + std::to_string(a) +
                     " of the vectors is above 2^31");
  }
}

}  // namespace

template <>
uint32_t inner_product(std::span<const uint32_t> a, std::span<const int32_t> s,
                       const Modulus<uint32_t>& q) {
  check_lengths(a.size(), s.size());
  int64_t high = 0;
  uint64_t low = 0;
  HWY_DYNAMIC_DISPATCH(half_sums)(a.data(), s.data(), a.size(), &high, &low);
  const uint32_t two_to_32 = q.from_signed(int64_t{1} << 32);
  return q.add(q.mul(q.from_signed(high), two_to_32), q.reduce_wide(low));
}

template <>
uint64_t inner_product(std::span<const uint64_t> a, std::span<const int32_t> s,
                       const Modulus<uint64_t>& q) {
  check_lengths(a.size(), s.size());
  __int128 sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<__int128>(static_cast<int64_t>(a[i])) * s[i];
  }
  const uint64_t high = q.from_signed(static_cast<int64_t>(sum >> 64));
  return q.reduce_wide((static_cast<unsigned __int128>(high) << 64) + static_cast<uint64_t>(sum));
}

template <>
uint16_t inner_product_masked(std::span<const uint16_t> a, std::span<const int32_t> s,
                              uint16_t mask) {
  check_lengths(a.size(), s.size());
  return HWY_DYNAMIC_DISPATCH(wrapping_sum_16)(a.data(), s.data(), a.size()) & mask;
}

template <>
uint32_t inner_product_masked(std::span<const uint32_t> a, std::span<const int32_t> s,
                              uint32_t mask) {
  check_lengths(a.size(), s.size());
  return HWY_DYNAMIC_DISPATCH(wrapping_sum_32)(a.data(), s.data(), a.size()) & mask;
}

template <>
uint64_t inner_product_masked(std::span<const uint64_t> a, std::span<const int32_t> s,
                              uint64_t mask) {
  check_lengths(a.size(), s.size());
  return HWY_DYNAMIC_DISPATCH(wrapping_sum_64)(a.data(), s.data(), a.size()) & mask;
}

}  // namespace whorl::math
#endif  // HWY_ONCE
