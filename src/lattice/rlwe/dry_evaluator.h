// An evaluator without residues, for dry runs: which keys a circuit takes, what it costs, and how
// large arrays are.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

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

  /// The words are not looked at.
  Array upload(const WordArray& words, const Shape& shape) const override;
  /// DeviceError: there is nothing to copy.
  WordArray download(const Array& a) const override;
  bool is_lost(const Array&) const override { return false; }

  Array copy(const Array& a) const override { return a; }
  Array negate(const Array& a) const override { return a; }
  Array scale(const Array& a, std::int64_t by) const override;
  Array scale(const Array& a, std::span<const std::uint64_t>) const override { return a; }
  Array combination(std::span<const Array> arrays,
                    std::span<const std::vector<std::uint64_t>> weights,
                    std::span<const std::uint64_t> constant,
                    const ring::Basis& basis) const override;

  Array transform(const Array& a, Form form) const override;
  Array take(const Array& a, std::span<const std::uint32_t> indices) const override;
  Array join(std::span<const Array> arrays) const override;
  Array interleave(std::span<const Array> arrays) const override { return join(arrays); }
  Array restrict(const Array& a, const ring::Basis& basis) const override;
  Array divide(const Array& a, const ring::Basis& to, std::uint64_t t) const override;
  Array extend(const Array& a, const ring::Basis& to, ring::Lift lift) const override;

  Array multiply_plain(const Array& a, const Array& m) const override;
  Array sum_of_products(std::span<const Array> arrays, std::span<const Array> plains,
                        const ring::Basis& basis) const override;
  using Evaluator::tensor;
  Array tensor(const Array& a, const Array& b, const ProductEnd& end) const override;

  std::shared_ptr<const Key> prepare(const SwitchKeyData& data,
                                     std::shared_ptr<run::KeyBudget> budget) const override;
  Array digits(const Array& a, unsigned part, const ring::KeyLayout& layout) const override;
  Array inner_product(const Array& digits, const Key& key, std::uint32_t g) const override;
  Array key_switch(const Array& a, const Key& key, std::uint64_t t) const override;
  Array relinearise(const Array& a, const Keys& keys, std::uint64_t t) const override;
  Array relinearise(const Array& a, const Keys& keys, const ring::Basis& to,
                    std::uint64_t t) const override;
  Array relinearised_product(const Array& a, const Array& b, const ProductEnd& end,
                             const Keys& keys, const ring::Basis& to,
                             std::uint64_t t) const override;
  std::vector<Array> automorphisms(const Array& a, std::span<const std::uint32_t> gs,
                                   const Keys& keys, std::uint64_t t) const override;
  Array weighted_sum(const Array& a, std::span<const Term> terms, const Keys& keys,
                     std::uint64_t t) const override;
  std::vector<Array> linear_maps(const Array& a, std::span<const LinearMap> maps, const Keys& keys,
                                 const ring::Basis& to, std::uint64_t t) const override;

 protected:
  Array lifted(std::span<const std::int64_t> polynomials, const ring::Basis& basis,
               unsigned log_repeats) const override;
  Array rounded(std::span<const double> polynomials, double scale,
                const ring::Basis& basis) const override;
  Array interpolated(std::span<const std::complex<double>> values, std::size_t period, double scale,
                     const ring::Basis& basis, unsigned log_repeats) const override;
  Array combine(const Array& a, const Array& b, bool subtract) const override;
  Array combine_plain(const Array& a, const Array& m, bool subtract) const override;

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
