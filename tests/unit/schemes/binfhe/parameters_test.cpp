#include "whorl/binfhe/parameters.h"
#include "support/binfhe_sets.h"
#include "support/refusals.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

using test::insecure;
using test::small_literal;

using Change = std::function<void(ParameterLiteral&)>;

Change gadget(std::vector<GadgetRange> ranges) {
  return [ranges = std::move(ranges)](ParameterLiteral& p) { p.gadget = ranges; };
}
/// n steps of one kind.
Change steps(std::uint32_t n) {
  return [n](ParameterLiteral& p) {
    p.n = n;
    p.gadget = {{n, 7, 3}};
  };
}

Change small_moduli(std::vector<SmallModulusGadget> gadgets) {
  return [gadgets](ParameterLiteral& p) { p.small_modulus_gadgets = gadgets; };
}

// The LWE key is estimated at Q_ks, whatever Q is.
TEST(BinfheParameters, TheKeySwitchingModulusMayExceedTheRings) {
  ParameterLiteral literal = small_literal();
  literal.Q_ks = 1 << 28;
  const Parameters above = insecure(literal);
  EXPECT_GT(above.Q_ks(), above.Q());
  const Parameters named = Parameters::named("openfhe_1_6/STD128_LOGQ_11", true);
  const Parameters wide = Parameters::named("openfhe_1_6/STD128_LOGQ_16", true);
  EXPECT_GT(named.Q_ks(), named.Q());
  EXPECT_EQ(named.security().lwe_bits, wide.security().lwe_bits);
  const test::Pair& pair = test::pair_of(above);
  const Server server(pair.keys, {.device = "cpu", .threads = 1});
  EXPECT_EQ(pair.client.decrypt(
                server.nand(pair.client.encrypt({0, 0, 1, 1}), pair.client.encrypt({0, 1, 0, 1}))),
            (std::vector<std::uint32_t>{1, 1, 1, 0}));
}

TEST(BinfheParameters, EveryRefusalNamesFieldAndValue) {
  const std::uint64_t prime60 = math::ntt_primes(60, 256, 1)[0];
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  test::Refusals<ParameterLiteral>{
      {"name", "65", [](auto& p) { p.name.assign(65, 'x'); }},
      {"source", "1025", [](auto& p) { p.source.assign(1025, 'x'); }},
      {"n", "15", steps(15)},
      {"n", "4097", steps(4097)},
      {"Q_ks", "2199023255552", [=](auto& p) { p.Q = prime60, p.Q_ks = 1ULL << 41; }},
      {"Q_ks", "12289", [](auto& p) { p.Q = p.Q_ks = 12289; }},
      {"key_switch", "2", [](auto& p) { p.key_switch = static_cast<KeySwitch>(2); }},
      {"gadget", "0", gadget({})},
      {"gadget", "17", gadget(std::vector<GadgetRange>(17, {1, 7, 3}))},
      {"gadget count", "0", gadget({{16, 7, 3}, {0, 7, 3}})},
      {"gadget log_base", "0", gadget({{16, 0, 3}})},
      {"gadget log_base", "31", gadget({{16, 31, 1}})},
      {"gadget digits", "0", gadget({{16, 7, 0}})},
      {"gadget digits", "17", gadget({{16, 1, 17}})},
      {"gadget digits", "5", gadget({{16, 7, 5}})},
      {"gadget counts", "15", gadget({{15, 7, 3}})},
      {"gadget counts", "17", gadget({{1, 7, 3}, {16, 7, 3}})},
      {"gadget counts", "4294967295", gadget({{0xffffffff, 7, 3}})},
      {"lwe_secret", "2", [](auto& p) { p.lwe_secret = SecretDistribution::gaussian; }},
      {"lwe_secret", "3", [](auto& p) { p.lwe_secret = static_cast<SecretDistribution>(3); }},
      {"lwe_secret", "4", [](auto& p) { p.lwe_secret = static_cast<SecretDistribution>(4); }},
      {"ring_secret", "3", [](auto& p) { p.ring_secret = static_cast<SecretDistribution>(3); }},
      {"sigma_lwe", "0.4", [](auto& p) { p.sigma_lwe = 0.4; }},
      {"sigma_lwe", "1.67772e+07", [](auto& p) { p.sigma_lwe = 16777217; }},
      {"sigma_lwe", "nan", [=](auto& p) { p.sigma_lwe = nan; }},
      {"sigma_ring", "-3", [](auto& p) { p.sigma_ring = -3; }},
      {"sigma_ring", "inf", [=](auto& p) { p.sigma_ring = infinity; }},
      {"transform", "2", [](auto& p) { p.transform = static_cast<Transform>(2); }},
      {"q", "268435456", [](auto& p) { p.q = p.Q_ks = 1 << 28; }},
      {"small_modulus_gadgets", "5",
       small_moduli({{9, 7, 3}, {8, 7, 3}, {7, 7, 3}, {6, 7, 3}, {5, 7, 3}})},
      {"small_modulus_gadgets log_modulus", "10", small_moduli({{10, 7, 3}})},
      {"small_modulus_gadgets log_modulus", "3", small_moduli({{3, 7, 3}})},
      {"small_modulus_gadgets log_modulus", "8", small_moduli({{8, 7, 3}, {8, 9, 2}})},
      {"small_modulus_gadgets log_base", "31", small_moduli({{8, 31, 1}})},
      {"small_modulus_gadgets digits", "5", small_moduli({{8, 7, 5}})},
      {"rotation.raised_by", "133857281",
       [](auto& p) {
         p.rotation.raised_by = 133857281;
         p.gadget = {{16, 7, 1}};
         p.small_modulus_gadgets = {{8, 7, 1}};
       }}}
      .of("N", &ParameterLiteral::N, {128, 300, 16384, 0})
      .of("q", &ParameterLiteral::q, {8, 500, 0, 1ULL << 33})
      // 134215681 + 512: 1 mod 512, composite
      .of("Q", &ParameterLiteral::Q, {257, 0, 134215680, 134215681 + 512, (1ULL << 60) + 1})
      .of("Q_ks", &ParameterLiteral::Q_ks, {0, 10000, 256})
      .of("log_B_ks", &ParameterLiteral::log_B_ks, {0, 17, 11})
      .of("ks_digits", &ParameterLiteral::ks_digits, {4})
      .of("max_p", &ParameterLiteral::max_p, {1, 65})
      .expect(small_literal(), [](const auto& p) { insecure(p); });
}

TEST(BinfheParameters, SecurityIsDemanded) {
  test::expect_message<ParameterError>([] { Parameters::create(small_literal()); },
                                       {"allow_insecure"});
  EXPECT_NO_THROW(Parameters::named("W128_P64"));
  EXPECT_GE(Parameters::named("W128_P64").security().bits(), 128);
}

TEST(BinfheParameters, NamesAndNearNames) {
  for (const std::string& name : Parameters::names()) {
    EXPECT_NO_THROW(EXPECT_EQ(Parameters::named(name, true).name(), name)) << name;
  }
  test::expect_message<ParameterError>([] { Parameters::named("W128_P65"); }, {"\"W128_P64\""});
}

TEST(BinfheParameters, DigestIsOfWhatChangesCiphertextsOrKeys) {
  const Parameters base = insecure(small_literal());
  const Change same[] = {[](auto& p) { p.name = "other"; }, [](auto& p) { p.source = "elsewhere"; },
                         [](auto& p) { p.transform = Transform::ntt; },
                         [](auto& p) { p.max_p = 8; }, [](auto& p) { p.padding = true; }};
  for (const auto& change : same) {
    ParameterLiteral literal = small_literal();
    change(literal);
    EXPECT_EQ(insecure(literal), base);
  }
  const Change other[] = {steps(17),
                          [](auto& p) { p.q = 1024; },
                          [](auto& p) { p.N = 512; },
                          [](auto& p) { p.Q = math::ntt_primes(26, 256, 1)[0]; },
                          [](auto& p) { p.Q_ks = 1 << 15; },
                          [](auto& p) { p.key_switch = KeySwitch::product; },
                          [](auto& p) { p.log_B_ks = 4; },
                          [](auto& p) { p.ks_digits = 2; },
                          gadget({{16, 7, 2}}),
                          gadget({{16, 6, 3}}),
                          gadget({{15, 7, 3}, {1, 7, 2}}),
                          small_moduli({{8, 7, 3}}),
                          small_moduli({{8, 7, 2}}),
                          [](auto& p) { p.lwe_secret = SecretDistribution::binary; },
                          [](auto& p) { p.ring_secret = SecretDistribution::gaussian; },
                          [](auto& p) { p.sigma_lwe = 0.9; },
                          [](auto& p) { p.sigma_ring = 3.2; }};
  std::set<Digest> seen = {base.digest()};
  for (const auto& change : other) {
    ParameterLiteral literal = small_literal();
    change(literal);
    EXPECT_TRUE(seen.insert(insecure(literal).digest()).second);
  }
}

TEST(BinfheParameters, CountsOfRowsAndFiniteEstimates) {
  for (const Parameters& p : test::varied_sets()) {
    SCOPED_TRACE(p.name());
    std::size_t rows = 0;
    const Rotation& rotation = p.literal().rotation;
    for (const GadgetRange& range : p.literal().gadget) {
      std::size_t keys = range.count;  // one for each coefficient
      if (rotation.kind == RotationKind::unrolled_all) {
        const std::uint32_t left = range.count % rotation.group;
        keys = (std::size_t{range.count / rotation.group} << rotation.group) +
               (left == 0 ? 0 : std::size_t{1} << left);
      } else if (p.literal().lwe_secret == SecretDistribution::ternary) {
        keys *= 2;
      }
      rows += keys * range.digits * 2;
    }
    EXPECT_EQ(p.rotation_key_rows(), rows);
    for (const Transform transform : {Transform::ntt, Transform::fft}) {
      const NoiseEstimate noise = p.noise(transform);
      for (const double v :
           {noise.blind_rotation, noise.key_switch, noise.refreshed, noise.fresh}) {
        EXPECT_TRUE(std::isfinite(v));
        EXPECT_GT(v, 0);
      }
      EXPECT_LE(p.noise(Transform::ntt).refreshed, p.noise(Transform::fft).refreshed);
      EXPECT_LT(p.failure_log2(transform), -20);
    }
  }
}

// Gaussian secrets as narrow as the errors that go with them are easier to guess than ternary ones.
TEST(BinfheParameters, NarrowGaussianSecretsHaveNoEstimate) {
  ParameterLiteral p = Parameters::named("W128_P64").literal();
  p.ring_secret = SecretDistribution::gaussian;
  EXPECT_NO_THROW(Parameters::create(p)) << p.sigma_ring;
  p.sigma_ring = 0.8;
  test::expect_message<ParameterError>([&] { Parameters::create(p); },
                                       {"no Gaussian secret of width 0.8"});
  EXPECT_EQ(Parameters::create(p, true).security().ring_bits, 0);
}

TEST(BinfheParameters, BlockBinarySecretsHaveNoEstimate) {
  ParameterLiteral p = Parameters::named("W128_P64").literal();
  p.rotation = {RotationKind::block, 4};
  EXPECT_THROW(insecure(p), ParameterError) << "binary";
  p.lwe_secret = SecretDistribution::block_binary;
  const std::string message = test::message_of<ParameterError>([&] { Parameters::create(p); });
  for (const char* part : {"no block-binary secret was measured", "guess", "allow_insecure"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
  EXPECT_EQ(insecure(p).security().lwe_bits, 0);
  EXPECT_GT(insecure(p).security().ring_bits, 128);
  // From q to 2N: (1 + n·p(1 - p))/12 with a fifth of ones, and ties of a step of 1/16.
  const double ties = 1 + 2.0 / 256;
  EXPECT_NEAR(insecure(p).noise().rotation_rounding, (1 + 644 * 4.0 / 25) * ties / 12, 1e-9);
  const auto refused = [](const ParameterLiteral& literal, const char* part) {
    const std::string text = test::message_of<ParameterError>([&] { insecure(literal); });
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  };
  auto other = p;
  other.rotation.group = 3;  // 644 = 4·161
  refused(other, "n = 644: must be a multiple of the length of blocks, 3");
  other = p;
  other.rotation.group = 9;
  refused(other, "length of blocks = 9 is not in 2 … 8");
  other = p;
  other.rotation = {};
  refused(other, "block-binary");
  other = p;
  other.ring_secret = SecretDistribution::block_binary;
  refused(other, "ring_secret = 3");
  other = p;
  other.gadget = {{2, 8, 2}, {642, 8, 2}};
  refused(other, "whole groups of 4");
}

// What Parameters::create accepts, a server can be built for.
TEST(BinfheParameters, AcceptedSetsCanBeServed) {
  ParameterLiteral p = small_literal();
  p.Q = p.Q_ks = math::ntt_primes(54, 256, 1)[0];
  p.log_B_ks = 16;
  p.key_switch = KeySwitch::product;
  p.gadget = {{16, 27, 1}};
  std::optional<Parameters> parameters;
  try {
    parameters = insecure(p);
  } catch (const ParameterError&) {
    return;  // refused early: as good
  }
  const Client client(*parameters);
  EXPECT_NO_THROW(Server(client.evaluation_keys(1)));
}

}  // namespace
}  // namespace whorl::binfhe
