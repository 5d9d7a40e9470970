// Blind rotation by every kind of key but GINX' own, with digits of a gadget and with a raised
// modulus, against exact integers: on every SIMD target, number of threads and split of a batch,
// and on GPUs those that they have kernels for.
#include "support/rotation_kinds.h"
#include "lattice/lwe/noise.h"
#include "support/test.h"

namespace whorl::lattice::lwe {
namespace {

using backend::Arithmetic;
using Kind = RotationMethod::Kind;
using test::Executor;
using Case = test::RotationOfKind;

template <class Word>
void check_exact(const Case& c, std::size_t count, test::Random& random) {
  SCOPED_TRACE(describe(c));
  const auto key = test::random_key<Word>(c, Arithmetic::ntt, random);
  const auto lwe = test::exponents(c, count, random);
  const auto luts = random.residues<Word>(std::size_t{2} * c.N, key.shape.Q);
  const auto index = test::random_tables(count, 2, random);
  const auto expected = test::by_formula(key, lwe, luts, index);
  test::on_each_device([&](const Executor& on) {
    if (on.gpu() && !test::has_gpu_kernel(key.shape)) return test::expect_refused<Word>(on, key);
    for (const auto& [name, way, device] : on.variants()) {
      const auto prepared = device->template rotation<Word>().prepare(key.shape, key.source());
      ASSERT_TRUE(test::rotate(*device, *prepared, lwe, luts, index) == expected) << name;
      const std::vector<std::uint32_t> one(lwe.begin(), lwe.begin() + c.n + 1);
      test::check_samples<Word>(*device, *prepared, one, luts, {index[0]}, random);
    }
  });
}

template <class Word>
void check_every_kind(std::uint32_t N, unsigned bits, unsigned log_base, unsigned digits,
                      unsigned raised_bits, test::Random& random) {
  for (const unsigned raised : {0u, raised_bits}) {
    for (const unsigned group : {1u, 2u, 3u, 4u})
      for (const Kind kind : {Kind::unrolled, Kind::unrolled_all})
        check_exact<Word>({kind, group, 7, N, bits, log_base, digits, raised}, 10, random);
    for (const unsigned length : {2u, 3u, 4u, 7u})
      check_exact<Word>({Kind::block, length, 2 * length, N, bits, log_base, digits, raised, 1,
                         SecretKind::block_binary},
                        10, random);
    for (const auto& [base, unit] : {std::pair{2u, 1u}, {8u, 1u}, {32u, 2u}, {23u, 4u}})
      check_exact<Word>(
          {Kind::ap, base, 3, N, bits, log_base, digits, raised, unit, SecretKind::ternary}, 9,
          random);
    for (const unsigned window : {1u, 10u, 256u})
      check_exact<Word>({Kind::automorphism, window, 9, N, bits, log_base, digits, raised, 1,
                         SecretKind::gaussian},
                        2, random);
    if (testing::Test::HasFatalFailure()) return;
  }
  for (const auto secret : {SecretKind::binary, SecretKind::ternary})
    check_exact<Word>({Kind::ginx, 1, 5, N, bits, log_base, digits, raised_bits, 1, secret}, 9,
                      random);
}

TEST(RotationKindsNtt, ExactlyTheFormula) {
  test::Random random;
  check_every_kind<std::uint32_t>(256, 27, 7, 3, 30, random);
  check_every_kind<std::uint64_t>(256, 50, 25, 1, 40, random);
}

TEST(RotationKindsNtt, ShapesOfTheEdges) {
  test::Random random;
  // The largest moduli of a word, for which sums and butterflies reduce early; P below Q/2.
  check_exact<std::uint32_t>({Kind::unrolled, 5, 10, 256, 31, 8, 4}, 3, random);
  check_exact<std::uint32_t>({Kind::unrolled_all, 8, 8, 256, 31, 16, 1}, 2, random);
  check_exact<std::uint32_t>({Kind::unrolled, 8, 8, 256, 27, 9, 3}, 2, random);
  check_exact<std::uint32_t>({Kind::unrolled, 6, 6, 512, 26, 8, 2}, 3, random);
  check_exact<std::uint32_t>({Kind::unrolled, 2, 4, 256, 28, 28, 1, 20}, 3, random);
  constexpr auto blocks = SecretKind::block_binary;
  check_exact<std::uint32_t>({Kind::block, 8, 16, 256, 31, 8, 4, 0, 1, blocks}, 3, random);
  check_exact<std::uint64_t>({Kind::block, 8, 8, 256, 60, 30, 2, 0, 1, blocks}, 3, random);
  check_exact<std::uint32_t>({Kind::block, 3, 6, 1024, 26, 8, 2, 0, 1, blocks}, 3, random);
  check_exact<std::uint64_t>({Kind::block, 3, 3, 2048, 48, 23, 1, 0, 1, blocks}, 2, random);
  check_exact<std::uint32_t>({Kind::ginx, 1, 4, 256, 30, 30, 1, 31}, 3, random);
  check_exact<std::uint64_t>({Kind::unrolled, 3, 6, 256, 60, 30, 2}, 3, random);
  check_exact<std::uint64_t>({Kind::ap, 32, 2, 256, 60, 30, 1, 32}, 3, random);
  check_exact<std::uint64_t>({Kind::unrolled, 3, 3, 2048, 48, 23, 1}, 2, random);
}

/// Errors of one product by FFT: their variance at coefficients of ACC, and a bound of all.
template <class Word>
void check_fft(const Case& c, test::Random& random) {
  SCOPED_TRACE(describe(c));
  const auto key = test::random_key<Word>(c, Arithmetic::fft, random);
  const backend::RotationShape& shape = key.shape;
  const std::uint64_t Q = shape.Q;
  const std::size_t count = 9;
  std::vector<std::uint32_t> lwe;
  for (std::size_t i = 0; i < count; ++i) {
    // One product: all coefficients of a step, or one digit of one place.
    for (std::uint32_t t = 0; t < c.n; ++t)
      lwe.push_back(c.kind == Kind::ap
                        ? c.unit
                        : 1 + static_cast<std::uint32_t>(random.below(2ULL * c.N - 1)));
    lwe.push_back(static_cast<std::uint32_t>(random.below(2ULL * c.N)));
  }
  auto luts = random.residues<Word>(c.N, Q);
  const std::vector<std::uint32_t> index(count, 0);
  const ring::Gadget& gadget = shape.gadgets[0];
  if (!shape.raised()) test::avoid_ties(gadget, luts);  // of fractions of the circle
  double digit_squares = 0;
  for (unsigned j = 0; j < gadget.digits(); ++j) digit_squares += gadget.digit_mean_square(j);
  if (shape.raised()) digit_squares = static_cast<double>(Q) * static_cast<double>(Q) / 12;
  const double keys = c.kind == Kind::ap             ? 1
                      : c.kind == Kind::unrolled_all ? shape.keys
                                                     : 2.0 * shape.keys;
  double variance = fft_rounding_variance(digit_squares, Q, c.N, keys, 0) + 1.0 / 12;
  if (Q < (1ULL << 31) && !shape.raised()) {
    variance += keys * 2.0 * c.N * digit_squares * key_spectrum_variance(Q, c.N, 32);
    if (test::tests_on_gpus)
      variance += digit_spectrum_variance(gadget, Q, c.N, static_cast<unsigned>(keys), 0);
  }
  if (shape.raised()) variance += 1.0 / 12;  // the formula rounds, too
  // The first half of ACC is 0 here: errors are smaller than average ones, never larger. The
  // constant of the rounding is known within a factor of 1.5; 9·2N nearly normal errors beyond
  // eight deviations: < 1e-10.
  const double bound = 1.5 * 8 * std::sqrt(variance);
  const auto expected = test::by_formula(key, lwe, luts, index);
  test::on_each_device([&](const Executor& on) {
    if (on.gpu() && !test::has_gpu_kernel(shape)) return test::expect_refused<Word>(on, key);
    // tests/gpu: unrolled rotations of GPUs round otherwise; GINX with a raised modulus decomposes
    // (X^a - 1)·ACC, which comes to the same for rows that encrypt something only.
    if (on.gpu() && (c.kind == Kind::unrolled || (c.kind == Kind::ginx && shape.raised()))) return;
    for (const auto& [name, way, device] : on.variants()) {
      const auto prepared = device->template rotation<Word>().prepare(shape, key.source());
      const auto got = test::rotate(*device, *prepared, lwe, luts, index);
      EXPECT_LE(test::largest_difference(got, expected, Q), bound) << name;
      // Bits do not depend on how a batch is split.
      const auto alone = test::rotate<Word>(
          *device, *prepared, std::vector<std::uint32_t>(lwe.begin(), lwe.begin() + c.n + 1), luts,
          {0});
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), got.begin())) << name;
    }
  });
}

TEST(RotationKindsFft, OneProductIsCloseToTheFormula) {
  test::Random random;
  for (const Kind kind : {Kind::unrolled, Kind::unrolled_all})
    for (const unsigned group : {1u, 2u, 3u, 6u}) {
      check_fft<std::uint32_t>({kind, group, group, 256, 26, 8, 2}, random);
      check_fft<std::uint32_t>({kind, group, group, 1024, 16, 16, 1, 20}, random);
      check_fft<std::uint64_t>({kind, group, group, 512, 48, 23, 1}, random);
      check_fft<std::uint64_t>({kind, group, group, 256, 31 + 1, 31, 1, 34}, random);
    }
  constexpr auto blocks = SecretKind::block_binary;
  for (const unsigned length : {2u, 3u, 8u}) {
    check_fft<std::uint32_t>({Kind::block, length, length, 256, 26, 8, 2, 0, 1, blocks}, random);
    check_fft<std::uint32_t>({Kind::block, length, length, 1024, 16, 16, 1, 20, 1, blocks}, random);
    check_fft<std::uint64_t>({Kind::block, length, length, 512, 48, 23, 1, 0, 1, blocks}, random);
    check_fft<std::uint64_t>({Kind::block, length, length, 256, 31 + 1, 31, 1, 34, 1, blocks},
                             random);
  }
  for (const std::uint32_t unit : {1u, 2u}) {
    check_fft<std::uint32_t>({Kind::ap, 32, 1, 1024, 27, 7, 3, 0, unit}, random);
    check_fft<std::uint32_t>({Kind::ap, 32, 1, 512, 22, 22, 1, 28, unit}, random);
    check_fft<std::uint64_t>({Kind::ap, 32, 1, 512, 50, 25, 1, 0, unit}, random);
  }
  for (const auto secret : {SecretKind::binary, SecretKind::ternary})
    check_fft<std::uint32_t>({Kind::ginx, 1, 1, 512, 22, 22, 1, 28, 1, secret}, random);
}

TEST(RotationKinds, EvenExponentsAreRefusedByAutomorphisms) {
  test::Random random;
  const Case c{Kind::automorphism, 4, 2, 256, 27, 9, 3, 0, 1, SecretKind::ternary};
  const auto key = test::random_key<std::uint32_t>(c, Arithmetic::ntt, random);
  const auto queue = test::cpu();
  const auto prepared = queue->rotation<std::uint32_t>().prepare(key.shape, key.source());
  EXPECT_THROW(test::rotate<std::uint32_t>(*queue, *prepared, {1, 6, 0},
                                           random.residues<std::uint32_t>(c.N, key.shape.Q), {0}),
               ShapeError);
}

}  // namespace
}  // namespace whorl::lattice::lwe
