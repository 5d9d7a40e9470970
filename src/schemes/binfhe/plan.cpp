#include "schemes/binfhe/plan.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <utility>

#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/linear_part.h"
#include "schemes/binfhe/steps.h"
#include "schemes/binfhe/table_steps.h"

namespace whorl::binfhe {

using run::Range;

namespace {

/// Whether weighted sums of bits reach `offset`.
Plan plan_decision(const Parameters& parameters, std::vector<std::int64_t> weights,
                   std::uint64_t offset, bool negated, Encoding output, Sides sides) {
  const std::size_t memory = memory_of(parameters, {.inputs = weights.size(), .under = sides.in});
  return {[parameters, weights = std::move(weights), under = sides.out,
           decide = Decision(parameters, offset, negated, output)](const Stages& stages,
                                                                   Operands in, Range range) {
            Rows sum = to_rotate(parameters, stages, stages.linear(weights, in, 0));
            return one(result_of(parameters, stages, decide(stages, std::move(sum), range), under));
          },
          output, sides.out, true, memory};
}

}  // namespace

lattice::lwe::Form form_of(const Parameters& parameters, Under under) {
  if (under == Under::ring)
    return {parameters.Q(), parameters.N(), lattice::lwe::Under::ring,
            ring_word_bytes(parameters.Q())};
  return {parameters.q(), parameters.n(), lattice::lwe::Under::lwe,
          array_word_bytes(parameters.q())};
}

std::size_t most_memory(const Parameters& parameters) {
  // A decomposition needs the most: of at most 24 bits, in digits of one bit at least.
  const std::uint64_t two_n = 2ULL * parameters.N(), q = parameters.q();
  const std::size_t digits = q > two_n ? static_cast<std::size_t>(std::bit_width(q / two_n)) : 0;
  return std::max(
      memory_of(parameters, {.inputs = 4, .keeps_extract = true, .kept = digits}),
      memory_of(parameters, {.inputs = 4, .under = Under::ring, .keeps_extract = true}));
}

Plan plan_gate(const Parameters& parameters, Gate gate, Encoding input,
               std::optional<Encoding> output, Sides sides) {
  const GateRule& rule = rule_of(gate);
  check_rotated(parameters, input);
  const std::uint64_t sectors = input.sectors();
  std::uint64_t offset = 0;
  if (rule.doubled) {
    if (sectors != 4)
      throw EncodingError(std::string(rule.name) + " needs bits with p = 4, not " +
                          describe(input));
    // Twice the sum is 0, q/2 or q: 1 in (q/4, 3q/4).
    const std::uint64_t two_n = 2ULL * parameters.N();
    offset = two_n - two_n / 4;
  } else {
    const std::uint64_t least = least_sectors(rule);
    if (sectors % 2 != 0 || sectors < least)
      throw EncodingError(std::string(rule.name) + " needs bits with an even p of at least " +
                          std::to_string(least) + ", not " + describe(input) +
                          ": encrypt with p = " + std::to_string(least) +
                          " or give the gates before it output p = " + std::to_string(least));
    offset = threshold_offset(parameters, rule.threshold, input);
  }
  return plan_decision(parameters, std::vector<std::int64_t>(rule.inputs, rule.doubled ? 2 : 1),
                       offset, rule.negated, output.value_or(input), sides);
}

Plan plan_bootstrap(const Parameters& parameters, Encoding input, std::optional<Encoding> output,
                    Sides sides) {
  check_rotated(parameters, input);
  if (input.sectors() % 2 != 0)
    throw EncodingError("bootstrap refreshes bits with an even p, not " + describe(input) +
                        ": look other messages up in a table");
  return plan_decision(parameters, {1}, threshold_offset(parameters, 1, input), false,
                       output.value_or(input), sides);
}

Plan plan_mux(const Parameters& parameters, Encoding input, Sides sides) {
  check_rotated(parameters, input);
  if (input.sectors() % 2 != 0 || input.sectors() < 4)
    throw EncodingError("mux needs bits with an even p of at least 4, not " + describe(input));
  // AND(select, a) + AND(not select, b): at most one of them is 1 (Chillotti et al. 2020, §6).
  const Decision decide(parameters, threshold_offset(parameters, 2, input), false, input);
  const std::uint64_t one_of_input = encode(1, input, modulus_of(parameters, sides.in));
  return {[parameters, decide, one_of_input, under = sides.out](const Stages& stages, Operands in,
                                                                Range range) {
            const std::int64_t both[] = {1, 1}, without[] = {-1, 1};
            const Rows *first[] = {in[0], in[1]}, *second[] = {in[0], in[2]};
            const auto decided = [&](std::span<const std::int64_t> weights, Operands of,
                                     std::uint64_t constant) {
              return decide(stages,
                            to_rotate(parameters, stages, stages.linear(weights, of, constant)),
                            range);
            };
            const Rows a = decided(both, first, 0), b = decided(without, second, one_of_input);
            const Rows* ab[] = {&a, &b};
            return one(result_of(parameters, stages, stages.linear(both, ab, 0), under));
          },
          input, sides.out, true,
          memory_of(parameters, {.inputs = 3, .under = sides.in, .keeps_extract = true})};
}

Plan plan_key_switch(const Parameters& parameters, Encoding input) {
  return {[parameters](const Stages& stages, Operands in, Range) {
            return one(to_lwe_key(parameters, stages, *in[0], parameters.q()));
          },
          input, Under::lwe, true, memory_of(parameters, {.under = Under::ring})};
}

std::uint64_t shift_of(std::int32_t constant, Encoding encoding, const Parameters& parameters,
                       Under under) {
  const auto sectors = static_cast<std::int64_t>(encoding.sectors());
  const std::int64_t wrapped = (constant % sectors + sectors) % sectors;
  return encode(static_cast<std::uint64_t>(wrapped), encoding, modulus_of(parameters, under));
}

Plan plan_linear(const Parameters& parameters, std::span<const std::int32_t> weights,
                 std::int32_t constant, Encoding input, Under under) {
  const std::uint64_t shift = shift_of(constant, input, parameters, under);
  return {
      [wide = std::vector<std::int64_t>(weights.begin(), weights.end()), shift](
          const Stages& stages, Operands in, Range) { return one(stages.linear(wide, in, shift)); },
      input, under, false,
      memory_of(parameters, {.inputs = weights.size(), .under = under, .rotates = false})};
}

Plan plan_apply(const Parameters& parameters, std::span<const Lut> luts,
                std::span<const std::uint32_t> index, Sides sides) {
  const LutKind kind = luts[0].kind();
  const std::uint64_t Q = parameters.Q();
  const auto tables = std::make_shared<const Tables>(
      parameters.N(), Q, luts.size(), index,
      [&](std::size_t l, std::uint64_t j) { return test_coefficient(luts[l], j); });
  const std::uint64_t constant = added_constant(luts[0], Q);
  const std::int32_t weight = luts[0].weight();
  const std::size_t memory =
      memory_of(parameters, {.under = sides.in, .own_table = luts.size() > 1});
  return {[=, under = sides.out,
           exponents = ExponentsOf(parameters, luts[0].input(), kind == LutKind::arbitrary)](
              const Stages& stages, Operands in, Range range) {
            const Rows lwe = exponents(stages, *in[0], range);
            Rows found = stages.rotate(lwe, *tables, range, constant);
            return one(plus(stages, result_of(parameters, stages, std::move(found), under), weight,
                            *in[0]));
          },
          luts[0].output(), sides.out, true, memory};
}

}  // namespace whorl::binfhe
