#include "whorl/bgv/client.h"
#include "lattice/rlwe/secret.h"
#include "math/sampling.h"
#include "schemes/bgv/derived.h"
#include "support/bgv_sets.h"
#include "support/test.h"
#include "support/wrong_ciphertexts.h"

namespace whorl::bgv {
namespace {

using test::bgv_insecure;
using test::BgvShape;
using test::Clear;

const BgvShape shapes[] = {{1024, 65537, 30, 4, 2},   {1024, 12289, 31, 1, 1},
                           {1024, 65537, 50, 3, 1},   {2048, 786433, 26, 5, 5},
                           {1024, 2, 30, 3, 1},       {1024, 4, 30, 2, 2},
                           {1024, 256, 50, 2, 1},     {1024, 1000003, 31, 3, 2},
                           {1024, 1000000, 60, 2, 1}, {1024, (1ULL << 31) - 1, 30, 3, 1}};

template <class Words>
Ciphertexts with_data(Ciphertexts c, Words words) {
  c.data = WordArray(std::move(words));
  return c;
}

TEST(BgvClient, RoundTripOfEveryKind) {
  test::Random random;
  for (const BgvShape& shape : shapes) {
    const Parameters p = bgv_insecure(shape);
    SCOPED_TRACE(p.literal().name);
    const Client client(p);
    const PublicKey key = client.public_key();
    EXPECT_EQ(key.key_id, client.key_id());
    for (const Packing packing : {Packing::slots, Packing::coefficients}) {
      if (packing == Packing::slots && !p.has_slots()) continue;
      const std::size_t count = 1 + random.below(5);
      const Clear m = Clear::random(p, packing, count, random);
      for (const bool is_public : {false, true}) {
        const Ciphertexts c = is_public ? encrypt(key, m.as_signed(), packing)
                                        : client.encrypt(m.as_signed(), packing);
        EXPECT_EQ(c.info.count, count);
        EXPECT_EQ(c.info.parts, 2u);
        EXPECT_EQ(c.info.limbs, p.limbs());
        EXPECT_EQ(c.info.factor, 1u);
        EXPECT_EQ(c.info.packing, packing);
        EXPECT_EQ(c.key_id, client.key_id());
        EXPECT_EQ(c.data.word_bytes(), p.word_bytes());
        EXPECT_EQ(c.data.size(), 2 * p.limbs() * count * p.N());
        EXPECT_EQ(c.seed.has_value(), !is_public);
        const NoiseModel model(p);
        const double bound = is_public ? model.fresh_public() : model.fresh_secret();
        EXPECT_EQ(c.info.noise, bound);
        if (model.budget(bound, p.limbs()) <= 0) continue;  // t of 31 bits in one prime
        EXPECT_EQ(client.decrypt(c), m.values);
        for (const double budget : client.noise_budget(c))
          EXPECT_GT(budget, model.budget(bound, p.limbs()));
      }
    }
  }
}

TEST(BgvClient, SecondPartsAreTheSeeds) {
  test::Random random;
  for (const unsigned bits : {30u, 50u}) {
    const Parameters p = bgv_insecure({1024, 65537, bits, 3, 1});
    const Client client(p);
    const std::size_t count = 3;
    const Ciphertexts c =
        client.encrypt(Clear::random(p, Packing::slots, count, random).as_signed());
    ASSERT_TRUE(c.seed);
    backend::with_word_bytes(p.word_bytes(), [&]<class Word>(Word) {
      const auto words = c.data.as<Word>();
      for (std::size_t i = 0; i < count; ++i)
        for (unsigned l = 0; l < 3; ++l) {
          std::vector<Word> a(1024);
          math::expand_uniform<Word>(*c.seed, i * 3 + l, static_cast<Word>(p.literal().chain[l]),
                                     a);
          const auto row = words.subspan(((3 + l) * count + i) * 1024, 1024);
          ASSERT_TRUE(std::equal(a.begin(), a.end(), row.begin()));
        }
    });
    EXPECT_NE(client.encrypt(std::vector<std::int64_t>(1024)).seed,
              client.encrypt(std::vector<std::int64_t>(1024)).seed);
  }
}

/// Noise of encryptions of zero is t·e: its size by noise_budget, and by the phase itself.
TEST(BgvClient, MeasuredBudgetIsThatOfTheNoise) {
  test::Random random;
  for (const unsigned bits : {30u, 50u}) {
    const Parameters p = bgv_insecure({1024, 65537, bits, 2, 1});
    const Client client(p);
    const math::GaussianSampler error(3.19);
    const std::vector<std::int64_t> zeros(4 * 1024);
    const Ciphertexts c = client.encrypt(zeros);
    const auto budgets = client.noise_budget(c);
    ASSERT_EQ(budgets.size(), 4u);
    backend::with_word_bytes(p.word_bytes(), [&]<class Word>(Word) {
      const lattice::rlwe::RnsSecret<Word> secret(
          std::get<std::shared_ptr<const ring::RnsPlan<Word>>>(any_plan_of(p)),
          client.secret_key().coefficients(), 3.19);
      const auto words = c.data.as<Word>();
      for (std::size_t i = 0; i < 4; ++i) {
        std::vector<Word> one(4 * 1024), phase(2 * 1024);
        for (std::size_t r = 0; r < 4; ++r)
          std::copy_n(words.begin() + static_cast<std::ptrdiff_t>((r * 4 + i) * 1024), 1024,
                      one.begin() + static_cast<std::ptrdiff_t>(r * 1024));
        secret.phase({0, 1}, 2, one, phase);
        const math::Modulus<Word> q(static_cast<Word>(p.literal().chain[0]));
        std::int64_t largest = 0;
        for (std::size_t j = 0; j < 1024; ++j) {
          const std::int64_t v = q.centred(phase[j]);
          ASSERT_EQ(v % 65537, 0);
          ASSERT_LE(std::abs(v) / 65537, error.bound());
          largest = std::max(largest, std::abs(v));
        }
        EXPECT_NEAR(budgets[i], p.log2_Q() - 1 - std::log2(static_cast<double>(largest)), 1e-5);
      }
    });
  }
}

TEST(BgvClient, ASpentBoundIsRefused) {
  test::Random random;
  const Parameters p = bgv_insecure();
  const Client client(p);
  const Clear m = Clear::random(p, Packing::slots, 2, random);
  Ciphertexts c = client.encrypt(m.as_signed());
  const double all = NoiseModel(p).budget(0, p.limbs());
  for (const double left : {0.5, 0.0, -3.25}) {
    c.info.noise = all - left;
    SCOPED_TRACE(left);
    EXPECT_EQ(client.decrypt(c, {.allow_spent = true}), m.values) << "the bound alone is spent";
    if (left > 0) {
      EXPECT_EQ(client.decrypt(c), m.values);
      continue;
    }
    char bits[32];
    std::snprintf(bits, sizeof bits, "by its bound %.1f bits", left);
    test::expect_message<NoiseError>([&] { client.decrypt(c); }, {bits});
    EXPECT_GT(client.noise_budget(c)[0], 0);
  }
}

TEST(BgvClient, DecryptsPartsLevelsAndFactors) {
  // Made by hand: parts of small multiples of t, one limb less, a factor.
  test::Random random;
  const Parameters p = bgv_insecure();
  const Client client(p);
  const Clear m = Clear::random(p, Packing::coefficients, 2, random);
  Ciphertexts c = client.encrypt(m.as_signed(), Packing::coefficients);
  c.info.factor = 1 + random.below(65536);
  Clear expected = m;
  const std::uint64_t inverse = math::Modulus<std::uint64_t>(65537).inverse(c.info.factor);
  for (auto& x : expected.values) x = x * inverse % 65537;
  EXPECT_EQ(client.decrypt(c), expected.values);

  // Fewer limbs: the phase is below the smaller modulus too.
  const auto words = c.data.as<std::uint32_t>();
  std::vector<std::uint32_t> fewer;
  for (std::size_t part = 0; part < 2; ++part)
    fewer.insert(fewer.end(), words.begin() + static_cast<std::ptrdiff_t>(part * 4 * 2048),
                 words.begin() + static_cast<std::ptrdiff_t>((part * 4 + 3) * 2048));
  Ciphertexts low = with_data(c, fewer);
  low.info.limbs = 3;
  EXPECT_EQ(client.decrypt(low), expected.values);

  // (c_0, c_1, 0, 0) is the same; (0, c_0, c_1) is that times s.
  std::vector<std::uint32_t> four(words.begin(), words.end());
  four.resize(2 * four.size());
  Ciphertexts long_one = with_data(c, four);
  long_one.info.parts = 4;
  EXPECT_EQ(client.decrypt(long_one), expected.values);
  std::vector<std::uint32_t> shifted(4 * 2048);
  shifted.insert(shifted.end(), words.begin(), words.end());
  Ciphertexts times_s = with_data(c, shifted);
  times_s.info.parts = 3;
  Clear s = m;
  for (std::size_t j = 0; j < s.values.size(); ++j)
    s.values[j] =
        static_cast<std::uint64_t>((client.secret_key().coefficients()[j % 1024] + 65537) % 65537);
  EXPECT_EQ(client.decrypt(times_s), (expected * s).values);
}

TEST(BgvClient, Refusals) {
  test::Random random;
  const Parameters p = bgv_insecure();
  const Client client(p), other(p), elsewhere(bgv_insecure({1024, 12289}));
  const std::vector<std::int64_t> values(2048, 7);
  const Ciphertexts good = client.encrypt(values);
  EXPECT_THROW(client.encrypt({}), ShapeError);
  EXPECT_THROW(encrypt(client.public_key(), {}), ShapeError);
  EXPECT_THROW(client.encrypt({1, 2, 3}, Packing::slots, 2), ShapeError);
  EXPECT_THROW(client.encrypt(std::vector<std::int64_t>(1025), Packing::coefficients), ShapeError);
  const Client none(bgv_insecure({1024, 256}));
  EXPECT_THROW(none.encrypt(values), EncodingError);
  EXPECT_THROW(encrypt(none.public_key(), values), EncodingError);
  EXPECT_THROW(other.decrypt(good), KeyMismatchError);
  EXPECT_THROW(other.noise_budget(good), KeyMismatchError);
  EXPECT_THROW(elsewhere.decrypt(good), ParameterMismatchError);
  const auto refused = [&]<class Error>(const auto& change, Error*) {
    Ciphertexts bad = good;
    change(bad);
    EXPECT_THROW(client.decrypt(bad), Error);
    EXPECT_THROW(client.noise_budget(bad), Error);
  };
  ShapeError* const shape = nullptr;
  RangeError* const range = nullptr;
  test::each_wrong_shape(refused);
  refused([](Ciphertexts& c) { c.data = WordArray(std::vector<std::uint32_t>(3)); }, shape);
  refused([](Ciphertexts& c) { c.data = WordArray(std::vector<std::uint64_t>(c.data.size())); },
          shape);
  for (const std::uint64_t factor : {0ULL, 65537ULL, ~0ULL})
    refused([=](Ciphertexts& c) { c.info.factor = factor; }, range);
  for (const double noise : {std::nan(""), -1.0, 1e6, HUGE_VAL})
    refused([=](Ciphertexts& c) { c.info.noise = noise; }, range);
  // A factor that divides t.
  const Client composite(bgv_insecure({1024, 1000000}));
  Ciphertexts c = composite.encrypt(values, Packing::coefficients);
  c.info.factor = 15;
  EXPECT_THROW(composite.decrypt(c), RangeError);
  PublicKey key = client.public_key();
  key.b = WordArray(std::vector<std::uint32_t>(1024));
  EXPECT_THROW(encrypt(key, values), ShapeError);
}

TEST(BgvClient, ShortAndLongVectors) {
  test::Random random;
  const Parameters p = bgv_insecure();
  const Client client(p);
  const auto padded = [](std::vector<std::uint64_t> values, std::size_t to) {
    values.resize(to);
    return values;
  };
  for (const Packing packing : {Packing::slots, Packing::coefficients}) {
    const Ciphertexts three = client.encrypt({1, 2, -3}, packing);
    EXPECT_EQ(three.info.count, 1u);
    EXPECT_EQ(three.info.length, packing == Packing::slots ? 3u : 0u);
    EXPECT_EQ(client.decrypt(three), padded({1, 2, 65534}, packing == Packing::slots ? 3 : 1024));
    EXPECT_EQ(client.decrypt(three, {.all_slots = true}), padded({1, 2, 65534}, 1024));
  }
  const Ciphertexts public_pair = encrypt(client.public_key(), {4, 5});
  EXPECT_EQ(client.decrypt(public_pair), (std::vector<std::uint64_t>{4, 5}));
  EXPECT_EQ(client.decrypt(public_pair, {.all_slots = true}), padded({4, 5}, 1024));
  const Ciphertexts pairs = client.encrypt({1, 2, 3, 4}, Packing::slots, 2);
  EXPECT_EQ(pairs.info.count, 2u);
  EXPECT_EQ(client.decrypt(pairs), (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(client.decrypt(pairs, {.all_slots = true})[1024], 3u);
  // Over several ciphertexts.
  const auto values = random.residues<std::uint64_t>(2 * 2500, 65537);
  const std::vector<std::int64_t> given(values.begin(), values.end());
  const Ciphertexts two = client.encrypt(given, Packing::slots, 2500);
  EXPECT_EQ(two.info.count, 6u);
  EXPECT_EQ(two.info.length, 2500u);
  EXPECT_EQ(two.info.each(1024), 3u);
  EXPECT_EQ(client.decrypt(two), values);
  const auto got = client.decrypt(two, {.all_slots = true});
  for (std::size_t v = 0; v < 2; ++v)
    for (std::size_t i = 0; i < 3072; ++i)
      ASSERT_EQ(got[v * 3072 + i], i < 2500 ? values[v * 2500 + i] : 0) << v << ", " << i;
}

TEST(BgvClient, PartsOfBatches) {
  const Parameters p = bgv_insecure();
  const Client client(p);
  const Ciphertexts all = client.encrypt({1, 2, 3, 4, 5}, Packing::slots, 1);
  using Numbers = std::vector<std::uint32_t>;
  const Ciphertexts some = take(all, Numbers{3, 1, 3});
  EXPECT_EQ(client.decrypt(some), (std::vector<std::uint64_t>{4, 2, 4}));
  EXPECT_EQ(some.seed, all.seed);
  EXPECT_EQ(some.numbers, (Numbers{3, 1, 3}));
  EXPECT_EQ(take(some, Numbers{2, 1}).numbers, (Numbers{3, 1}));
  EXPECT_EQ(take(all, Numbers{0, 1, 2}).numbers, Numbers());
  const Ciphertexts other = client.encrypt({9}), *same[] = {&some, &all},
                    *apart[] = {&some, &other};
  const Ciphertexts joined = concatenate(same);
  EXPECT_EQ(joined.seed, all.seed);
  EXPECT_EQ(joined.numbers, (Numbers{3, 1, 3, 0, 1, 2, 3, 4}));
  EXPECT_EQ(client.decrypt(joined), (std::vector<std::uint64_t>{4, 2, 4, 1, 2, 3, 4, 5}));
  EXPECT_FALSE(concatenate(apart).seed);
  EXPECT_THROW(take(all, Numbers{5}), ShapeError);
  EXPECT_THROW(take(all, Numbers{}), ShapeError);
  EXPECT_THROW(concatenate(std::vector<const Ciphertexts*>()), ShapeError);
  // Vectors over several ciphertexts are taken whole.
  const Ciphertexts two = client.encrypt(std::vector<std::int64_t>(3000, 7), Packing::slots, 1500);
  EXPECT_EQ(take(two, Numbers{2, 3}).info.count, 2u);
  for (const Numbers& wrong : {Numbers{1}, Numbers{1, 2}, Numbers{0}, Numbers{0, 3}})
    EXPECT_THROW(take(two, wrong), ShapeError);
  const Ciphertexts* lengths[] = {&two, &all};
  EXPECT_THROW(concatenate(lengths), ShapeError);
}

TEST(BgvClient, SecretKeys) {
  const Parameters p = bgv_insecure();
  const Client client(p);
  const auto s = client.secret_key().coefficients();
  ASSERT_EQ(s.size(), 1024u);
  for (const int v : {-1, 0, 1}) {
    // A third each; 200 and 500 are beyond nine deviations (< 1e-18).
    const auto count = std::count(s.begin(), s.end(), v);
    EXPECT_GT(count, 200);
    EXPECT_LT(count, 500);
  }
  const SecretKey copy = SecretKey::from_coefficients(p, client.key_id(), s);
  const std::vector<std::int64_t> values(1024, -3);
  EXPECT_EQ(Client(copy).decrypt(client.encrypt(values)), std::vector<std::uint64_t>(1024, 65534));
  std::vector<std::int32_t> bad(s.begin(), s.end());
  for (const std::int32_t v : {2, -2, INT32_MAX, INT32_MIN, INT32_MAX - 1}) {
    bad[777] = v;
    EXPECT_THROW(SecretKey::from_coefficients(p, client.key_id(), bad), RangeError) << v;
  }
  EXPECT_THROW(SecretKey::from_coefficients(p, client.key_id(), s.first(1023)), ShapeError);
}

TEST(BgvClient, EvaluationKeysAreThoseAskedFor) {
  for (const unsigned bits : {30u, 50u}) {
    const Parameters p = bgv_insecure({1024, 65537, bits, 5, 2});
    const Client client(p);
    KeyRequest request;
    request.relinearise = 4;
    request.rotations = {1, 1, 0, 512, 513, -1, 7};
    request.swap_rows = true;
    std::size_t last = 0, most = 0;
    const EvaluationKeys keys =
        client.evaluation_keys(request, 2, [&](std::size_t done, std::size_t total) {
          EXPECT_GE(done, last);
          last = done;
          most = total;
          return true;
        });
    // s^2, s^3; X^3, X^(3^-1), X^(3^7); X^-1.
    ASSERT_EQ(keys.keys.size(), 6u);
    EXPECT_EQ(last, most);
    EXPECT_EQ(most, 6u * p.digits());
    EXPECT_EQ(keys.bytes(), key_bytes(p, request));
    EXPECT_EQ(keys.keys[0].power, 2u);
    EXPECT_EQ(keys.keys[1].power, 3u);
    std::vector<std::uint32_t> exponents;
    for (std::size_t k = 2; k < 6; ++k) exponents.push_back(keys.keys[k].g);
    EXPECT_EQ(exponents.back(), 2047u);
    for (const std::int64_t c : {1, -1, 7})
      EXPECT_NE(std::find(exponents.begin(), exponents.end(), rotation_exponent(1024, c)),
                exponents.end());
    for (const RingSwitchKey& key : keys.keys)
      EXPECT_EQ(key.b.size(), p.digits() * (p.limbs() + p.special()) * 1024);
    for (const unsigned parts : {0u, 1u, 9u}) {
      KeyRequest bad;
      bad.relinearise = parts;
      EXPECT_THROW(client.evaluation_keys(bad), ParameterError);
      EXPECT_THROW(key_bytes(p, bad), ParameterError);
    }
    KeyRequest none;
    none.relinearise = 2;
    EXPECT_EQ(client.evaluation_keys(none).keys.size(), 0u);
    EXPECT_EQ(key_bytes(p, none), 0u);
    EXPECT_THROW(client.evaluation_keys({}, 1, [](std::size_t, std::size_t) { return false; }),
                 InterruptedError);
  }
}

// What takes long tells how far it is, and stops when told to.
TEST(BgvClient, EncryptionAndDecryptionCanBeStopped) {
  const Client client(bgv_insecure());
  const PublicKey key = client.public_key();
  const std::vector<std::int64_t> values(8 * client.parameters().N(), 3);
  const Ciphertexts c = client.encrypt(values);
  const Progress goes_on = [](std::size_t done, std::size_t total) {
    EXPECT_LE(done, total);
    EXPECT_EQ(total, 8u);
    return true;
  };
  EXPECT_EQ(
      client.decrypt(client.encrypt(values, Packing::slots, 0, goes_on), {.progress = goes_on}),
      client.decrypt(c));
  const Progress stop = [](std::size_t, std::size_t) { return false; };
  EXPECT_THROW(client.encrypt(values, Packing::slots, 0, stop), InterruptedError);
  EXPECT_THROW(encrypt(key, values, Packing::slots, 0, stop), InterruptedError);
  EXPECT_THROW(client.decrypt(c, {.progress = stop}), InterruptedError);
  EXPECT_THROW(client.noise_budget(c, stop), InterruptedError);
  EXPECT_THROW(client.evaluation_keys({}, 1u << 30), ParameterError);
}

}  // namespace
}  // namespace whorl::bgv
