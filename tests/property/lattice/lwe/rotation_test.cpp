// Blind rotation against exact integers, on every device, SIMD target, batch split, thread count
// and way to spread it.
#include "lattice/lwe/noise.h"
#include "support/rotation_kinds.h"
#include "support/test.h"

namespace whorl::backend {
namespace {

using test::check_samples;
using test::Executor;
using test::exponents;
using test::random_key;
using test::random_tables;
using test::rotate;
using Case = test::RotationOfKind;
using Gadgets = std::vector<std::pair<unsigned, unsigned>>;

/// GINX of one key a coefficient or two.
Case ginx(std::uint32_t n, std::uint32_t N, unsigned bits, unsigned keys, Gadgets gadgets) {
  const auto [log_base, digits] = gadgets[0];
  gadgets.erase(gadgets.begin());
  const auto secret = keys == 1 ? lattice::SecretKind::binary : lattice::SecretKind::ternary;
  return {RotationKind::ginx, 1, n, N, bits, log_base, digits, 0, 1, secret, std::move(gadgets)};
}

template <class Word>
void check_exact(const Case& c, std::size_t count, test::Random& random) {
  SCOPED_TRACE(describe(c));
  const auto key = random_key<Word>(c, Arithmetic::ntt, random);
  const auto lwe = exponents(c, count, random);
  const auto luts = random.residues<Word>(std::size_t{3} * c.N, key.shape.Q);
  const auto index = random_tables(count, 3, random);
  const auto expected = test::reference_rotations<Word>(key, lwe, luts, index);
  test::on_each_device([&](const Executor& on) {
    for (const auto& [name, way, device] : on.variants()) {
      const auto prepared = device->template rotation<Word>().prepare(key.shape, key.source());
      ASSERT_TRUE(rotate(*device, *prepared, lwe, luts, index) == expected) << name;
      check_samples(*device, *prepared, lwe, luts, index, random);
    }
  });
}

TEST(BackendBlindRotateNtt, ExactlyTheFormula) {
  test::Random random;
  // Approximate and exact gadgets, one digit and many, several ranges.
  for (const unsigned keys : {1u, 2u}) {
    check_exact<std::uint32_t>(ginx(12, 256, 27, keys, {{7, 3}}), 11, random);
    check_exact<std::uint32_t>(ginx(8, 256, 27, keys, {{9, 3}, {7, 3}, {13, 1}}), 5, random);
    check_exact<std::uint32_t>(ginx(6, 512, 31, keys, {{8, 4}, {16, 1}, {4, 7}}), 3, random);
    check_exact<std::uint32_t>(ginx(6, 256, 30, keys, {{30, 1}, {2, 15}}), 3, random);
    check_exact<std::uint32_t>(ginx(3, 1024, 27, keys, {{7, 4}}), 3, random);
    check_exact<std::uint32_t>(ginx(2, 2048, 28, keys, {{10, 2}}), 2, random);
    check_exact<std::uint64_t>(ginx(8, 256, 37, keys, {{13, 2}, {13, 3}}), 9, random);
    check_exact<std::uint64_t>(ginx(6, 512, 50, keys, {{25, 1}, {25, 2}}), 3, random);
    check_exact<std::uint64_t>(ginx(4, 256, 60, keys, {{30, 2}, {20, 2}}), 3, random);
    check_exact<std::uint64_t>(ginx(4, 256, 32, keys, {{6, 6}}), 3, random);
    check_exact<std::uint64_t>(ginx(2, 2048, 54, keys, {{27, 1}}), 2, random);
    if (testing::Test::HasFatalFailure()) return;
  }
}

template <class Word>
void check_fft(const Case& c, test::Random& random) {
  SCOPED_TRACE(describe(c));
  // One step: after more, other digits follow from another rounding and only phases are close.
  const auto key = random_key<Word>(c, Arithmetic::fft, random);
  const std::uint64_t Q = key.shape.Q;
  const unsigned keys = key.shape.keys;
  const std::size_t count = 3;
  auto lwe = exponents(c, count, random);
  lwe[0] = 1;  // one that does something
  auto luts = random.residues<Word>(c.N, Q);
  test::avoid_ties(key.shape.gadgets[0], luts);
  const std::vector<std::uint32_t> index(count, 0);
  const ring::Gadget& gadget = key.shape.gadgets[0];
  double digit_squares = 0;
  for (unsigned j = 0; j < gadget.digits(); ++j) digit_squares += gadget.digit_mean_square(j);
  double variance = lattice::fft_rounding_variance(gadget, Q, c.N, keys, 0) + 1.0 / 12;
  if (Q < (1ULL << 31))
    variance += keys * 2.0 * c.N * digit_squares * lattice::key_spectrum_variance(Q, c.N, 32) +
                lattice::digit_spectrum_variance(gadget, Q, c.N, keys, 0);
  // The accumulator is 0 in its first half here: the average digit is smaller, never larger. The
  // constant of the rounding is known within a factor of 1.5. 2N·3 nearly normal errors beyond
  // eight deviations: < 1e-10.
  const double bound = 1.5 * 8 * std::sqrt(variance);
  const auto expected = test::reference_rotations<Word>(key, lwe, luts, index);
  test::on_each_device([&](const Executor& on) {
    for (const auto& [name, way, device] : on.variants()) {
      const auto prepared = device->template rotation<Word>().prepare(key.shape, key.source());
      const auto got = rotate(*device, *prepared, lwe, luts, index);
      EXPECT_LE(test::largest_difference(got, expected, Q), bound) << name;
    }
  });
  const auto cpu = backend::open_queue("cpu");  // on a GPU b is summed in another order
  const auto prepared = cpu->template rotation<Word>().prepare(key.shape, key.source());
  check_samples(*cpu, *prepared, lwe, luts, index, random);
}

TEST(BackendBlindRotateFft, OneStepIsCloseToTheFormula) {
  test::Random random;
  for (const unsigned keys : {1u, 2u}) {
    check_fft<std::uint32_t>(ginx(1, 256, 27, keys, {{7, 3}}), random);
    check_fft<std::uint32_t>(ginx(1, 1024, 26, keys, {{8, 2}}), random);
    check_fft<std::uint32_t>(ginx(1, 2048, 31, keys, {{10, 3}}), random);
    check_fft<std::uint64_t>(ginx(1, 512, 34, keys, {{12, 2}}), random);
    check_fft<std::uint64_t>(ginx(1, 2048, 48, keys, {{23, 1}}), random);
    check_fft<std::uint64_t>(ginx(1, 2048, 54, keys, {{27, 1}}), random);
    check_fft<std::uint64_t>(ginx(1, 1024, 60, keys, {{15, 4}}), random);
  }
}

template <class Word>
void check_determinism(const Case& c, Arithmetic arithmetic, test::Random& random) {
  SCOPED_TRACE(describe(c));
  const auto key = random_key<Word>(c, arithmetic, random);
  const std::size_t count = 37, row = c.n + 1;
  const auto lwe = exponents(c, count, random);
  const auto luts = random.residues<Word>(2 * c.N, key.shape.Q);
  const auto index = random_tables(count, 2, random);
  test::on_each_device([&](const Executor& on) {
    std::vector<Word> all;
    for (const auto& [name, way, device] : on.variants()) {
      // GPUs add up in an order that follows the way, and `automatic` takes one by the batch: with
      // doubles the bits are those of a way.
      if (on.gpu() && arithmetic == Arithmetic::fft) {
        if (way == BlindRotation::automatic) continue;
        all.clear();
      }
      const auto prepared = device->template rotation<Word>().prepare(key.shape, key.source());
      const auto whole = rotate(*device, *prepared, lwe, luts, index);
      if (all.empty()) all = whole;
      ASSERT_TRUE(whole == all) << name;
      for (std::size_t begin = 0; begin < count;) {
        const std::size_t size = std::min<std::size_t>(1 + random.below(9), count - begin);
        const auto part =
            rotate<Word>(*device, *prepared,
                         {lwe.begin() + static_cast<std::ptrdiff_t>(begin * row),
                          lwe.begin() + static_cast<std::ptrdiff_t>((begin + size) * row)},
                         luts,
                         {index.begin() + static_cast<std::ptrdiff_t>(begin),
                          index.begin() + static_cast<std::ptrdiff_t>(begin + size)});
        ASSERT_TRUE(std::equal(part.begin(), part.end(),
                               all.begin() + static_cast<std::ptrdiff_t>(begin * 2 * c.N)))
            << name << ", ciphertexts " << begin << " + " << size;
        begin += size;
      }
    }
  });
}

TEST(BackendBlindRotate, SameBitsForAnyBatchAndThreads) {
  test::Random random;
  for (const Arithmetic arithmetic : {Arithmetic::ntt, Arithmetic::fft}) {
    check_determinism<std::uint32_t>(ginx(16, 256, 27, 2, {{7, 3}, {9, 2}}), arithmetic, random);
    check_determinism<std::uint32_t>(ginx(16, 512, 26, 1, {{8, 2}}), arithmetic, random);
    check_determinism<std::uint64_t>(ginx(16, 256, 50, 1, {{25, 1}}), arithmetic, random);
    check_determinism<std::uint64_t>(ginx(16, 256, 37, 2, {{13, 2}}), arithmetic, random);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace whorl::backend
