// NTT and FFT of every device, on every SIMD target, against their definitions.
#include "support/test.h"

namespace whorl::backend {
namespace {

using test::Executor;
using test::get;
using test::put;

/// Moduli of several sizes for one ring dimension; each in turn also stands beside others as a
/// limb.
template <class Word>
std::vector<Word> moduli(std::uint32_t N) {
  std::vector<Word> out;
  const std::vector<unsigned> sizes = sizeof(Word) == 4
                                          ? std::vector<unsigned>{N <= 4096 ? 22u : 26u, 27, 30, 31}
                                          : std::vector<unsigned>{27, 33, 45, 60, 61};
  for (const unsigned bits : sizes)
    out.push_back(static_cast<Word>(math::ntt_primes(bits, N, 1)[0]));
  if constexpr (sizeof(Word) == 4) {
    // About 2^30, where lazy butterflies no longer fit.
    std::uint64_t q = (1ULL << 30) + 1;
    while (!math::is_prime(q)) q += 2 * N;
    out.push_back(static_cast<Word>(q));
  }
  return out;
}

template <class Word>
void check_ntt(const Executor& on, std::uint32_t N, test::Random& random) {
  const std::vector<Word> qs = moduli<Word>(N);
  std::vector<ring::NttPlan<Word>> plans;
  std::vector<const ring::NttPlan<Word>*> pointers;
  for (const Word q : qs) plans.emplace_back(N, q);
  for (const auto& plan : plans) pointers.push_back(&plan);
  const auto log_N = static_cast<unsigned>(std::bit_width(N) - 1);
  const auto device = on.queue(2);
  const std::size_t batch = N > 4096 ? 1 : 1 + random.below(3), offset = random.below(4);
  SCOPED_TRACE("N = " + std::to_string(N) + ", batch = " + std::to_string(batch) +
               ", offset = " + std::to_string(offset));
  std::vector<Word> in;
  for (const Word q : qs) {
    std::vector<Word> limb = random.residues<Word>(batch * N, q);
    if (random.below(4) == 0) std::fill(limb.begin(), limb.begin() + N, static_cast<Word>(q - 1));
    in.insert(in.end(), limb.begin(), limb.end());
  }
  const Word guard = static_cast<Word>(0x5a5a5a5a5a5a5a5a);
  auto buffer = put(*device, std::vector<Word>(in.size() + offset + 1, guard));
  const auto view = buffer.slice().part(offset, in.size());
  device->template upload<Word>(std::span<const Word>(in), view);
  device->ring<Word>().ntt(pointers, view);
  const std::vector<Word> out = get<Word>(*device, view);
  for (std::size_t l = 0; l < qs.size(); ++l)
    for (std::size_t b = 0; b < batch; ++b) {
      const Word* x = in.data() + (l * batch + b) * N;
      const Word* y = out.data() + (l * batch + b) * N;
      ASSERT_LT(*std::max_element(y, y + N), qs[l]);
      std::vector<std::uint32_t> slots = {0, 1, N / 2, N - 1};
      const unsigned random_slots = N > 4096 ? 2 : 12;
      for (unsigned k = 0; k < random_slots; ++k)
        slots.push_back(static_cast<std::uint32_t>(random.below(N)));
      for (const std::uint32_t i : slots) {
        const std::uint64_t at =
            test::power(plans[l].psi(), 2ULL * ring::bit_reverse(i, log_N) + 1, qs[l]);
        ASSERT_EQ(y[i], test::evaluate(x, N, at, qs[l])) << "q = " << qs[l] << ", result " << i;
      }
    }
  device->ring<Word>().intt(pointers, view);
  ASSERT_EQ(get<Word>(*device, view), in);
  const std::vector<Word> whole = get(*device, buffer);
  ASSERT_EQ(whole[offset + in.size()], guard);
  for (std::size_t i = 0; i < offset; ++i) ASSERT_EQ(whole[i], guard);
}

TEST(BackendNtt, ValuesAtOddPowersInOrderAndBack) {
  test::Random random;
  test::on_each_device([&](const Executor& on) {
    for (std::uint32_t N = 256; N <= 1u << 17; N *= 2) {
      check_ntt<std::uint32_t>(on, N, random);
      if (!testing::Test::HasFatalFailure()) check_ntt<std::uint64_t>(on, N, random);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

template <class Word>
void check_products(const Executor& on, test::Random& random) {
  for (const std::uint32_t N : {256u, 512u, 1024u}) {
    for (const Word q : moduli<Word>(N)) {
      SCOPED_TRACE("N = " + std::to_string(N) + ", q = " + std::to_string(q));
      const ring::NttPlan<Word> plan(N, q);
      const ring::NttPlan<Word>* plans[] = {&plan};
      const math::Modulus<Word> modulus(q);
      const auto device = on.queue(1);
      const auto a = random.residues<Word>(N, q), b = random.residues<Word>(N, q);
      auto x = put(*device, a), y = put(*device, b);
      device->ring<Word>().ntt(plans, x.slice());
      device->ring<Word>().ntt(plans, y.slice());
      device->ring<Word>().mul({&modulus, 1}, std::as_const(x).slice(), std::as_const(y).slice(),
                               x.slice());
      device->ring<Word>().intt(plans, x.slice());
      // Centred, the sums of 60-bit products stay below 2^126.
      std::vector<std::int64_t> ca(N), cb(N);
      for (std::size_t j = 0; j < N; ++j)
        ca[j] = test::centred(a[j], q), cb[j] = test::centred(b[j], q);
      const auto expected = test::negacyclic(ca, cb, q);
      const auto got = get(*device, x);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), got.begin()));
    }
  }
}

TEST(BackendNtt, ProductsAgainstSchoolbook) {
  test::Random random;
  test::on_each_device([&](const Executor& on) {
    check_products<std::uint32_t>(on, random);
    check_products<std::uint64_t>(on, random);
  });
}

TEST(BackendNtt, EmptyBatch) {
  const ring::NttPlan<std::uint32_t> plan(256, 7681);
  const ring::NttPlan<std::uint32_t>* plans[] = {&plan};
  for (const char* const name : test::tested_devices()) {
    const auto device = open_queue(name);
    auto none = device->allocate<std::uint32_t>(0);
    EXPECT_NO_THROW(device->ring<std::uint32_t>().ntt(plans, none.slice()));
    EXPECT_NO_THROW(device->ring<std::uint32_t>().intt(plans, none.slice()));
  }
}

TEST(BackendFft, ValuesInOrderAndBack) {
  test::Random random;
  test::on_each_device([&](const Executor& on) {
    for (std::uint32_t N = 256; N <= 1u << 17; N *= 2) {
      SCOPED_TRACE("N = " + std::to_string(N));
      const ring::FftPlan plan(N);
      const auto device = on.queue(2);
      const std::size_t batch = N > 4096 ? 1 : random.below(4);
      std::vector<double> in(batch * N);
      for (double& x : in) x = static_cast<double>(random.between(-(1 << 20), 1 << 20));
      const auto x = put(*device, in);
      auto spectrum = device->allocate<std::complex<double>>(batch * plan.M());
      device->fft().fft(plan, x.slice(), spectrum.slice());
      const auto values = get(*device, spectrum);
      // A value is a sum of N terms below 2^20; each of log2 M + 1 levels rounds at a relative
      // 2^-53 of the root of the sum of squares, hugely generously of the sum itself.
      const double most = std::ldexp(1.0, 20) * N;
      for (std::size_t b = 0; b < batch; ++b)
        for (unsigned k = 0; k < (N > 4096 ? 2 : 8); ++k) {
          const std::uint32_t s = static_cast<std::uint32_t>(k < 2 ? k : random.below(plan.M()));
          std::complex<long double> sum = 0;
          for (std::uint32_t j = 0; j < N; ++j) {
            const std::uint64_t e = static_cast<std::uint64_t>(plan.exponent(s)) * j % (2ULL * N);
            const long double angle = std::numbers::pi_v<long double> * e / N;
            sum += static_cast<long double>(in[b * N + j]) *
                   std::complex<long double>(std::cos(angle), std::sin(angle));
          }
          const std::complex<double> got = values[b * plan.M() + s];
          ASSERT_LT(std::abs(std::complex<long double>(got) - sum), most * 1e-15) << "value " << s;
        }
      auto back = device->allocate<double>(batch * N);
      device->fft().ifft(plan, std::as_const(spectrum).slice(), back.slice());
      const auto out = get(*device, back);
      for (std::size_t j = 0; j < out.size(); ++j) ASSERT_NEAR(out[j], in[j], 1e-7) << j;
    }
  });
}

TEST(BackendFft, ProductsAgainstExactIntegers) {
  test::Random random;
  test::on_each_device([&](const Executor& on) {
    for (const std::uint32_t N : {256u, 1024u, 2048u}) {
      SCOPED_TRACE("N = " + std::to_string(N));
      const ring::FftPlan plan(N);
      const auto device = on.queue(1);
      std::vector<std::int64_t> a(N), b(N);
      for (auto& v : a) v = random.between(-128, 127);
      for (auto& v : b) v = random.between(-(1LL << 26), 1LL << 26);
      std::vector<double> in(2 * N);
      std::copy(a.begin(), a.end(), in.begin());
      std::copy(b.begin(), b.end(), in.begin() + N);
      const auto x = put(*device, in);
      auto spectra = device->allocate<std::complex<double>>(2 * plan.M());
      device->fft().fft(plan, x.slice(), spectra.slice());
      auto values = get(*device, spectra);
      for (std::size_t s = 0; s < plan.M(); ++s) values[s] *= values[plan.M() + s];
      values.resize(plan.M());
      const auto product = put(*device, values);
      auto back = device->allocate<double>(N);
      device->fft().ifft(plan, product.slice(), back.slice());
      const auto got = get(*device, back);
      const auto expected = test::negacyclic(a, b);
      // Sums of N·2^7·2^26 at most, 2^44; in doubles an exact product must round to the right one.
      for (std::size_t j = 0; j < N; ++j)
        ASSERT_EQ(static_cast<std::int64_t>(std::llround(got[j])),
                  static_cast<std::int64_t>(expected[j]))
            << j;
    }
  });
}

template <class Word>
void check_automorphism(const Executor& on, test::Random& random) {
  for (const std::uint32_t N : {256u, 1024u}) {
    const std::vector<Word> qs = moduli<Word>(N);
    std::vector<ring::NttPlan<Word>> plans;
    std::vector<const ring::NttPlan<Word>*> pointers;
    std::vector<math::Modulus<Word>> limbs;
    for (const Word q : qs) plans.emplace_back(N, q), limbs.emplace_back(q);
    for (const auto& plan : plans) pointers.push_back(&plan);
    const auto device = on.queue(2);
    const std::size_t batch = 2;
    std::vector<Word> in;
    for (const Word q : qs) {
      const auto limb = random.residues<Word>(batch * N, q);
      in.insert(in.end(), limb.begin(), limb.end());
    }
    for (const std::uint32_t g :
         {1u, 2 * N - 1, static_cast<std::uint32_t>(2 * random.below(N) + 1)}) {
      SCOPED_TRACE("N = " + std::to_string(N) + ", g = " + std::to_string(g));
      auto x = put(*device, in);
      auto y = device->template allocate<Word>(in.size());
      device->ring<Word>().automorphism(limbs, N, g, false, std::as_const(x).slice(), y.slice());
      const auto coefficients = get(*device, y);
      for (std::size_t i = 0; i < in.size(); ++i) {
        const Word q = qs[i / (batch * N)];
        const std::uint64_t to = (i % N) * g % (2 * N);
        const Word expected = to < N ? in[i] : static_cast<Word>((q - in[i]) % q);
        ASSERT_EQ(coefficients[i / N * N + to % N], expected);
      }
      auto z = device->template allocate<Word>(in.size());
      device->ring<Word>().ntt(pointers, x.slice());
      device->ring<Word>().automorphism(limbs, N, g, true, std::as_const(x).slice(), z.slice());
      device->ring<Word>().intt(pointers, z.slice());
      ASSERT_EQ(get(*device, z), coefficients);
    }
  }
}

// Random words in place of residues: they are only moved.
template <class Word>
void check_take(const Executor& on, test::Random& random) {
  for (int run = 0; run < 12; ++run) {
    const std::uint32_t N = 256u << random.below(3);
    const std::size_t rows = 1 + random.below(5), batch = 1 + random.below(7),
                      taken = random.below(9), before = random.below(3), after = random.below(3),
                      out_batch = before + taken + after;
    SCOPED_TRACE("N = " + std::to_string(N) + ", rows = " + std::to_string(rows) + ", " +
                 std::to_string(taken) + " of " + std::to_string(batch) + " from place " +
                 std::to_string(before) + " of " + std::to_string(out_batch));
    std::vector<Word> in(rows * batch * N), expected(rows * out_batch * N);
    for (auto* values : {&in, &expected})
      for (Word& x : *values) x = static_cast<Word>(random.word());
    auto index = random.numbers(taken, batch);
    const auto device = on.queue(2);
    const auto x = put(*device, in);
    auto y = put(*device, expected);
    device->ring<Word>().take(rows, N, index, x.slice(), before, y.slice());
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t i = 0; i < taken; ++i)
        for (std::size_t j = 0; j < N; ++j)
          expected[(r * out_batch + before + i) * N + j] = in[(r * batch + index[i]) * N + j];
    ASSERT_TRUE(get(*device, y) == expected);
  }
}

TEST(BackendTake, AgainstPlainLoops) {
  test::Random random;
  test::on_each_device([&](const Executor& on) {
    check_take<std::uint32_t>(on, random);
    check_take<std::uint64_t>(on, random);
  });
}

TEST(BackendAutomorphism, BothFormsAgree) {
  test::Random random;
  test::on_each_device([&](const Executor& on) {
    check_automorphism<std::uint32_t>(on, random);
    check_automorphism<std::uint64_t>(on, random);
  });
}

}  // namespace
}  // namespace whorl::backend
