// Does the time of the host's transforms depend on what goes through them: secrets, errors,
// messages? Method and bounds: timing.h.
#include "support/timing.h"
#include "math/random.h"
#include "ring/host/transforms.h"

namespace whorl::ring {
namespace {

/// Class 0: the zero polynomial. Class 1: `uniform`. Both are written by the same instructions from
/// the same place. Where arrays lie can tell classes apart too, in some processes, and by chance
/// the one or the other takes longer: a leak makes the same class slower wherever they lie.
/// `transform(x)` is timed on the first N values of an array.
template <class Value, class Transform>
void expect_constant_time_wherever(const std::vector<Value>& uniform, Transform transform) {
  constexpr std::size_t places = 8;
  const std::size_t N = uniform.size();
  std::vector<std::vector<Value>> used;  // so that none comes again
  std::vector<std::vector<double>> seen;
  for (std::size_t place = 0; place < places; ++place) {
    used.emplace_back(N + 96 * place);
    used.emplace_back(N + 160 * place);
    auto &from = used[2 * place], &x = used[2 * place + 1];
    std::copy(uniform.begin(), uniform.end(), from.begin());
    const std::span<Value> polynomial = std::span(x).first(N);
    seen.push_back(test::leak(
        [&](int label) {
          const auto factor = static_cast<Value>(label);
          for (std::size_t k = 0; k < N; ++k) polynomial[k] = static_cast<Value>(from[k] * factor);
          _mm_mfence();
        },
        [&] { transform(polynomial); }));
    if (seen.back().empty() || test::side_of(seen.back()) != test::side_of(seen.front())) return;
  }
  ADD_FAILURE() << "wherever arrays lie; t of " << testing::PrintToString(seen);
}

template <class Word>
void check_ntt(Word q) {
  constexpr std::size_t N = 256;
  const HostNtt<Word> ntt(std::make_shared<const NttPlan<Word>>(N, q));
  std::vector<Word> uniform(N);
  math::expand_uniform<Word>(math::random_seed(), 0, q, uniform);
  expect_constant_time_wherever(uniform, [&](std::span<Word> x) { ntt.forward(x); });
  expect_constant_time_wherever(uniform, [&](std::span<Word> x) { ntt.inverse(x); });
}

TEST(RingTiming, Ntt32) { check_ntt<std::uint32_t>(134215681); }
TEST(RingTiming, Ntt64) { check_ntt<std::uint64_t>(18014398509404161); }

TEST(RingTiming, Fft) {
  constexpr std::size_t N = 256;
  const HostFft fft{FftPlan(N)};
  std::vector<std::uint32_t> words(N);
  math::expand_uniform<std::uint32_t>(math::random_seed(), 0, 1 << 20, words);
  std::vector<double> uniform(words.begin(), words.end());
  for (double& x : uniform) x += 1;
  std::vector<std::complex<double>> values(N / 2);
  expect_constant_time_wherever(uniform, [&](std::span<double> x) { fft.forward(x, values); });
}

}  // namespace
}  // namespace whorl::ring
