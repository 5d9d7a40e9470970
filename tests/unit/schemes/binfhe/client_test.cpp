#include <sys/wait.h>
#include <unistd.h>

#include "math/random.h"
#include "math/sampling.h"
#include "support/binfhe_sets.h"
#include "support/test.h"
#include "whorl/binfhe/client.h"

namespace whorl::binfhe {
namespace {

using test::insecure;
using test::small_literal;

TEST(BinfheClient, RoundTripInEveryEncoding) {
  test::Random random;
  for (const Parameters& parameters : test::varied_sets()) {
    SCOPED_TRACE(parameters.name());
    const Client& client = test::pair_of(parameters).client;
    const std::uint64_t largest = std::min<std::uint64_t>(512, parameters.q()) / 4;
    for (std::uint32_t p = 2; p <= std::min<std::uint64_t>(largest, 9); ++p)
      for (const bool padding : {false, true}) {
        const Encoding encoding{p, padding};
        if (encoding.sectors() > largest) continue;
        const auto m = random.numbers(random.below(20), p);
        const Ciphertexts c = client.encrypt(m, encoding, 1);
        EXPECT_EQ(c.count, m.size());
        EXPECT_EQ(c.data.size(), m.size() * (parameters.n() + 1));
        EXPECT_EQ(client.decrypt(c), m);
        const auto noise = client.noise(c, m);
        const math::GaussianSampler sampler(parameters.literal().sigma_lwe);
        for (const std::int64_t e : noise) EXPECT_LE(std::abs(e), sampler.bound());
        // The mask is the seed's.
        ASSERT_TRUE(c.seed);
        std::vector<std::uint32_t> row(parameters.n());
        for (std::size_t i = 0; i < c.count; ++i) {
          math::expand_uniform<std::uint32_t>(*c.seed, i, parameters.q(), row);
          ASSERT_TRUE(std::equal(row.begin(), row.end(), c[i].begin()));
        }
      }
  }
}

TEST(BinfheClient, NoiseOfFreshEncryptions) {
  // 20,000 errors: variance within 1 %; 7 % is beyond six deviations (< 1e-8).
  ParameterLiteral literal = small_literal();
  literal.q = literal.Q_ks = 1 << 14;
  literal.sigma_lwe = 3.19;
  const Client client(insecure(literal));
  const std::vector<std::uint32_t> ones(20'000, 1);
  double squares = 0;
  for (const std::int64_t e : client.noise(client.encrypt(ones), ones))
    squares += static_cast<double>(e * e);
  EXPECT_NEAR(squares / 20'000 / (3.19 * 3.19), 1, 0.07);
}

TEST(BinfheClient, Refusals) {
  const Parameters parameters = insecure(small_literal());
  const Client client(parameters), other(parameters);
  const std::vector<std::uint32_t> good = {0, 1, 3}, bad = {0, 4};
  EXPECT_THROW(client.encrypt(bad), EncodingError);
  EXPECT_THROW(client.encrypt(good, {1, false}), EncodingError);
  EXPECT_THROW(client.encrypt(good, {0, false}), EncodingError);
  EXPECT_THROW(client.encrypt(good, {129, false}), EncodingError);
  EXPECT_THROW(client.encrypt(good, {65, true}), EncodingError);
  EXPECT_NO_THROW(client.encrypt(good, {128, false}, 1));
  EXPECT_NO_THROW(client.encrypt(good, {64, true}, 1));
  const Ciphertexts c = client.encrypt(good);
  EXPECT_THROW(other.decrypt(c), KeyMismatchError);
  EXPECT_THROW(other.noise(c, good), KeyMismatchError);
  EXPECT_THROW(client.noise(c, bad), ShapeError);
  ParameterLiteral literal = small_literal();
  literal.sigma_ring = 3;
  EXPECT_THROW(Client(insecure(literal)).decrypt(c), ParameterMismatchError);
  Ciphertexts short_one = c;
  short_one.data.pop_back();
  EXPECT_THROW(client.decrypt(short_one), ShapeError);
}

// Each block of a key has at most a single 1; over 2,000 blocks all of the 5 come up (a fifth of
// them each: 2,000/5 within 6·sqrt(2000·4/25) = 107).
TEST(BinfheSecretKey, BlocksHaveAtMostASingleOne) {
  ParameterLiteral literal = small_literal();
  literal.lwe_secret = SecretDistribution::block_binary;
  literal.rotation = {RotationKind::block, 4};
  const Parameters small = insecure(literal);
  literal.n = literal.gadget[0].count = 4000;
  const Parameters large = insecure(literal);
  std::vector<std::size_t> seen(5);
  for (int keys = 0; keys < 2; ++keys) {
    const Client client(large);
    const auto s = client.secret_key().lwe();
    for (std::size_t i = 0; i < s.size(); i += 4) {
      std::size_t place = 4, ones = 0;
      for (std::size_t t = 0; t < 4; ++t) {
        ASSERT_TRUE(s[i + t] == 0 || s[i + t] == 1);
        if (s[i + t] == 1) place = t, ++ones;
      }
      ASSERT_LE(ones, 1u);
      ++seen[place];
    }
  }
  for (const std::size_t count : seen) EXPECT_NEAR(static_cast<double>(count), 400, 107);
  const KeyId id{};
  const std::vector<std::int32_t> ring(256, 1);
  std::vector<std::int32_t> lwe(16, 0);
  lwe[3] = lwe[4] = lwe[15] = 1;
  EXPECT_NO_THROW(SecretKey::from_coefficients(small, id, lwe, ring));
  for (const std::int32_t v : {-1, 2, INT32_MIN, INT32_MAX}) {
    auto bad = lwe;
    bad[8] = v;
    EXPECT_THROW(SecretKey::from_coefficients(small, id, bad, ring), RangeError) << v;
  }
  for (const std::size_t second : {0u, 2u, 5u, 7u, 12u}) {
    auto bad = lwe;
    bad[second] = 1;
    EXPECT_THROW(SecretKey::from_coefficients(small, id, bad, ring), RangeError) << second;
  }
}

TEST(BinfheSecretKey, RangesOfCoefficients) {
  const KeyId id{};
  ParameterLiteral literal = small_literal();
  literal.ring_secret = SecretDistribution::gaussian;
  const Parameters ternary = insecure(literal);
  literal.lwe_secret = SecretDistribution::binary;
  const Parameters binary = insecure(literal);
  const std::int32_t most = math::GaussianSampler(literal.sigma_ring).bound();
  const std::vector<std::int32_t> lwe(16, 1), ring(256, -most);
  EXPECT_NO_THROW(SecretKey::from_coefficients(ternary, id, lwe, ring));
  EXPECT_NO_THROW(SecretKey::from_coefficients(binary, id, lwe, ring));
  auto lwe_with = [&](std::int32_t v) {
    auto out = lwe;
    out[15] = v;
    return out;
  };
  auto ring_with = [&](std::int32_t v) {
    auto out = ring;
    out[200] = v;
    return out;
  };
  EXPECT_NO_THROW(SecretKey::from_coefficients(ternary, id, lwe_with(-1), ring_with(most)));
  for (const std::int32_t v : {-1, 2, INT32_MIN, INT32_MAX, INT32_MIN + 1})
    EXPECT_THROW(SecretKey::from_coefficients(binary, id, lwe_with(v), ring), RangeError) << v;
  for (const std::int32_t v : {-2, 2, INT32_MIN, INT32_MAX})
    EXPECT_THROW(SecretKey::from_coefficients(ternary, id, lwe_with(v), ring), RangeError) << v;
  for (const std::int32_t v : {-most - 1, most + 1, INT32_MIN, INT32_MAX})
    EXPECT_THROW(SecretKey::from_coefficients(ternary, id, lwe, ring_with(v)), RangeError) << v;
  EXPECT_THROW(SecretKey::from_coefficients(ternary, id, std::span(lwe).first(15), ring), Error);
  EXPECT_THROW(SecretKey::from_coefficients(ternary, id, lwe, std::span(ring).first(255)), Error);
}

TEST(BinfheSecretKey, RebuiltKeyDecrypts) {
  const Client client(insecure(small_literal()));
  const SecretKey& key = client.secret_key();
  const Client again(
      SecretKey::from_coefficients(key.parameters(), key.key_id(), key.lwe(), key.ring()));
  const std::vector<std::uint32_t> m = {0, 1, 2, 3};
  EXPECT_EQ(again.decrypt(client.encrypt(m)), m);
}

TEST(BinfheClient, KeysOfAnyThreadCountServeAndProgressIsReported) {
  const Parameters parameters = insecure(small_literal());
  const Client client(parameters);
  for (const unsigned threads : {0u, 1u, 3u}) {
    std::size_t last = 0, total_seen = 0;
    const EvaluationKeys keys =
        client.evaluation_keys(threads, [&](std::size_t done, std::size_t total) {
          EXPECT_GE(done, last);
          EXPECT_LE(done, total);
          last = done;
          total_seen = total;
          return true;
        });
    EXPECT_EQ(last, total_seen);
    EXPECT_GT(total_seen, 0u);
    EXPECT_EQ(keys.rotation_b.size(), parameters.rotation_key_rows() * parameters.N());
    EXPECT_EQ(keys.switch_b.size(), parameters.key_switch_rows());
    EXPECT_EQ(keys.key_id, client.key_id());
  }
  EXPECT_THROW(client.evaluation_keys(2, [](std::size_t, std::size_t) { return false; }),
               InterruptedError);
}

// Forked children share the parent's memory but must not share its randomness: equal masks with
// equal messages would give away the difference of errors, equal errors more.
TEST(BinfheClient, ForkedChildrenEncryptDifferently) {
  const Client client(insecure(small_literal()));
  const std::vector<std::uint32_t> m(200, 1);
  client.encrypt(m);  // whatever state there is exists before the fork
  std::vector<Ciphertexts> results;
  for (int child = 0; child < 2; ++child) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      bool good = false;
      try {
        const Ciphertexts c = client.encrypt(m);
        good = write(ends[1], c.seed->data(), 32) == 32 &&
               write(ends[1], c.data.data(), 4 * c.data.size()) ==
                   static_cast<ssize_t>(4 * c.data.size());
      } catch (...) {
      }
      _exit(good ? 0 : 1);
    }
    close(ends[1]);
    Ciphertexts c = client.encrypt(m);
    auto read_all = [&](void* to, std::size_t bytes) {
      auto* at = static_cast<char*>(to);
      while (bytes > 0) {
        const ssize_t got = read(ends[0], at, bytes);
        if (got <= 0) return false;
        at += got;
        bytes -= static_cast<std::size_t>(got);
      }
      return true;
    };
    results.push_back(c);
    ASSERT_TRUE(read_all(c.seed->data(), 32));
    ASSERT_TRUE(read_all(c.data.data(), 4 * c.data.size()));
    close(ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    ASSERT_EQ(status, 0);
    results.push_back(c);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(client.decrypt(results[i]), m);
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NE(*results[i].seed, *results[j].seed);
      // 200 equal errors by chance: below 2^-100.
      EXPECT_NE(client.noise(results[i], m), client.noise(results[j], m));
    }
  }
}

// What takes long tells how far it is, and stops when told to.
TEST(BinfheClient, EncryptionAndDecryptionCanBeStopped) {
  const Client client(insecure(small_literal()));
  const std::vector<std::uint32_t> messages(5000, 1);
  std::size_t calls = 0;
  const Progress goes_on = [&](std::size_t done, std::size_t total) {
    EXPECT_LT(done, total);
    EXPECT_EQ(total, messages.size());
    return ++calls > 0;
  };
  const Ciphertexts c = client.encrypt(messages, {}, allowed_failure, goes_on);
  EXPECT_GE(calls, 4u);
  EXPECT_EQ(client.decrypt(c, goes_on), messages);
  const Progress later = [](std::size_t done, std::size_t) { return done == 0; };
  EXPECT_THROW(client.encrypt(messages, {}, allowed_failure, later), InterruptedError);
  EXPECT_THROW(client.decrypt(c, later), InterruptedError);
  EXPECT_THROW(client.noise(c, messages, later), InterruptedError);
  EXPECT_THROW(client.evaluation_keys(1u << 30), ParameterError);
}

}  // namespace
}  // namespace whorl::binfhe
