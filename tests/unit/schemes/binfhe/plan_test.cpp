// What operations are planned as: which encodings they take and give, whether they rotate, and the
// memory they take. What they compute is tested through the server.
#include "schemes/binfhe/plan.h"
#include "support/binfhe_sets.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

constexpr unsigned gates = 11;
constexpr Encoding bits{4, false};

TEST(BinfhePlan, RulesOfGates) {
  std::set<std::string_view> names;
  for (unsigned i = 0; i < gates; ++i) {
    const GateRule& rule = rule_of(static_cast<Gate>(i));
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_GE(rule.inputs, 2u);
    EXPECT_LE(rule.inputs, 4u);
    EXPECT_GE(rule.threshold, 1u);
    EXPECT_LE(rule.threshold, rule.inputs);
  }
  EXPECT_EQ(rule_of(Gate::majority).threshold, 2u);
  EXPECT_TRUE(rule_of(Gate::nand).negated);
  EXPECT_TRUE(rule_of(Gate::xor_).doubled);
  EXPECT_EQ(test::message_of<EncodingError>([] { rule_of(static_cast<Gate>(gates)); }),
            "gate number 11 of 11");
}

TEST(BinfhePlan, EncodingsInWords) {
  EXPECT_EQ(describe({4, false}), "p = 4");
  EXPECT_EQ(describe({2, true}), "p = 2 with padding");
}

TEST(BinfhePlan, FormOfCiphertexts) {
  for (const Parameters& p : test::varied_sets()) {
    const lattice::lwe::Form form = form_of(p);
    EXPECT_EQ(form.modulus, p.q());
    EXPECT_EQ(form.dimension, p.n());
    EXPECT_EQ(form.under, lattice::lwe::Under::lwe);
    EXPECT_EQ(form.word_bytes, 4u);
  }
}

TEST(BinfhePlan, WhatComesOut) {
  const Parameters p = test::insecure(test::small_literal());
  const Encoding eight{8, false};
  for (const std::optional<Encoding>& wanted : {std::optional<Encoding>(), {eight}}) {
    const Encoding due = wanted.value_or(bits);
    for (const Plan& plan :
         {plan_gate(p, Gate::nand, bits, wanted), plan_bootstrap(p, bits, wanted)}) {
      EXPECT_EQ(plan.output, due);
      EXPECT_TRUE(plan.rotates);
    }
  }
  EXPECT_EQ(plan_mux(p, bits).output, bits);
  const std::vector<std::int32_t> weights = {1, -1};
  const Plan sum = plan_linear(p, weights, 1, eight);
  EXPECT_EQ(sum.output, eight);
  EXPECT_FALSE(sum.rotates);
  const std::vector<std::uint32_t> values = {3, 1, 4, 1};
  const Lut lut = Lut::create(p, values, bits, eight);
  EXPECT_EQ(plan_apply(p, std::span(&lut, 1), {}).output, eight);
}

TEST(BinfhePlan, Memory) {
  for (const Parameters& p : test::varied_sets()) {
    SCOPED_TRACE(p.name());
    const std::size_t row = 4 * (std::size_t{p.n()} + 1);
    for (const std::size_t inputs : {1u, 2u, 5u}) {
      const std::vector<std::int32_t> weights(inputs, 1);
      EXPECT_EQ(plan_linear(p, weights, 0, bits).memory, (inputs + 1) * row);
    }
    // What all operations have room for holds for each, but for tables of their own.
    const std::size_t most = most_memory(p), two = plan_gate(p, Gate::and_, bits, {}).memory,
                      three = plan_gate(p, Gate::majority, bits, {}).memory,
                      one = plan_bootstrap(p, bits, {}).memory;
    EXPECT_EQ(two, one + row);
    EXPECT_EQ(three, one + 2 * row);
    EXPECT_LE(three, plan_mux(p, bits).memory);
    EXPECT_LE(plan_mux(p, bits).memory, most);
    EXPECT_GT(one, (std::size_t{p.N()} + 1) * ring_word_bytes(p.Q()));
    const std::vector<std::uint32_t> values = {0, 1, 1, 0}, index = {0, 1};
    const Lut lut = Lut::create(p, values, bits, bits);
    const std::vector<Lut> luts = {lut, lut};
    EXPECT_LE(plan_apply(p, std::span(luts).first(1), {}).memory, most);
    EXPECT_LE(plan_apply(p, std::span(luts).first(1), {}).memory,
              plan_apply(p, luts, index).memory);
  }
}

TEST(BinfhePlan, Refusals) {
  const Parameters p = test::insecure(test::small_literal());
  const auto refusal = [&](Gate gate, Encoding input) {
    return test::message_of<EncodingError>([&] { plan_gate(p, gate, input, {}); });
  };
  EXPECT_EQ(refusal(Gate::xor_, {8, false}), "xor needs bits with p = 4, not p = 8");
  EXPECT_EQ(
      refusal(Gate::and_, {5, false}),
      "and needs bits with an even p of at least 4, not p = 5: encrypt with p = 4 or give the "
      "gates before it output p = 4");
  EXPECT_NE(refusal(Gate::and4, {4, false}).find("at least 8, not p = 4"), std::string::npos);
  EXPECT_EQ(refusal(Gate::and4, {8, false}), "");
  EXPECT_EQ(refusal(Gate::and_, {2, true}), "") << "a padding bit doubles the sectors";
  EXPECT_THROW(plan_gate(p, Gate::and_, bits, Encoding{1, false}), EncodingError);
  EXPECT_THROW(plan_bootstrap(p, {5, false}, {}), EncodingError);
  EXPECT_THROW(plan_mux(p, {2, false}), EncodingError);
  EXPECT_THROW(plan_mux(p, {5, false}), EncodingError);
}

}  // namespace
}  // namespace whorl::binfhe
