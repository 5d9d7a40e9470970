// Fresh encryptions, modulus switching and key switching against their formulas.
#include "math/sampling.h"
#include "noise/schemes/binfhe/measure.h"
#include "support/test.h"

namespace whorl {
namespace {

/// Ternary with `block` 0, else of blocks; those of one coefficient are binary.
std::vector<std::int32_t> secret(std::size_t size, unsigned block) {
  std::vector<std::int32_t> out(size);
  math::PrivateStream stream("a test key");
  if (block == 0)
    math::sample_ternary(stream, out);
  else
    math::sample_block_binary(stream, block, out);
  return out;
}

TEST(FreshNoise, HasTheVarianceOfTheSampler) {
  const auto parameters = binfhe::Parameters::named("W128_P64");
  const binfhe::Client client(parameters);
  constexpr std::size_t kCount = 1 << 14;
  const auto messages = noise::random_messages(kCount, 4);
  noise::Moments moments;
  for (std::int64_t error : client.noise(client.encrypt(messages), messages))
    moments.add(static_cast<double>(error));
  // 2^14 errors: the variance scatters by 1.1 %, the mean by 0.0078 sigma. 6.3 of either: 10^-9.
  EXPECT_NEAR(moments.variance() / parameters.noise().fresh, 1, 0.07);
  EXPECT_NEAR(moments.mean() / parameters.literal().sigma_lwe, 0, 0.05);
}

struct Switch {
  const char* name;
  std::uint64_t from, to;
  unsigned centre, block;  ///< of the secret: see secret()
};
void PrintTo(const Switch& s, std::ostream* out) { *out << s.name; }

class ModulusSwitch : public testing::TestWithParam<Switch> {};

TEST_P(ModulusSwitch, RoundsWithTheVarianceOfItsFormula) {
  const Switch& s = GetParam();
  constexpr std::size_t kRows = 2048, kKeys = 16, n = 300;
  const auto queue = backend::open_queue(test::tested_device);
  const double step =
      s.from % s.to == 0 ? static_cast<double>(s.to) / static_cast<double>(s.from) : 0;
  double measured = 0, variance = 0, means = 0;
  for (std::size_t k = 0; k < kKeys; ++k) {
    const auto key = secret(n, s.block);
    const auto rows = noise::uniform<std::uint64_t>(kRows * (n + 1), s.from);
    auto in = queue->allocate<std::uint64_t>(rows.size());
    auto out = queue->allocate<std::uint64_t>(rows.size());
    queue->upload(std::span<const std::uint64_t>(rows), in.slice());
    queue->lwe().modulus_switch(s.from, s.to, n + 1, s.centre, std::as_const(in).slice(),
                                out.slice());
    const auto before = noise::lwe_phases<std::uint64_t>(rows, key, s.from);
    const auto after = noise::lwe_phases<std::uint64_t>(test::get(*queue, out), key, s.to);
    // Phase mod to less phase·to/from, mod to.
    noise::Moments moments;
    for (std::size_t c = 0; c < kRows; ++c) {
      const double scaled =
          static_cast<double>(before[c]) * static_cast<double>(s.to) / static_cast<double>(s.from);
      moments.add(
          std::remainder(static_cast<double>(after[c]) - scaled, static_cast<double>(s.to)));
    }
    const double middle = s.centre != 0 ? 1.0 / s.centre : 0;
    double squares = 0, sum = 0;
    for (std::int32_t x : key) {
      squares += (x - middle) * (x - middle);
      sum += x - middle;
    }
    // Ties are rounded up: each error has mean step/2, which the key adds up to a constant; b's own
    // rounding to multiples of 1/(centre·from) when centred has that part of it.
    const double mean = step / 2 * ((s.centre != 0 ? middle : 1) - sum);
    const double expected =
        lattice::modulus_switch_variance(n, squares / n, step) - step * step / 4 * (1 + squares);
    variance += expected / kKeys;
    const double off = (moments.mean() - mean) / std::sqrt(expected / kRows);
    means += off * off / kKeys;
    measured += moments.variance() / kKeys;
  }
  // 2^15 errors: 0.8 %, and the bound is six of that and the rounding of b, which the formula puts
  // at a continuous 1/12.
  EXPECT_NEAR(measured / variance, 1, 0.055);
  // Chi-square of 16 degrees over 16: above 4.9 with probability 10^-9 (Wilson, Hilferty).
  EXPECT_LT(means, 4.9);
}
INSTANTIATE_TEST_SUITE_P(
    Noise, ModulusSwitch,
    testing::Values(Switch{"prime_ternary", 134215681, 1 << 15, 0, 0},
                    Switch{"wide_prime_ternary", 18014398509404161, 1ULL << 35, 0, 0},
                    Switch{"power_ternary", 1 << 15, 1 << 11, 0, 0},
                    Switch{"one_bit_ternary", 1 << 12, 1 << 11, 0, 0},
                    Switch{"power_binary", 1 << 15, 1 << 11, 0, 1},
                    Switch{"power_binary_centred", 1 << 15, 1 << 11, 2, 1},
                    Switch{"wide_power_binary_centred", 1ULL << 20, 1 << 12, 2, 1},
                    Switch{"power_blocks_of_3", 1 << 15, 1 << 11, 4, 3},
                    Switch{"wide_power_blocks_of_4", 1ULL << 20, 1 << 12, 5, 4}),
    [](const auto& s) { return std::string(s.param.name); });

struct KeySwitching {
  const char* name;
  std::uint64_t Q_ks;
  unsigned log_base, digits;
  bool table;
};
void PrintTo(const KeySwitching& s, std::ostream* out) { *out << s.name; }

class KeySwitchNoise : public testing::TestWithParam<KeySwitching> {};

TEST_P(KeySwitchNoise, IsItsFormula) {
  const KeySwitching& s = GetParam();
  constexpr std::uint32_t N = 256, n = 16;
  // Tables have many rows and hardly a constant: fewer keys will do.
  const std::size_t kKeys = s.table ? 16 : 256, kRows = 8192 / kKeys;
  const double sigma = 3.19;
  const ring::Gadget gadget(s.Q_ks, s.log_base, s.digits);
  const math::GaussianSampler error(sigma);
  const auto queue = backend::open_queue(test::tested_device);
  noise::Moments moments;
  for (std::size_t k = 0; k < kKeys; ++k) {
    const auto from = secret(N, 0), to = secret(n, 0);
    const auto seed = math::random_seed();
    const auto bodies =
        lattice::switch_key_bodies(from, to, s.Q_ks, gadget, s.table, error, seed, 1, {});
    auto expand = [&]<class Word>(std::size_t r, std::span<std::uint64_t> a,
                                  std::span<std::uint64_t> b, Word) {
      std::vector<Word> words(a.size());
      math::expand_uniform<Word>(seed, r, s.Q_ks, words);
      std::copy(words.begin(), words.end(), a.begin());
      b[0] = bodies.as<Word>()[r];
    };
    const auto key = queue->lwe().prepare_switch_key(
        {N, n, s.Q_ks, gadget, s.table},
        [&](std::size_t r, std::span<std::uint64_t> a, std::span<std::uint64_t> b) {
          switch (bodies.word_bytes()) {
            case 2:
              return expand(r, a, b, std::uint16_t{});
            case 4:
              return expand(r, a, b, std::uint32_t{});
            default:
              return expand(r, a, b, std::uint64_t{});
          }
        });
    const auto rows = noise::uniform<std::uint64_t>(kRows * (N + 1), s.Q_ks);
    auto in = queue->allocate<std::uint64_t>(rows.size());
    auto out = queue->allocate<std::uint64_t>(kRows * (n + 1));
    queue->upload(std::span<const std::uint64_t>(rows), in.slice());
    queue->lwe().key_switch<std::uint64_t>(*key, std::as_const(in).slice(), out.slice());
    const auto before = noise::lwe_phases<std::uint64_t>(rows, from, s.Q_ks);
    const auto after = noise::lwe_phases<std::uint64_t>(test::get(*queue, out), to, s.Q_ks);
    for (std::size_t c = 0; c < kRows; ++c)
      moments.add(
          static_cast<double>(noise::centred((after[c] + s.Q_ks - before[c]) % s.Q_ks, s.Q_ks)));
  }
  const double expected = lattice::key_switch_variance(gadget, N, sigma, s.table, 2.0 / 3);
  std::printf("%s: %.3f of the formula\n", s.name, moments.mean_square() / expected);
  // 8,192 errors: the mean square scatters by 1.6 %, and by 1.7 % more where a fifth of it is the
  // square of a constant of the key (products of base 4, 256 keys), or where the constant is a
  // twentieth (3 dropped bits, 16 keys). Six times both.
  EXPECT_NEAR(moments.mean_square() / expected, 1, 0.15);
}
INSTANTIATE_TEST_SUITE_P(Noise, KeySwitchNoise,
                         testing::Values(KeySwitching{"table_all_digits", 1 << 15, 5, 3, true},
                                         KeySwitching{"table_dropped", 1 << 15, 4, 3, true},
                                         KeySwitching{"table_narrow_top", 1 << 15, 8, 2, true},
                                         KeySwitching{"product_dropped", 1 << 20, 2, 8, false},
                                         KeySwitching{"product_wide", 1ULL << 35, 5, 7, false},
                                         KeySwitching{"table_prime", 134215681, 5, 6, true},
                                         KeySwitching{"product_prime_dropped", 134215681, 6, 3,
                                                      false}),
                         [](const auto& s) { return std::string(s.param.name); });

}  // namespace
}  // namespace whorl
