// Which entries of RnsOps a device fuses, so that its callers cut their work accordingly.
#pragma once

#include <cstddef>

namespace whorl::backend {

/// Every device has all entries with the same results. One that fuses an entry does without some of
/// the arrays between its steps, and may take many terms in a call.
struct RnsFusions {
  /// Whether switched_product makes no product of the ciphertexts in memory. If it does, the first
  /// two parts of that product are better added in the division that follows, where the division
  /// drops no primes but the special ones.
  bool switched_products = false;
  /// How many terms to pass to inner_products and to sum_of_inner_products in one call, with their
  /// keys on the device. It is 1 if the device makes them one by one.
  std::size_t inner_products = 1;
  /// How many sums to pass to sums_of_turned_products in one call. It is 0 if the device fuses
  /// nothing: then it is better to keep the inner product of each term for all sums.
  std::size_t turned_sums = 0;
  /// How many terms to pass to weighted_inner_products in one call, with their keys on the device.
  /// It is 1 if the device makes them one by one.
  std::size_t weighted_products = 1;
};

}  // namespace whorl::backend
