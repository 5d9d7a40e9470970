// What is known of products of integer matrices and ciphertexts: the errors of each row's sum.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schemes/binfhe/origin.h"
#include "whorl/binfhe/server.h"

namespace whorl::binfhe {

/// What a row's weights add up to.
struct RowSums {
  std::int64_t positive, negative;  ///< of those above and below 0
  double squares;
  std::size_t terms;  ///< those that are not 0
  double absolute() const { return static_cast<double>(positive - negative); }
};
std::vector<RowSums> sums_of_rows(const Weights& weights);

/// The errors of the row that has the most.
struct ProductErrors {
  double variance;  ///< without the offset
  double noise;     ///< with it
  double offset;
  Promise promise;
};

/// The errors of W·x + constants, of each `weights.columns` ciphertexts that follow one another;
/// `sums` are those of the rows.
/// `constant`: what of a bootstrapped ciphertext's variance is the same error in all of them;
/// `rounded`: the offset of a constant that is added. Ciphertexts that may share errors in any of
/// the groups count as if they did in all.
ProductErrors errors_of_product(const Origin& origin, const Weights& weights,
                                std::span<const RowSums> sums,
                                std::span<const std::int32_t> constants, double constant,
                                double rounded);
/// The results of a group may share errors with all others and with what they were made of.
Origin origin_of_product(const Origin& origin, const Weights& weights,
                         std::span<const std::int32_t> constants, const ProductErrors& errors,
                         Largest largest);

}  // namespace whorl::binfhe
