// Blind rotation with unrolled keys on a GPU: by NTT against exact integers bit for bit; by FFT one
// step within the error of the FFT, and the same bits for any batch.
#include <cmath>

#include "gpu/backend/compare.h"
#include "gpu/lattice/lwe/fft_rotation.h"
#include "support/slow_rotation.h"

namespace whorl::test {
namespace {

using P = std::pair<unsigned, unsigned>;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

template <class Word>
std::vector<Word> exact_rotation(const RotationCase<Word>& c, std::size_t count) {
  const auto queue = exact_queue();
  return c.rotate(*queue, *c.prepare(*queue, backend::Arithmetic::ntt), 0, count);
}

/// By NTT: the first 1, 2, … of the batch, and their samples.
template <class Word>
void compare_unrolled(const Rotation& r, const std::vector<std::size_t>& batches, Random& random) {
  SCOPED_TRACE(describe(r));
  const std::size_t most = *std::max_element(batches.begin(), batches.end());
  const RotationCase<Word> c(r, most, most, random);
  expect_rotation(c, exact_rotation(c, most), forced_ways, batches);
}

using Kind = backend::RotationKind;

/// Groups of a kind that there are kernels for.
std::vector<unsigned> groups_of(Kind kind) {
  return kind == Kind::block ? std::vector<unsigned>{2, 3, 4, 5, 6, 7, 8}
                             : std::vector<unsigned>{1, 2, 3, 4, 5, 6};
}
constexpr Kind kinds[] = {Kind::unrolled, Kind::unrolled_all, Kind::block};
/// A last group that is full, or a shorter one; blocks are full.
U32 steps_of(Kind kind, unsigned group, U32 more) {
  return kind == Kind::block ? 2 * group : group + more;
}

TEST(GpuUnrolledNtt, EveryLengthAndGroup) {
  Random random;
  for (const Kind kind : kinds)
    for (U32 N = 1 << 8; N <= 1 << 12; N *= 2)
      for (const unsigned group : groups_of(kind)) {
        if (group > 4 && N != 1024) continue;
        const U32 n = steps_of(kind, group, static_cast<U32>(random.below(N <= 1024 ? 5 : 2)));
        const std::vector<std::size_t> batches =
            N <= 2048 ? std::vector<std::size_t>{1, 2, 3} : std::vector<std::size_t>{1};
        compare_unrolled<U32>({n, N, 27, 1, {P{7, 3}}, group, kind}, batches, random);
        if (HasFatalFailure()) return;
        compare_unrolled<U64>({n, N, 54, 1, {P{27, 1}}, group, kind}, batches, random);
        if (HasFatalFailure()) return;
      }
}

// Several gadgets; counts of digits that sets use, and too many for shared memory.
TEST(GpuUnrolledNtt, Gadgets) {
  Random random;
  for (const Kind kind : kinds)
    for (const unsigned group : {2u, 3u}) {
      const U32 n = kind == Kind::block ? 6 : 7;
      compare_unrolled<U32>({n, 512, 27, 1, {P{13, 1}, P{7, 3}, P{5, 5}}, group, kind}, {3},
                            random);
      if (HasFatalFailure()) return;
      compare_unrolled<U64>({n, 512, 54, 1, {P{27, 1}, P{18, 2}, P{9, 6}}, group, kind}, {3},
                            random);
      if (HasFatalFailure()) return;
    }
  compare_unrolled<U32>({2, 8192, 28, 1, {P{4, 7}}, 2}, {1}, random);
}

TEST(GpuUnrolledNtt, AsManyStepsAsSetsHave) {
  Random random;
  compare_unrolled<U32>({644, 1024, 26, 1, {P{8, 2}}, 3}, {1}, random);
  if (HasFatalFailure()) return;
  compare_unrolled<U32>({230, 1024, 26, 1, {P{7, 2}}, 3, Kind::unrolled_all}, {1}, random);
  if (HasFatalFailure()) return;
  compare_unrolled<U64>({211, 2048, 48, 1, {P{23, 1}}, 2}, {1}, random);
}

TEST(GpuUnrolledNtt, EdgeExponents) {
  Random random;
  for (const Kind kind : kinds)
    for (const unsigned group : {2u, 3u, 4u})
      for (const U32 N : {512u, 1024u})
        for (const U32 a : {0u, 1u, N - 1, N, N + 1, 2 * N - 1}) {
          SCOPED_TRACE("all exponents " + std::to_string(a));
          const U32 n = kind == Kind::block ? 2 * group : 5;
          RotationCase<U32> c({n, N, 27, 1, {P{7, 3}}, group, kind}, 3, 3, random);
          std::fill(c.lwe.begin(), c.lwe.end(), a);
          const auto queue = cuda(0);
          ASSERT_TRUE(c.rotate(*queue, *c.prepare(*queue, backend::Arithmetic::ntt), 0, 3) ==
                      exact_rotation(c, 3))
              << "N = " << N << ", groups of " << group;
        }
}

/// One step by FFT: errors as in rotation_test.cpp. u_i = X^a_i - 1 has the mean square 2, and the
/// products of the u_i of sets that are not empty have 3^group - 1 together: as many keys of GINX
/// would have that error. Monomials of all sets have 2^group, and a block's have 2·group.
template <class Word>
void one_step(const Rotation& r, Random& random, std::size_t count = 7) {
  SCOPED_TRACE(describe(r));
  RotationCase<Word> c(r, count, 3, random);
  avoid_ties(c.key.shape.gadgets[0], c.luts);
  const auto expected = exact_rotation(c, count);
  const double keys = r.kind == Kind::block          ? 2.0 * r.group
                      : r.kind == Kind::unrolled_all ? std::pow(2.0, r.group)
                                                     : std::pow(3.0, r.group) - 1;
  expect_close_by_fft(c, expected, static_cast<unsigned>(std::lround(keys)));
}

TEST(GpuUnrolledFft, OneStepOfEveryLengthIsClose) {
  Random random;
  for (const Kind kind : kinds)
    for (const unsigned group : groups_of(kind))
      for (U32 N = 1 << 8; N <= 1 << 12; N *= 2) {
        if ((group == 1 || group > 3) && N != 1024 && N != 2048) continue;
        one_step<U32>({group, N, 26, 1, {P{8, 2}}, group, kind}, random);
        one_step<U32>({group, N, 27, 1, {P{7, 4}}, group, kind}, random);
        one_step<U64>({group, N, 48, 1, {P{23, 1}}, group, kind}, random);
        one_step<U64>({group, N, 54, 1, {P{18, 2}}, group, kind}, random);
        // A group that is not full.
        if (group > 1 && kind != Kind::block)
          one_step<U32>({group - 1, N, 27, 1, {P{9, 1}}, group, kind}, random);
        if (HasFatalFailure()) return;
      }
}

TEST(GpuUnrolledFft, SameBitsForAnyBatchSpreadTheSameWay) {
  Random random;
  for (const Kind kind : kinds)
    for (const unsigned group : {3u, 4u}) {
      const U32 n = kind == Kind::block ? 12 : 20;
      same_for_any_batch<U32>({n, 1024, 26, 1, {P{8, 2}}, group, kind}, 400, random);
      same_for_any_batch<U32>({n, 512, 27, 1, {P{9, 2}, P{7, 3}}, group, kind}, 400, random);
      same_for_any_batch<U64>({n, 2048, 48, 1, {P{23, 1}}, group, kind}, 200, random);
      if (HasFatalFailure()) return;
    }
}

// The loop waits for bundles that are made beside it: 66 steps, of which the last ones are told of
// together and the last group is not full. Larger batches begin when all bundles are made. Tensor
// cores make those of `shared`, for 16 ciphertexts at a time, the last of them fewer.
TEST(GpuUnrolledFft, BundlesBesideTheLoopAreThoseAheadOfIt) {
  Random random;
  same_for_any_batch<U32>({262, 1024, 26, 1, {P{7, 2}}, 4, Kind::unrolled_all}, 300, random);
  if (HasFatalFailure()) return;
  for (const unsigned group : {4u, 5u})
    same_for_any_batch<U64>({262, 2048, 48, 1, {P{22, 1}}, group, Kind::unrolled}, 150, random);
  if (HasFatalFailure()) return;
  same_for_any_batch<U32>({197, 1024, 26, 1, {P{7, 2}}, 3, Kind::unrolled_all}, 300, random);
}

// Bundles from tensor cores, of eight ciphertexts a block, the last block's fewer.
TEST(GpuUnrolledFft, SameBitsForAnyBatchOnTensorCores) {
  Random random;
  for (const auto& [kind, group] : {std::pair{Kind::unrolled_all, 2u},
                                    {Kind::unrolled_all, 3u},
                                    {Kind::block, 3u},
                                    {Kind::block, 4u}})
    for (const std::size_t count : {700, 1500}) {
      const U32 n = kind == Kind::block ? 12 : 11;
      same_for_any_batch<U32>({n, 1024, 26, 1, {P{8, 2}, P{7, 2}}, group, kind}, count, random);
      if (HasFatalFailure()) return;
    }
}

// Steps follow each other without a race: as many as sets have, in every way, several times. That
// many steps are right is what gates of named sets show (tests/gpu/schemes/binfhe).
TEST(GpuUnrolledFft, ManyStepsGiveTheSameTwice) {
  Random random;
  for (const Kind kind : kinds) {
    const RotationCase<U32> narrow({240, 1024, 26, 1, {P{8, 2}}, 3, kind}, 5, 2, random);
    const RotationCase<U64> coarse({240, 2048, 48, 1, {P{23, 1}}, 4, kind}, 5, 2, random);
    for (const auto way : forced_ways) {
      const auto queue = cuda(0, way);
      const auto twice = [&](const auto& c) {
        const auto key = c.prepare(*queue, backend::Arithmetic::fft);
        const auto once = c.rotate(*queue, *key, 0, 5);
        for (int i = 0; i < 3; ++i)
          ASSERT_TRUE(c.rotate(*queue, *key, 0, 5) == once) << way_name(way);
      };
      twice(narrow);
      twice(coarse);
      if (HasFatalFailure()) return;
    }
  }
}

// Bundles from tensor cores for sets whose steps have one digit and two, at both lengths. A few
// ciphertexts get theirs elsewhere: both are within the bound of an exact step.
TEST(GpuUnrolledFft, OneStepWithBundlesForManyIsClose) {
  Random random;
  for (const Kind kind : {Kind::unrolled, Kind::unrolled_all})
    for (const unsigned group : {4u, 5u})
      for (const U32 N : {1024u, 2048u}) {
        one_step<U32>({group, N, 26, 1, {P{7, 2}}, group, kind}, random, 33);
        one_step<U64>({group, N, 48, 1, {P{22, 1}}, group, kind}, random, 33);
        one_step<U64>({group - 1, N, 54, 1, {P{18, 2}}, group, kind}, random, 17);
        if (HasFatalFailure()) return;
      }
}

// One of each kernel, for compute-sanitizer.
TEST(GpuUnrolledSmall, EveryKernel) {
  Random random;
  for (const Kind kind : kinds)
    for (const unsigned group : {3u, 4u}) {
      const U32 n = kind == Kind::block ? group : group + 1;
      compare_unrolled<U32>({n, 256, 27, 1, {P{9, 2}}, group, kind}, {3}, random);
      one_step<U32>({group, 256, 27, 1, {P{9, 2}}, group, kind}, random);
      one_step<U32>({group, 1024, 27, 1, {P{9, 2}}, group, kind}, random);
      one_step<U64>({group, 512, 48, 1, {P{23, 1}}, group, kind}, random);
      one_step<U64>({group, 256, 54, 1, {P{18, 2}}, group, kind}, random);
      if (HasFatalFailure()) return;
    }
}

TEST(GpuUnrolled, GroupsWithoutKernelsAreRefused) {
  Random random;
  for (const unsigned group : {7u, 8u}) {
    const RotationCase<U32> c({8, 256, 27, 1, {P{7, 3}}, group}, 1, 1, random);
    const auto queue = cuda(0);
    EXPECT_THROW(c.prepare(*queue, backend::Arithmetic::fft), DeviceError) << group;
  }
}

}  // namespace
}  // namespace whorl::test
