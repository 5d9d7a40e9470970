// Linear maps of slots on ring-LWE ciphertexts: sums of rotations, each times a plaintext, in baby
// and giant steps. What slots are is the scheme's business; here are automorphisms and plaintexts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lattice/rlwe/evaluator.h"
#include "lattice/rlwe/keys.h"

namespace whorl::circuits {

/// How `count` rotations by 0, 1, … steps are made from short rotations (baby steps), of which
/// there are `babies`, and giant steps by multiples of `babies` (Halevi and Shoup, CRYPTO 2018,
/// §4). All baby steps share one decomposition, so they cost less; there are as many of them as
/// giant steps, or twice as many. Up to four rotations use baby steps only.
struct Steps {
  std::size_t babies = 1, giants = 1;

  static Steps of(std::size_t count);
};

using LinearMap = lattice::rlwe::Evaluator::LinearMap;

/// Several maps of x with the same steps, hoisted twice: plaintexts are over the special primes
/// too, and sums are divided by them once at the end (rlwe::Evaluator::weighted_sum, linear_map).
/// Inside run::Fleet::together or again. The divisions of key switching leave a multiple of t.
/// MissingKeyError for a key that is missing.
std::vector<lattice::rlwe::Array> apply(const lattice::rlwe::Evaluator& evaluator,
                                        const lattice::rlwe::Array& x,
                                        std::span<const LinearMap> maps,
                                        const lattice::rlwe::Keys& keys, std::uint64_t t);

}  // namespace whorl::circuits
