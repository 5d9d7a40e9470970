// An evaluator without residues, for dry runs: which keys a circuit takes, what it costs, and how
// large arrays are.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "lattice/rlwe/evaluator.h"
#include "math/process.h"
#include "whorl/ring_costs.h"

namespace whorl::lattice::rlwe {

/// Its arrays have shapes and sizes only. Operations check no more than schemes leave to them,
/// which is counts and whether there are keys; nothing is computed, and nothing is copied. It
/// counts what the same calls of an evaluator with residues cost.
class DryEvaluator final : public Evaluator {
 public:
  /// A ring of `limbs` and `special` primes with words of that size. The fleet's devices do
  /// nothing.
  DryEvaluator(std::shared_ptr<const run::Fleet> fleet, std::uint32_t N, unsigned limbs,
               unsigned special, unsigned word_bytes);

  /// What was asked of it since it was made, without keys: it does not see those that are there.
  RingCosts costs() const;

#include "lattice/rlwe/overrides.inc"

 private:
  /// The longest sequence of operations that led to an array: see RingCosts.
  struct Trail {
    unsigned depth = 0, plain_depth = 0;
    double sums = 0;
  };
  struct Traced;
  static const Trail& trail_of(const Array& a);
  /// Returns the trail of a sum. A plaintext counts as one ciphertext.
  static Trail sum_of(std::span<const Array> arrays);
  static Trail with_product(Trail trail, std::size_t plaintexts);

  Array of(const Shape& shape) const { return of(shape, Trail()); }
  Array of(const Shape& shape, const Trail& trail) const;
  /// The shape of `a` with other parts, primes and count, and its trail unless another is given.
  Array of(const Array& a, unsigned parts, const ring::Basis& basis, std::size_t count) const {
    return of(a, parts, basis, count, trail_of(a));
  }
  Array of(const Array& a, unsigned parts, const ring::Basis& basis, std::size_t count,
           const Trail& trail) const {
    return of(Shape{parts, basis, count, a.form()}, trail);
  }
  /// Returns the count of what is made of all of them. ShapeError unless all have that count, or
  /// one.
  static std::size_t count_of(const char* what, std::span<const Array> arrays,
                              std::span<const Array> plains);
  void count(std::size_t RingCosts::*what, std::size_t times) const;
  /// Asks for the key of an automorphism, and counts it; g = 0 and g = 1 need none.
  void turn(std::uint32_t g, const Keys& keys, std::size_t times) const;

  unsigned word_bytes_;
  mutable math::ProcessMutex mutex_;
  mutable RingCosts costs_;
};

}  // namespace whorl::lattice::rlwe
