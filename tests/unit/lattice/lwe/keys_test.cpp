// Keys encrypt what they say: every row of them is decrypted by exact integers.
#include "lattice/lwe/keys.h"
#include "lattice/lwe/rgsw.h"
#include "support/test.h"

namespace whorl::lattice {
namespace {

using test::Int128;

template <class Word>
void check_mask(std::uint64_t Q, test::Random& random) {
  const std::size_t n = random.below(300);
  const auto a = random.residues<Word>(n, Q);
  const auto s = random.integers(n, -1, 1);
  Int128 sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<Int128>(s[i]) * static_cast<Int128>(a[i]);
  EXPECT_EQ(lwe_mask<Word>(a, s, Q), test::reduce(sum, Q)) << "Q = " << Q;
}

TEST(LatticeLwe, MaskIsTheInnerProduct) {
  test::Random random;
  for (int i = 0; i < 20; ++i) {
    for (const std::uint64_t Q : {16ULL, 1ULL << 14, 1ULL << 16})
      check_mask<std::uint16_t>(Q, random);
    for (const std::uint64_t Q : {512ULL, 1ULL << 32, 134215681ULL})
      check_mask<std::uint32_t>(Q, random);
    for (const std::uint64_t Q : {1ULL << 35, 18014398509404161ULL})
      check_mask<std::uint64_t>(Q, random);
  }
  const std::uint16_t a[] = {1};
  const std::int32_t s[] = {1};
  EXPECT_THROW(lwe_mask<std::uint16_t>(a, s, 1000), ParameterError);
}

TEST(LatticeLwe, Residue) {
  EXPECT_EQ(residue(-1, 7681), 7680u);
  EXPECT_EQ(residue(0, 7681), 0u);
  EXPECT_EQ(residue(7680, 7681), 7680u);
  EXPECT_EQ(residue(-7680, 7681), 1u);
}

/// b - a·s modulo Q, centred.
template <class Word>
std::vector<std::int64_t> phase(const std::vector<Word>& a, const std::vector<Word>& b,
                                const std::vector<std::int32_t>& s, std::uint64_t Q) {
  const auto product = test::negacyclic(s, a, Q);
  std::vector<std::int64_t> out(a.size());
  for (std::size_t j = 0; j < out.size(); ++j)
    out[j] = test::centred((b[j] + Q - product[j]) % Q, Q);
  return out;
}

template <class Word>
void check_rlwe(unsigned bits, double sigma, test::Random& random) {
  const std::uint32_t N = 256;
  const auto Q = static_cast<Word>(math::ntt_primes(bits, N, 1)[0]);
  const auto s = random.integers(N, -1, 1);
  const math::GaussianSampler error(sigma);
  const RlweEncryptor<Word> encryptor(s, Q, error);
  math::PrivateStream stream("test");
  const std::size_t rows = 20;
  const auto a = random.residues<Word>(rows * N, Q);
  std::vector<Word> b(rows * N);
  encryptor.encrypt_zero(a, b, stream);
  double squares = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    for (const std::int64_t e :
         phase<Word>(test::part(a, r * N, N), test::part(b, r * N, N), s, Q)) {
      ASSERT_LE(std::abs(e), error.bound());
      squares += static_cast<double>(e * e);
    }
  }
  // 5,120 samples: the variance is known within 2 %; 15 % is beyond seven deviations (< 1e-11).
  EXPECT_NEAR(squares / (rows * N) / error.variance(), 1, 0.15);
}

TEST(LatticeRlwe, EncryptsZeroWithTheErrorAskedFor) {
  test::Random random;
  check_rlwe<std::uint32_t>(27, 3.19, random);
  check_rlwe<std::uint32_t>(31, 1.5, random);
  check_rlwe<std::uint64_t>(54, 3.19, random);
  check_rlwe<std::uint64_t>(60, 20, random);
}

template <class Word>
void check_switch_key(std::uint64_t Q_ks, unsigned log_base, unsigned digits, bool table,
                      test::Random& random) {
  SCOPED_TRACE("Q_ks = " + std::to_string(Q_ks) + (table ? ", table" : ", product"));
  const std::size_t N = 40, n = 30;
  const auto from = random.integers(N, -1, 1), to = random.integers(n, -1, 1);
  const ring::Gadget gadget(Q_ks, log_base, digits);
  const math::GaussianSampler error(3.19);
  const math::Seed seed = random.bytes<32>();
  const WordArray bodies = switch_key_bodies(from, to, Q_ks, gadget, table, error, seed, 2, {});
  const auto words = bodies.as<Word>();
  std::size_t row = 0;
  double squares = 0;
  for (std::size_t i = 0; i < N; ++i)
    for (unsigned j = 0; j < digits; ++j)
      for (std::uint64_t v = 1; v <= (table ? gadget.bound(j) : 1); ++v, ++row) {
        std::vector<Word> a(n);
        math::expand_uniform<Word>(seed, row, Q_ks, a);
        ASSERT_LT(row, words.size());
        Int128 e =
            static_cast<Int128>(words[row]) - static_cast<Int128>(v) * gadget.factor(j) * from[i];
        for (std::size_t k = 0; k < n; ++k) e -= static_cast<Int128>(a[k]) * to[k];
        const auto small = test::centred(test::reduce(e, Q_ks), Q_ks);
        ASSERT_LE(std::abs(small), error.bound()) << "row " << row;
        squares += static_cast<double>(small * small);
      }
  ASSERT_EQ(words.size(), row);
  // At least 120 errors; their mean square is beyond these factors with probability < 1e-9.
  EXPECT_GT(squares / static_cast<double>(row), error.variance() / 2.5);
  EXPECT_LT(squares / static_cast<double>(row), error.variance() * 2.5);
}

TEST(LatticeSwitchKey, EveryRowEncryptsItsMessage) {
  test::Random random;
  for (const bool table : {false, true}) {
    check_switch_key<std::uint16_t>(1 << 14, 5, 3, table, random);
    check_switch_key<std::uint16_t>(1 << 16, 4, 3, table, random);
    check_switch_key<std::uint32_t>(1ULL << 17, 6, 3, table, random);
    check_switch_key<std::uint32_t>(134215681, 5, 6, table, random);
    check_switch_key<std::uint64_t>(1ULL << 35, 5, 7, table, random);
    check_switch_key<std::uint64_t>(18014398509404161, 3, 4, table, random);
  }
}

TEST(LatticeKeys, ProgressCountsUpAndStops) {
  test::Random random;
  const auto from = random.integers(200, -1, 1), to = random.integers(30, -1, 1);
  const ring::Gadget gadget(1 << 14, 5, 3);
  const math::GaussianSampler error(3.19);
  const math::Seed seed = random.bytes<32>();
  std::size_t last = 0, calls = 0;
  switch_key_bodies(from, to, 1 << 14, gadget, true, error, seed, 1,
                    [&](std::size_t done, std::size_t total) {
                      EXPECT_EQ(total, 200u);
                      EXPECT_GE(done, last);
                      last = done;
                      ++calls;
                      return true;
                    });
  EXPECT_GT(calls, 100u);
  for (const unsigned threads : {1u, 3u})
    EXPECT_THROW(switch_key_bodies(from, to, 1 << 14, gadget, true, error, seed, threads,
                                   [&](std::size_t, std::size_t) { return false; }),
                 InterruptedError);
}

}  // namespace
}  // namespace whorl::lattice
