// Security of an LWE or ring-LWE key, read off a table of measured lattice estimates.
#pragma once

#include <cstdint>
#include <string>

namespace whorl::lattice {

/// Distribution of a secret key's coefficients, as far as its security depends on it.
/// block_binary: blocks of l coefficients, each one of the l + 1 that have at most a single 1.
/// sparse32: 32 of them are 1 or -1, the others 0.
enum class SecretKind : std::uint8_t {
  binary = 0,
  ternary = 1,
  gaussian = 2,
  block_binary = 3,
  sparse32 = 4
};

/// A lower bound on the bits of work of the best known attack, read off the table.
struct SecurityBound {
  double bits = 0;  ///< 0 where the table gives no bound
  /// The bound lies outside the dimensions measured at the modulus that it was read from.
  bool extrapolated = false;
  /// A text for people: the rows of the table that the bound comes from, or why there is no bound.
  std::string explanation;
};

/// "131.2 bits", or "unknown", with the reason. For people.
std::string describe(const SecurityBound& bound);

/// Gaussian secrets of these widths were estimated, and ternary ones at the same ratio of modulus
/// and error are weaker everywhere (tools/params/gaussian.jsonl). Others have no bound.
inline constexpr double least_gaussian_width = 1.0;
inline constexpr double greatest_gaussian_width = 8.0;

/// Lower bound for a secret of `n` coefficients at modulus 2^log2_modulus with Gaussian errors of
/// standard deviation `sigma` (in units of that modulus) and any number of samples. A ring
/// instance counts as LWE of its dimension. Classical attacks, MATZOV cost model.
///
/// Only the ratio of modulus and error counts: log2 q' = log2(q/sigma) + log2(3.19). Rows of the
/// table at a modulus of at least q' bound from below, since a smaller modulus is harder to attack;
/// so do rows of smaller dimension. Gaussian secrets have the errors' width, and are read from the
/// ternary rows; those of a width that was not measured get 0 bits. So do block-binary secrets, of
/// which nothing was measured. The answer is the largest of
/// these bounds. docs/parameters.md describes the interpolation. Never throws for
/// finite arguments; 0 bits beyond the largest modulus measured.
SecurityBound estimate_security(double n, double log2_modulus, double sigma, SecretKind secret);

}  // namespace whorl::lattice
