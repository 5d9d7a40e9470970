#include "whorl/bgv/parameters.h"
#include "lattice/security.h"
#include "schemes/bgv/encoder.h"
#include "support/bgv_sets.h"
#include "support/refusals.h"
#include "support/test.h"

namespace whorl::bgv {
namespace {

using test::bgv_insecure;
using test::bgv_literal;

TEST(BgvParameters, EveryRefusalNamesFieldAndValue) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::uint64_t wide = math::ntt_primes(50, 1024, 1)[0];
  const std::uint64_t first = bgv_literal().chain[0];
  ASSERT_FALSE(math::is_prime(536872961));
  ASSERT_EQ(536872961 % 2048, 1);
  test::Refusals<ParameterLiteral>{
      {"name", "65", [](auto& p) { p.name.assign(65, 'x'); }},
      {"t", "1 ", [](auto& p) { p.t = 1; }},
      {"t", "0 ", [](auto& p) { p.t = 0; }},
      {"chain", "= 0 is", [](auto& p) { p.chain.clear(); }},
      {"chain", "= 65 is", [](auto& p) { p.chain.assign(65, p.chain[0]); }},
      {"special", "= 0 is", [](auto& p) { p.special.clear(); }},
      {"special", "= 33 is", [](auto& p) { p.special.assign(33, p.special[0]); }},
      {"chain prime", "12289", [](auto& p) { p.chain[1] = 12289; }},
      {"chain prime", std::to_string(wide), [=](auto& p) { p.chain[1] = wide; }},
      {"special prime", std::to_string(wide), [=](auto& p) { p.special[1] = wide; }},
      {"chain prime", std::to_string(first),
       [=](auto& p) { p.chain[0] = wide, p.chain[1] = first; }},
      {"chain prime", std::to_string((1ULL << 60) + 1),
       [](auto& p) { p.chain[0] = (1ULL << 60) + 1; }},
      {"chain modulus", std::to_string(first + 2), [=](auto& p) { p.chain[0] = first + 2; }},
      // 1 mod 2048, composite: 3·(2^13·…) + 1
      {"chain modulus", "536872961", [](auto& p) { p.chain[0] = 536872961; }},
      {"special modulus", std::to_string(first + 2), [=](auto& p) { p.special[0] = first + 2; }},
      {"twice", "prime", [](auto& p) { p.chain[1] = p.chain[0]; }},
      {"twice", "prime", [](auto& p) { p.special[0] = p.chain[0]; }},
      {"sigma", "0.4", [](auto& p) { p.sigma = 0.4; }},
      {"sigma", "65", [](auto& p) { p.sigma = 65; }},
      {"sigma", "nan", [=](auto& p) { p.sigma = nan; }}}
      .of("N", &ParameterLiteral::N, {512, 0, 3072, 1 << 18})
      .of("t", &ParameterLiteral::t, {1ULL << 31, first})
      .of("digit_limbs", &ParameterLiteral::digit_limbs, {0, 5})
      .expect(bgv_literal(), [](const auto& p) { Parameters::create(p, true); });
}

TEST(BgvParameters, WhatFollowsFromTheLiteral) {
  for (const unsigned bits : {26u, 30u, 31u, 46u, 50u, 60u}) {
    const Parameters p = bgv_insecure({2048, 65537, bits, 7, 3});
    EXPECT_EQ(p.word_bytes(), bits < 32 ? 4u : 8u);
    EXPECT_EQ(p.limbs(), 7u);
    EXPECT_EQ(p.special(), 3u);
    EXPECT_EQ(p.digits(), 3u);
    double sum = 0;
    for (unsigned l = 0; l < 7; ++l) {
      EXPECT_NEAR(p.log2_Q(l), sum, 1e-9);
      sum += std::log2(static_cast<double>(p.literal().chain[l]));
    }
    EXPECT_NEAR(p.log2_Q(), sum, 1e-9);
    double special = 0;
    for (const std::uint64_t q : p.literal().special) special += std::log2(static_cast<double>(q));
    EXPECT_NEAR(p.log2_P(), special, 1e-9);
    EXPECT_TRUE(p.has_slots());
    const std::string text = p.describe();
    for (const char* part : {"N = 2048", "t = 65537 (slots)", "7 primes", "3 digits of 3"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  for (const std::uint64_t t : {2ULL, 4ULL, 256ULL, 257ULL, 1000003ULL, 65537ULL * 3})
    EXPECT_FALSE(bgv_insecure({1024, t}).has_slots()) << t;
  EXPECT_TRUE(bgv_insecure({1024, 12289}).has_slots());
  EXPECT_FALSE(bgv_insecure({4096, 12289, 30, 4, 2}).has_slots() && 12289 % 8192 != 1);
  // 1 mod 2048, not a prime.
  EXPECT_FALSE(bgv_insecure({1024, 2049}).has_slots());
}

TEST(BgvParameters, DigestCoversWhatChangesKeysOrCiphertexts) {
  const ParameterLiteral literal = bgv_literal();
  const Parameters p = Parameters::create(literal, true);
  const auto with = [&](const std::function<void(ParameterLiteral&)>& change) {
    ParameterLiteral other = literal;
    change(other);
    return Parameters::create(other, true);
  };
  EXPECT_EQ(p, with([](auto& l) { l.name = "another"; }));
  EXPECT_EQ(p, with([](auto& l) { l.depth = 9; }));
  EXPECT_EQ(p, with([](auto& l) { l.plain_products = 9; }));
  const Parameters others[] = {
      with([](auto& l) { l.t = 257; }),
      with([](auto& l) { l.sigma = 3.2; }),
      with([](auto& l) { l.digit_limbs = 1; }),
      with([](auto& l) { std::swap(l.chain[0], l.chain[1]); }),
      with([](auto& l) { l.chain.pop_back(); }),
      with([](auto& l) { l.special.pop_back(); }),
      // The same primes, otherwise divided.
      with(
          [](auto& l) { l.special.insert(l.special.begin(), l.chain.back()), l.chain.pop_back(); }),
      with([](auto& l) {
        l = bgv_literal({2048, 65537});
      }),
  };
  for (const Parameters& other : others) EXPECT_NE(p, other);
  EXPECT_NE(p.digest(), Digest{});
}

TEST(BgvParameters, SecurityIsThatOfTheWholeModulus) {
  test::expect_message([] { Parameters::create(bgv_literal()); }, {"allow_insecure"});
  const Parameters p = bgv_insecure();
  const double expected =
      lattice::estimate_security(1024, p.log2_Q() + p.log2_P(), 3.19, lattice::SecretKind::ternary)
          .bits;
  EXPECT_EQ(p.security_bits(), expected);
  EXPECT_LT(expected, 128);
}

TEST(BgvParameters, ChosenOnesServe) {
  // The four of the paper's Table III, and other moduli and words.
  struct Wanted {
    unsigned depth;
    std::uint64_t t;
    std::uint32_t N;  ///< at most
    unsigned bits;
  };
  for (const Wanted& w : {Wanted{1, 65537, 8192, 30},
                          {5, 65537, 16384, 30},
                          {12, 65537, 32768, 30},
                          {24, 786433, 65536, 30},
                          {1, 65537, 8192, 50},
                          {5, 65537, 16384, 50},
                          {3, 786433, 16384, 28},
                          {0, 65537, 8192, 31}}) {
    Requirements r;
    r.depth = w.depth;
    r.plain_modulus = w.t;
    r.prime_bits = w.bits;
    const Parameters p = Parameters::choose(r);
    SCOPED_TRACE(p.describe());
    EXPECT_GE(p.security_bits(), 128);
    EXPECT_LE(p.N(), w.N);
    EXPECT_EQ(p.t(), w.t);
    EXPECT_TRUE(p.has_slots());
    EXPECT_EQ(p.literal().depth, w.depth);
    EXPECT_LE(p.digits(), 3u);
    EXPECT_GE(NoiseModel(p).rated_budget(r), 0);
    // One prime less, in the same ring, does not.
    if (p.limbs() > 1) {
      ParameterLiteral shorter = p.literal();
      shorter.chain.pop_back();
      shorter.digit_limbs = std::min(shorter.digit_limbs, p.limbs() - 1);
      EXPECT_LT(NoiseModel(Parameters::create(shorter)).rated_budget(r), 0);
    }
    // P is no smaller than any digit.
    for (unsigned first = 0; first < p.limbs(); first += p.literal().digit_limbs)
      EXPECT_LE(p.log2_Q(std::min(p.limbs(), first + p.literal().digit_limbs)) - p.log2_Q(first),
                p.log2_P() + 1e-9);
  }
}

TEST(BgvParameters, ChoiceFollowsItsRequirements) {
  Requirements r;
  r.depth = 3;
  const auto limbs = [](const Requirements& q) { return Parameters::choose(q).limbs(); };
  Requirements deeper = r, sums = r, digits = r, ring = r, loose = r;
  deeper.depth = 5;
  EXPECT_GT(limbs(deeper), limbs(r));
  sums.sums = 16;
  EXPECT_GT(limbs(sums), limbs(r));
  digits.dnum = 1;
  EXPECT_EQ(Parameters::choose(digits).digits(), 1u);
  ring.N = 32768;
  EXPECT_EQ(Parameters::choose(ring).N(), 32768u);
  loose.slots = false;
  loose.plain_modulus = 2;
  EXPECT_FALSE(Parameters::choose(loose).has_slots());
  EXPECT_LT(Parameters::choose(loose).log2_Q(), Parameters::choose(r).log2_Q());
  // A plain modulus that is one of the chain's primes is left out of it.
  Requirements prime = r;
  prime.depth = 1;
  prime.N = 16384;
  prime.plain_modulus = math::ntt_primes(30, 16384, 3)[2];
  const Parameters p = Parameters::choose(prime);
  EXPECT_EQ(p.t(), prime.plain_modulus);
}

/// Budget of a circuit with just what is required, its products with plaintexts where chance puts
/// them: as a server accounts for it, step by step.
double budget_of_random_circuit(const Parameters& p, const Requirements& r, test::Random& random) {
  const Account account(p);
  std::vector<unsigned> plain(r.depth + 1);
  for (unsigned i = 0; i < r.plain_products; ++i) ++plain[random.below(plain.size())];
  auto a = account.fresh_public(Packing::slots, 1);
  for (unsigned level = 0; level <= r.depth; ++level) {
    unsigned sums = static_cast<unsigned>(r.sums);
    const auto double_some = [&](std::uint64_t times) {
      // As inner_sum does.
      for (; times > 0; --times, --sums) a = account.add(a, account.automorphism(a)).result;
    };
    for (unsigned i = 0; i < plain[level]; ++i) {
      double_some(random.below(sums + 1));
      a = account.multiply_plain(account.automorphism(a), {1, account.largest_norm()});
    }
    double_some(sums);
    if (level < r.depth) a = account.relinearise(account.multiply(a, a).result);
  }
  return account.budget(a);
}

TEST(BgvParameters, ChosenOnesCarryPlainProductsAndSumsWhereverTheyAre) {
  test::Random random;
  unsigned longer = 0, sets = 0;
  for (const unsigned depth : {0u, 1u, 2u, 5u})
    for (const unsigned plain : {0u, 1u, 2u, 4u})
      for (const double sums : {0.0, 3.0, 11.0})
        for (const std::uint64_t t : {65537ULL, 786433ULL, 2ULL})
          for (const unsigned bits : {30u, 50u}) {
            if (bits == 50 && t == 786433) continue;
            Requirements r;
            r.depth = depth;
            r.plain_products = plain;
            r.sums = sums;
            r.plain_modulus = t;
            r.prime_bits = bits;
            r.slots = t != 2;
            const Parameters p = Parameters::choose(r);
            SCOPED_TRACE(p.literal().name + ", plain_products " + std::to_string(plain) +
                         ", sums " + std::to_string(sums) + ", bits " + std::to_string(bits));
            EXPECT_EQ(p.literal().plain_products, plain);
            EXPECT_GE(Account(p).rated_budget(r), 0);
            for (int i = 0; i < 20; ++i) EXPECT_GT(budget_of_random_circuit(p, r, random), 0);
            // No prime is there for nothing, and none was there without being asked for.
            r.N = p.N();
            if (p.limbs() > 1) {
              EXPECT_LT(Account(Parameters::of_limbs(r, p.limbs() - 1)).rated_budget(r), 0);
            }
            Requirements untold = r;
            untold.plain_products = 0;
            untold.sums = 0;
            const Parameters less = Parameters::choose(untold);
            ++sets;
            if (less.limbs() == p.limbs()) continue;
            ++longer;
            EXPECT_LT(Account(less).rated_budget(r), 0);
            EXPECT_LT(less.limbs(), p.limbs());
          }
  // A prime takes the worst of them; where one was to spare nothing is added.
  EXPECT_GT(longer, sets * 2 / 3);
}

/// The least primes in a ring, of all numbers of digits; 0 if none serve.
unsigned shortest(Requirements r, std::uint32_t N) {
  r.N = N;
  for (unsigned limbs = r.depth + 1, secure = 1; secure != 0; ++limbs) {
    secure = 0;
    for (r.dnum = 1; r.dnum <= std::min(limbs, 16u); ++r.dnum) try {
        const Parameters p = Parameters::of_limbs(r, limbs);
        ++secure;
        if (NoiseModel(p).rated_budget(r) >= 0 && Account(p).rated_budget(r) >= 0) return limbs;
      } catch (const ParameterError&) {  // not secure, or too few primes
      }
  }
  return 0;
}

TEST(BgvParameters, ChoiceTakesTheSmallestRingAndTheShortestChain) {
  for (const unsigned depth : {0u, 1u, 3u, 6u, 7u, 13u, 15u, 26u})
    for (const unsigned bits : {30u, 50u}) {
      if (bits == 50 && depth > 15) continue;
      Requirements r;
      r.depth = depth;
      r.prime_bits = bits;
      r.plain_modulus = 786433;
      SCOPED_TRACE("depth " + std::to_string(depth) + ", bits " + std::to_string(bits));
      const Parameters p = Parameters::choose(r);
      EXPECT_EQ(p.limbs(), shortest(r, p.N()));
      EXPECT_EQ(shortest(r, p.N() / 2), 0u);
      EXPECT_GE(p.security_bits(), 128);
    }
}

TEST(BgvParameters, RefusalsNameWhatServes) {
  Requirements r;
  r.depth = 26;
  r.plain_modulus = 786433;
  EXPECT_EQ(Parameters::choose(r).N(), 65536u);
  EXPECT_GT(Parameters::choose(r).digits(), 3u);
  r.dnum = 3;
  EXPECT_EQ(Parameters::choose(r).N(), 131072u);
  r.N = 65536;
  std::string message = test::message_of([&] { Parameters::choose(r); });
  EXPECT_NE(message.find("; N = 65536 with dnum = 4 serves"), std::string::npos) << message;
  Requirements deep;
  deep.depth = 60;
  deep.plain_modulus = 786433;
  for (const std::uint64_t t : {786433, 65537}) {
    deep.plain_modulus = t;
    message = test::message_of([&] { Parameters::choose(deep); });
    const std::size_t at = message.find("; depth = ");
    ASSERT_NE(at, std::string::npos) << message;
    Requirements served = deep;
    served.depth = static_cast<unsigned>(std::stoul(message.substr(at + 10)));
    EXPECT_NO_THROW(Parameters::choose(served)) << message;
    ++served.depth;
    EXPECT_THROW(Parameters::choose(served), ParameterError) << message;
  }
}

TEST(BgvParameters, RefusalsSayWhatLacks) {
  const auto said = [](const Requirements& r) {
    return test::message_of([&] { Parameters::choose(r); });
  };
  const auto expect = [](const std::string& message, const char* part, bool there = true) {
    EXPECT_EQ(message.find(part) != std::string::npos, there) << message;
  };
  Requirements r;
  r.sums = 0;
  r.depth = 64;
  r.N = 1024;
  r.plain_modulus = 12289;
  expect(said(r), "take fewer sums", false);
  expect(said(r), "; take a smaller t");
  r = {};
  r.depth = 3;
  r.N = 8192;
  r.plain_modulus = 257;
  r.dnum = 2;
  expect(said(r), "t = 257 is not a prime = 1 mod 2N for N = 8192");
  r = {};
  r.depth = 64;
  expect(said(r), "t = 65537 has no slots for N = 65536");
  r = {};
  r.depth = 5;
  r.plain_modulus = 40961;
  expect(said(r), "the nearest t that serve");
  expect(said(r), "depth = ", false);
}

TEST(BgvParameters, PlainModuliThatServe) {
  EXPECT_EQ(plain_modulus(0, 1024), 12289u);
  EXPECT_EQ(plain_modulus(12289, 1024), 12289u);
  EXPECT_EQ(plain_modulus(12290, 1024), 18433u);
  EXPECT_EQ(plain_modulus(2, 32768), 65537u);
  EXPECT_EQ(plain_modulus(65538, 32768), 786433u);
  for (const std::uint32_t N : {1024u, 16384u, 131072u})
    for (const std::uint64_t at_least : {1ULL, 100'000ULL, 1ULL << 30}) {
      const std::uint64_t t = plain_modulus(at_least, N);
      EXPECT_GE(t, at_least);
      EXPECT_TRUE(math::is_prime(t) && t % (2ULL * N) == 1 && t < 1ULL << 31) << t;
      for (std::uint64_t less = t - 2ULL * N; less >= at_least && less < t; less -= 2ULL * N)
        EXPECT_FALSE(math::is_prime(less)) << less;
    }
  EXPECT_THROW(plain_modulus(2, 1000), ParameterError);
  EXPECT_THROW(plain_modulus(2, 1u << 18), ParameterError);
  const std::uint64_t last = math::ntt_prime_below(1ULL << 31, 32768);
  EXPECT_EQ(plain_modulus(last, 32768), last);
  for (const std::uint64_t above : {last + 1, std::uint64_t{1} << 31, ~std::uint64_t{0}}) {
    test::expect_message([&] { plain_modulus(above, 32768); }, {std::to_string(last)});
  }
}

TEST(BgvParameters, RefusalOfAModulusNamesTheNearestThatServe) {
  const auto refusal = [](std::uint64_t t, unsigned depth, std::uint32_t N = 0) {
    Requirements r;
    r.plain_modulus = t;
    r.depth = depth;
    r.N = N;
    return test::message_of([&] { Parameters::choose(r); });
  };
  const auto expect = [](const std::string& message, std::initializer_list<const char*> parts) {
    for (const char* part : parts) EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  // The error names the ring that the depth takes, not the first that is tried.
  expect(refusal(65536, 12), {"N = 32768", "the nearest t that serves is 65537"});
  expect(refusal(100'000, 2), {"N = 8192", "the nearest t that serve are 65537 and 114689"});
  expect(refusal(65537, 24), {"N = 65536", "depth 24", "the nearest t that serves is 786433"});
  expect(refusal((1ULL << 31) - 1, 1, 16384),
         {"N = 16384", "the nearest t that serves is 2147352577"});
  const std::string message = test::message_of([] {
    Encoder(bgv_insecure({1024, 1000})).check(Packing::slots);
  });
  expect(message, {"no slots", "the nearest t that serves is 12289"});
}

TEST(BgvParameters, ChoiceRefuses) {
  test::Refusals<Requirements>{
      {"t", "1 ", [](auto& r) { r.plain_modulus = 1; }},
      {"sums", "-1", [](auto& r) { r.sums = -1; }},
      {"sums", "65", [](auto& r) { r.sums = 65; }},
      {"sums", "nan", [](auto& r) { r.sums = std::numeric_limits<double>::quiet_NaN(); }},
      {"N", "1000", [](auto& r) { r.N = 1000, r.slots = false; }},
      {"N", "2147483648", [](auto& r) { r.N = 1u << 31, r.slots = false; }},
      {"depth", "200", [](auto& r) { r.depth = 200, r.slots = false; }},
      // There are few primes of 26 bits.
      {"depth 24", "of 26 bits",
       [](auto& r) { r.depth = 24, r.plain_modulus = 786433, r.prime_bits = 26; }}}
      .of("plain_products", &Requirements::plain_products, {65, 1u << 31})
      .of("dnum", &Requirements::dnum, {17})
      .of("prime_bits", &Requirements::prime_bits, {25, 32, 45, 61})
      .of("t", &Requirements::plain_modulus, {1ULL << 31, 65538})
      .of("N", &Requirements::N, {512})
      .of("2N", &Requirements::N, {65536})
      .of("depth", &Requirements::depth, {40})
      .expect({}, [](const auto& r) { Parameters::choose(r); });
}

}  // namespace
}  // namespace whorl::bgv
