// Least squares for the fits of bootstrapping.
#pragma once

#include <cstddef>
#include <vector>

namespace whorl::ckks {

using Real = long double;

/// The x of least |A·x - b|, for A of full rank, with rows of `columns` numbers and b as the last
/// one: Householder's reflections.
std::vector<Real> least_squares(std::vector<std::vector<Real>> rows, std::size_t columns);

}  // namespace whorl::ckks
