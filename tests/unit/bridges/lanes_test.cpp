// LWE ciphertexts of FHEW/TFHE that come into lanes of CKKS.
#include "whorl/bridges/lanes.h"

#include <bit>
#include <cmath>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "bridges/packer.h"
#include "bridges/packing.h"
#include "lattice/lwe/evaluator.h"
#include "lattice/rlwe/secret.h"
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/plan.h"
#include "schemes/ckks/named_sets.h"
#include "support/counting_device.h"
#include "support/message.h"
#include "support/named_devices.h"
#include "support/test.h"
#include "whorl/binfhe/server.h"
#include "whorl/bridges/client.h"
#include "whorl/circuits/ckks/bootstrap.h"
#include "whorl/error.h"

namespace whorl::bridges {
namespace {

/// A set whose bootstraps are made for bits, in a small ring, which is not secure.
ckks::Parameters small_bits(unsigned bits, std::uint32_t N = 1024) {
  ckks::ParameterLiteral literal = ckks::for_bits({.bits = bits, .levels = 4});
  literal.N = N;
  return ckks::Parameters::create(literal, true);
}

ckks::EvaluationKeys keys_of(const ckks::Client& client, std::uint64_t lanes) {
  ckks::KeyRequest request;
  ckks::request_bootstrap(request, client.parameters(), lanes);
  return client.evaluation_keys(request);
}

/// A client of both schemes, and lanes that take LWE ciphertexts, on the tested device.
struct Party {
  Party(const ckks::Parameters& p, const binfhe::Parameters& of, std::uint64_t slots,
        const char* device = test::tested_device)
      : client(ckks::lane_client(p)),
        lwe(of),
        session({.device = device, .threads = 1}),
        server(keys_of(client, slots), session),
        lanes(server, ckks::encode_bootstrap(server, slots)),
        keys(lwe_input_keys(client, lwe)),
        input(lanes, keys) {}

  std::vector<std::uint8_t> decrypt(const ckks::LaneArray& a) const {
    const ckks::Ciphertexts host = server.download(lanes.finish(a));
    const auto raw = client.decrypt_raw(host);
    std::vector<std::uint8_t> bits = client.decrypt_bits(host);
    // What the array says of its errors is true.
    for (std::size_t i = 0; i < bits.size(); ++i)
      EXPECT_LE(std::abs(raw[i].real() - bits[i]), a.error() + 0x1p-12);
    return bits;
  }

  ckks::Client client;
  binfhe::Client lwe;
  Session session;
  ckks::Server server;
  ckks::Lanes lanes;
  LweInputKeys keys;
  LweInput input;
};

/// Message i in 0 … end - 1 of each vector, in any order.
std::vector<std::uint32_t> random_messages(std::size_t count, std::uint32_t end) {
  static std::mt19937_64 random(1);
  std::vector<std::uint32_t> out(count);
  for (auto& m : out) m = static_cast<std::uint32_t>(random() % end);
  return out;
}

void expect_messages(const Party& party, const std::vector<ckks::LaneArray>& found,
                     const std::vector<std::uint32_t>& messages) {
  std::vector<std::uint32_t> got(messages.size());
  for (std::size_t j = 0; j < found.size(); ++j) {
    const auto bits = party.decrypt(found[j]);
    ASSERT_EQ(bits.size(), messages.size());
    for (std::size_t i = 0; i < bits.size(); ++i) got[i] += std::uint32_t{bits[i]} << j;
  }
  EXPECT_EQ(got, messages);
}

/// The same ciphertexts as after a bootstrap with the worst errors: `deviations` of them, in both
/// directions.
binfhe::Ciphertexts with_errors(binfhe::Ciphertexts c, double deviations) {
  const double error = deviations * std::sqrt(binfhe::unit_of_noise(c.parameters));
  for (std::size_t i = 0; i < c.count; ++i) {
    std::uint32_t& b = c.data[(i + 1) * c.row() - 1];
    b += static_cast<std::uint32_t>(static_cast<std::int64_t>(i % 2 == 0 ? error : -error));
    b = static_cast<std::uint32_t>(b % c.parameters.q());
  }
  c.seed.reset();
  c.noise = 1;
  return c;
}

TEST(LweLanes, BitsComeInAloneAndTogether) {
  const binfhe::Parameters set = binfhe::Parameters::named("W128_P64");
  for (const unsigned bits : {1u, 2u, 5u})
    for (const std::uint64_t slots : {512u, 64u}) {
      const Party party(small_bits(bits), set, slots);
      // Bits for gates, and bits with so many sectors that more of them go together.
      for (const std::uint32_t p : {4u, 8u})
        for (const std::size_t vectors : {1u, 2u, 5u}) {
          SCOPED_TRACE(testing::Message() << bits << " bits, " << slots << " lanes, " << vectors
                                          << " vectors, p = " << p);
          const auto messages = random_messages(vectors * slots, 2);
          const binfhe::Ciphertexts c = party.lwe.encrypt(messages, {p, false});
          // Nothing is known of fresh messages; they share coefficients if they are said to be
          // bits.
          for (const std::optional<unsigned> said : {std::optional<unsigned>(), {1u}}) {
            const auto found = party.input.take_in(c, said);
            ASSERT_EQ(found.size(), 1u);
            EXPECT_EQ(found[0].info().count, vectors);
            expect_messages(party, found, messages);
          }
        }
    }
}

/// Messages that are no bits make their own lanes wrong, and no others.
TEST(LweLanes, MessagesThatAreNoBitsStayAlone) {
  const Party party(small_bits(5), binfhe::Parameters::named("W128_P64"), 512);
  std::vector<std::uint32_t> messages = random_messages(2 * 512, 2);
  for (std::size_t i = 0; i < 512; ++i) messages[i] = 2 + i % 2;
  const auto found = party.input.take_in(party.lwe.encrypt(messages));
  const std::uint32_t second = 1;
  const auto bits = party.decrypt(party.lanes.take(found[0], std::span(&second, 1)));
  for (std::size_t i = 0; i < 512; ++i) ASSERT_EQ(bits[i], messages[512 + i]);
}

TEST(LweLanes, MessagesOfSeveralBitsComeIn) {
  const Party party(small_bits(5), binfhe::Parameters::named("W128_P128"), 512);
  for (const binfhe::Encoding encoding :
       {binfhe::Encoding{2, false}, {2, true}, {4, false}, {8, true}, {16, false}, {32, false}}) {
    SCOPED_TRACE(testing::Message() << "p = " << encoding.p << ", " << encoding.padding);
    const auto messages = random_messages(3 * 512, encoding.p);
    const auto bits = static_cast<unsigned>(std::bit_width(encoding.p - 1));
    const auto found = party.input.take_in(party.lwe.encrypt(messages, encoding), bits);
    ASSERT_EQ(found.size(), bits);
    expect_messages(party, found, messages);
  }
}

/// Ciphertexts are rounded where q is large, and errors are larger where it is small; binary keys
/// and ternary ones.
TEST(LweLanes, AllModuliComeIn) {
  for (const char* const name : {"W128_P64_RTL_M2", "openfhe_1_5/STD128", "xiao/STD128"}) {
    SCOPED_TRACE(name);
    const Party party(small_bits(2), binfhe::Parameters::named(name, true), 64);
    const auto messages = random_messages(3 * 64, 2);
    expect_messages(party, party.input.take_in(party.lwe.encrypt(messages)), messages);
  }
}

/// What is far from its message still comes in by the step, and lanes clean it.
TEST(LweLanes, WorstErrorsOfBootstrapsComeIn) {
  const Party party(small_bits(5), binfhe::Parameters::named("W128_P64"), 512);
  const auto messages = random_messages(512, 2);
  const binfhe::Ciphertexts fresh = party.lwe.encrypt(messages), worst = with_errors(fresh, 11.7);
  const auto found = party.input.take_in(worst);
  EXPECT_GT(found[0].error(), 0.02);
  const auto raw = party.client.decrypt_raw(party.server.download(party.lanes.finish(found[0])));
  double most = 0;
  for (std::size_t i = 0; i < messages.size(); ++i)
    most = std::max(most, std::abs(raw[i].real() - messages[i]));
  EXPECT_LE(most, found[0].error());
  EXPECT_GT(most, found[0].error() / 4);
  const ckks::LaneArray both = party.lanes.bit_xor(found[0], party.input.take_in(fresh)[0]);
  for (const std::uint8_t bit : party.decrypt(both)) ASSERT_EQ(bit, 0);
}

/// Bits of a server of FHEW/TFHE go on in lanes.
TEST(LweLanes, ResultsOfGatesComeIn) {
  const Party party(small_bits(4), binfhe::Parameters::named("W128_P64"), 64);
  const binfhe::Server gates(party.lwe.evaluation_keys(1),
                             {.device = test::tested_device, .threads = 1});
  const auto a = random_messages(64, 2), b = random_messages(64, 2);
  const binfhe::Ciphertexts x = party.lwe.encrypt(a), y = party.lwe.encrypt(b),
                            z = gates.xor_(x, y);
  std::vector<std::uint32_t> expected;
  for (std::size_t i = 0; i < a.size(); ++i) expected.push_back(a[i] ^ b[i]);
  expect_messages(party, party.input.take_in(z), expected);
}

/// The words of what a client gets, of which there are 32 bits each.
std::vector<std::uint32_t> words_of(const Party& party, const std::vector<ckks::LaneArray>& found) {
  std::vector<std::uint32_t> out;
  for (const ckks::LaneArray& array : found) {
    const ckks::Ciphertexts host = party.server.download(party.lanes.finish(array));
    const auto words = host.data.as<std::uint32_t>();
    out.insert(out.end(), words.begin(), words.end());
  }
  return out;
}

/// Fresh ciphertexts are expanded on the device: all of a batch, some, and in another order. The
/// results are those of the words.
TEST(LweLanes, SeedsGiveWhatTheirWordsGive) {
  const Party party(small_bits(2), binfhe::Parameters::named("W128_P64"), 64);
  const binfhe::Ciphertexts all = party.lwe.encrypt(random_messages(5 * 64, 2));
  std::vector<std::uint32_t> backwards(all.count);
  std::iota(backwards.rbegin(), backwards.rend(), 0u);
  const std::span<const std::uint32_t> some = std::span(backwards).subspan(64, 128);
  for (const binfhe::Ciphertexts& c :
       {all, binfhe::take(all, backwards), binfhe::take(all, some)}) {
    ASSERT_TRUE(c.seed);
    binfhe::Ciphertexts words = c;
    words.seed.reset();
    words.numbers.clear();
    words.noise = binfhe::fresh_noise(c.parameters);
    EXPECT_EQ(words_of(party, party.input.take_in(c, 1)),
              words_of(party, party.input.take_in(words, 1)));
  }
  binfhe::Ciphertexts wrong = all;
  wrong.numbers = {1, 2};
  EXPECT_THROW(party.input.take_in(wrong), ShapeError);
  wrong = all;
  ++wrong.data[0];  // whose mask does not come from the seed
  EXPECT_THROW(party.input.take_in(wrong), MismatchError);
  EXPECT_THROW(party.input.take_in(wrong, {}, Masks::of_the_seed), MismatchError);
  // So it is of one in the middle, whose mask comes from another batch.
  binfhe::Ciphertexts replaced = all;
  const binfhe::Ciphertexts other = party.lwe.encrypt(random_messages(5 * 64, 2));
  std::ranges::copy(other[7], replaced.data.begin() + static_cast<std::ptrdiff_t>(7 * other.row()));
  EXPECT_THROW(party.input.take_in(replaced), MismatchError);
}

TEST(LweLanes, TakeCiphertextsUnderTheLweKey) {
  const Party party(small_bits(2), binfhe::Parameters::named("W128_P64"), 64);
  const binfhe::Ciphertexts c =
      party.lwe.encrypt(random_messages(64, 2), {}, binfhe::allowed_failure, binfhe::Under::ring);
  test::expect_message<KeyMismatchError>(
      [&] { party.input.take_in(c, 1); },
      {"a server of lanes takes ciphertexts under the LWE key", "under the ring key"});
}

/// More vectors than are refreshed at once, of which the last fill no ring ciphertext.
TEST(LweLanes, ManyVectorsComeInByPieces) {
  const Party party(small_bits(2), binfhe::Parameters::named("W128_P64"), 64);
  for (const std::size_t vectors : {16u, 19u, 37u}) {
    SCOPED_TRACE(vectors);
    const auto messages = random_messages(vectors * 64, 2);
    const auto found = party.input.take_in(party.lwe.encrypt(messages), 1);
    EXPECT_EQ(found[0].info().count, vectors);
    expect_messages(party, found, messages);
  }
}

/// Several devices share the vectors; if one fails while they come in, the others do its part.
TEST(LweLanes, SeveralDevicesTakeThemIn) {
  const test::NamedStrains devices(2);
  const Party party(small_bits(2), binfhe::Parameters::named("W128_P64"), 64, test::named_devices);
  const auto messages = random_messages(21 * 64, 2);
  const binfhe::Ciphertexts seeded = party.lwe.encrypt(messages);
  binfhe::Ciphertexts words = seeded;
  words.seed.reset();
  words.noise = binfhe::fresh_noise(words.parameters);
  for (const binfhe::Ciphertexts& c : {seeded, words})
    expect_messages(party, party.input.take_in(c, 1), messages);
  const binfhe::Server gates(party.lwe.evaluation_keys(1), party.session, {.least_share = 1});
  expect_messages(party, party.input.take_in(gates.upload(words), 1), messages);
  devices.strains[1]->calls_left = 2;
  expect_messages(party, party.input.take_in(seeded, 1), messages);
  EXPECT_EQ(party.session.failed_devices().size(), 1u);
}

const char* counting_device(const std::shared_ptr<test::Traffic>& traffic) {
  test::register_relay<test::CountingQueue>("counting", traffic);
  return "counting";
}

/// Arrays on the devices of the server do not leave them; others go through the host.
TEST(LweLanes, ArraysComeInWhereTheyAre) {
  const auto traffic = std::make_shared<test::Traffic>();
  const binfhe::Parameters set = binfhe::Parameters::named("W128_P64");
  const Party party(small_bits(4), set, 64, counting_device(traffic));
  const binfhe::EvaluationKeys keys = party.lwe.evaluation_keys(1);
  const binfhe::Server near(keys, party.session), far(keys, {.device = "cpu", .threads = 1});
  const auto messages = random_messages(3 * 64, 2);
  const binfhe::Ciphertexts fresh = party.lwe.encrypt(messages);
  const binfhe::Array a = near.upload(fresh);
  const auto expected = words_of(party, party.input.take_in(near.download(a)));
  const std::size_t in = traffic->in, out = traffic->out;
  const auto found = party.input.take_in(a);
  EXPECT_EQ(traffic->out, out);
  EXPECT_LT(traffic->in - in, a.bytes() / 16);
  EXPECT_EQ(words_of(party, found), expected);
  EXPECT_EQ(words_of(party, party.input.take_in(far.upload(fresh))), expected);
  // Results of gates, of which it is known that they are bits, and a part of them.
  const binfhe::Array both = near.and_(a, a);
  expect_messages(party, party.input.take_in(both), messages);
  std::vector<std::uint32_t> second(64);
  std::iota(second.begin(), second.end(), 64u);
  expect_messages(party, party.input.take_in(near.take(both, second)),
                  {messages.begin() + 64, messages.begin() + 128});
  // Messages without noise.
  expect_messages(party, party.input.take_in(near.trivial_array(messages)), messages);
  // What is refused of ciphertexts is refused of arrays.
  EXPECT_THROW(party.input.take_in(near.take(both, std::span(second).first(63))), ShapeError);
  EXPECT_THROW(party.input.take_in(a, 0), ParameterError);
  const binfhe::Client other(set);
  const binfhe::Server of_other(other.evaluation_keys(1), party.session);
  EXPECT_THROW(party.input.take_in(of_other.upload(other.encrypt(messages))), KeyMismatchError);
  auto closed = std::make_unique<binfhe::Server>(keys, SessionOptions{.device = "cpu"});
  const binfhe::Array left = closed->upload(fresh);
  closed.reset();
  EXPECT_THROW(party.input.take_in(left), DeviceError);
}

/// The coefficients are the phases of the LWE ciphertexts, and what differs is within what is
/// stated, but not far below.
TEST(LweLanes, PackingAddsTheStatedError) {
  for (const char* const name : {"W128_P64", "W128_P64_RTL_M2"}) {
    SCOPED_TRACE(name);
    const binfhe::Parameters set = binfhe::Parameters::named(name);
    const Party party(small_bits(2), set, 512);
    const ckks::Parameters& p = party.client.parameters();
    const std::uint64_t q = set.q();
    const binfhe::Ciphertexts c = party.lwe.encrypt(random_messages(1024, 2));
    // 1. Exact phases as parts of q; lane i is at X^bitrev(i).
    std::vector<double> exact(c.count);
    const auto secret = party.lwe.secret_key().lwe();
    for (std::size_t i = 0; i < c.count; ++i) {
      std::int64_t phase = c[i][set.n()];
      for (std::size_t j = 0; j < set.n(); ++j) phase -= std::int64_t{c[i][j]} * secret[j];
      const std::size_t place =
          i / 512 * 512 + ring::bit_reverse(static_cast<std::uint32_t>(i % 512), 9);
      exact[place] = static_cast<double>(test::reduce(phase, q)) / static_cast<double>(q);
    }
    // 2. The ring ciphertext's phase as parts of its modulus.
    const Packer packer(party.server, party.keys, {});
    const auto& evaluator = *ckks::Access::of(party.server).evaluator;
    const lattice::lwe::Evaluator rows(ckks::Access::of(party.server).fleet, nullptr, 4 * c.row());
    const lattice::rlwe::Array packed =
        packer.packed({0, 2, 512}, [&](std::span<const run::Piece> pieces) {
          return rows.placed(pieces, [&](const lattice::lwe::Stages& stages, std::size_t) {
            return stages.upload(binfhe::form_of(set), c.count, c.data.data());
          });
        });
    const lattice::rlwe::Secret key(any_plan_of(p), party.client.secret_key().coefficients(),
                                    p.literal().sigma);
    const double modulus = std::exp2(p.log2_Q(0));
    std::vector<double> errors;
    const auto residues =
        key.phases_modulo({packer.packing().lowest, 2, 1, evaluator.download(packed)},
                          std::uint64_t{1} << 40, 1, [](std::size_t, std::span<std::uint64_t>) {});
    for (std::size_t i = 0; i < 1024; ++i) {
      const std::uint64_t x = residues[i];
      const double signed_phase =
          x < std::uint64_t{1} << 39 ? static_cast<double>(x) : static_cast<double>(x) - 0x1p40;
      const double off = signed_phase / modulus - exact[i];
      errors.push_back(off - std::round(off));
    }
    double worst = 0, squares = 0;
    for (const double e : errors) {
      worst = std::max(worst, std::abs(e));
      squares += e * e;
    }
    const double stated = packing_error(p, set, 1), found = std::sqrt(squares / 1024);
    EXPECT_LT(found, stated);
    EXPECT_GT(found, stated / 4);
    EXPECT_LT(worst, packing_error(p, set, 11.8));
  }
}

TEST(LweLanes, WrongInputIsRefused) {
  const binfhe::Parameters set = binfhe::Parameters::named("W128_P64");
  const Party party(small_bits(2), set, 64);
  const LweInput& input = party.input;
  const std::vector<std::uint32_t> bits(64, 1);
  const binfhe::Ciphertexts good = party.lwe.encrypt(bits);
  // 1. Others' ciphertexts.
  EXPECT_THROW(input.take_in(binfhe::Client(set).encrypt(bits)), KeyMismatchError);
  EXPECT_THROW(input.take_in(binfhe::Client(binfhe::Parameters::named("W128_P128")).encrypt(bits)),
               ParameterMismatchError);
  // 2. Parts of a vector, and none.
  EXPECT_THROW(input.take_in(party.lwe.encrypt(std::vector<std::uint32_t>(65, 1))), ShapeError);
  EXPECT_THROW(input.take_in(party.lwe.encrypt(std::vector<std::uint32_t>(63, 1))), ShapeError);
  EXPECT_THROW(input.take_in(party.lwe.encrypt(std::vector<std::uint32_t>{})), ShapeError);
  // 3. Encodings without room, or that are no power of two; too many bits.
  EXPECT_THROW(input.take_in(party.lwe.encrypt(bits, {6, false})), EncodingError);
  EXPECT_THROW(input.take_in(party.lwe.encrypt(bits, {2, false}), 2), EncodingError);
  EXPECT_THROW(input.take_in(party.lwe.encrypt(bits, {8, false}), 3), ParameterError);
  EXPECT_THROW(input.take_in(good, 0), ParameterError);
  // 4. Messages that are known to be larger, noise, words.
  binfhe::Ciphertexts c = good;
  c.largest = c.as_bits = 3;
  EXPECT_THROW(input.take_in(c), EncodingError);
  EXPECT_EQ(input.take_in(c, 2).size(), 2u);
  c = good;
  c.seed.reset();
  c.noise = 1;  // as bootstrapped ones, which want a higher step
  EXPECT_THROW(input.take_in(c), NoiseError);
  c.noise = 1e-9;
  EXPECT_THROW(input.take_in(c), RangeError);
  c = good;
  c.data.pop_back();
  EXPECT_THROW(input.take_in(c), ShapeError);
}

TEST(LweLanes, WrongKeysAreRefused) {
  const binfhe::Parameters set = binfhe::Parameters::named("W128_P64");
  const Party party(small_bits(2), set, 64);
  const ckks::Client other = ckks::lane_client(party.client.parameters());
  EXPECT_THROW(LweInput(party.lanes, lwe_input_keys(other, party.lwe)), KeyMismatchError);
  const ckks::Client more = ckks::lane_client(small_bits(3));
  EXPECT_THROW(LweInput(party.lanes, lwe_input_keys(more, party.lwe)), ParameterMismatchError);
  LweInputKeys keys = party.keys;
  keys.lwe_parameters = binfhe::Parameters::named("W128_P128");  // of another n
  EXPECT_THROW(LweInput(party.lanes, keys), ShapeError);
  keys = party.keys;
  keys.switch_b = keys.b;
  EXPECT_THROW(LweInput(party.lanes, keys), ShapeError);
  keys = party.keys;
  std::vector<std::uint32_t> words(keys.b.size(), ~0u);
  keys.b = WordArray(std::move(words));
  EXPECT_THROW(LweInput(party.lanes, keys), RangeError);
  EXPECT_THROW(LweInput(party.lanes, party.keys, [](std::size_t, std::size_t) { return false; }),
               InterruptedError);
  // Bootstraps of real numbers do not take them.
  const auto real = ckks::Parameters::choose({.depth = 3, .scale_bits = 40, .bootstrap = true});
  EXPECT_THROW(lwe_input_key_bytes(real, set), ParameterError);
}

TEST(LweLanes, KeysHaveTheSizeThatIsTold) {
  const binfhe::Parameters set = binfhe::Parameters::named("W128_P64");
  const Party party(small_bits(2), set, 64);
  EXPECT_EQ(lwe_input_key_bytes(party.client.parameters(), set), party.keys.bytes());
  EXPECT_GT(party.input.bytes(), 0u);
  // In a secure ring, a subring of 2^12 coefficients is secure.
  const ckks::Parameters large =
      ckks::Parameters::create(ckks::for_bits({.bits = 5, .levels = 7, .scale_bits = 36}), true);
  const Packing packing(large);
  EXPECT_EQ(packing.dimension, 4096u);
  EXPECT_GT(packing.security_bits, 128);
  EXPECT_LT(lwe_input_key_bytes(large, set), 32u << 20);
}

/// The weakest of three secrets counts: a ring that is small, an LWE key that is, or the subring.
TEST(LweLanes, KeysSayHowSecureTheyAre) {
  const binfhe::Parameters set = binfhe::Parameters::named("W128_P64"),
                           toy = binfhe::Parameters::named("openfhe_1_5/TOY", true);
  const Party party(small_bits(2), set, 64);
  EXPECT_EQ(party.keys.security_bits(), party.client.parameters().security_bits());
  EXPECT_EQ(lwe_output_keys(party.client, party.lwe).security_bits(), party.keys.security_bits());
  EXPECT_LT(party.keys.security_bits(), 100);
  const ckks::Parameters large =
      ckks::Parameters::create(ckks::for_bits({.bits = 5, .levels = 7, .scale_bits = 36}), true);
  LweInputKeys keys{large, {}, toy, {}, {}, {}, {}, {}};
  EXPECT_EQ(keys.security_bits(), toy.security().bits());
  keys.lwe_parameters = set;
  EXPECT_GE(keys.security_bits(), std::min(128.0, large.security_bits()));
  EXPECT_LE(keys.security_bits(), set.security().bits());
  EXPECT_LE(keys.security_bits(), Packing(large).security_bits);
}

}  // namespace
}  // namespace whorl::bridges
