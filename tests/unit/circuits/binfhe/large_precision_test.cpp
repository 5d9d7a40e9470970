// The order of steps of large precision, what is refused, and the failures of the named sets.
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/derived.h"
#include "support/large_sets.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

Parameters set(const char* name) { return Parameters::named(name, true); }

TEST(LargePrecisionSteps, TakeAsManyRotationsAsOpenFheDoes) {
  const Parameters parameters = set("openfhe_1_6/STD128_LOGQ_29_TIME");
  for (unsigned log_modulus = 9; log_modulus <= 29; ++log_modulus) {
    const Encoding encoding{1U << (log_modulus - 8), false};
    const Floorings steps = sign_steps(parameters, encoding);
    const double floors = std::max(0.0, std::ceil((log_modulus - 12.0) / 4));
    EXPECT_EQ(steps.steps.size(), floors) << log_modulus;
    EXPECT_EQ(steps.start, 1ULL << log_modulus);
    EXPECT_LE(steps.end, 4096);
    EXPECT_EQ(digit_encodings(parameters, encoding).size(), floors + 1);
    std::uint64_t p = 1;
    for (const Encoding& digit : digit_encodings(parameters, encoding)) p *= digit.p;
    EXPECT_EQ(p, encoding.p);
  }
}

TEST(LargePrecisionSteps, ChangeTheKeyWhereTheModulusIsSmallEnough) {
  const Parameters parameters = set("openfhe_1_6/STD128_LOGQ_29_TIME");
  std::vector<std::size_t> keys;
  const Floorings steps = sign_steps(parameters, {1U << 21, false});
  for (const Flooring& step : steps.steps) keys.push_back(step.key);
  EXPECT_EQ(keys, (std::vector<std::size_t>{0, 1, 1, 2, 2}));  // at 2^29, 2^25, 2^21, 2^17, 2^13
  EXPECT_EQ(steps.end_key, 2);
  EXPECT_EQ(sign_steps(parameters, {1U << 18, false}).steps[0].key, 1);  // at 2^26
  EXPECT_EQ(sign_steps(parameters, {1U << 19, false}).steps[0].key, 0);
  EXPECT_EQ(sign_steps(set("openfhe_1_6/STD128_LOGQ_29"), {1U << 21, false}).end_key, 0);
}

TEST(LargePrecisionSteps, FloorAtMostFourBitsAtATime) {
  const Parameters parameters = set("openfhe_1_6/STD128_LOGQ_25");
  const Floorings once = floor_steps(parameters, {1U << 17, false}, 4);
  ASSERT_EQ(once.steps.size(), 1);
  EXPECT_EQ(once.steps[0].small, 4096);
  EXPECT_EQ(once.end, once.start);  // no modulus switch behind it
  const Floorings more = floor_steps(parameters, {1U << 17, false}, 10);
  ASSERT_EQ(more.steps.size(), 3);
  EXPECT_EQ(more.steps[2].small, 1024);
  EXPECT_EQ(more.steps[2].modulus, 1U << 17);
  EXPECT_EQ(more.end, 1U << 17);
}

// At the largest p, with fresh inputs. OpenFHE's key-switching tables have less noise.
TEST(LargePrecisionFailures, OfTheNamedSetsAreBelowTheDefaultLimit) {
  const struct {
    const char* name;
    unsigned log_p;
  } sets[] = {{"W128_P40_LOGQ_25", 17},
              {"W128_P40_LOGQ_29", 21},
              {"openfhe_1_6/STD128_LOGQ_11", 3},
              {"openfhe_1_6/STD128_LOGQ_16", 8},
              {"openfhe_1_6/STD128_LOGQ_25", 17},
              {"openfhe_1_6/STD128_LOGQ_25_TIME", 17},
              {"openfhe_1_6/STD128_LOGQ_29", 21},
              {"openfhe_1_6/STD128_LOGQ_29_TIME", 21},
              {"xiao/HOMSIGN_16", 8},
              {"xiao/HOMSIGN_25", 17},
              {"xiao/HOMSIGN_29", 21}};
  for (const auto& [name, log_p] : sets) {
    const Parameters parameters = set(name);
    EXPECT_EQ(parameters.q() / 256, 1U << log_p) << name;
    const double failure =
        parameters.sign_failure_log2(1U << log_p, parameters.literal().transform);
    std::printf("%s: sign of p = 2^%u fails with 2^%.1f; security %.1f bits, worst gate 2^%.1f\n",
                name, log_p, failure, parameters.security().bits(), parameters.failure_log2());
    EXPECT_LT(failure, -40) << name;
    EXPECT_EQ(parameters.sign_failure_log2(2U << log_p, Transform::ntt), 0) << name;
  }
  // In doubles the error of a rotation by digits of 14 bits is half of what a flooring bears.
  EXPECT_GT(set("openfhe_1_6/STD128_LOGQ_29").sign_failure_log2(1U << 21, Transform::fft), -10);
}

TEST(LargePrecisionFailures, AreRefusedWithTheirProbability) {
  const Parameters parameters = set("openfhe_1_6/STD128_LOGQ_29");
  const Account account(parameters, Transform::ntt, allowed_failure);
  EXPECT_NO_THROW(account.check_sign({1U << 21}, {4}, account.fresh()));
  // Twelve fresh ones added up.
  const std::string said = test::message_of<NoiseError>(
      [&] { account.check_sign({1U << 21}, {4}, 144 * account.fresh()); });
  EXPECT_EQ(said.find("eval_sign with p = 2097152 under openfhe_1_6/STD128_LOGQ_29 fails with a "
                      "probability of 2^-"),
            0u)
      << said;
  EXPECT_NE(said.find("p = 524288 would serve. "), std::string::npos) << said;
  EXPECT_NO_THROW(account.check_sign({1U << 19}, {4}, 144 * account.fresh()));
  EXPECT_THROW(Account(parameters, Transform::fft, allowed_failure)
                   .check_floor({1U << 21}, 4, account.fresh()),
               NoiseError);
}

TEST(LargePrecisionRefusals, NameWhatWouldServe) {
  const Parameters parameters = test::large_sets()[2];  // q = 2^17
  const test::Pair& pair = test::pair_of(parameters);
  const Server server(pair.keys, {.device = "cpu", .threads = 1});
  const auto said = [](const auto& body) { return test::message_of<EncodingError>(body); };
  const Ciphertexts odd = pair.client.encrypt({1, 2}, {12, false}),
                    large = pair.client.encrypt({1, 511}, {512, false});
  EXPECT_EQ(said([&] { test::sign_of(server, odd); }),
            "eval_sign takes messages of which p is a power of two in 2 … 512 of 2^17, binary, "
            "table, not p = 12");
  EXPECT_EQ(said([&] { test::floor_of(server, large, 0); }),
            "eval_floor: round_bits = 0 is not in 1 … 8, of messages modulo 512");
  EXPECT_EQ(said([&] { test::floor_of(server, large, 9); }),
            "eval_floor: round_bits = 9 is not in 1 … 8, of messages modulo 512");
  EXPECT_EQ(said([&] {
              pair.client.encrypt({0}, {1025, false});
            }),
            "plaintext modulus p = 1025 is not in 2 … 1024 of 2^17, binary, table; for tables that "
            "are not exact allow_failure=1 takes up to 65536");
  EXPECT_THROW(test::digits_of(server, odd), EncodingError);
  // What one rotation does not tell apart is not for gates and tables.
  const Parameters wide = test::large_sets()[1];  // q = 2^23, p up to 2^15
  const test::Pair& other = test::pair_of(wide);
  const Server gates(other.keys, {.device = "cpu", .threads = 1});
  const Ciphertexts many = other.client.encrypt({0, 1}, {1U << 15, false});
  EXPECT_NE(said([&] { gates.and_(many, many); }).find("2 … 1024 of gates and tables"),
            std::string::npos);
  EXPECT_THROW(gates.bootstrap(many), EncodingError);
  EXPECT_THROW(gates.mux(many, many, many), EncodingError);
  EXPECT_THROW(Lut::create(wide, [](std::uint32_t m) { return m; }, {2048, false}, {2048, false}),
               EncodingError);
  // A table's values may have so many.
  EXPECT_NO_THROW(
      Lut::create(wide, [](std::uint32_t m) { return 1000 * m; }, {16, true}, {1U << 14, true}));
  EXPECT_THROW(test::sign_of(gates, pair.client.encrypt({0}, {512, false})),
               ParameterMismatchError);
}

TEST(LargePrecisionRefusals, OddExponentsAreRefused) {
  ParameterLiteral literal = test::large_literal("odd", 17);
  literal.rotation = {RotationKind::automorphism, 10, 1};
  const Parameters parameters = test::insecure(literal);
  test::expect_message<ParameterError>(
      [&] {
        check_large("eval_sign", parameters, {512, false});
      },
      {"rotation.kind"});
}

TEST(LargePrecisionResults, NoiseIsThatOfTheirRotations) {
  const Parameters parameters = test::large_sets()[0];
  const test::Pair& pair = test::pair_of(parameters);
  const Server server(pair.keys, {.device = "cpu", .threads = 2});
  const Ciphertexts in = pair.client.encrypt({1, 2000000}, {1U << 21, false});
  const double unit = unit_of_noise(parameters);
  const Ciphertexts floor = test::floor_of(server, in, 4);
  EXPECT_NEAR(floor.noise * unit,
              bootstrap_variance(parameters, parameters.noise(Transform::ntt), 1ULL << 29, 0),
              1e-6 * unit);
  EXPECT_LT(floor.noise, 1);
  EXPECT_TRUE(floor.sum);  // not to be taken for fresh ones when they are loaded
  const std::vector<Ciphertexts> digits = test::digits_of(server, in);
  EXPECT_NEAR(digits[0].noise, in.noise * std::pow(2.0, 2 * (29 - 12)), 1e-6 * digits[0].noise);
  EXPECT_GE(test::sign_of(server, in).noise, 1);
}

// By the NTT they may have less than a bootstrap by the FFT, which is the unit; and digits of
// constants have next to none.
TEST(LargePrecisionResults, NoiseIsNoLessThanFilesTake) {
  ParameterLiteral literal = test::large_literal("noisy encryptions", 17);
  literal.sigma_lwe = 8;
  const Parameters parameters = test::insecure(literal);
  const test::Pair& pair = test::pair_of(parameters);
  const Server server(pair.keys, {.device = "cpu", .threads = 1});
  const Encoding encoding{512, false};
  ASSERT_EQ(least_noise(parameters), 1);
  for (const Ciphertexts& x :
       {pair.client.encrypt({1, 300}, encoding), server.trivial({1, 300}, encoding)}) {
    std::vector<Ciphertexts> results = test::digits_of(server, x);
    results.push_back(test::floor_of(server, x, 2));
    for (const Ciphertexts& result : results) {
      EXPECT_GE(result.noise, 1);
      EXPECT_NO_THROW(check_noise(result));
    }
  }
}

}  // namespace
}  // namespace whorl::binfhe
