// Servers of different schemes and of different keys on one session: keys take turns, arrays wait
// in the host's memory, and the bits are those that each server gives alone.
#include "whorl/session.h"
#include "backend/contract/device.h"
#include "support/bgv_sets.h"
#include "support/binfhe_sets.h"
#include "support/ckks_sets.h"
#include "support/limited_device.h"
#include "support/named_devices.h"
#include "support/test.h"
#include "whorl/ckks/client.h"
#include "whorl/ckks/server.h"

namespace whorl {
namespace {

/// One tenant of BGV: a client of its own, and what its server's circuit is due to give.
struct BgvTenant {
  explicit BgvTenant(test::Random& random)
      : clear(test::Clear::random(parameters, bgv::Packing::slots, 2, random)),
        x(client.encrypt(clear.as_signed())) {}

  /// With every key there is.
  static bgv::Array circuit(const bgv::Server& server, const bgv::Array& a) {
    return server.swap_rows(server.rotate(server.rotate(server.multiply(a, a), 1), 2));
  }
  bgv::Ciphertexts circuit(const bgv::Server& server) const {
    return server.download(circuit(server, server.upload(x)));
  }
  void expect_right(const bgv::Server& server) const {
    EXPECT_EQ(client.decrypt(circuit(server)), (clear * clear).rotated(3).swapped().values);
  }

  bgv::Parameters parameters = test::bgv_insecure({1024, 65537, 30, 6, 2});
  bgv::Client client{parameters};
  bgv::EvaluationKeys keys = client.evaluation_keys({.rotations = {1, 2}, .swap_rows = true}, 2);
  test::Clear clear;
  bgv::Ciphertexts x;
};

std::vector<std::uint32_t> words(const bgv::Ciphertexts& c) {
  const auto all = c.data.as<std::uint32_t>();
  return {all.begin(), all.end()};
}

/// With bits that do not depend on the batch.
constexpr binfhe::ServerOptions exact{.transform = binfhe::Transform::ntt};

TEST(Session, SaysWhatItHasOpened) {
  const Session session({.device = "cpu", .threads = 3, .key_bytes = 1000});
  EXPECT_EQ(session.threads(), 3u);
  EXPECT_EQ(session.key_bytes(), 1000u);
  EXPECT_EQ(session.device().rfind("cpu (", 0), 0u);
  EXPECT_EQ(session.devices(), std::vector<std::string>{session.device()});
  EXPECT_TRUE(session.failed_devices().empty());
  EXPECT_EQ(Session({.device = "cpu"}).key_bytes(), 0u);
  EXPECT_THROW(Session({.device = "abacus"}), DeviceError);
  static_assert(!std::is_convertible_v<SessionOptions, Session>);
  static_assert(!std::is_convertible_v<const bgv::EvaluationKeys&, bgv::Server>);
  static_assert(!std::is_convertible_v<const binfhe::EvaluationKeys&, binfhe::Server>);
  // Empty braces are options of a session, and no session.
  static_assert(requires(const bgv::EvaluationKeys& keys) { bgv::Server(keys, {}); });
  static_assert(requires(const ckks::EvaluationKeys& keys) { ckks::Server(keys, {}); });
  static_assert(requires(const binfhe::EvaluationKeys& keys) { binfhe::Server(keys, {}, exact); });
}

TEST(Session, KeysTakeTurnsAndArraysSurvive) {
  test::Random random;
  const BgvTenant one(random), other(random);
  const test::Pair& gates = test::pair_of(test::insecure(test::small_literal()));
  const std::vector<std::uint32_t> bits = {0, 1, 1, 0};
  const binfhe::Ciphertexts y = gates.client.encrypt(bits);

  // What each gives alone.
  const SessionOptions alone{.device = test::tested_device, .threads = 1};
  const bgv::Server one_alone(one.keys, alone), other_alone(other.keys, alone);
  const binfhe::Server gates_alone(gates.keys, alone, exact);
  const auto of_one = words(one.circuit(one_alone)), of_other = words(other.circuit(other_alone));
  const auto of_gates = gates_alone.download(gates_alone.bootstrap(gates_alone.upload(y))).data;
  const std::size_t bgv_bytes = one_alone.key_bytes(), gate_bytes = gates_alone.key_bytes();
  // More than the larger: room is made for keys about as large as they are.
  const std::size_t room = std::max(bgv_bytes, gate_bytes) * 8 / 5;
  ASSERT_GT(2 * bgv_bytes, room);
  ASSERT_GT(bgv_bytes + gate_bytes, room);

  std::optional<Session> session(
      std::in_place,
      SessionOptions{.device = test::tested_device, .threads = 2, .key_bytes = room});
  const bgv::Server first(one.keys, *session), second(other.keys, *session);
  EXPECT_EQ(first.key_bytes() + second.key_bytes(), 0u) << "prepared when they are used";
  const binfhe::Server third(gates.keys, *session, exact);
  EXPECT_EQ(third.key_bytes(), gate_bytes);
  EXPECT_EQ(first.device(), session->device());
  EXPECT_EQ(third.device(), session->device());
  session.reset();  // the servers keep what it opened

  const bgv::Array a = first.upload(one.x), b = second.upload(other.x);
  const binfhe::Array c = third.upload(y);
  for (int i = 0; i < 3; ++i) {
    const auto used = [&] { return first.key_bytes() + second.key_bytes() + third.key_bytes(); };
    EXPECT_TRUE(words(first.download(BgvTenant::circuit(first, a))) == of_one);
    EXPECT_EQ(first.key_bytes(), bgv_bytes);
    EXPECT_LT(second.key_bytes(), bgv_bytes);
    EXPECT_LT(third.key_bytes(), gate_bytes);
    EXPECT_TRUE(words(second.download(BgvTenant::circuit(second, b))) == of_other);
    EXPECT_EQ(second.key_bytes(), bgv_bytes);
    EXPECT_LT(first.key_bytes(), bgv_bytes);
    EXPECT_LE(used(), room);
    EXPECT_TRUE(third.download(third.bootstrap(c)).data == of_gates);
    EXPECT_EQ(third.key_bytes(), gate_bytes);
    EXPECT_LT(second.key_bytes(), bgv_bytes);
    EXPECT_LE(used(), room);
  }
  one.expect_right(first);
  other.expect_right(second);
  EXPECT_EQ(gates.client.decrypt(third.bootstrap(y)), bits);
}

TEST(Session, ServersWithoutOneDoNotShareTheirRoom) {
  test::Random random;
  const BgvTenant one(random), other(random);
  const std::size_t each =
      bgv::Server(one.keys, {.device = test::tested_device, .threads = 1}).key_bytes();
  const SessionOptions room{.device = test::tested_device, .threads = 1, .key_bytes = 2 * each};
  const bgv::Server first(one.keys, room), second(other.keys, room);
  one.expect_right(first);
  other.expect_right(second);
  EXPECT_EQ(first.key_bytes(), each);
  EXPECT_EQ(second.key_bytes(), each);
}

TEST(Session, IdleArraysOfOneServerMakeRoomForAnother) {
  const auto limit = std::make_shared<test::MemoryLimit>();
  limit->bytes = std::size_t{1} << 40;
  test::name_devices({test::limited_device(limit)});
  test::Random random;
  const BgvTenant tenant(random);
  const test::Pair& gates = test::pair_of(test::insecure(test::small_literal()));
  const std::vector<std::uint32_t> bits(4096, 1);
  const binfhe::Ciphertexts y = gates.client.encrypt(bits);

  const Session session({.device = test::named_devices});
  const bgv::Server vectors(tenant.keys, session);
  const binfhe::Server server(gates.keys, session, exact);
  std::vector<bgv::Array> idle;
  for (int i = 0; i < 32; ++i) idle.push_back(vectors.upload(tenant.x));
  const std::size_t full = limit->used;
  limit->bytes = full + 1000;  // no room for another batch, unless arrays of vectors leave
  const binfhe::Array c = server.upload(y);
  ASSERT_GT(c.bytes(), 1000u);
  EXPECT_LE(limit->used, limit->bytes);
  EXPECT_EQ(gates.client.decrypt(server.download(c)), bits);
  for (const bgv::Array& a : idle) EXPECT_TRUE(words(vectors.download(a)) == words(tenant.x));
  EXPECT_EQ(gates.client.decrypt(server.download(c)), bits);

  // Servers on devices of their own cannot move one another's.
  const bgv::Server apart(tenant.keys, {.device = test::named_devices});
  limit->bytes = std::size_t{1} << 40;
  const bgv::Array left = apart.upload(tenant.x);
  EXPECT_TRUE(words(apart.download(left)) == words(tenant.x));
}

TEST(Session, GatesCountEachKeyThatIsThere) {
  const test::Pair& gates = test::pair_of(test::insecure(test::small_literal()));
  const std::vector<std::uint32_t> bits = {0, 1, 1, 0};
  const binfhe::Ciphertexts x = gates.client.encrypt(bits);
  const std::size_t each = binfhe::Server(gates.keys, {"cpu", 1}).key_bytes();
  const Session session({.device = "cpu", .threads = 1, .key_bytes = 2 * each - 1});
  const binfhe::Server first(gates.keys, session), second(gates.keys, session);
  const std::size_t one_key = first.key_bytes();  // the other has left for the second's
  EXPECT_GT(one_key, 0u);
  EXPECT_LT(one_key, each);
  EXPECT_EQ(second.key_bytes(), each);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(gates.client.decrypt(first.bootstrap(x)), bits);
    EXPECT_EQ(first.key_bytes(), each);
    EXPECT_GT(second.key_bytes(), 0u);
    EXPECT_LT(second.key_bytes(), each);
    EXPECT_EQ(gates.client.decrypt(second.bootstrap(x)), bits);
    EXPECT_EQ(second.key_bytes(), each);
    EXPECT_TRUE(first.key_bytes() == one_key || first.key_bytes() == each - one_key);
  }
}

/// Servers of one client with different keys, and one with all of them. `other`: under the same
/// parameters; `same`: of the same secret and key_id under other parameters.
template <class Server, class Client, class KeyRequest, class Ciphertexts>
void expect_shared(const Client& client, const Client& other, const Client& same,
                   const Ciphertexts& c, const KeyRequest& request) {
  const SessionOptions options{.device = test::tested_device, .threads = 2};
  const Session session(options);
  const auto all = client.evaluation_keys(request);
  const auto with = [&](bool rotations) {
    auto keys = all;
    std::erase_if(keys.keys,
                  [&](const RingSwitchKey& key) { return (key.power == 1) != rotations; });
    return Server(keys, session);
  };
  const Server whole(all, session), turns = with(true), multiplies = with(false);
  const auto circuit = [&](const Server& first, const Server& second) {
    const auto x = first.upload(c);
    return whole.download(first.add(second.multiply(first.rotate(x, 1), x), x));
  };
  const Ciphertexts shared = circuit(turns, multiplies), alone = circuit(whole, whole);
  ASSERT_EQ(shared.data.bytes(), alone.data.bytes());
  EXPECT_EQ(std::memcmp(shared.data.data(), alone.data.data(), alone.data.bytes()), 0) << "bits";
  const auto x = turns.upload(c);
  EXPECT_THROW(turns.multiply(x, x), MissingKeyError);
  EXPECT_THROW(multiplies.rotate(x, 1), MissingKeyError);
  EXPECT_NO_THROW(multiplies.check(x));

  const Server foreign(other.evaluation_keys(request), session),
      narrower(same.evaluation_keys(request), session), elsewhere(all, Session(options));
  const auto refused = [&]<class Error>(const Server& server, const char* what) {
    for (const auto& call : std::initializer_list<std::function<void()>>{
             [&] { server.check(x); }, [&] { server.download(x); }, [&] { server.negate(x); },
             [&] { server.add(x, x); }, [&] { server.multiply(x, x); }})
      test::expect_message<Error>(call, {what});
  };
  refused.template operator()<KeyMismatchError>(foreign, "and the server of key");
  refused.template operator()<ParameterMismatchError>(narrower, "parameters");
  refused.template operator()<DeviceError>(elsewhere, "give both servers one session");
}

TEST(Session, ServersOfOneKeyTakeEachOthersArrays) {
  {
    const bgv::Parameters p = test::bgv_insecure({1024, 65537, 30, 6, 2});
    const bgv::Client client(p), other(p),
        same(bgv::SecretKey::from_coefficients(test::bgv_insecure({1024, 12289, 30, 6, 2}),
                                               client.key_id(),
                                               client.secret_key().coefficients()));
    expect_shared<bgv::Server>(client, other, same, client.encrypt({1, 2, 3}),
                               bgv::KeyRequest{.rotations = {1}});
  }
  for (const unsigned word_bits : {32u, 64u}) {
    const ckks::Parameters p = test::ckks_insecure({50, word_bits});
    const ckks::Client client(p), other(p),
        same(ckks::SecretKey::from_coefficients(test::ckks_insecure({48, word_bits}),
                                                client.key_id(),
                                                client.secret_key().coefficients()));
    expect_shared<ckks::Server>(client, other, same,
                                client.encrypt(std::vector{0.1, 0.2, 0.3, 0.4}),
                                ckks::KeyRequest{.rotations = {1}});
  }
}

TEST(Session, PlaintextsServeEveryKeyOfTheirParameters) {
  using Operation = bgv::Array (bgv::Server::*)(const bgv::Array&, const bgv::Plaintexts&) const;
  const bgv::Parameters p = test::bgv_insecure({1024, 65537, 30, 4, 2});
  const bgv::Client client(p), other(p), narrow(test::bgv_insecure({1024, 12289, 30, 4, 2}));
  const SessionOptions options{.device = test::tested_device, .threads = 2};
  const Session session(options);
  const bgv::Server server(client.evaluation_keys({}), session),
      narrower(narrow.evaluation_keys({}), session),
      elsewhere(client.evaluation_keys({}), Session(options));
  const std::vector<std::int64_t> values{4, 5, 6};
  std::optional<bgv::Server> lender(std::in_place, other.evaluation_keys({}), session);
  const bgv::Plaintexts lent = lender->encode(values), own = server.encode(values);
  lender.reset();  // plaintexts keep what they need
  const bgv::Array a = server.upload(client.encrypt({1, 2, 3})), low = server.mod_switch(a, 2);
  ASSERT_NE(low.info().factor, 1u);
  for (const auto operation : {static_cast<Operation>(&bgv::Server::add_plain),
                               static_cast<Operation>(&bgv::Server::sub_plain),
                               static_cast<Operation>(&bgv::Server::multiply_plain)}) {
    for (const bgv::Array& x : {a, low})
      for (const bgv::Plaintexts& m : {lent, server.take(lent, std::vector<std::uint32_t>{0})})
        EXPECT_TRUE(words(server.download((server.*operation)(x, m))) ==
                    words(server.download((server.*operation)(x, own))));
    test::expect_message<ParameterMismatchError>(
        [&] { (server.*operation)(a, narrower.encode(values)); },
        {"plaintexts of another server", "whose parameters are others"});
    test::expect_message<DeviceError>(
        [&] { (server.*operation)(a, elsewhere.encode(values)); },
        {"plaintexts of another server", "encode them here, or give both servers one session"});
  }
}

TEST(Session, Refusals) {
  test::Random random;
  const BgvTenant tenant(random);
  const Session session({.device = "cpu", .threads = 1, .key_bytes = 1});
  const bgv::Server server(tenant.keys, session);
  EXPECT_THROW(tenant.circuit(server), OutOfMemoryError) << "no key fits";
  const test::Pair& gates = test::pair_of(test::insecure(test::small_literal()));
  EXPECT_THROW(binfhe::Server(gates.keys, session), OutOfMemoryError);
  EXPECT_THROW(binfhe::Server(gates.keys, Session({.device = "cpu"}),
                              {.rotation = binfhe::RotationSchedule::single}),
               ParameterError);
}

}  // namespace
}  // namespace whorl
