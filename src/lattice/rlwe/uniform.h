// The public halves of keys and of fresh ciphertexts, which travel as seeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "math/random.h"
#include "ring/rns_plan.h"
#include "whorl/word_array.h"

namespace whorl::lattice::rlwe {

/// The a half of row `digit` of a switching key, (rows, N) in evaluation form: for the r-th of the
/// layout's R rows, modulo q, expand_uniform(seed, digit·R + r, q).
template <class Word>
void key_uniform(const ring::RnsPlan<Word>& plan, const ring::KeyLayout& layout,
                 const math::Seed& seed, unsigned digit, std::span<Word> a);

/// The uniform part of ciphertext `index` of a fresh batch, (basis, N) in evaluation form: limb l
/// of the chain's L is expand_uniform(seed, index·L + l, q_l). ParameterError for special primes.
template <class Word>
void ciphertext_uniform(const ring::RnsPlan<Word>& plan, const ring::Basis& basis,
                        const math::Seed& seed, std::size_t index, std::span<Word> a);
/// The same for a whole batch, without a plan: (basis, count, N), of primes of the chain. `numbers`
/// are the places of the ciphertexts in the seed's batch, if they are not 0, 1, 2 … Where `a` has
/// room for some rows of N only, these are rows `first`, first + 1, … of (basis, count).
template <class Word>
void ciphertexts_uniform(std::uint32_t N, std::span<const std::uint64_t> chain,
                         const ring::Basis& basis, const math::Seed& seed, std::size_t count,
                         std::span<const std::uint32_t> numbers, std::span<Word> a,
                         std::size_t first = 0);

/// Writes row `digit` of a switching key: a and b, (rows, N) each. For several threads.
template <class Word>
using KeyRows = std::function<void(unsigned digit, std::span<Word> a, std::span<Word> b)>;

/// The rows of a switching key from its seed and its bodies, (digits, rows, N). ShapeError unless
/// that is what `bodies` are.
template <class Word>
KeyRows<Word> key_rows(std::shared_ptr<const ring::RnsPlan<Word>> plan,
                       const ring::KeyLayout& layout, const math::Seed& seed,
                       const WordArray& bodies);

}  // namespace whorl::lattice::rlwe
