// Ciphertexts under the ring key: what clients and servers do with them, and what the account says.
#include "math/random.h"
#include "math/sampling.h"
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/derived.h"
#include "support/binfhe_sets.h"
#include "support/counting_device.h"
#include "support/message.h"
#include "support/named_devices.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

using Messages = std::vector<std::uint32_t>;
constexpr Under ring = Under::ring;

/// b - <a, s> modulo Q in 128 bits, word by word.
std::vector<std::uint64_t> phases(const Client& client, const Ciphertexts& c) {
  const auto Q = static_cast<__int128>(c.parameters.Q());
  const std::size_t N = c.parameters.N();
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < c.count; ++i) {
    const auto word = [&](std::size_t j) -> __int128 {
      const std::size_t at = i * (N + 1) + j;
      return c.is_wide() ? c.wide[at] : c.data[at];
    };
    __int128 sum = word(N);
    for (std::size_t j = 0; j < N; ++j) sum -= word(j) * client.secret_key().ring()[j];
    out.push_back(static_cast<std::uint64_t>((sum % Q + Q) % Q));
  }
  return out;
}

void expect_same(const Ciphertexts& a, const Ciphertexts& b) {
  EXPECT_EQ(a.under, b.under);
  EXPECT_EQ(a.encoding, b.encoding);
  EXPECT_TRUE(a.data == b.data && a.wide == b.wide);
}

TEST(BinfheRingKey, EncryptionsDecryptAndHaveTheErrorsOfTheRing) {
  test::Random random;
  for (const Parameters& p : test::varied_sets()) {
    SCOPED_TRACE(p.name());
    const Client& client = test::pair_of(p).client;
    const math::GaussianSampler sampler(p.literal().sigma_ring);
    for (const Encoding encoding : {Encoding{2, false}, {3, false}, {4, true}, {7, true}, {16}}) {
      const Messages m = random.numbers(1 + random.below(20), encoding.p);
      const Ciphertexts c = client.encrypt(m, encoding, allowed_failure, ring);
      EXPECT_EQ(c.under, ring);
      EXPECT_EQ(c.is_wide() ? c.wide.size() : c.data.size(), m.size() * (p.N() + 1));
      EXPECT_EQ(client.decrypt(c), m);
      const auto errors = client.noise(c, m);
      const auto expected = phases(client, c);
      for (std::size_t i = 0; i < m.size(); ++i) {
        EXPECT_LE(std::abs(errors[i]), sampler.bound());
        const auto Q = static_cast<__int128>(p.Q());
        const __int128 S = encoding.sectors(), at = (2 * m[i] * Q + S) / (2 * S);
        EXPECT_EQ(static_cast<std::uint64_t>((at + errors[i] + Q) % Q), expected[i]);
      }
      // The mask is the seed's.
      ASSERT_TRUE(c.seed);
      with_words(c, [&]<class Word>(const std::vector<Word>& words) {
        std::vector<Word> mask(p.N());
        for (std::size_t i = 0; i < c.count; ++i) {
          math::expand_uniform<Word>(*c.seed, i, p.Q(), mask);
          ASSERT_TRUE(std::equal(mask.begin(), mask.end(), words.data() + i * c.row()));
        }
      });
      EXPECT_EQ(client.decrypt(take(c, Messages{0, 0})), (Messages{m[0], m[0]}));
    }
  }
}

// Whole batches, and parts of them, of which the numbers travel, too.
TEST(BinfheRingKey, OfFreshOnesTheBodiesComeIn) {
  using Counting = backend::RelayDevice<test::CountingQueue, std::shared_ptr<test::Traffic>>;
  const auto traffic = std::make_shared<test::Traffic>();
  test::name_devices(
      {std::make_shared<Counting>("counting:0", backend::make_device("cpu", {2, {}}), traffic)});
  for (const Parameters& p : test::varied_sets()) {
    SCOPED_TRACE(p.name());
    const auto& pair = test::pair_of(p);
    const Server server(pair.keys, {test::named_devices});
    const Ciphertexts all =
        pair.client.encrypt(Messages{0, 1, 1, 0, 1}, {2, false}, allowed_failure, ring);
    const std::size_t word = all.is_wide() ? 8 : 4;
    traffic->in = 0;
    const Array whole = server.upload(all);
    EXPECT_EQ(traffic->in, all.count * word);
    expect_same(server.download(whole), all);
    const Ciphertexts some = take(all, Messages{4, 1, 4});
    traffic->in = 0;
    const Array part = server.upload(some);
    EXPECT_EQ(traffic->in, some.count * (word + 4));
    expect_same(server.download(part), some);
    Ciphertexts changed = all;
    with_words(changed, [](auto& words) { ++words[0]; });
    EXPECT_THROW(server.upload(changed), MismatchError);
  }
}

// All phases next to the borders of sectors, and the ends of Z_Q, against a division.
TEST(BinfheRingKey, SecretCodersRoundAsDivisionsDo) {
  test::Random random;
  for (const std::uint64_t modulus :
       {std::uint64_t{512}, std::uint64_t{1} << 32, std::uint64_t{134215681},
        std::uint64_t{18014398509404161}, (std::uint64_t{1} << 60) - 93})
    for (const Encoding encoding : {Encoding{2}, {3}, {64, true}, {128}, {101}}) {
      const unsigned __int128 S = encoding.sectors();
      const SecretEncoder encode_message(encoding, modulus);
      const SecretDecoder decode(encoding, modulus);
      for (std::uint64_t m = 0; m < encoding.sectors(); ++m) {
        EXPECT_EQ(encode_message(m), encode(m, encoding, modulus));
        const auto border = static_cast<std::uint64_t>((2 * m + 1) * modulus / (2 * S));
        for (std::uint64_t x : {border - 1, border, border + 1, random.below(modulus)}) {
          x %= modulus;
          const unsigned __int128 rounded =
              (2 * x * S + modulus) / (2 * static_cast<unsigned __int128>(modulus));
          ASSERT_EQ(decode(x), static_cast<std::uint64_t>(rounded % S)) << modulus << " " << x;
        }
      }
    }
}

class BinfheRing : public testing::TestWithParam<std::size_t> {
 protected:
  Messages bits(std::size_t count) { return random_.numbers(count, 2); }
  test::Random random_;
  const Parameters parameters_ = test::varied_sets()[GetParam()];
  const test::Pair& pair_ = test::pair_of(parameters_);
  const Client& client_ = pair_.client;
  const Server server_{pair_.keys, {.device = test::tested_device, .threads = 2}, test::failing()};
};

TEST_P(BinfheRing, ResultsStayThereAndAreSwitchedToThoseUnderTheLweKey) {
  const Messages m = bits(5), other = bits(5);
  const Ciphertexts x = client_.encrypt(m, {4}, 1), y = client_.encrypt(other, {4}, 1);
  const Array a = server_.upload(x), b = server_.upload(y);
  const Array* two[] = {&a, &b};
  const Ciphertexts* host_two[] = {&x, &y};
  const std::vector<Lut> luts = {Lut::create(parameters_, {0, 3, 2, 1}, {}, {}),
                                 Lut::create(parameters_, {3, 1, 1, 2}, {}, {})};
  const auto compare = [&](const Array& at_ring, const Ciphertexts& host, const Ciphertexts& lwe,
                           const Messages& want) {
    EXPECT_EQ(at_ring.under(), ring);
    EXPECT_EQ(at_ring.noise(), host.noise);
    const Ciphertexts down = server_.download(at_ring);
    expect_same(down, host);
    EXPECT_EQ(client_.decrypt(down), want);
    EXPECT_EQ(client_.decrypt(lwe), want);
    // The key switch is what they had not gone through.
    expect_same(server_.download(server_.to_lwe_key(at_ring)), lwe);
    expect_same(server_.to_lwe_key(host), lwe);
    EXPECT_DOUBLE_EQ(server_.to_lwe_key(at_ring).noise(), lwe.noise);
  };
  Messages nand(5), looked(5), mux(5);
  for (std::size_t i = 0; i < 5; ++i) {
    nand[i] = 1 - m[i] * other[i];
    looked[i] = luts[0].values()[m[i]];
    mux[i] = m[i] != 0 ? other[i] : m[i];
  }
  compare(server_.gate(Gate::nand, two, {}, ring), server_.gate(Gate::nand, host_two, {}, ring),
          server_.gate(Gate::nand, host_two), nand);
  compare(server_.bootstrap(a, {}, ring), server_.bootstrap(x, {}, ring), server_.bootstrap(x), m);
  for (std::size_t k = 0; k < 2; ++k) {
    Messages want(5);
    for (std::size_t i = 0; i < 5; ++i) want[i] = luts[k].values()[m[i]];
    compare(server_.apply(std::span(&luts[k], 1), {}, a, {}, ring),
            server_.apply(std::span(&luts[k], 1), {}, x, {}, ring),
            server_.apply(std::span(&luts[k], 1), {}, x), want);
  }
  const Array chosen = server_.mux(a, b, a, ring);
  EXPECT_EQ(chosen.noise(), 2);
  EXPECT_EQ(client_.decrypt(server_.download(chosen)), mux);
  expect_same(server_.download(server_.to_lwe_key(chosen)), server_.mux(x, y, x));
  // What is under the LWE key already is returned as it is.
  expect_same(server_.to_lwe_key(x), x);
}

TEST_P(BinfheRing, InputsAreSwitchedBeforeTheyAreRotated) {
  const Messages m = bits(6), other = bits(6);
  const Ciphertexts x = client_.encrypt(m, {4}, 1, ring), y = client_.encrypt(other, {4}, 1, ring);
  const Array a = server_.upload(x), b = server_.upload(y);
  const Array* two[] = {&a, &b};
  const Ciphertexts* host_two[] = {&x, &y};
  const std::int32_t add[] = {1, 1};
  Messages nand(6), both(6), mux(6);
  for (std::size_t i = 0; i < 6; ++i) {
    nand[i] = 1 - m[i] * other[i];
    both[i] = m[i] ^ other[i];
    mux[i] = m[i] != 0 ? other[i] : 1;
  }
  for (const Under out : {Under::lwe, ring}) {
    const Ciphertexts host = server_.gate(Gate::nand, host_two, {}, out);
    expect_same(server_.download(server_.gate(Gate::nand, two, {}, out)), host);
    EXPECT_EQ(client_.decrypt(host), nand);
    const Array sum = server_.linear(add, two);
    EXPECT_EQ(sum.under(), ring);
    const Lut table = Lut::create(parameters_, {0, 1, 0, 3}, {}, {});
    EXPECT_EQ(
        client_.decrypt(server_.download(server_.apply(std::span(&table, 1), {}, sum, {}, out))),
        both);
    // As if it had been switched by the caller.
    expect_same(server_.download(server_.apply(std::span(&table, 1), {}, sum, {}, out)),
                server_.download(
                    server_.apply(std::span(&table, 1), {}, server_.to_lwe_key(sum), {}, out)));
    const Array one = server_.trivial_array({1}, {4}, ring);
    EXPECT_EQ(client_.decrypt(server_.download(server_.mux(a, b, one, out))), mux);
    EXPECT_EQ(client_.decrypt(server_.bootstrap(x, {}, out)), m);
  }
  Messages product(6);
  for (std::size_t i = 0; i < 6; ++i) product[i] = m[i] * other[i];
  EXPECT_EQ((a & b).under(), Under::lwe);
  EXPECT_EQ(client_.decrypt(server_.download(a & b)), product);
}

TEST_P(BinfheRing, SumsAndCopiesStayUnderIt) {
  const Messages m = random_.numbers(4, 4), other = random_.numbers(4, 4);
  const Ciphertexts x = client_.encrypt(m, {16}, 1, ring),
                    y = client_.encrypt(other, {16}, 1, ring);
  const Array a = server_.upload(x), b = server_.upload(y);
  const std::int32_t weights[] = {3, -2};
  const Array* two[] = {&a, &b};
  const Ciphertexts* host_two[] = {&x, &y};
  const Ciphertexts sum = server_.download(server_.linear(weights, two, 5));
  expect_same(sum, server_.linear(weights, host_two, 5));
  EXPECT_EQ(sum.under, ring);
  const __int128 Q = parameters_.Q();
  with_words(sum, [&]<class Word>(const std::vector<Word>& words) {
    const auto &of_x = words_of<Word>(x), &of_y = words_of<Word>(y);
    for (std::size_t k = 0; k < words.size(); ++k) {
      __int128 want = __int128{3} * of_x[k] - __int128{2} * of_y[k];
      if ((k + 1) % sum.row() == 0) want += encode(5, {16}, parameters_.Q());
      ASSERT_EQ(words[k], static_cast<Word>((want % Q + Q) % Q));
    }
  });
  Messages want(4);
  for (std::size_t i = 0; i < 4; ++i) want[i] = (5 + 3 * m[i] + 16 * 2 - 2 * other[i]) % 16;
  EXPECT_EQ(client_.decrypt(sum), want);
  const Array parts[] = {a, b};
  EXPECT_EQ(
      client_.decrypt(server_.download(server_.take(server_.concatenate(parts), Messages{7, 0}))),
      (Messages{other[3], m[0]}));
  const Ciphertexts known = server_.trivial({2, 3}, {16}, ring);
  EXPECT_EQ(client_.decrypt(known), (Messages{2, 3}));
  EXPECT_EQ(known.noise, 0);
  expect_same(server_.download(server_.trivial_array({2, 3}, {16}, ring)), known);
  const Ciphertexts* joined[] = {&x, &known};
  EXPECT_EQ(client_.decrypt(concatenate(joined)), (Messages{m[0], m[1], m[2], m[3], 2, 3}));
  // Gates with known bits, which take no bootstrap.
  const Messages of_bits = bits(4);
  const Array z = server_.upload(client_.encrypt(of_bits, {4}, 1, ring));
  EXPECT_EQ(server_.gate(Gate::xor_, z, {1, 0, 1, 0}).under(), ring);
  EXPECT_EQ(client_.decrypt(server_.download(server_.gate(Gate::xor_, z, {1, 0, 1, 0}))),
            (Messages{1 - of_bits[0], of_bits[1], 1 - of_bits[2], of_bits[3]}));
  EXPECT_EQ(client_.decrypt(server_.download(server_.gate(Gate::or_, z, {1}, Encoding{8}))),
            (Messages{1, 1, 1, 1}));
}

INSTANTIATE_TEST_SUITE_P(Sets, BinfheRing,
                         testing::Range(std::size_t{0}, test::varied_sets().size()));

TEST(BinfheRingKey, KindsAreNotMixed) {
  const Parameters p = test::insecure(test::small_literal());
  const test::Pair& pair = test::pair_of(p);
  const Server server(pair.keys, {"cpu", 1}, test::failing());
  const Ciphertexts x = pair.client.encrypt({0, 1}), y = pair.client.encrypt({0, 1}, {}, 1, ring);
  const Array a = server.upload(x), b = server.upload(y);
  const auto refused = [](const auto& call) {
    test::expect_message<KeyMismatchError>(
        call, {"under the ring key", "under the LWE key", "to_lwe_key"});
  };
  const std::int32_t add[] = {1, 1};
  const Array* two[] = {&a, &b};
  const Ciphertexts* host_two[] = {&x, &y};
  const Array arrays[] = {a, b};
  refused([&] { server.linear(add, two); });
  refused([&] { server.linear(add, host_two); });
  refused([&] { server.gate(Gate::nand, two); });
  refused([&] { server.mux(b, a, a); });
  refused([&] { server.concatenate(arrays); });
  refused([&] { concatenate(host_two); });
  // Words that lie in the other vector, or are too few.
  Ciphertexts wrong = y;
  wrong.wide = {1};
  test::expect_message<ShapeError>([&] { server.upload(wrong); }, {"wide has 1 words"});
  wrong = y;
  wrong.data.pop_back();
  EXPECT_THROW(pair.client.decrypt(wrong), ShapeError);
  wrong = x;
  wrong.under = ring;
  EXPECT_THROW(server.upload(wrong), ShapeError);
}

// Formulas of docs/noise.md.
TEST(BinfheRingKey, NoiseIsThatOfRotationsUntilTheKeyIsSwitched) {
  const Parameters p = Parameters::named("W128_P128");
  const Account account(p, Transform::fft, allowed_failure);
  const NoiseEstimate of = p.noise(Transform::fft);
  const double to_q = static_cast<double>(p.q()) / static_cast<double>(p.Q());
  EXPECT_EQ(unit_of_noise(p, ring), of.blind_rotation);
  EXPECT_DOUBLE_EQ(fresh_noise(p, ring),
                   p.literal().sigma_ring * p.literal().sigma_ring / of.blind_rotation);
  EXPECT_EQ(account.switched(1), 1);
  const double ks = of.refreshed - to_q * to_q * of.blind_rotation;
  for (const double noise : {0.0, 0.5, 30.0, 1000.0})
    EXPECT_NEAR(account.switched(noise) * of.refreshed,
                to_q * to_q * of.blind_rotation * noise + ks, 1e-9 * of.refreshed * (1 + noise));
  EXPECT_NEAR(account.constant(ring), of.rotation_constant / of.blind_rotation, 1e-12);
  EXPECT_LT(account.constant(ring), 0.001);
  EXPECT_EQ(account.of_mux(ring), 2);
}

class BinfheRingShares : public testing::Test {
 protected:
  Array made(const Messages& m) const {
    return server_.bootstrap(server_.upload(pair_.client.encrypt(m, {8}, 1)), {}, ring);
  }
  Array sum(std::vector<std::int32_t> weights, std::vector<Array> of) const {
    std::vector<const Array*> inputs;
    for (const Array& each : of) inputs.push_back(&each);
    return server_.linear(weights, inputs, 0, true);
  }
  const Parameters p_ = test::insecure(test::small_literal());
  const test::Pair& pair_ = test::pair_of(p_);
  const Server server_{pair_.keys, {"cpu", 1}, test::failing()};
  const Account account_{p_, server_.transform(), 1};
  const double c_ = account_.constant(ring), r_ = account_.part_of_rotation();
  const double half_ = 0.5 / std::sqrt(unit_of_noise(p_, ring));
  /// With the rounding of messages to units of Q, half a unit each.
  double rounded(double variance, double weights) const {
    return std::pow(std::sqrt(variance) + weights * half_, 2);
  }
};

TEST_F(BinfheRingShares, SumsAndSwitchesKeepWhatIsShared) {
  const Array x = made({0, 1}), y = made({1, 1});
  EXPECT_EQ(x.noise(), 1);
  EXPECT_DOUBLE_EQ(sum({1, 1}, {x, y}).noise(), rounded(2 + 2 * c_, 2));
  EXPECT_DOUBLE_EQ(sum({2, -3}, {x, y}).noise(), rounded(13 + 12 * c_, 5));
  EXPECT_DOUBLE_EQ(sum({1, 1}, {x, x}).noise(), rounded(4, 2));
  // No less than files may state.
  EXPECT_EQ(sum({1, -1}, {x, x}).noise(), least_noise(p_, ring));
  // One key switch behind the sum; rotations' errors only are multiplied.
  const Array late = server_.to_lwe_key(sum({3, 4}, {x, y}));
  EXPECT_DOUBLE_EQ(late.noise(), r_ * rounded(25 + 24 * c_, 7) + (1 - r_));
  const Array early = sum({3, 4}, {server_.to_lwe_key(x), server_.to_lwe_key(y)});
  EXPECT_GT(early.noise(), 25);
  EXPECT_LT(late.noise(), early.noise());
  // Both have the rotation's errors of x, so that at least these add up.
  const Array of_x = server_.to_lwe_key(x), of_both = server_.to_lwe_key(sum({1, 1}, {x, y}));
  EXPECT_GE(sum({1, 1}, {of_x, of_both}).noise(), r_ * 5 + 2 * (1 - r_));
  EXPECT_LE(sum({1, 1}, {of_x, of_both}).noise(), std::pow(1 + std::sqrt(of_both.noise()), 2));
  // The same ciphertext that is switched twice has the same errors twice.
  EXPECT_GE(sum({1, 1}, {of_x, server_.to_lwe_key(x)}).noise(), 4 * (1 - 1e-12));
  // Of encryptions the key switch has nearly all errors, and files state no less than they allow.
  const Array fresh =
      server_.to_lwe_key(server_.upload(pair_.client.encrypt({0, 1}, {8}, 1, ring)));
  EXPECT_NEAR(fresh.noise(), std::max(1 - r_, least_noise(p_)), 1e-6);
  EXPECT_NO_THROW(check_noise(server_.download(fresh)));
  EXPECT_NO_THROW(
      check_noise(server_.download(server_.to_lwe_key(server_.trivial_array({0, 1}, {8}, ring)))));
  // A file does not say what a sum has in common with others.
  const Ciphertexts host = server_.download(of_both);
  EXPECT_TRUE(host.sum);
  EXPECT_FALSE(server_.download(x).sum);
  EXPECT_EQ(server_.download(x).noise, 1);
}

// A sector is no whole number of units of Q, so that messages are rounded: by half a unit each.
TEST_F(BinfheRingShares, RoundedMessagesAddUp) {
  const double f = fresh_noise(p_, ring);
  const Array x = server_.upload(pair_.client.encrypt({1}, {8}, 1, ring));
  EXPECT_DOUBLE_EQ(x.noise(), f);
  EXPECT_DOUBLE_EQ(sum({1000}, {x}).noise(), rounded(1e6 * f, 1000));
  const Array known = server_.trivial_array({1}, {8}, ring);
  EXPECT_EQ(known.noise(), 0);
  EXPECT_NEAR(sum({1000}, {known}).noise(), rounded(0, 1000), 1e-9);
  // Q is 134215681 = 1 modulo 8: 2^26 sectors of rounding are 2^23 units, as many as half a sector.
  const Server strict(pair_.keys, {"cpu", 1});
  const Array there = strict.trivial_array({1}, {8}, ring);
  const std::int32_t weight[] = {1 << 26}, small[] = {1 << 10};
  const Array* inputs[] = {&there};
  EXPECT_THROW(strict.linear(weight, inputs, 0, true), NoiseError);
  EXPECT_EQ(pair_.client.decrypt(strict.download(strict.linear(small, inputs, 0, true))),
            (Messages{0}));
}

}  // namespace
}  // namespace whorl::binfhe
