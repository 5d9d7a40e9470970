// What the RNS entries of the contract take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "ring/rns_plan.h"

namespace whorl::backend {

/// A device's tables for a plan: twiddles, factors of base conversions. They serve all queues of
/// the hardware that prepared them.
template <class Word>
class RnsTables {
 public:
  virtual ~RnsTables() = default;
  const ring::RnsPlan<Word>& plan() const { return *plan_; }
  const std::shared_ptr<const ring::RnsPlan<Word>>& shared_plan() const { return plan_; }
  /// t: what mod_down and rescale subtract is a multiple of it. 1 where there is none (CKKS).
  std::uint64_t plain_modulus() const { return plain_modulus_; }

 protected:
  RnsTables(std::shared_ptr<const ring::RnsPlan<Word>> plan, std::uint64_t plain_modulus)
      : plan_(std::move(plan)), plain_modulus_(plain_modulus) {}
  std::shared_ptr<const ring::RnsPlan<Word>> plan_;
  std::uint64_t plain_modulus_;
};

/// Writes the row of a switching key that multiplies digit `digit`: a and b, (L + K, N) residues in
/// evaluation form. Called from several threads at once.
template <class Word>
using RnsRowSource = std::function<void(unsigned digit, std::span<Word> a, std::span<Word> b)>;

/// A key of hybrid key switching, laid out in a backend's order of use.
template <class Word>
class RnsSwitchKey {
 public:
  virtual ~RnsSwitchKey() = default;
  virtual std::size_t bytes() const = 0;
  const ring::RnsPlan<Word>& plan() const { return *plan_; }

 protected:
  explicit RnsSwitchKey(std::shared_ptr<const ring::RnsPlan<Word>> plan) : plan_(std::move(plan)) {}
  std::shared_ptr<const ring::RnsPlan<Word>> plan_;
};

}  // namespace whorl::backend
