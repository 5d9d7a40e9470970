// Blind rotation on a GPU: by NTT against the CPU bit for bit, spread in every way; by FFT one step
// against exact integers, and the same bits for any batch.
#include <cmath>

#include "gpu/backend/compare.h"
#include "gpu/lattice/lwe/fft_rotation.h"

namespace whorl::test {
namespace {

using P = std::pair<unsigned, unsigned>;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

/// 1 … most digits of a random base; exact if they reach the top of Q's bits, else approximate.
P random_gadget(unsigned bits, unsigned most, Random& random) {
  const auto digits = static_cast<unsigned>(1 + random.below(most));
  // The lowest digit must lie within Q.
  const unsigned fits =
      digits == 1 ? 31 : (bits - 1) / (digits - 1) - ((bits - 1) % (digits - 1) == 0);
  const unsigned widest = std::max(1u, std::min({31u, (bits + digits - 1) / digits, fits}));
  const unsigned narrowest = widest > 4 ? widest - 4 : 1;
  return {static_cast<unsigned>(narrowest + random.below(widest - narrowest + 1)), digits};
}

Rotation random_rotation(U32 N, unsigned bits, U32 n, Random& random) {
  Rotation r{n, N, bits, 1 + static_cast<unsigned>(random.below(2)), {}};
  for (std::size_t ranges = 1 + random.below(3); ranges > 0; --ranges)
    r.ranges.push_back(random_gadget(bits, N <= 2048 ? 16 : 6, random));
  return r;
}

TEST(GpuBlindRotateNtt, EveryLengthRandomGadgets) {
  Random random;
  for (U32 N = 1 << 8; N <= 1 << 13; N *= 2)
    for (int i = 0; i < 4; ++i) {
      const auto n = static_cast<U32>(1 + random.below(12));
      const auto narrow = static_cast<unsigned>(26 + random.below(6));
      const auto wide = static_cast<unsigned>(32 + random.below(29));
      compare_rotation<U32>(random_rotation(N, narrow, n, random), {1, 2, 3, 4, 5, 7}, random);
      if (HasFatalFailure()) return;
      compare_rotation<U64>(random_rotation(N, wide, n, random), {1, 2, 3, 4, 5, 7}, random);
      if (HasFatalFailure()) return;
    }
}

// The counts of digits that sets use, one by one.
TEST(GpuBlindRotateNtt, EveryCountOfDigits) {
  Random random;
  for (const unsigned keys : {1u, 2u}) {
    for (unsigned digits = 1; digits <= 16; ++digits) {
      compare_rotation<U32>({4, 1024, 27, keys, {P{std::max(1u, 27 / digits), digits}}}, {3},
                            random);
      if (HasFatalFailure()) return;
      compare_rotation<U64>({4, 2048, 54, keys, {P{54 / digits > 31 ? 31 : 54 / digits, digits}}},
                            {3}, random);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(GpuBlindRotateNtt, LargeBatches) {
  Random random;
  for (const unsigned keys : {1u, 2u}) {
    compare_rotation<U32>({6, 1024, 27, keys, {P{7, 4}}}, {64, 129, 1000}, random);
    compare_rotation<U32>({4, 2048, 28, keys, {P{10, 2}}}, {64, 129, 500}, random);
    compare_rotation<U64>({4, 2048, 54, keys, {P{27, 1}}}, {64, 129, 500}, random);
    if (HasFatalFailure()) return;
  }
}

// Over several blocks: steps in which some transform no digit, or several, follow each other; keys
// that leave no room in shared memory for twiddles, for the key, for the polynomials (N = 8192).
TEST(GpuBlindRotateNtt, ShapesOfOneCiphertextOverSeveralBlocks) {
  Random random;
  for (const unsigned keys : {1u, 2u})
    for (U32 N = 1 << 8; N <= 1 << 13; N *= 2) {
      compare_rotation<U32>({7, N, 27, keys, {P{13, 1}, P{5, 5}, P{9, 2}, P{7, 3}}}, {1, 5},
                            random);
      compare_rotation<U32>({3, N, 28, keys, {P{2, 14}, P{28, 1}}}, {1, 2}, random);
      compare_rotation<U64>({7, N, 54, keys, {P{27, 1}, P{10, 5}, P{18, 2}, P{9, 6}}}, {1, 5},
                            random);
      compare_rotation<U64>({2, N, 54, keys, {P{27, 2}}}, {1, 2}, random);
      compare_rotation<U64>({2, N, 54, keys, {P{14, 4}}}, {1, 2}, random);
      compare_rotation<U64>({3, N, 60, keys, {P{4, 15}, P{30, 1}}}, {1, 2}, random);
      if (HasFatalFailure()) return;
    }
}

// As long as sets are: rounding that shows only after many steps.
TEST(GpuBlindRotateNtt, AsManyStepsAsSetsHave) {
  Random random;
  compare_rotation<U32>({503, 1024, 27, 2, {P{7, 4}}}, {1, 24}, random);
  if (HasFatalFailure()) return;
  compare_rotation<U32>({600, 1024, 26, 1, {P{8, 2}}}, {1, 24}, random);
  if (HasFatalFailure()) return;
  compare_rotation<U64>({630, 2048, 48, 1, {P{23, 1}}}, {1, 12}, random);
}

TEST(GpuBlindRotateNtt, EdgeExponents) {
  Random random;
  for (const U32 N : {512u, 1024u, 2048u, 8192u})
    for (const U32 a : {0u, 1u, N - 1, N, N + 1, 2 * N - 1}) {
      SCOPED_TRACE("all exponents " + std::to_string(a));
      RotationCase<U32> c({5, N, 27, 2, {P{7, 3}}}, 3, 3, random);
      std::fill(c.lwe.begin(), c.lwe.end(), a);
      const auto cpu_queue = backend::open_queue("cpu");
      const auto expected =
          c.rotate(*cpu_queue, *c.prepare(*cpu_queue, backend::Arithmetic::ntt), 0, 3);
      for (const auto way : forced_ways) {
        const auto queue = cuda(0, way);
        ASSERT_TRUE(c.rotate(*queue, *c.prepare(*queue, backend::Arithmetic::ntt), 0, 3) ==
                    expected)
            << "N = " << N << ", " << way_name(way);
      }
    }
}

/// One step by FFT against the CPU's NTT, which is exact.
template <class Word>
void one_step(const Rotation& r, Random& random) {
  SCOPED_TRACE(describe(r));
  RotationCase<Word> c(r, 7, 3, random);
  c.lwe[0] = 1;  // one that does something
  avoid_ties(c.key.shape.gadgets[0], c.luts);
  const auto cpu_queue = backend::open_queue("cpu");
  const auto expected =
      c.rotate(*cpu_queue, *c.prepare(*cpu_queue, backend::Arithmetic::ntt), 0, 7);
  expect_close_by_fft(c, expected, r.keys);
}

TEST(GpuBlindRotateFft, OneStepOfEveryLengthIsClose) {
  Random random;
  for (const unsigned keys : {1u, 2u}) {
    for (U32 N = 1 << 8; N <= 1 << 13; N *= 2) {
      one_step<U32>({1, N, 27, keys, {random_gadget(27, 6, random)}}, random);
      one_step<U32>({1, N, 27, keys, {P{7, 4}}}, random);
      one_step<U64>({1, N, 48, keys, {P{23, 1}}}, random);
      one_step<U64>({1, N, 54, keys, {random_gadget(54, 6, random)}}, random);
      if (HasFatalFailure()) return;
    }
    one_step<U64>({1, 2048, 54, keys, {P{27, 1}}}, random);
    one_step<U64>({1, 1024, 60, keys, {P{15, 4}}}, random);
    one_step<U32>({1, 1024, 27, keys, {P{1, 16}}}, random);
  }
}

TEST(GpuBlindRotateFft, SameBitsForAnyBatchSpreadTheSameWay) {
  Random random;
  for (const unsigned keys : {1u, 2u}) {
    same_for_any_batch<U32>({20, 1024, 27, keys, {P{7, 4}}}, 400, random);
    same_for_any_batch<U32>({20, 512, 27, keys, {P{9, 2}, P{7, 3}}}, 400, random);
    same_for_any_batch<U64>({10, 2048, 54, keys, {P{27, 1}}}, 200, random);
    same_for_any_batch<U64>({10, 2048, 54, keys, {P{9, 5}, P{18, 2}}}, 100, random);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace whorl::test
