#include "schemes/binfhe/multi_value.h"

#include <cstdlib>
#include <memory>
#include <utility>

#include "schemes/binfhe/linear_part.h"
#include "schemes/binfhe/steps.h"
#include "schemes/binfhe/table_steps.h"

namespace whorl::binfhe {

using run::Range;

namespace {

constexpr std::uint32_t most_borders = 64;

/// The number with the least absolute value that is x modulo `modulus`.
std::int64_t least(std::int64_t x, std::int64_t modulus) {
  const std::int64_t rest = (x % modulus + modulus) % modulus;
  return 2 * rest > modulus ? rest - modulus : rest;
}

/// What a table's values rise by at each of `borders` messages of the half circle: first at message
/// 0, against the negated last one.
MultiValue::Table table_of(const Lut& lut, bool whole, std::uint32_t borders, std::uint64_t half,
                           std::uint64_t Q) {
  const auto sectors = static_cast<std::int64_t>(lut.output().sectors());
  const auto values = lut.values();
  MultiValue::Table out{std::vector<std::int64_t>(borders), 0};
  for (std::uint32_t i = 1; i < borders; ++i)
    out.weights[i] = least(std::int64_t{values[i]} - values[i - 1], sectors);
  // Values are known modulo the sectors: those that rise by the weights are taken.
  std::int64_t last = values[0];
  for (const std::int64_t weight : out.weights) last += weight;
  std::int64_t ends = values[0] + last;
  if (whole) {
    // Any value may be added to all, and half of `ends` is subtracted.
    using Wide = __int128;
    const Wide product = Wide{ends} * half % Wide{Q};
    out.constant = static_cast<std::uint64_t>(product < 0 ? product + Q : product);
  } else {
    if (lut.kind() == LutKind::near_negacyclic)
      ends -= std::int64_t{values[0]} + values[lut.input().p / 2];
    out.weights[0] = least(ends, 2 * sectors);
    out.constant = added_constant(lut, Q);
  }
  for (const std::int64_t weight : out.weights) {
    out.squares += static_cast<double>(weight) * static_cast<double>(weight);
    out.absolute += static_cast<double>(std::abs(weight));
  }
  return out;
}

}  // namespace

std::optional<MultiValue> multi_value(const Parameters& parameters, std::span<const Lut> luts,
                                      bool arbitrary) {
  const std::uint64_t Q = parameters.Q(), sectors = luts[0].output().sectors();
  const std::uint32_t N = parameters.N(), p = luts[0].input().p;
  // All messages lie in the half circle, or half of them.
  const bool whole = arbitrary || luts[0].input().padding;
  const std::uint32_t borders = whole ? p : p / 2;
  if (borders > most_borders) return {};
  MultiValue out{(Q + sectors) / (2 * sectors), {}, {}};
  for (std::uint32_t i = 0; i < borders; ++i) {
    const std::uint32_t begins = (i * N + borders - 1) / borders;
    out.offsets.push_back(i == 0 ? 0 : N - begins);
  }
  for (const Lut& lut : luts) {
    if (lut.output().sectors() != sectors || (lut.weight() != 0 && !arbitrary)) return {};
    out.tables.push_back(table_of(lut, whole, borders, out.half, Q));
  }
  return out;
}

lattice::lwe::Work work_of_multi_value(const Parameters& parameters, std::span<const Lut> luts,
                                       bool arbitrary, MultiValue values, Under under) {
  const auto common = std::make_shared<const Tables>(parameters.N(), parameters.Q(), values.half);
  const std::size_t extract = (std::size_t{parameters.N()} + 1) * ring_word_bytes(parameters.Q());
  const std::size_t memory =
      memory_of(parameters, {.keeps_extract = true}) + (2 * values.offsets.size() + 2) * extract;
  const ExponentsOf exponents(parameters, luts[0].input(), arbitrary);
  return in_parts(memory, values.tables.size(),
                  [=, values = std::move(values)](const Stages& stages, const Rows& in) {
                    const Range all{0, in.count()};
                    const Rows found =
                        stages.rotate(exponents(stages, in, all), *common, all, values.offsets, 0);
                    std::vector<Rows> slots = slots_of(stages, found, values.offsets.size());
                    std::vector<Rows> out;
                    for (const MultiValue::Table& table : values.tables) {
                      // X^-k brings coefficient N - k, negated, to the place of coefficient 0.
                      std::vector<std::int64_t> weights;
                      std::vector<const Rows*> rows;
                      for (std::size_t k = 0; k < slots.size(); ++k) {
                        if (table.weights[k] == 0 && (k > 0 || table.squares > 0)) continue;
                        weights.push_back(k == 0 ? table.weights[k] : -table.weights[k]);
                        rows.push_back(&slots[k]);
                      }
                      out.push_back(result_of(parameters, stages,
                                              stages.linear(weights, rows, table.constant), under));
                    }
                    return out;
                  });
}

}  // namespace whorl::binfhe
