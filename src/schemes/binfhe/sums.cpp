// Weighted sums: what is known of their messages and errors, and their work.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>

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

/// Returns the largest value of the sum; EncodingError if a padding bit has no room for all
/// values.
Largest largest_of_sum(std::span<const Term> terms, std::int32_t constant, Encoding encoding,
                       bool modular, std::optional<std::uint32_t> stated) {
  const std::uint32_t top = encoding.p - 1;
  if (stated && *stated > top)
    throw EncodingError("linear: largest = " + std::to_string(*stated) +
                        " is not below p = " + std::to_string(encoding.p));
  if (stated) return {*stated, *stated};
  const SumRange sum = range_of_sum(terms, constant, &Largest::any);
  const bool ranged = std::any_of(terms.begin(), terms.end(), [](const Term& term) {
    return term.origin->largest.range.has_value();
  });
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
  return {sum.most_of(top, all),
          range_of_sum(terms, constant, &Largest::as_bits).most_of(top, all)};
}

}  // namespace

template <class Batch>
Batch Server::State::linear(std::span<const std::int32_t> weights,
                            std::span<const Batch* const> inputs, std::int32_t constant,
                            bool modular, std::optional<std::uint32_t> stated) const {
  if (inputs.empty() || weights.size() != inputs.size())
    throw ShapeError("linear: " + std::to_string(weights.size()) + " weights for " +
                     std::to_string(inputs.size()) +
                     " inputs; there must be one for each input, and at least one input");
  const Encoding input = check_together("linear", inputs);
  const Operands all = operands(inputs, weights);
  const Largest largest = largest_of_sum(all.terms, constant, input, modular, stated);
  const double rounded = encoding_offset(parameters, input, all.under),
               offset = offset_of(all.terms, constant == 0 ? 0 : rounded);
  double noise = with_offset(variance_of(all.terms, account.constant(all.under)), offset);
  if (offset > 0) noise = std::max(noise, account.least(all.under));  // as files state it
  if (noise > all.most) account.check_sum(input, noise, all.under);
  const auto origin = [&] {
    return std::make_shared<const Origin>(
        origin_of_sum(all.terms, constant, noise, offset, largest));
  };
  return run(plan_linear(parameters, weights, constant, input, all.under), origin, inputs);
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
                                       std::optional<std::uint32_t>) const;               \
  template Batch Server::State::not_(const Batch&) const

WHORL_INSTANTIATE_SUMS(Ciphertexts);
WHORL_INSTANTIATE_SUMS(Array);

}  // namespace whorl::binfhe
