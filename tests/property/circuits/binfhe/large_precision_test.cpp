// EvalFloor, EvalSign and EvalDecomp against the clear: first OpenFHE's functions of phases, and by
// them the server. WHORL_TEST_LARGE=<number>: inputs of each operation, set and p, 64 by default;
// 12,000 in `make test-full`, which are more than 100,000 of each operation in all.
#include "support/large_precision_model.h"
#include "support/large_sets.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

namespace large = test::large;

std::size_t inputs_wanted() {
  const char* const given = std::getenv("WHORL_TEST_LARGE");
  return given ? std::stoul(given) : 64;
}

// ---- the clear model

TEST(LargePrecisionModel, FloorsToMultiplesWhateverTheErrorBelowBeta) {
  constexpr std::uint64_t modulus = 1 << 13;
  for (const std::uint64_t small : {512, 1024, 4096, 8192})
    for (std::uint64_t phase = 0; phase < modulus; ++phase) {
      const std::uint64_t shifted = (phase + large::beta) % modulus;
      ASSERT_EQ(large::floor({phase, modulus}, small).value, shifted / small * small)
          << "phase " << phase << ", modulo " << small;
    }
}

TEST(LargePrecisionModel, GivesShiftsSignsAndDigitsOfMessages) {
  test::Random random;
  for (unsigned log_modulus = 11; log_modulus <= 29; ++log_modulus) {
    const std::uint64_t modulus = 1ULL << log_modulus, p = modulus / 256, q = 4096;
    for (int k = 0; k < 200; ++k) {
      const std::uint64_t message = k < 2 ? k * (p - 1) : random.below(p);
      const auto error = static_cast<std::uint64_t>(random.between(-127, 127));
      const large::Phase in{(message * 256 + error) & (modulus - 1), modulus};
      EXPECT_EQ(large::decrypt(large::sign(in, q), 2), message >= p / 2);
      std::uint64_t rest = message;
      for (const large::Phase& digit : large::decompose(in, q)) {
        const std::uint64_t base = digit.modulus / 256;
        EXPECT_EQ(large::decrypt(digit, base), rest % base);
        rest /= base;
      }
      EXPECT_EQ(rest, 0);
    }
  }
}

// ---- the server

class LargePrecision : public testing::TestWithParam<std::size_t> {
 protected:
  const Parameters parameters_ = test::large_sets()[GetParam()];
  const test::Pair& pair_ = test::pair_of(parameters_);
  const Server server_{pair_.keys, {.device = test::tested_device, .threads = 2}};
  test::Random random_;

  /// Messages for a p up to q/256; edges of halves and digits are among them.
  std::vector<std::uint32_t> messages(std::uint32_t p) {
    std::vector<std::uint32_t> out(inputs_wanted());
    const std::uint32_t edges[] = {0, p - 1, p / 2, p / 2 - 1, 15 % p, 16 % p};
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = i < std::size(edges) ? edges[i] : static_cast<std::uint32_t>(random_.below(p));
    return out;
  }
  unsigned most_bits() const {
    return static_cast<unsigned>(std::bit_width(parameters_.q() / 256) - 1);
  }
  /// The largest p, and a smaller one whose ciphertexts are switched to a smaller modulus first.
  std::vector<std::uint32_t> moduli() {
    std::vector<std::uint32_t> out{1U << most_bits()};
    if (most_bits() > 3) out.push_back(1U << random_.between(2, most_bits() - 1));
    return out;
  }
};

TEST_P(LargePrecision, FloorsAgreeWithTheClear) {
  for (const std::uint32_t p : moduli()) {
    const auto values = messages(p);
    const auto bits = static_cast<unsigned>(random_.between(1, std::bit_width(p) - 2));
    SCOPED_TRACE(parameters_.name() + ", p = " + std::to_string(p) + ", " + std::to_string(bits));
    const Ciphertexts out = test::floor_of(server_, pair_.client.encrypt(values, {p, false}), bits);
    EXPECT_EQ(out.encoding, (Encoding{p >> bits, false}));
    std::vector<std::uint32_t> want;
    for (const std::uint32_t m : values) want.push_back(m >> bits);
    EXPECT_EQ(pair_.client.decrypt(out), want);
  }
}

TEST_P(LargePrecision, SignsAgreeWithTheClear) {
  for (const std::uint32_t p : moduli()) {
    SCOPED_TRACE(parameters_.name() + ", p = " + std::to_string(p));
    const auto values = messages(p);
    const Encoding output = random_.below(2) ? Encoding{4, false} : Encoding{8, true};
    const Ciphertexts out =
        test::sign_of(server_, pair_.client.encrypt(values, {p, false}), output);
    EXPECT_EQ(out.encoding, output);
    std::vector<std::uint32_t> want;
    for (const std::uint32_t m : values)
      want.push_back(large::decrypt(
          large::sign({std::uint64_t{m} * 256, std::uint64_t{p} * 256}, 2ULL * parameters_.N()),
          2));
    EXPECT_EQ(pair_.client.decrypt(out), want);
  }
}

TEST_P(LargePrecision, DigitsAgreeWithTheClear) {
  for (const std::uint32_t p : moduli()) {
    SCOPED_TRACE(parameters_.name() + ", p = " + std::to_string(p));
    const auto values = messages(p);
    const std::vector<Ciphertexts> digits =
        test::digits_of(server_, pair_.client.encrypt(values, {p, false}));
    std::vector<std::vector<std::uint32_t>> want(digits.size());
    for (const std::uint32_t m : values) {
      const auto phases = large::decompose({std::uint64_t{m} * 256, std::uint64_t{p} * 256},
                                           2ULL * parameters_.N());
      ASSERT_EQ(phases.size(), digits.size());
      for (std::size_t k = 0; k < phases.size(); ++k)
        want[k].push_back(large::decrypt(phases[k], digits[k].encoding.p));
    }
    for (std::size_t k = 0; k < digits.size(); ++k)
      EXPECT_EQ(pair_.client.decrypt(digits[k]), want[k]) << "digit " << k;
  }
}

TEST_P(LargePrecision, PaddedMessagesAreNeverNegative) {
  if (most_bits() < 3) GTEST_SKIP() << "no room";
  const std::uint32_t p = 1U << (most_bits() - 1);
  const auto values = messages(p);
  const Ciphertexts in = pair_.client.encrypt(values, {p, true});
  EXPECT_EQ(pair_.client.decrypt(test::sign_of(server_, in)),
            std::vector<std::uint32_t>(values.size()));
  const Ciphertexts out = test::floor_of(server_, in, 1);
  EXPECT_EQ(out.encoding, (Encoding{p / 2, true}));
  std::vector<std::uint32_t> want;
  for (const std::uint32_t m : values) want.push_back(m / 2);
  EXPECT_EQ(pair_.client.decrypt(out), want);
}

TEST_P(LargePrecision, AnyBatchGivesTheSameBits) {
  const std::uint32_t p = 1U << most_bits();
  auto values = random_.numbers(5, p);
  const Ciphertexts in = pair_.client.encrypt(values, {p, false});
  const std::uint32_t third[] = {3};
  const Ciphertexts alone = take(in, third);
  EXPECT_EQ(take(test::floor_of(server_, in, 1), third).data,
            test::floor_of(server_, alone, 1).data);
  EXPECT_EQ(take(test::sign_of(server_, in), third).data, test::sign_of(server_, alone).data);
  const auto all = test::digits_of(server_, in), one = test::digits_of(server_, alone);
  ASSERT_EQ(all.size(), one.size());
  for (std::size_t k = 0; k < all.size(); ++k) EXPECT_EQ(take(all[k], third).data, one[k].data);
}

TEST_P(LargePrecision, ResultsGoOnInSumsFloorsAndGates) {
  if (most_bits() < 6) GTEST_SKIP() << "no room";
  const std::uint32_t p = 1U << most_bits();
  const auto values = messages(p);
  const Array in = server_.upload(pair_.client.encrypt(values, {p, false}));
  const Array high = eval_floor(server_, eval_floor(server_, in, 2), 1);
  std::vector<std::uint32_t> want, bits;
  for (const std::uint32_t m : values) want.push_back(m >> 3), bits.push_back(m >= p / 2);
  EXPECT_EQ(pair_.client.decrypt(server_.download(high)), want);
  // The floor's sign is the number's own; with itself negated it gives 0.
  const Array sign = eval_sign(server_, high), own = eval_sign(server_, in);
  EXPECT_EQ(pair_.client.decrypt(server_.download(sign & own)), bits);
  EXPECT_EQ(pair_.client.decrypt(server_.download(sign ^ own)),
            std::vector<std::uint32_t>(values.size()));
}

INSTANTIATE_TEST_SUITE_P(Binfhe, LargePrecision, testing::Range<std::size_t>(0, 5));

// ---- keys of several bases

TEST(LargePrecisionKeys, SmallModuliHaveKeysOfTheirOwn) {
  const Parameters parameters = test::large_sets()[0];
  const test::Pair& pair = test::pair_of(parameters);
  ASSERT_EQ(pair.keys.small_modulus_rotations.size(), 2);
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_EQ(pair.keys.small_modulus_rotations[k].b.size(),
              parameters.rotation_key_rows(k + 1) * parameters.N());
  const std::vector<std::uint32_t> values{1, (1 << 21) - 1, 1 << 20, (1 << 20) - 1};
  const Ciphertexts in = pair.client.encrypt(values, {1 << 21, false});
  const std::vector<std::uint32_t> want{0, 1, 1, 0};
  const SessionOptions options{.device = test::tested_device, .threads = 2};
  EXPECT_EQ(pair.client.decrypt(test::sign_of(Server(pair.keys, options), in)), want);
  // Each is used: with one of another secret the signs are arbitrary.
  const EvaluationKeys others = Client(parameters).evaluation_keys(2);
  for (std::size_t k = 0; k < 2; ++k) {
    EvaluationKeys mixed = pair.keys;
    mixed.small_modulus_rotations[k] = others.small_modulus_rotations[k];
    const Server server(mixed, options);
    std::size_t wrong = 0;
    for (int run = 0; run < 16; ++run) {  // all right by chance: 2^-64
      const auto got =
          pair.client.decrypt(test::sign_of(server, pair.client.encrypt(values, {1 << 21, false})));
      for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] != want[i];
    }
    EXPECT_GT(wrong, 0) << "key " << k;
  }
  EvaluationKeys few = pair.keys;
  few.small_modulus_rotations.pop_back();
  EXPECT_THROW(Server(few, options), ShapeError);
}

}  // namespace
}  // namespace whorl::binfhe
