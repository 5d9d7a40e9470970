// Gates by name, operators on arrays, and inputs that are known.
#include "support/binfhe_sets.h"
#include "support/test.h"
#include "support/truth.h"

namespace whorl::binfhe {
namespace {

using Messages = std::vector<std::uint32_t>;

class BinfheNamedGates : public ::testing::Test {
 protected:
  Messages open(const Ciphertexts& c) { return pair_.client.decrypt(c); }
  Messages open(const Array& a) { return open(server_.download(a)); }

  const Parameters parameters_ = test::insecure(test::small_literal());
  const test::Pair& pair_ = test::pair_of(parameters_);
  const Client& client_ = pair_.client;
  const Server server_{pair_.keys, {test::tested_device, 2}, test::failing()};
};

TEST_F(BinfheNamedGates, OnBatchesSinglesAndArrays) {
  const auto check = [&](const auto& a, const auto& b, const auto& c, const auto& d) {
    EXPECT_EQ(open(server_.and_(a, b)), (Messages{0, 0, 0, 1}));
    EXPECT_EQ(open(server_.or_(a, b)), (Messages{0, 1, 1, 1}));
    EXPECT_EQ(open(server_.nand(a, b)), (Messages{1, 1, 1, 0}));
    EXPECT_EQ(open(server_.nor(a, b)), (Messages{1, 0, 0, 0}));
    EXPECT_EQ(open(server_.xor_(a, b)), (Messages{0, 1, 1, 0}));
    EXPECT_EQ(open(server_.xnor(a, b)), (Messages{1, 0, 0, 1}));
    EXPECT_EQ(open(server_.not_(a)), (Messages{1, 1, 0, 0}));
    EXPECT_EQ(open(server_.majority(a, b, c)), (Messages{0, 1, 0, 1}));
    EXPECT_EQ(open(server_.mux(c, a, b)), (Messages{0, 0, 0, 1}));
    EXPECT_EQ(open(server_.bootstrap(d)), (Messages{1, 1, 1, 0}));
  };
  const Ciphertexts a = client_.encrypt({0, 0, 1, 1}), b = client_.encrypt({0, 1, 0, 1}),
                    c = client_.encrypt({0, 1, 0, 1}), d = client_.encrypt({1, 1, 1, 0});
  check(a, b, c, d);
  check(server_.upload(a), server_.upload(b), server_.upload(c), server_.upload(d));
  EXPECT_EQ(open(server_.nand(client_.encrypt({1}), client_.encrypt({1}))), Messages{0});
  const auto wide = [&](const Messages& m, std::uint32_t p) { return client_.encrypt(m, {p}); };
  const Ciphertexts x = wide({0, 1, 1}, 6), y = wide({0, 0, 1}, 6), z = wide({0, 1, 1}, 6);
  EXPECT_EQ(open(server_.and3(x, y, z)), (Messages{0, 0, 1}));
  EXPECT_EQ(open(server_.or3(x, y, z)), (Messages{0, 1, 1}));
  const Ciphertexts s = wide({0, 1, 1}, 8), t = wide({0, 0, 1}, 8);
  EXPECT_EQ(open(server_.and4(s, t, s, t)), (Messages{0, 0, 1}));
  EXPECT_EQ(open(server_.or4(s, t, s, t)), (Messages{0, 1, 1}));
}

// A sum of two bits may be 2, and gates would take it for another bit.
TEST_F(BinfheNamedGates, WhatMayBeNoBitIsRefused) {
  const auto check = [&](const auto& a, const auto& b) {
    const auto add = [&](const auto& x, const auto& y, bool modular = false,
                         std::optional<std::uint32_t> largest = {}) {
      const std::remove_cvref_t<decltype(x)>* both[] = {&x, &y};
      const std::int32_t weights[] = {1, 1};
      return server_.linear(weights, both, 0, modular, largest);
    };
    const auto sum = add(a, b), of_gates = add(server_.and_(a, b), server_.nor(a, b));
    EXPECT_EQ(test::message_of<EncodingError>([&] { server_.nand(b, sum); }),
              "nand takes bits, but input 1 may be as large as 2: look it up in a table; or say "
              "largest=1 in the sum that made it, if its values are known to be 0 or 1");
    EXPECT_THROW(server_.nand(of_gates, a), EncodingError);
    EXPECT_THROW(server_.nand(add(a, b, true), a), EncodingError);
    EXPECT_THROW(server_.mux(a, sum, b), EncodingError);
    EXPECT_THROW(server_.bootstrap(sum), EncodingError);
    EXPECT_THROW(server_.not_(sum), EncodingError);
    EXPECT_THROW(server_.and_(add(b, b), b), EncodingError);
    // At most one of these is 1.
    const auto known = add(server_.and_(a, b), server_.nor(a, b), false, 1);
    EXPECT_EQ(open(known), (Messages{1, 0, 0, 1}));
    EXPECT_EQ(open(server_.nand(known, b)), (Messages{1, 1, 1, 0}));
    EXPECT_EQ(open(server_.nand(server_.not_(a), b)), (Messages{1, 0, 1, 1}));
    // Whether a sum is odd, XOR and XNOR tell.
    EXPECT_EQ(open(server_.xor_(sum, a)), (Messages{0, 1, 0, 1}));
    EXPECT_EQ(open(server_.xnor(sum, a)), (Messages{1, 0, 1, 0}));
  };
  const Ciphertexts a = client_.encrypt({0, 0, 1, 1}), b = client_.encrypt({0, 1, 0, 1});
  check(a, b);
  check(server_.upload(a), server_.upload(b));
  EXPECT_THROW(server_.nand(a, server_.trivial({0, 1, 2, 3})), EncodingError);
  EXPECT_EQ(open(server_.nand(a, server_.trivial({0, 1, 0, 1}))), (Messages{1, 1, 1, 0}));
  const Array x = server_.upload(a), two = server_.trivial_array({2}), joined[] = {x, two};
  EXPECT_THROW(server_.nand(server_.concatenate(joined), x), EncodingError);
}

// What the server made of messages that it knows, also without what files lose.
TEST_F(BinfheNamedGates, KnownMessagesThatAreNoBitsAreRefused) {
  const Array x = server_.upload(client_.encrypt({0, 1}));
  const Lut twice = Lut::create(pair_.keys.parameters, {0, 2, 0, 2}, {4}, {4});
  const Array* one[] = {&x};
  const std::int32_t weight[] = {1};
  const Array joined[] = {x, server_.trivial_array({0, 2})};
  for (const Array& made : {server_.trivial_array({2, 1}), server_.apply({&twice, 1}, {}, x),
                            server_.linear(weight, one, 1), server_.concatenate(joined)}) {
    Ciphertexts host = server_.download(made);
    host.origin = {};
    for (const Array& two : {made, server_.upload(host)}) {
      EXPECT_EQ(two.largest(), made.largest());
      for (const std::function<void()>& work : std::vector<std::function<void()>>{
               [&] { server_.gate(Gate::xor_, two, {0}); },
               [&] { server_.gate(Gate::and_, two, {1}); },
               [&] { server_.gate(Gate::and_, two, {1}, Encoding{8}); },
               [&] { server_.gate(Gate::majority, two, {1}); },
               [&] { static_cast<void>(two ^ false); }, [&] { static_cast<void>(~two); },
               [&] { server_.mux(two, Messages{0}, Messages{1}); },
               [&] { server_.mux(Messages{0}, x, two); },
               [&] { server_.mux(Messages{0}, two, two); }, [&] { server_.bootstrap(two); }}) {
        test::expect_message<EncodingError>(work, {" takes bits, but input "});
      }
    }
    EXPECT_THROW(server_.mux(host, host, host), EncodingError);
    EXPECT_THROW(server_.not_(host), EncodingError);
  }
  EXPECT_EQ(server_.trivial_array({0, 3, 1}).largest(), 3u);
  EXPECT_EQ(server_.trivial_array(Messages{}).largest(), 0u);
  const Array bits = server_.trivial_array({0, 1});
  EXPECT_EQ(open(bits ^ true), (Messages{1, 0}));
  EXPECT_EQ(open(~bits), (Messages{1, 0}));
}

TEST_F(BinfheNamedGates, OperatorsOfArrays) {
  const Array a = server_.upload(client_.encrypt({0, 0, 1, 1})),
              b = server_.upload(client_.encrypt({0, 1, 0, 1})),
              one = server_.upload(client_.encrypt({1}));
  EXPECT_EQ(open(a & b), (Messages{0, 0, 0, 1}));
  EXPECT_EQ(open(a | b), (Messages{0, 1, 1, 1}));
  EXPECT_EQ(open((a ^ b) & ~a), (Messages{0, 1, 0, 0}));
  EXPECT_EQ(open(a ^ one), (Messages{1, 1, 0, 0}));
  EXPECT_EQ(open(a & true), open(a));
  EXPECT_EQ(open(false & a), (Messages{0, 0, 0, 0}));
  EXPECT_EQ(open(a | true), (Messages{1, 1, 1, 1}));
  EXPECT_EQ(open(true ^ a), (Messages{1, 1, 0, 0}));
  std::optional<Server> brief(std::in_place, pair_.keys, SessionOptions{test::tested_device, 1});
  const Array left = brief->upload(client_.encrypt({0, 1}));
  const Server moved = std::move(*brief);
  EXPECT_EQ(moved.download(left & left).count, 2u);
  EXPECT_THROW(a & left, DeviceError);
}

TEST_F(BinfheNamedGates, ArraysWhoseServerIsGoneSaySo) {
  const auto kept = [&] {
    return Server(pair_.keys, {test::tested_device, 1, {}, {}}).upload(client_.encrypt({0, 1}));
  }();
  EXPECT_THROW(kept & kept, DeviceError);
  EXPECT_THROW(~kept, DeviceError);
  EXPECT_THROW(kept ^ true, DeviceError);
}

TEST_F(BinfheNamedGates, KnownInputsTakeNoBootstrap) {
  for (const Gate gate : {Gate::and_, Gate::or_, Gate::nand, Gate::nor, Gate::xor_, Gate::xnor,
                          Gate::majority, Gate::and3, Gate::or3, Gate::and4, Gate::or4}) {
    SCOPED_TRACE(gate_name(gate));
    const unsigned inputs = gate_inputs(gate);
    const std::uint32_t p = gate == Gate::majority ? 4 : 2 * inputs;
    Messages bits, ones, want;
    for (std::uint32_t k = 0; k < inputs; ++k)
      for (const std::uint32_t bit : {0u, 1u}) {
        bits.push_back(bit);
        ones.push_back(k);
        want.push_back(test::truth(gate, bit + k));
      }
    const Ciphertexts fresh = client_.encrypt(bits, {p});
    const Array a = server_.upload(fresh);
    const Array got = server_.gate(gate, a, ones);
    EXPECT_EQ(open(got), want);
    EXPECT_EQ(got.encoding(), a.encoding());
    EXPECT_EQ(got.noise(), a.noise());
    // No bootstrap: errors are those of the fresh ones, their negatives, or none.
    const auto before = client_.noise(fresh, bits),
               after = client_.noise(server_.download(got), want);
    for (std::size_t i = 0; i < bits.size(); ++i)
      EXPECT_TRUE(after[i] == before[i] || after[i] == -before[i] || after[i] == 0);
    // Which the next gate takes.
    EXPECT_EQ(open(server_.bootstrap(got)), want);
    EXPECT_EQ(open(server_.gate(gate, got, {0})).size(), want.size());
    // Another encoding takes one.
    const Array other = server_.gate(gate, a, ones, Encoding{5, true});
    EXPECT_EQ(other.encoding(), (Encoding{5, true}));
    EXPECT_EQ(open(other), want);
  }
}

TEST_F(BinfheNamedGates, KnownInputsMeetAndAreChecked) {
  const Array x = server_.upload(client_.encrypt({0, 1, 1})),
              one = server_.upload(client_.encrypt({1})),
              none = server_.upload(client_.encrypt(Messages{}));
  EXPECT_EQ(open(server_.gate(Gate::and_, x, {1})), (Messages{0, 1, 1}));
  EXPECT_EQ(open(server_.gate(Gate::and_, one, {1, 0, 1, 0})), (Messages{1, 0, 1, 0}));
  EXPECT_EQ(open(server_.gate(Gate::xor_, one, {1, 1})), (Messages{0, 0}));
  EXPECT_EQ(open(server_.gate(Gate::and_, one, {1, 1})), (Messages{1, 1}));
  EXPECT_EQ(server_.gate(Gate::and_, none, {1}).count(), 0u);
  EXPECT_EQ(server_.gate(Gate::and_, one, Messages{}).count(), 0u);
  EXPECT_EQ(server_.gate(Gate::and_, x, {0}).noise(), 0);
  EXPECT_THROW(server_.gate(Gate::and_, x, {1, 0}), ShapeError);
  EXPECT_THROW(server_.gate(Gate::and_, x, {0, 2, 0}), EncodingError);
  EXPECT_THROW(server_.gate(Gate::and3, x, {0}), EncodingError) << "p = 4";
  const Array five = server_.upload(client_.encrypt({0, 1}, {5}));
  EXPECT_THROW(five & true, EncodingError);
  EXPECT_THROW(server_.gate(Gate::xor_, server_.upload(client_.encrypt({0, 1}, {8})), {1}),
               EncodingError);
  // MUX.
  const Array y = server_.upload(client_.encrypt({1, 0, 1}));
  const Messages select = {1, 0, 0}, a = {1, 1, 0}, b = {1, 0, 1};
  EXPECT_EQ(open(server_.mux(select, x, y)), (Messages{0, 0, 1}));
  EXPECT_EQ(open(server_.mux(select, one, y)), (Messages{1, 0, 1}));
  EXPECT_EQ(open(server_.mux(x, a, b)), (Messages{1, 1, 0}));
  EXPECT_EQ(open(server_.mux(one, a, b)), a);
  EXPECT_THROW(server_.mux(Messages{2}, x, y), EncodingError);
  EXPECT_THROW(server_.mux(x, Messages{1, 1}, Messages{0}), ShapeError);
  EXPECT_THROW(server_.mux(select, x, five), EncodingError);
  // What may be no bit, in each place.
  const Array* both[] = {&x, &y};
  const std::int32_t weights[] = {1, 1};
  const Array sum = server_.linear(weights, both);
  const auto said = [](std::size_t input) {
    return "mux takes bits, but input " + std::to_string(input) + " may be as large as 2";
  };
  for (const auto& [input, work] : std::vector<std::pair<std::size_t, std::function<void()>>>{
           {0, [&] { server_.mux(sum, a, b); }},
           {0, [&] { server_.mux(sum, Messages{1}, Messages{0}); }},
           {1, [&] { server_.mux(select, sum, y); }},
           {2, [&] { server_.mux(select, x, sum); }}})
    EXPECT_EQ(test::message_of<EncodingError>(work).find(said(input)), 0u) << input;
  EXPECT_THROW(server_.gate(Gate::xor_, sum, {1}), EncodingError);
}

TEST_F(BinfheNamedGates, ListsOfValues) {
  EXPECT_EQ(open(client_.encrypt({1, 0, 1})), (Messages{1, 0, 1}));
  EXPECT_EQ(open(client_.encrypt({5, 2}, {8})), (Messages{5, 2}));
  EXPECT_EQ(open(server_.trivial({3, 2})), (Messages{3, 2}));
  EXPECT_EQ(open(server_.trivial_array({3, 2}, {5})), (Messages{3, 2}));
  for (const std::int64_t error : client_.noise(server_.trivial({3, 2}), {3, 2}))
    EXPECT_EQ(error, 0);
}

}  // namespace
}  // namespace whorl::binfhe
