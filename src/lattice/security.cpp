#include "lattice/security.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <sstream>

#include "math/text.h"

namespace whorl::lattice {

namespace {

struct Row {
  SecretKind secret;
  double log2_modulus;
  double n;
  double bits;
};

constexpr double kTableSigma = 3.19;

constexpr auto kRows = std::to_array<Row>({
#include "lattice/security_table.inc"
});

double slope(const Row& low, const Row& high) { return (high.bits - low.bits) / (high.n - low.n); }

/// Growth of bits with n, as d ln(bits) / d ln(n), over all neighbouring rows of the table but
/// those of sparse secrets.
struct SlopeRange {
  double smallest = 1;  // proportion
  double steepest = 1;
};

SlopeRange measure_relative_slopes() {
  SlopeRange range;
  for (std::size_t i = 1; i < kRows.size(); ++i) {
    const Row& low = kRows[i - 1];
    const Row& high = kRows[i];
    if (low.secret != high.secret || low.log2_modulus != high.log2_modulus) continue;
    if (low.secret == SecretKind::sparse32) continue;
    const double relative = slope(low, high) * (low.n + high.n) / (low.bits + high.bits);
    range.smallest = std::min(range.smallest, relative);
    range.steepest = std::max(range.steepest, relative);
  }
  return range;
}

const SlopeRange& relative_slopes() {
  static const SlopeRange kRange = measure_relative_slopes();
  return kRange;
}

/// Slope to leave a family of rows (one secret, one modulus) with, downwards or upwards: its own or
/// mere proportion (bits / n), whichever is more cautious. Of a single row, the one that the whole
/// table shows. Upwards none for a sparse secret: its coefficients can be guessed, which grows with
/// log n only.
double slope_beyond(std::span<const Row> family, bool downwards) {
  if (!downwards && family.front().secret == SecretKind::sparse32) return 0;
  const Row& edge = downwards ? family.front() : family.back();
  double cautious = edge.bits / edge.n;
  if (family.size() == 1)
    return cautious * (downwards ? relative_slopes().steepest : relative_slopes().smallest);
  for (std::size_t i = 1; i < family.size(); ++i) {
    const double own = slope(family[i - 1], family[i]);
    cautious = downwards ? std::max(cautious, own) : std::min(cautious, own);
  }
  return cautious;
}

/// Lower bound at dimension n from one family. Bits grow with n almost linearly. Between two rows
/// the chord is cautious where the curve is concave and the neighbouring chords prolonged are
/// where it is convex; the least of them holds either way, and never less than the lower row.
double family_bound(std::span<const Row> family, double n) {
  const Row& first = family.front();
  const Row& last = family.back();
  if (n < first.n) return first.bits - slope_beyond(family, true) * (first.n - n);
  if (n >= last.n) return last.bits + slope_beyond(family, false) * (n - last.n);
  std::size_t high = 1;
  while (family[high].n <= n) ++high;
  const std::size_t low = high - 1;
  double bits = family[low].bits + slope(family[low], family[high]) * (n - family[low].n);
  if (low > 0) {
    const double prolonged = slope(family[low - 1], family[low]);
    bits = std::min(bits, family[low].bits + prolonged * (n - family[low].n));
  }
  if (high + 1 < family.size()) {
    const double prolonged = slope(family[high], family[high + 1]);
    bits = std::min(bits, family[high].bits - prolonged * (family[high].n - n));
  }
  return std::max(bits, family[low].bits);
}

std::string describe(std::span<const Row> family, double n, bool extrapolated) {
  std::ostringstream text;
  text << (family[0].secret == SecretKind::binary     ? "binary"
           : family[0].secret == SecretKind::sparse32 ? "sparse (weight 32)"
                                                      : "ternary")
       << " secret, q = 2^" << family[0].log2_modulus << ", measured at n = " << family.front().n;
  if (family.size() > 1) text << " … " << family.back().n;
  if (family[0].secret == SecretKind::sparse32)
    text << ", by the hybrid attack with meet in the middle";
  text << (extrapolated ? "; extrapolated to n = " : "; n = ") << n;
  return text.str();
}

}  // namespace

std::string describe(const SecurityBound& bound) {
  return bound.bits == 0 ? "unknown (" + bound.explanation + ")"
                         : math::bits_below(bound.bits) + " bits";
}

SecurityBound estimate_security(double n, double log2_modulus, double sigma, SecretKind secret) {
  if (secret == SecretKind::block_binary)
    return {0, false,
            "no block-binary secret was measured: attacks that guess blocks, alone or with lattice "
            "reduction, are not in the table"};
  if (secret == SecretKind::gaussian &&
      !(sigma >= least_gaussian_width && sigma <= greatest_gaussian_width)) {
    std::ostringstream text;
    text << "no Gaussian secret of width " << sigma << " was measured: widths from "
         << least_gaussian_width << " to " << greatest_gaussian_width << " were";
    return {0, false, text.str()};
  }
  const SecretKind measured = secret == SecretKind::gaussian ? SecretKind::ternary : secret;
  const double wanted = log2_modulus - std::log2(sigma) + std::log2(kTableSigma);
  // Rounding of the logarithms must not push an exact power of two past its own row.
  constexpr double kRoundingSlack = 1e-9;

  SecurityBound best;
  double largest_modulus = 0;
  for (std::size_t begin = 0; begin < kRows.size();) {
    std::size_t end = begin + 1;
    while (end < kRows.size() && kRows[end].secret == kRows[begin].secret &&
           kRows[end].log2_modulus == kRows[begin].log2_modulus) {
      ++end;
    }
    const auto family = std::span(kRows).subspan(begin, end - begin);
    begin = end;
    if (family[0].secret != measured) continue;
    largest_modulus = std::max(largest_modulus, family[0].log2_modulus);
    if (family[0].log2_modulus < wanted - kRoundingSlack) continue;
    const double bits = family_bound(family, n);
    if (bits > best.bits) {
      const bool extrapolated = n < family.front().n || n > family.back().n;
      best = {bits, extrapolated, describe(family, n, extrapolated)};
    }
  }
  if (best.bits == 0) {
    std::ostringstream text;
    if (wanted > largest_modulus) {
      text << "log2(q/sigma) + log2(3.19) = " << wanted << " is beyond the largest measured, "
           << largest_modulus;
    } else {
      text << "n = " << n << " is too far below the dimensions measured at 2^" << wanted;
    }
    best.explanation = text.str();
  }
  return best;
}

}  // namespace whorl::lattice
