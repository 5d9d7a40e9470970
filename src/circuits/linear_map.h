// Linear maps of slots on ring-LWE ciphertexts: sums of rotations, each times a plaintext, in baby
// and giant steps. What slots are is the scheme's business; here are automorphisms and plaintexts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lattice/rlwe/evaluator.h"
#include "lattice/rlwe/keys.h"

namespace whorl::circuits {

/// How `count` rotations by 0, 1, … steps are made from short rotations (baby steps), of which
/// there are `babies`, and giant steps, each a rotation by `babies` steps (Halevi and Shoup, CRYPTO
/// 2018, §4). All baby steps share one decomposition, so they cost less; there are as many of them
/// as giant steps, or twice as many. Up to four rotations use baby steps only, and divide by the
/// special primes once at the end.
struct Steps {
  std::size_t babies = 1, giants = 1;

  static Steps of(std::size_t count);
  /// Whether plaintexts are wanted over the special primes too: see rlwe::Evaluator::weighted_sum.
  bool hoist_twice() const { return giants == 1; }
};

/// sum_i giant^i( sum_b plain(i, b)·baby_b(x) ), giant and baby_b being automorphisms. Horner's
/// rule over i: one key for all giant steps.
struct LinearMap {
  /// The g of the automorphisms X -> X^g. The first is 1; 0 means that no plaintext uses this step.
  std::vector<std::uint32_t> babies;
  std::uint32_t giant = 1;
  std::size_t giants = 1;
  /// An empty array stands for zeros. At least one array is not empty.
  std::function<lattice::rlwe::Array(std::size_t giant_step, std::size_t baby)> plain;
};

/// Several maps of equal baby steps, which are made once. Inside run::Fleet::together or again.
/// The divisions of key switching leave a multiple of t. KeyMismatchError for a key that is
/// missing.
std::vector<lattice::rlwe::Array> apply(const lattice::rlwe::Evaluator& evaluator,
                                        const lattice::rlwe::Array& x,
                                        std::span<const LinearMap> maps,
                                        const lattice::rlwe::Keys& keys, std::uint64_t t);

}  // namespace whorl::circuits
