// What a device may fuse of RnsOps: an optional interface beside it.
#pragma once

#include <cstddef>
#include <span>

#include "backend/contract/rns_operands.h"

namespace whorl::backend {

/// Which entries of RnsOps a device fuses, so that its callers cut their work accordingly.
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
};

/// Every device has all entries of RnsOps with the same results. One that fuses an entry does
/// without some of the arrays between its steps, and may take many terms in a call. It gets what
/// RnsOps has checked, enqueues the work and returns true. If it returns false, RnsOps makes the
/// result by its other entries.
template <class Word>
class FusedRns {
 public:
  using Tables = RnsTables<Word>;
  using Key = RnsSwitchKey<Word>;

  virtual ~FusedRns() = default;
  virtual RnsFusions fusions() const { return {}; }

  /// RnsOps::inner_product with an array added, which has `parts` parts.
  virtual bool inner_product_with(const Key& /*key*/, const Tables& /*tables*/,
                                  const InnerProduct& /*product*/, std::size_t /*batch*/,
                                  const Word* /*digits*/, std::size_t /*parts*/,
                                  const CheckedScaling<Word>& /*added*/, bool /*onto*/,
                                  Word* /*out*/) const {
    return false;
  }
  /// RnsOps::extended_product. `added` is null where nothing is added.
  virtual bool extended_product(const Key& /*key*/, const Tables& /*tables*/,
                                const Extension& /*extension*/, const InnerProduct& /*product*/,
                                std::size_t /*batch*/, const Word* /*in*/, std::size_t /*parts*/,
                                const CheckedScaling<Word>* /*added*/, bool /*onto*/,
                                Word* /*out*/) const {
    return false;
  }
  /// RnsOps::switched_product.
  virtual bool switched_product(const Key& /*key*/, const Tables& /*tables*/,
                                const Extension& /*extension*/, const InnerProduct& /*product*/,
                                std::size_t /*batch*/, const CheckedFactors<Word>& /*factors*/,
                                Word* /*out*/) const {
    return false;
  }
  /// RnsOps::inner_products. `product` is what all terms have in common, without g; `added`: the
  /// same at g = 1, or null.
  virtual bool inner_products(std::span<const TurnedKey<Word>> /*terms*/, const Tables& /*tables*/,
                              const InnerProduct& /*product*/, std::size_t /*batch*/,
                              const Word* /*digits*/, std::size_t /*parts*/,
                              const CheckedScaling<Word>* /*added*/, Word* /*out*/) const {
    return false;
  }
  /// RnsOps::sums_of_turned_products. `product` is what all keys have in common, without g; `added`
  /// has two parts and g = 1.
  virtual bool turned_products(std::span<const TurnedProduct<Word>> /*terms*/,
                               const Tables& /*tables*/, const InnerProduct& /*product*/,
                               const SumLayout& /*sums*/, std::size_t /*batch*/,
                               const Word* /*digits*/, const CheckedScaling<Word>& /*added*/,
                               bool /*onto*/, Word* /*out*/) const {
    return false;
  }
};

}  // namespace whorl::backend
