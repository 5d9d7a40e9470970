// Truth tables of all gates over sets that differ in kind, and on named sets.
#include "support/binfhe_sets.h"
#include "support/test.h"
#include "support/truth.h"

namespace whorl::binfhe {
namespace {

constexpr Gate gates[] = {Gate::and_, Gate::or_,  Gate::nand,     Gate::nor,
                          Gate::xor_, Gate::xnor, Gate::majority, Gate::and3,
                          Gate::or3,  Gate::and4, Gate::or4};

unsigned least_p(Gate gate) {
  switch (gate) {
    case Gate::and3:
    case Gate::or3:
      return 6;
    case Gate::and4:
    case Gate::or4:
      return 8;
    default:
      return 4;
  }
}

/// Every combination of inputs, on fresh encryptions.
void check_gate(const Client& client, const Server& server, Gate gate, Encoding in,
                std::optional<Encoding> out) {
  const unsigned inputs = gate_inputs(gate);
  SCOPED_TRACE(
      std::string(gate_name(gate)) + ", p = " + std::to_string(in.p) +
      (in.padding ? " padded" : "") +
      (out ? ", output p = " + std::to_string(out->p) + (out->padding ? " padded" : "") : ""));
  std::vector<Ciphertexts> batches;
  std::vector<const Ciphertexts*> pointers;
  std::vector<std::uint32_t> expected;
  for (unsigned row = 0; row < 1u << inputs; ++row)
    expected.push_back(test::truth(gate, static_cast<unsigned>(std::popcount(row))));
  for (unsigned k = 0; k < inputs; ++k) {
    std::vector<std::uint32_t> bits;
    for (unsigned row = 0; row < 1u << inputs; ++row) bits.push_back(row >> k & 1);
    batches.push_back(client.encrypt(bits, in));
  }
  for (const Ciphertexts& batch : batches) pointers.push_back(&batch);
  const Ciphertexts result = server.gate(gate, pointers, out);
  EXPECT_EQ(result.encoding, out.value_or(in));
  EXPECT_EQ(client.decrypt(result), expected);
}

void check_all(const Parameters& parameters, std::optional<Transform> transform) {
  SCOPED_TRACE(parameters.name());
  const test::Pair& pair = test::pair_of(parameters);
  const Server server(pair.keys, {.threads = 2}, test::failing({.transform = transform}));
  const Client& client = pair.client;
  for (const Gate gate : gates) {
    for (const std::uint32_t p : {4u, 6u, 8u}) {
      if (p < least_p(gate)) continue;
      if (p != 4 && (gate == Gate::xor_ || gate == Gate::xnor)) continue;
      check_gate(client, server, gate, {p, false}, {});
    }
    check_gate(client, server, gate, {least_p(gate), false},
               Encoding{least_p(gate) == 8 ? 4u : 8u, false});
    check_gate(client, server, gate, {least_p(gate) / 2, true}, Encoding{3, true});
  }
  // NOT, bootstrap and MUX.
  for (const std::uint32_t p : {4u, 6u, 8u}) {
    const Encoding encoding{p, false};
    std::vector<std::uint32_t> s, a, b, chosen, not_s;
    for (std::uint32_t row = 0; row < 8; ++row) {
      s.push_back(row & 1);
      a.push_back(row >> 1 & 1);
      b.push_back(row >> 2);
      chosen.push_back(s.back() ? a.back() : b.back());
      not_s.push_back(1 - s.back());
    }
    const Ciphertexts cs = client.encrypt(s, encoding), ca = client.encrypt(a, encoding),
                      cb = client.encrypt(b, encoding);
    EXPECT_EQ(client.decrypt(server.not_(cs)), not_s);
    EXPECT_EQ(client.decrypt(server.not_(server.not_(cs))), s);
    EXPECT_EQ(client.decrypt(server.mux(cs, ca, cb)), chosen) << p;
    EXPECT_EQ(client.decrypt(server.bootstrap(cs)), s) << p;
    const Ciphertexts changed = server.bootstrap(server.bootstrap(cs, Encoding{5, true}));
    EXPECT_EQ(changed.encoding, (Encoding{5, true}));
    EXPECT_EQ(client.decrypt(changed), s) << p;
  }
  const Ciphertexts two_sectors = client.encrypt(std::vector<std::uint32_t>{0, 1}, {2, false});
  EXPECT_EQ(client.decrypt(server.bootstrap(two_sectors, Encoding{4, false})),
            (std::vector<std::uint32_t>{0, 1}));
}

TEST(BinfheGates, TruthTablesOnSetsOfEveryKind) {
  for (const Parameters& parameters : test::varied_sets())
    for (const Transform transform : {Transform::ntt, Transform::fft})
      check_all(parameters, transform);
}

// Sets as they are used. Their failure probability is far below a false alarm's 1e-6.
void check_named(const char* name, std::initializer_list<Gate> some) {
  const Parameters parameters = Parameters::named(name, true);
  SCOPED_TRACE(name);
  const Client client(parameters);
  const Server server(client.evaluation_keys(2), {"cpu", 2}, test::failing());
  for (const Gate gate : some) {
    ASSERT_LT(parameters.gate_failure_log2(gate_inputs(gate), least_p(gate), server.transform()),
              -25);
    check_gate(client, server, gate, {least_p(gate), false}, {});
  }
}
TEST(BinfheGates, NamedW128P64) {
  check_named("W128_P64", {Gate::nand, Gate::and_, Gate::or_, Gate::majority});
}
TEST(BinfheGates, NamedOpenfheStd128) {
  check_named("openfhe_1_5/STD128", {Gate::nand, Gate::nor});
}
TEST(BinfheGates, NamedVelofheGd1) { check_named("velofhe/GD_I", {Gate::nand, Gate::or_}); }
TEST(BinfheGates, NamedVelofheGd2) { check_named("velofhe/GD_II", {Gate::nand}); }

TEST(BinfheGates, EmptyAndSingleBatches) {
  const test::Pair& pair = test::pair_of(test::insecure(test::small_literal()));
  const Server server(pair.keys, {"cpu", 2});
  const Ciphertexts none = pair.client.encrypt({}),
                    one = pair.client.encrypt(std::vector<std::uint32_t>{1});
  const Ciphertexts *nothing[] = {&none, &none}, *single[] = {&one, &one};
  EXPECT_EQ(server.gate(Gate::nand, nothing).count, 0u);
  EXPECT_EQ(server.not_(none).count, 0u);
  EXPECT_EQ(server.mux(none, none, none).count, 0u);
  EXPECT_EQ(server.bootstrap(none).data.size(), 0u);
  EXPECT_EQ(pair.client.decrypt(none).size(), 0u);
  EXPECT_EQ(pair.client.decrypt(server.gate(Gate::nand, single)), std::vector<std::uint32_t>{0});
}

TEST(BinfheGates, RefusalsOfEncodings) {
  const test::Pair& pair = test::pair_of(test::insecure(test::small_literal()));
  const Server server(pair.keys, {"cpu", 1});
  auto bit = [&](Encoding encoding) {
    return pair.client.encrypt(std::vector<std::uint32_t>{1}, encoding);
  };
  const Ciphertexts four = bit({4, false}), six = bit({6, false}), eight = bit({8, false}),
                    five = bit({5, false}), two = bit({2, false});
  auto gate = [&](Gate g, std::vector<const Ciphertexts*> in) { return server.gate(g, in); };
  EXPECT_THROW(gate(Gate::and_, {&four}), ShapeError);
  EXPECT_THROW(gate(Gate::and_, {}), ShapeError);
  EXPECT_THROW(gate(Gate::majority, {&four, &four}), ShapeError);
  EXPECT_THROW(gate(Gate::and_, {&four, &six}), EncodingError);
  EXPECT_THROW(gate(Gate::and_, {&five, &five}), EncodingError);
  EXPECT_THROW(gate(Gate::and_, {&two, &two}), EncodingError);
  EXPECT_THROW(gate(Gate::xor_, {&six, &six}), EncodingError);
  EXPECT_THROW(gate(Gate::xnor, {&eight, &eight}), EncodingError);
  EXPECT_THROW(gate(Gate::and3, {&four, &four, &four}), EncodingError);
  EXPECT_THROW(gate(Gate::or4, {&six, &six, &six, &six}), EncodingError);
  EXPECT_THROW(gate(static_cast<Gate>(11), {&four, &four}), EncodingError);
  EXPECT_THROW(gate_name(static_cast<Gate>(255)), EncodingError);
  EXPECT_THROW(server.mux(five, five, five), EncodingError);
  EXPECT_THROW(server.mux(two, two, two), EncodingError);
  EXPECT_THROW(server.mux(four, four, six), EncodingError);
  EXPECT_THROW(server.bootstrap(five), EncodingError);
  EXPECT_THROW(server.bootstrap(four, Encoding{1, false}), EncodingError);
  EXPECT_THROW(server.bootstrap(four, Encoding{129, false}), EncodingError);
}

}  // namespace
}  // namespace whorl::binfhe
