// Tables that share rotations, what is known of tables' results, and their scale.
#include <algorithm>
#include <string>
#include <utility>

#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/multi_value.h"
#include "schemes/binfhe/server_state.h"
#include "schemes/binfhe/shared_rotation.h"
#include "whorl/error.h"

namespace whorl::binfhe {

void check_sides(const Lut& lut, Under under) {
  if (lut.weight() != 0)
    check_under_lwe_key("a table that adds its input to its rotation (one_rotation)", under);
}

Reading Server::State::check_together(std::span<const Lut> luts, Encoding encoding) const {
  if (luts.empty()) throw ShapeError("apply_many: at least one look-up table is needed");
  for (std::size_t l = 0; l < luts.size(); ++l)
    check_tables(parameters, luts.subspan(l, 1), {}, encoding, 0);
  return {std::ranges::any_of(luts, [](const Lut& l) { return l.kind() == LutKind::arbitrary; }),
          shared_step(luts.size())};
}

namespace {

/// The most sectors that tables may have that are read so.
std::uint64_t most_shared_sectors(const Parameters& parameters, const Reading& reading) {
  const std::uint64_t most = most_rotated_sectors(parameters, reading.step);
  return reading.arbitrary ? std::min<std::uint64_t>(most, parameters.N() / (4 * reading.step))
                           : most;
}

/// Whether tables can share phases, whatever the noise.
bool shares_phases(const Parameters& parameters, Encoding encoding, const Reading& reading) {
  return encoding.sectors() <= most_shared_sectors(parameters, reading) &&
         !rotation_method(parameters.literal()).odd();
}

void check_phases(const Parameters& parameters, Encoding encoding, const Reading& reading,
                  std::size_t tables) {
  const std::uint64_t most = most_shared_sectors(parameters, reading);
  if (encoding.sectors() > most)
    throw EncodingError("apply_many: " + std::to_string(tables) +
                        " tables share rotations of at most " + std::to_string(most) +
                        " sectors under " + named(parameters) + ", but " + describe(encoding) +
                        " has " + std::to_string(encoding.sectors()) +
                        ": look fewer tables up at once, or take a smaller p");
  if (!shares_phases(parameters, encoding, reading))
    throw ParameterError("apply_many: the rotations of " + named(parameters) +
                         " read odd exponents, whose phases tables cannot share: give all tables "
                         "outputs of one p, apply each by itself, or take a set without "
                         "automorphisms");
}

}  // namespace

std::shared_ptr<const Origin> Server::State::looked_up(std::span<const Lut> luts,
                                                       std::span<const std::uint32_t> index,
                                                       const Reading& reading, std::size_t slot,
                                                       const std::shared_ptr<const Origin>& input,
                                                       const Promise& promise, Under under) const {
  std::vector<std::uint64_t> tags;
  std::uint32_t largest = 0;
  for (const Lut& lut : luts) {
    tags.push_back(mix(static_cast<std::uint64_t>(lut.kind()), lut.output().sectors()));
    // Coefficients of one accumulator have errors of their own.
    if (reading.step > 1)
      tags.back() = mix(tags.back(), mix(reading.step + (reading.arbitrary ? 1 : 0), slot));
    for (const std::uint32_t value : lut.values()) {
      tags.back() = mix(tags.back(), value);
      largest = std::max(largest, value);
    }
    // Read beyond an end, a table that is not exact gives a negative value.
    if (!lut.exact()) largest = static_cast<std::uint32_t>(lut.output().sectors() - 1);
  }
  // There is no range: only the program knows which integers the table's values stand for.
  const Term term{1, input.get()};
  const auto rotated =
      bootstrapped({&term, 1}, tags, index, {largest, largest}, promise, luts[0].output(), under);
  if (luts[0].weight() == 0 || reading.arbitrary) return rotated;
  const Term both[] = {{1, rotated.get()}, {static_cast<double>(luts[0].weight()), input.get()}};
  const double noise = variance_of(both, account.constant()), offset = offset_of(both, 0);
  // The promise is that of the table with what is added to its rotation.
  return std::make_shared<const Origin>(with_promise(
      origin_of_sum(both, 0, with_offset(noise, offset), offset, {largest, largest}), promise));
}

std::vector<Array> Server::State::apply_many(std::span<const Lut> luts, const Array& a,
                                             std::optional<std::uint32_t> within,
                                             Under under) const {
  check(a);
  const Encoding encoding = encoding_of(a);
  const Reading reading = check_together(luts, encoding);
  if (reading.step == 1) return {apply(luts, {}, a, a.count(), within, under)};
  for (const Lut& lut : luts)
    for (const Under each : {a.under(), under})
      if (!reading.arbitrary) check_sides(lut, each);
  const std::shared_ptr<const Origin> input = origin(a);
  check_padding("apply_many", encoding, input->largest);
  const double noise = rotated_noise({{1, input.get()}}, a.under());
  const Account::Looked looked{reading, noise, input->largest.range, input->promise};
  const bool all_exact = std::ranges::all_of(luts, [](const Lut& l) { return l.exact(); });
  // Phases cost no noise of outputs, and values none of the rounding: phases are taken where they
  // are allowed.
  const bool phases =
      shares_phases(parameters, encoding, reading) && std::ranges::all_of(luts, [&](const Lut& l) {
        return !l.exact() || account.looks_up(l, reading, noise, 1, under);
      });
  if (!phases && all_exact) {
    std::optional<MultiValue> values = multi_value(parameters, luts, reading.arbitrary);
    if (values) {
      const Reading whole{reading.arbitrary};
      Outcome outcome{-HUGE_VAL, {}, under};
      bool allowed = true;
      for (std::size_t l = 0; l < luts.size() && allowed; ++l) {
        const MultiValue::Table& table = values->tables[l];
        const double result = account.of_coefficients(table.squares, table.absolute, under);
        allowed = account.looks_up(luts[l], whole, noise, result, under);
        if (!allowed) break;
        outcome.failure_log2 = account.check_look_up(luts[l], whole, noise, result, under);
        outcome.results.push_back(
            {luts[l].output(),
             summed_up(luts[l], reading.arbitrary, result,
                       table.absolute * table_offset(luts[l].output(), under), *input,
                       account.promise(luts.subspan(l, 1), looked, outcome.failure_log2))});
      }
      if (allowed)
        return run(
            a, outcome,
            work_of_multi_value(parameters, luts, reading.arbitrary, std::move(*values), under));
    }
  }
  check_phases(parameters, encoding, reading, luts.size());
  Outcome outcome{-HUGE_VAL, {}, under};
  const auto at_least = [&](double failure_log2) {
    outcome.failure_log2 = std::max(outcome.failure_log2, failure_log2);
  };
  for (std::size_t l = 0; l < luts.size(); ++l) {
    const std::span<const Lut> lut = luts.subspan(l, 1);
    const auto made = [&](const Promise& promise) {
      return looked_up(lut, {}, reading, l, input, promise, under);
    };
    double own = -HUGE_VAL;
    if (lut[0].exact())
      own = account.check_look_up(lut[0], reading, noise,
                                  std::max(account.bootstrapped(), made({})->noise), under);
    at_least(own);
    account.check_approximate(lut, looked, within);
    outcome.results.push_back({lut[0].output(), made(account.promise(lut, looked, own))});
  }
  if (failures && !all_exact) at_least(account.approximate_failure_log2(luts, looked, within));
  return run(a, outcome, work_of_many(parameters, luts, reading, under));
}

std::shared_ptr<const Origin> Server::State::summed_up(const Lut& lut, bool arbitrary, double noise,
                                                       double offset, const Origin& input,
                                                       const Promise& promise) const {
  // All are sums of coefficients of one accumulator, whatever the table.
  const std::uint64_t tag = mix(lut.output().sectors(), arbitrary ? 3 : 2);
  const std::uint32_t largest = *std::ranges::max_element(lut.values());
  const Term term{1, &input};
  return std::make_shared<const Origin>(origin_of_bootstrapped(
      mark_sum({&term, 1}), {&tag, 1}, {}, noise, {largest, largest}, promise, offset));
}

Array Server::State::divided(const Array& a, std::uint32_t by) const {
  check(a);
  const Encoding encoding = encoding_of(a);
  if (by == 0 || encoding.p % by != 0 || encoding.p / by < 2)
    throw EncodingError("divided: p = " + std::to_string(encoding.p) + " is not a multiple of " +
                        std::to_string(by) + " above it");
  const Encoding output{encoding.p / by, encoding.padding};
  return array(output, std::make_shared<const Origin>(binfhe::divided(*origin(a), output, by)),
               a.state_->rows, {});
}

}  // namespace whorl::binfhe
