// Weighted sums: what is known of their messages and errors, and their work.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schemes/binfhe/account_products.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/server_state.h"
#include "whorl/error.h"

namespace whorl::binfhe {

namespace {

/// Values of a weighted sum, exact: those of many terms may pass 64 bits.
struct SumRange {
  using Number = __int128;
  Number least, most;
  bool within(std::uint32_t top) const { return least >= 0 && most <= top; }
  /// The largest value, or `otherwise` if not all are in 0 … top.
  std::uint32_t most_of(std::uint32_t top, std::uint64_t otherwise) const {
    return static_cast<std::uint32_t>(within(top) ? static_cast<std::uint64_t>(most) : otherwise);
  }
};
SumRange range_of_sum(std::span<const Term> terms, std::int32_t constant,
                      std::uint32_t Largest::*largest) {
  SumRange sum{constant, constant};
  for (const Term& term : terms) {
    const Largest& known = term.origin->largest;
    const auto [low, high] = known.range.value_or(MessageRange{0, known.*largest});
    const auto weight = static_cast<SumRange::Number>(term.weight);
    sum.least += std::min(weight * low, weight * high);
    sum.most += std::max(weight * low, weight * high);
  }
  return sum;
}

/// The same of all rows' sums.
SumRange range_of_products(const Origin& origin, std::span<const RowSums> rows,
                           std::span<const std::int32_t> constants,
                           std::uint32_t Largest::*largest) {
  std::optional<SumRange> all;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    // Sums of 2^20 weights of 31 bits are exact in doubles.
    const Term terms[] = {{static_cast<double>(rows[r].positive), &origin},
                          {static_cast<double>(rows[r].negative), &origin}};
    const SumRange row = range_of_sum(terms, constants.empty() ? 0 : constants[r], largest);
    if (!all) all = row;
    all->least = std::min(all->least, row.least);
    all->most = std::max(all->most, row.most);
  }
  return *all;
}

/// What is known of sums, `sum` of any messages, `of_bits` if those of which nothing is known are
/// bits. EncodingError if a padding bit has no room for all values.
Largest largest_of_sum(const SumRange& sum, const SumRange& of_bits, bool ranged, Encoding encoding,
                       bool modular, std::optional<std::uint32_t> stated) {
  const std::uint32_t top = encoding.p - 1;
  if (stated && *stated > top)
    throw EncodingError("linear: largest = " + std::to_string(*stated) +
                        " is not below p = " + std::to_string(encoding.p));
  if (stated) return {*stated, *stated};
  constexpr SumRange::Number far = std::numeric_limits<std::int64_t>::max();
  const MessageRange values{static_cast<std::int64_t>(std::clamp(sum.least, -far, far)),
                            static_cast<std::int64_t>(std::clamp(sum.most, -far, far))};
  if (ranged && !modular) return largest_within("linear", encoding, values);
  if (encoding.padding && !sum.within(top) && !modular) {
    throw EncodingError(
        "linear: the sum may be " + std::to_string(values.low) + " … " +
        std::to_string(values.high) + ", and " + describe(encoding) + " holds 0 … " +
        std::to_string(top) +
        ": take a larger p; or give the sum largest=…, which you know it not to pass, "
        "or modular=True, if it is meant modulo p; or state by with_range "
        "which integers the terms stand for");
  }
  const std::uint64_t all = encoding.sectors() - 1;
  return {sum.most_of(top, all), of_bits.most_of(top, all)};
}

/// The origin of messages that may be read nearly, if they are: those of exact sums are off by 0
/// but for their errors, by which Array::error_bound has how far they are read off. Files want a
/// finite bound for what never happens.
Origin known_nearly(Origin origin, bool nearly) {
  if (!nearly) return origin;
  constexpr double least_failure_log2 = -1e9;
  Promise promise = origin.promise;
  promise.off = promise.most_off();
  promise.failure_log2 = std::max(promise.failure_log2, least_failure_log2);
  return with_promise(std::move(origin), promise);
}

}  // namespace

Server::State::MakeOrigin Server::State::check_linear(const Operands& all, Encoding input,
                                                      std::int32_t constant, bool modular,
                                                      std::optional<std::uint32_t> stated,
                                                      bool exact) const {
  const bool ranged = std::any_of(all.terms.begin(), all.terms.end(), [](const Term& term) {
    return term.origin->largest.range.has_value();
  });
  const Largest largest = largest_of_sum(range_of_sum(all.terms, constant, &Largest::any),
                                         range_of_sum(all.terms, constant, &Largest::as_bits),
                                         ranged, input, modular, stated);
  const double rounded = encoding_offset(parameters, input, all.under),
               offset = offset_of(all.terms, constant == 0 ? 0 : rounded);
  double noise = with_offset(variance_of(all.terms, account.constant(all.under)), offset);
  if (offset > 0) noise = std::max(noise, account.least(all.under));  // as files state it
  const bool coarse = std::ranges::any_of(all.terms, [&](const Term& term) {
    return account.is_coarse(input, *term.origin, all.under);
  });
  if (exact && noise > all.most && !coarse) account.check_sum(input, noise, all.under);
  return [&all, constant, noise, offset, largest, exact] {
    return std::make_shared<const Origin>(
        known_nearly(origin_of_sum(all.terms, constant, noise, offset, largest), !exact));
  };
}

template <class Batch>
Batch Server::State::linear(std::span<const std::int32_t> weights,
                            std::span<const Batch* const> inputs, std::int32_t constant,
                            bool modular, std::optional<std::uint32_t> stated, bool exact) const {
  if (inputs.empty() || weights.size() != inputs.size())
    throw ShapeError("linear: " + std::to_string(weights.size()) + " weights for " +
                     std::to_string(inputs.size()) +
                     " inputs; there must be one for each input, and at least one input");
  const Encoding input = check_together("linear", inputs);
  const Operands all = operands(inputs, weights);
  const MakeOrigin origin = check_linear(all, input, constant, modular, stated, exact);
  return run(plan_linear(parameters, weights, constant, input, all.under), origin, inputs);
}

Array Server::State::linear(const Weights& weights, const Array& a,
                            std::span<const std::int32_t> constants, bool modular,
                            std::optional<std::uint32_t> stated, bool exact) const {
  check(a);
  const std::size_t K = weights.columns, R = weights.rows();
  if (R == 0 || weights.entries.size() != R * K || a.count() % K != 0 ||
      (!constants.empty() && constants.size() != R))
    throw ShapeError("linear: " + std::to_string(weights.entries.size()) + " weights in rows of " +
                     std::to_string(K) + " and " + std::to_string(constants.size()) +
                     " constants for " + std::to_string(a.count()) +
                     " ciphertexts; there must be at least one whole row, a constant for each row "
                     "or none, and ciphertexts for whole rows");
  const Encoding input = encoding_of(a);
  const Under under = under_of(a);
  const auto of = origin(a);
  const std::vector<RowSums> sums = sums_of_rows(weights);
  const Largest largest = largest_of_sum(range_of_products(*of, sums, constants, &Largest::any),
                                         range_of_products(*of, sums, constants, &Largest::as_bits),
                                         of->largest.range.has_value(), input, modular, stated);
  ProductErrors errors = errors_of_product(*of, weights, sums, constants, account.constant(under),
                                           encoding_offset(parameters, input, under));
  if (errors.offset > 0) errors.noise = std::max(errors.noise, account.least(under));
  if (exact && errors.noise > of->noise && !account.is_coarse(input, *of, under))
    account.check_sum(input, errors.noise, under);
  const std::vector<std::int64_t> entries(weights.entries.begin(), weights.entries.end());
  std::vector<std::uint64_t> shifts;
  for (std::size_t r = 0; r < R; ++r)
    shifts.push_back(constants.empty() ? 0 : shift_of(constants[r], input, parameters, under));
  auto made = evaluator.products(entries, shifts, a.state_->rows);
  return array(input,
               std::make_shared<const Origin>(known_nearly(
                   origin_of_product(*of, weights, constants, errors, largest), !exact)),
               std::move(made));
}

Array Server::State::with_range(const Array& a, MessageRange range) const {
  check(a);
  const Encoding encoding = encoding_of(a);
  return array(encoding,
               std::make_shared<const Origin>(binfhe::with_range(*origin(a), encoding, range)),
               a.state_->rows, a.state_->host);
}

template <class Batch>
Batch Server::State::not_(const Batch& a) const {
  const std::int32_t weights[] = {-1};
  const Batch* inputs[] = {&a};
  check_bits_of("not", 0, as_bits_of(a));
  return linear<Batch>(weights, inputs, 1, false, 1);
}

#define WHORL_INSTANTIATE_SUMS(Batch)                                                     \
  template Batch Server::State::linear(std::span<const std::int32_t>,                     \
                                       std::span<const Batch* const>, std::int32_t, bool, \
                                       std::optional<std::uint32_t>, bool) const;         \
  template Batch Server::State::not_(const Batch&) const

WHORL_INSTANTIATE_SUMS(Ciphertexts);
WHORL_INSTANTIATE_SUMS(Array);

}  // namespace whorl::binfhe
