// Does the time of sampling or of a phase depend on the secret? Method and bounds: timing.h.
#include "support/timing.h"
#include "math/inner_product.h"
#include "math/modulus.h"
#include "math/random.h"
#include "math/sampling.h"

namespace whorl::math {
namespace {

using test::expect_constant_time;
using test::leak;

// Samplers take no secret: theirs is what they draw. So the classes are seeds, sorted by the first
// sample they lead to: near zero or far out.
template <class Sample, class Far>
void expect_constant_time_sampler(Sample sample, Far is_far) {
  constexpr size_t seeds = 256;
  std::array<std::vector<Seed>, 2> classes;
  std::array<int32_t, 8> out;
  while (classes[0].size() < seeds || classes[1].size() < seeds) {
    const Seed seed = random_seed();
    PrivateStream stream = PrivateStream::reproducible_for_tests(seed);
    sample(stream, out);
    auto& chosen = classes[is_far(out[0]) ? 1 : 0];
    if (chosen.size() < seeds) chosen.push_back(seed);
  }
  std::mt19937_64 random(std::random_device{}());
  std::unique_ptr<PrivateStream> stream;
  expect_constant_time(
      [&](int label) {
        const Seed& seed = classes[static_cast<size_t>(label)][random() % seeds];
        stream.reset();
        // A stream does not move, as make_unique would have it do.
        // NOLINTNEXTLINE(modernize-make-unique)
        stream.reset(new PrivateStream(PrivateStream::reproducible_for_tests(seed)));
      },
      [&] { sample(*stream, out); });
}

TEST(MathTiming, gaussian_sampler) {
  const GaussianSampler sampler(3.2);
  expect_constant_time_sampler(
      [&](PrivateStream& stream, std::span<int32_t> out) { sampler.sample(stream, out); },
      [](int32_t x) { return std::abs(x) > 5; });
}

TEST(MathTiming, ternary_sampler) {
  expect_constant_time_sampler(sample_ternary, [](int32_t x) { return x != 0; });
}

TEST(MathTiming, block_binary_sampler) {
  expect_constant_time_sampler(
      [](PrivateStream& stream, std::span<int32_t> out) {
        sample_block_binary(stream, 3, out.first(out.size() / 3 * 3));
      },
      [](int32_t x) { return x != 0; });
}

TEST(MathTiming, binary_sampler) {
  expect_constant_time_sampler(sample_binary, [](int32_t x) { return x != 0; });
}

// Class 0: the zero secret. Class 1: a Gaussian secret. Both are written by the same instructions
// from the same place, and the writes are let finish, so that the caches know no difference.
template <class Run>
void check_phase(Run run) {
  constexpr size_t n = 630;
  std::vector<int32_t> gaussian(n);
  PrivateStream stream("test");
  GaussianSampler(3.2).sample(stream, gaussian);
  std::vector<int32_t> secret(n);
  expect_constant_time(
      [&](int label) {
        for (size_t i = 0; i < n; ++i) secret[i] = gaussian[i] & -label;
        _mm_mfence();
      },
      [&] { run(secret); });
}

template <class Word>
std::vector<Word> uniform(uint64_t modulus) {
  std::vector<Word> out(630);
  expand_uniform<Word>(random_seed(), 0, modulus, out);
  return out;
}

TEST(MathTiming, phase_modulo_a_power_of_two) {
  const std::vector<uint32_t> a = uniform<uint32_t>(1 << 14);
  volatile uint32_t sink = 0;
  check_phase([&](const std::vector<int32_t>& s) {
    sink = inner_product_masked<uint32_t>(a, s, (1 << 14) - 1);
  });
}

TEST(MathTiming, phase_modulo_a_prime_32) {
  const Modulus<uint32_t> q(134215681);
  const std::vector<uint32_t> a = uniform<uint32_t>(q.value());
  volatile uint32_t sink = 0;
  check_phase([&](const std::vector<int32_t>& s) { sink = inner_product<uint32_t>(a, s, q); });
}

TEST(MathTiming, phase_modulo_a_prime_64) {
  const Modulus<uint64_t> q(18014398509404161);
  const std::vector<uint64_t> a = uniform<uint64_t>(q.value());
  volatile uint64_t sink = 0;
  check_phase([&](const std::vector<int32_t>& s) { sink = inner_product<uint64_t>(a, s, q); });
}

// The method itself. Classes that are the same pass, three times of three.
TEST(MathTiming, equal_classes_are_not_told_apart) {
  std::vector<std::uint64_t> values(256);
  volatile std::uint64_t sink = 0;
  for (int i = 0; i < 3; ++i)
    expect_constant_time([&](int) { std::fill(values.begin(), values.end(), 1u); },
                         [&] {
                           for (const std::uint64_t x : values) sink = sink + x;
                         });
}

// Of 630 products ten more are made where the secret has its highest bit set: some 40 ticks, since
// the end of a loop that is foreseen wrongly takes up to 20 in either class.
TEST(MathTiming, a_small_leak_is_found) {
  std::vector<std::uint64_t> values(630, 3);
  std::uint64_t secret = 0;
  volatile std::uint64_t sink = 0;
  const auto seen = leak([&](int label) { secret = std::uint64_t(label) << 63; },
                         [&] {
                           std::uint64_t x = 1;
                           const std::size_t count = values.size() - 10 + 10 * (secret >> 63);
                           for (std::size_t i = 0; i < count; ++i) x = x * values[i] + 1;
                           sink = x;
                         });
  EXPECT_FALSE(seen.empty());
}

TEST(MathTiming, a_large_leak_is_found) {
  // Stops at the first zero, as a careless inner product would.
  std::vector<int32_t> secret(64);
  volatile int32_t sink = 0;
  const auto seen = leak([&](int label) { std::fill(secret.begin(), secret.end(), label); },
                         [&] {
                           for (const int32_t value : secret) {
                             if (value == 0) break;
                             sink = sink + value;
                           }
                         });
  EXPECT_FALSE(seen.empty());
}

}  // namespace
}  // namespace whorl::math
