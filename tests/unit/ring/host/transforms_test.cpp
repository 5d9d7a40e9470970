// The host's transforms, on every SIMD target, against products and values by their definitions.
#include "ring/host/transforms.h"
#include "support/rns.h"
#include "support/test.h"

namespace whorl::ring {
namespace {

template <class Word>
class RingHostNtt : public ::testing::Test {};
TYPED_TEST_SUITE(RingHostNtt, test::BothWords);

template <class Word>
HostNtt<Word> transform_of(std::uint32_t N, Word q) {
  return HostNtt<Word>(std::make_shared<const NttPlan<Word>>(N, q));
}

TYPED_TEST(RingHostNtt, ProductsAgainstSchoolbook) {
  using Word = TypeParam;
  test::Random random;
  // From both sides of 2^30, where lazy butterflies of 32-bit words no longer fit.
  const std::vector<unsigned> sizes =
      sizeof(Word) == 4 ? std::vector<unsigned>{17, 27, 30, 31} : std::vector<unsigned>{33, 50, 61};
  test::on_each_target([&] {
    for (const std::uint32_t N : {256u, 512u, 1024u})
      for (const unsigned bits : sizes) {
        const auto q = static_cast<Word>(math::ntt_primes(bits, N, 1)[0]);
        SCOPED_TRACE("N = " + std::to_string(N) + ", q = " + std::to_string(q));
        const auto ntt = transform_of<Word>(N, q);
        const math::Modulus<Word>& modulus = ntt.plan().modulus();
        const auto a = random.residues<Word>(N, q), b = random.residues<Word>(N, q);
        std::vector<Word> x(N), y = b, product(N), back(N);
        ntt.forward(a, x);
        ntt.forward(y);
        for (std::size_t j = 0; j < N; ++j) product[j] = modulus.mul(x[j], y[j]);
        ntt.inverse(product, back);
        std::vector<std::int64_t> ca(N), cb(N);
        for (std::size_t j = 0; j < N; ++j) {
          ca[j] = test::centred(a[j], q);
          cb[j] = test::centred(b[j], q);
        }
        const auto expected = test::negacyclic(ca, cb, q);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), back.begin()));
        ntt.inverse(product);
        ASSERT_EQ(product, back) << "in place";
      }
  });
}

TYPED_TEST(RingHostNtt, ValuesInOrderAndBackAtEverySize) {
  using Word = TypeParam;
  test::Random random;
  test::on_each_target([&] {
    for (std::uint32_t N = 256; N <= 1u << 17; N *= 2) {
      const auto q = static_cast<Word>(math::ntt_primes(sizeof(Word) == 4 ? 30 : 60, N, 1)[0]);
      const auto ntt = transform_of<Word>(N, q);
      const auto bits = static_cast<unsigned>(std::bit_width(N) - 1);
      const auto in = random.residues<Word>(N, q);
      std::vector<Word> out(N);
      ntt.forward(in, out);
      for (int k = 0; k < 3; ++k) {
        const auto i = static_cast<std::uint32_t>(random.below(N));
        const std::uint64_t at = test::power(ntt.plan().psi(), 2ULL * bit_reverse(i, bits) + 1, q);
        ASSERT_EQ(out[i], test::evaluate(in.data(), N, at, q)) << "N = " << N << ", value " << i;
      }
      ntt.inverse(out);
      ASSERT_EQ(out, in) << "N = " << N;
    }
  });
}

TYPED_TEST(RingHostNtt, OnePrimeOfAPlanEachAndFromSeveralThreads) {
  using Word = TypeParam;
  test::Random random;
  std::vector<HostNtt<Word>> ntts;
  {
    const auto plan = test::random_rns_plan<Word>(1024, 3, 2, 1, random);
    ntts = host_ntts<Word>(plan);
    ASSERT_EQ(ntts.size(), 5u);
    for (unsigned l = 0; l < 5; ++l)
      ASSERT_EQ(ntts[l].plan().modulus().value(), plan->moduli()[l].value());
  }  // the transforms keep the plan
  for (const HostNtt<Word>& ntt : ntts) {
    const auto in = random.residues<Word>(1024, ntt.plan().modulus().value());
    std::vector<Word> expected(1024);
    ntt.forward(in, expected);
    std::vector<std::vector<Word>> got(4, std::vector<Word>(1024));
    std::vector<std::thread> threads;
    for (auto& out : got)
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) ntt.forward(in, out);
      });
    for (auto& thread : threads) thread.join();
    for (const auto& out : got) ASSERT_EQ(out, expected);
  }
}

TYPED_TEST(RingHostNtt, OtherSizesAreRefused) {
  using Word = TypeParam;
  const auto ntt = transform_of<Word>(256, 7681);
  std::vector<Word> right(256), wrong(255);
  EXPECT_THROW(ntt.forward(wrong, right), ShapeError);
  EXPECT_THROW(ntt.forward(right, wrong), ShapeError);
  EXPECT_THROW(ntt.inverse(wrong), ShapeError);
}

TEST(RingHostFft, ValuesInOrderAndBack) {
  test::Random random;
  test::on_each_target([&] {
    for (std::uint32_t N = 256; N <= 1u << 16; N *= 4) {
      const FftPlan plan(N);
      const HostFft fft(plan);
      ASSERT_EQ(fft.N(), N);
      std::vector<double> in(N), back(N);
      for (double& x : in) x = static_cast<double>(random.between(-(1 << 20), 1 << 20));
      std::vector<std::complex<double>> out(N / 2);
      fft.forward(in, out);
      for (int k = 0; k < 3; ++k) {
        const auto s = static_cast<std::uint32_t>(random.below(N / 2));
        std::complex<long double> sum = 0;
        for (std::uint32_t j = 0; j < N; ++j) {
          const std::uint64_t e = std::uint64_t{plan.exponent(s)} * j % (2ULL * N);
          sum += static_cast<long double>(in[j]) *
                 std::polar(1.0L, std::numbers::pi_v<long double> * static_cast<long double>(e) /
                                      static_cast<long double>(N));
        }
        // Sums of N terms below 2^20.
        ASSERT_LT(std::abs(std::complex<long double>(out[s]) - sum), std::ldexp(1e-15, 20) * N);
      }
      fft.inverse(out, back);
      for (std::size_t j = 0; j < N; ++j) ASSERT_NEAR(back[j], in[j], 1e-7);
    }
  });
}

TEST(RingHostFft, OtherSizesAreRefused) {
  const HostFft fft(FftPlan(256));
  std::vector<double> real(256), few(128);
  std::vector<std::complex<double>> values(128);
  EXPECT_THROW(fft.forward(few, values), ShapeError);
  EXPECT_THROW(fft.inverse(values, few), ShapeError);
  EXPECT_NO_THROW(fft.forward(real, values));
}

}  // namespace
}  // namespace whorl::ring
