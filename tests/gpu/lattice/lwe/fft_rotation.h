// What tests of blind rotation by FFT on a GPU share.
#pragma once

#include "gpu/backend/compare.h"
#include "lattice/lwe/noise.h"
#include "support/test.h"

namespace whorl::test {

/// One step by FFT against an exact rotation of the first ciphertexts, as one with so many keys of
/// GINX. Bound: eight deviations of the rounding by the formula, whose constant is known within a
/// factor of 1.5; 2N·7 nearly normal errors beyond eight deviations: < 1e-9.
template <class Word>
void expect_close_by_fft(const RotationCase<Word>& c, const std::vector<Word>& expected,
                         unsigned keys) {
  const std::size_t count = expected.size() / (2 * std::size_t{c.key.shape.N});
  const std::uint64_t Q = c.key.shape.Q;
  const ring::Gadget& gadget = c.key.shape.gadgets[0];
  double digit_squares = 0;
  for (unsigned j = 0; j < gadget.digits(); ++j) digit_squares += gadget.digit_mean_square(j);
  double variance = lattice::fft_rounding_variance(gadget, Q, c.key.shape.N, keys, 0) + 1.0 / 12;
  if (sizeof(Word) == 4)
    variance += keys * 2.0 * c.key.shape.N * digit_squares *
                    lattice::key_spectrum_variance(Q, c.key.shape.N, 32) +
                lattice::digit_spectrum_variance(gadget, Q, c.key.shape.N, keys, 0);
  const double bound = 1.5 * 8 * std::sqrt(variance);
  for (const auto way : forced_ways) {
    const auto queue = cuda(0, way);
    const auto prepared = c.prepare(*queue, backend::Arithmetic::fft);
    const auto got = c.rotate(*queue, *prepared, 0, count);
    double largest = 0;
    for (std::size_t j = 0; j < got.size(); ++j) {
      ASSERT_LT(got[j], Q);
      largest = std::max(largest,
                         std::abs(static_cast<double>(centred((got[j] + Q - expected[j]) % Q, Q))));
    }
    EXPECT_LE(largest, bound) << way_name(way);
    // A sample's a has the same bits; its b is summed in another order.
    const auto samples = c.extract(*queue, *prepared, 0, count), wanted = c.samples_of(got);
    for (std::size_t j = 0; j < wanted.size(); ++j) {
      const auto error = centred((samples[j] + Q - wanted[j]) % Q, Q);
      ASSERT_LE(std::abs(static_cast<double>(error)),
                j % (c.key.shape.N + 1) == c.key.shape.N ? 2 * bound : 0)
          << way_name(way) << ", word " << j;
    }
  }
}

/// The same bits for any part of a batch, spread the same way.
template <class Word>
void same_for_any_batch(const Rotation& r, std::size_t count, Random& random) {
  SCOPED_TRACE(describe(r));
  const RotationCase<Word> c(r, count, 2, random);
  for (const auto way : forced_ways) {
    const auto queue = cuda(0, way);
    const auto prepared = c.prepare(*queue, backend::Arithmetic::fft);
    const auto whole = c.rotate(*queue, *prepared, 0, count);
    for (std::size_t begin = 0; begin < count;) {
      const std::size_t size = std::min<std::size_t>(1 + random.below(90), count - begin);
      const auto part = c.rotate(*queue, *prepared, begin, size);
      ASSERT_TRUE(std::equal(part.begin(), part.end(),
                             whole.begin() + static_cast<std::ptrdiff_t>(begin * 2 * r.N)))
          << way_name(way) << ", ciphertexts " << begin << " + " << size << " of " << count;
      begin += size;
    }
  }
}

}  // namespace whorl::test
