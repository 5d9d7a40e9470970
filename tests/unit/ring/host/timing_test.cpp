// Does the time of the host's transforms depend on what goes through them: secrets, errors,
// messages? Method and bounds: timing.h.
#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <complex>
#include <memory>
#include <vector>

#include "math/random.h"
#include "ring/host/transforms.h"
#include "support/timing.h"

namespace whorl::ring {
namespace {

/// Class 0: the zero polynomial. Class 1: a uniform one. Both are written by the same instructions
/// from the same place. Where arrays lie can tell classes apart too, in some processes: a leak does
/// so wherever they lie.
template <class Word>
void check_ntt(Word q) {
  constexpr std::size_t N = 256, places = 4;
  const HostNtt<Word> ntt(std::make_shared<const NttPlan<Word>>(N, q));
  for (const bool forward : {true, false}) {
    std::vector<std::vector<Word>> used;  // so that none comes again
    std::vector<double> seen;
    for (std::size_t place = 0; place < places; ++place) {
      used.emplace_back(N + 96 * place);
      used.emplace_back(N + 160 * place);
      auto &uniform = used[2 * place], &x = used[2 * place + 1];
      math::expand_uniform<Word>(math::random_seed(), 0, q, std::span(uniform).first(N));
      const std::span<Word> polynomial = std::span(x).first(N);
      seen = test::leak(
          [&](int label) {
            const auto mask = static_cast<Word>(Word{0} - static_cast<Word>(label));
            for (std::size_t k = 0; k < N; ++k) polynomial[k] = uniform[k] & mask;
            _mm_mfence();
          },
          [&] { forward ? ntt.forward(polynomial) : ntt.inverse(polynomial); });
      if (seen.empty()) break;
    }
    EXPECT_TRUE(seen.empty()) << (forward ? "forward" : "inverse")
                              << ": wherever arrays lie; |t| of " << testing::PrintToString(seen);
  }
}

TEST(RingTiming, Ntt32) { check_ntt<std::uint32_t>(134215681); }
TEST(RingTiming, Ntt64) { check_ntt<std::uint64_t>(18014398509404161); }

TEST(RingTiming, Fft) {
  constexpr std::size_t N = 256;
  const HostFft fft{FftPlan(N)};
  std::vector<double> uniform(N), x(N);
  std::vector<std::uint32_t> words(N);
  math::expand_uniform<std::uint32_t>(math::random_seed(), 0, 1 << 20, words);
  for (std::size_t j = 0; j < N; ++j) uniform[j] = words[j] + 1;
  std::vector<std::complex<double>> values(N / 2);
  test::expect_constant_time(
      [&](int label) {
        for (std::size_t j = 0; j < N; ++j) x[j] = uniform[j] * label;
        _mm_mfence();
      },
      [&] { fft.forward(x, values); });
}

}  // namespace
}  // namespace whorl::ring
#else
TEST(RingTiming, Ntt32) { GTEST_SKIP() << "needs the time stamp counter of x86-64"; }
#endif
