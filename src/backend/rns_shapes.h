// The checks of RNS entries' arguments, and take's, that every backend makes. Each function returns
// the batch B that the sizes stand for, or throws ShapeError or ParameterError with the numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ring/base_conversion.h"
#include "ring/rns_plan.h"

namespace whorl::backend {

/// ParameterError unless the plan has special primes.
template <class Word>
void check_special(const char* what, const ring::RnsPlan<Word>& plan);

template <class Word>
std::size_t transform_batch(const ring::RnsPlan<Word>& plan, unsigned limbs, bool with_special,
                            std::size_t parts, std::size_t size);
template <class Word>
std::size_t base_convert_batch(const ring::BaseConversion<Word>& conversion, std::uint32_t N,
                               std::size_t in, std::size_t out);
template <class Word>
std::size_t mod_up_batch(const ring::RnsPlan<Word>& plan, unsigned limbs, std::size_t in,
                         std::size_t out);
template <class Word>
std::size_t inner_product_batch(const ring::RnsPlan<Word>& key_plan,
                                const ring::RnsPlan<Word>& plan, unsigned limbs, std::uint32_t g,
                                std::size_t digits, std::size_t out);
template <class Word>
std::size_t mod_down_batch(const ring::RnsPlan<Word>& plan, unsigned limbs, std::size_t parts,
                           std::span<const Word> in, std::span<const Word> added, std::uint32_t g,
                           std::span<const Word> out);
template <class Word>
std::size_t rescale_batch(const ring::RnsPlan<Word>& plan, unsigned limbs, std::size_t parts,
                          std::size_t in, std::size_t out);
/// That of `b` is this batch, or 1.
template <class Word>
std::size_t tensor_batch(const ring::RnsPlan<Word>& plan, unsigned limbs, std::size_t a_parts,
                         std::size_t a, std::size_t b_parts, std::size_t b, std::size_t out);

/// Batches of take's input and output.
struct TakeBatches {
  std::size_t in, out;
};
TakeBatches take_batches(std::size_t rows, std::uint32_t N, std::span<const std::uint32_t> index,
                         std::size_t in, std::size_t first, std::size_t out);

}  // namespace whorl::backend
