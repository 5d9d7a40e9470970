// Samplers of secrets and errors. Their time and memory accesses do not depend on what they draw.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "math/random.h"

namespace whorl::math {

/// Uniform over {0, 1}.
void sample_binary(PrivateStream& stream, std::span<int32_t> out);

/// Uniform over {-1, 0, 1}: floor(3u / 2^64) - 1 for a 64-bit word u. Each probability is within
/// 2^-64 of 1/3, so that a sample is within statistical distance 2^-64 of uniform.
void sample_ternary(PrivateStream& stream, std::span<int32_t> out);

/// Blocks of `length` coefficients, of which each is uniform over the length + 1 that have at most
/// a single 1 and 0 elsewhere: place floor((length + 1)·u / 2^64) for a 64-bit word u, or none.
/// Within 2^-64 of uniform a block. ParameterError if length is 0 or does not divide the number of
/// coefficients.
void sample_block_binary(PrivateStream& stream, uint32_t length, std::span<int32_t> out);

/// `weight` places, uniformly chosen, hold 1 or -1, the others 0. Place by place with probability
/// (places of them left)/(places left), by 64-bit words: within statistical distance
/// out.size()·2^-64 of uniform. ParameterError if there are fewer than `weight` places, or 2^32 and
/// more.
void sample_sparse(PrivateStream& stream, uint32_t weight, std::span<int32_t> out);

/// The discrete Gaussian over the integers: P(x) proportional to exp(-x^2 / (2 sigma^2)), by
/// inversion of the cumulative table of |x| (Peikert, "An efficient and parallel Gaussian sampler
/// for lattices", CRYPTO 2010, section 4.1) with a separate sign. Probabilities are multiples of
/// 2^-63; the tail whose probability rounds to nothing is cut, at about 9 sigma. Above 64 it is a
/// sum as in add_gaussian.
class GaussianSampler {
 public:
  /// sigma: 0.5 .. greatest_sigma, else ParameterError.
  explicit GaussianSampler(double sigma);
  static constexpr double greatest_sigma = 0x1p24;

  void sample(PrivateStream& stream, std::span<int32_t> out) const;

  double sigma() const { return sigma_; }

  /// The largest |x| that can be drawn.
  int32_t bound() const {
    return static_cast<int32_t>(tails_.size()) * ((int32_t{1} << parts_) - 1);
  }

  /// The variance of what is drawn, computed from the table as it is. A little below sigma^2 for
  /// sigma < 1; equal to within double precision from sigma = 2 up.
  double variance() const;

  /// P(|x| > k) * 2^63 from k = 0 on, of one part: the table.
  std::span<const uint64_t> tails() const { return tails_; }

 private:
  void sample_part(PrivateStream& stream, std::span<int32_t> out) const;

  double sigma_;
  int parts_ = 1;  ///< what is drawn is the sum of 2^i times the i-th
  std::vector<uint64_t> tails_;
};

/// Adds to each value a discrete Gaussian over the integers, of any standard deviation from 0.5 to
/// 2^1000, else ParameterError. Above 12 it is a sum over i < k of 2^i·x_i, with x_i of deviation
/// 6 … 12: within 2^-64 of a discrete Gaussian a value, since 6 is above sqrt(1 + 2^2) times the
/// smoothing parameter of the integers (Peikert, CRYPTO 2010, theorem 3.1). Values above 2^53 are
/// rounded as doubles are.
void add_gaussian(PrivateStream& stream, double sigma, std::span<double> values);

}  // namespace whorl::math
