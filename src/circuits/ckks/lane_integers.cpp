// Integers modulo p in lanes: sums, products and bits (docs/lanes-integers.md).
#include "circuits/ckks/lane_integers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <string>

#include "math/text.h"
#include "whorl/error.h"

namespace whorl::ckks {

void Lanes::Integers::check_modulus(unsigned p) const {
  const unsigned most = largest_modulus();
  if (p < 4 || p > most || !std::has_single_bit(p))
    throw ParameterError("lanes: integers modulo " + std::to_string(p) + "; there are " +
                         (most < 4
                              ? "none with parameters whose bootstraps hold fewer than two bits"
                              : "those modulo a power of two, 4 … " + std::to_string(most) +
                                    ", with these parameters"));
}

void Lanes::Integers::check_bits(const LaneArray& a) {
  if (const unsigned p = a.messages().p; p != 2)
    throw ParameterError("lanes: bits are needed, and this array has integers modulo " +
                         std::to_string(p) + ": take their bits first");
}

void Lanes::Integers::check_counts(std::size_t& count, std::size_t own) {
  if (own != count && own != 1 && count != 1)
    throw ShapeError("lanes: arrays of " + std::to_string(count) + " and " + std::to_string(own) +
                     " ciphertexts meet");
  count = std::max(count, own);
}

unsigned Lanes::Integers::modulus(std::span<const LaneArray> arrays) const {
  const unsigned p = arrays[0].messages().p;
  std::size_t count = 1;
  for (const LaneArray& a : arrays) {
    server.check(a.held());
    const unsigned own = a.messages().p;
    if (own == 2)
      throw ParameterError(
          "lanes: integers are needed, and this array has bits: make integers "
          "of them first");
    if (own != p)
      throw ParameterError("lanes: integers modulo " + std::to_string(p) + " and " +
                           std::to_string(own) + " meet: bring them to one modulus first");
    check_counts(count, a.info().count);
  }
  return p;
}

bool Lanes::Integers::settle(std::span<const LaneArray> arrays, std::span<const double> weights,
                             unsigned p, unsigned levels) const {
  const double limit = lanes.limit(p);
  double before = INFINITY;
  for (unsigned round = 0; round < 8; ++round) {
    double total = 0;
    std::vector<double> parts;
    bool low = false;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      parts.push_back(weights[i] * arrays[i].error());
      total += parts.back();
      low = low || arrays[i].info().level < least + levels;
    }
    if (total <= limit && !low) return true;
    if (!low && total > before / 2) return false;
    before = low ? INFINITY : total;
    std::vector<LaneArray> cleaned, refreshed;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const LaneArray& a = arrays[i];
      const unsigned level = a.info().level;
      const bool much = total > limit && parts[i] > total / (4.0 * arrays.size());
      if (level < least + levels || (much && a.messages().p != 2))
        refreshed.push_back(a);
      else if (much)
        (level < least + levels + cleaning_levels ? refreshed : cleaned).push_back(a);
    }
    lanes.clean(cleaned);
    if (!refreshed.empty()) lanes.refresh(refreshed);
  }
  return false;
}

void Lanes::Integers::settled(std::span<const LaneArray> arrays, std::span<const double> weights,
                              unsigned p, unsigned levels) const {
  if (settle(arrays, weights, p, levels)) return;
  double total = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) total += weights[i] * arrays[i].error();
  throw NoiseError("lanes: integers modulo " + std::to_string(p) + " would be 2^" +
                   math::text_of(std::log2(total)) + " off, and tables want 2^" +
                   math::text_of(std::log2(lanes.limit(p))) +
                   ", though operands were refreshed: take a smaller p, or parameters with a "
                   "larger scale");
}

Lanes::Integers::Operand Lanes::Integers::sum(const LaneArray& a, const LaneArray& b, bool subtract,
                                              unsigned p) const {
  const std::array arrays{a, b};
  const std::array weights{1.0, 1.0};
  settled(arrays, weights, p);
  Operand x = operand(a), y = operand(b);
  if (size_of(x.messages) + size_of(y.messages) > largest(p)) {
    lanes.refresh(arrays);
    x = operand(a);
    y = operand(b);
  }
  const LaneMessages &m = x.messages, &n = y.messages;
  const LaneMessages messages = subtract ? LaneMessages{p, m.low - n.high, m.high - n.low}
                                         : LaneMessages{p, m.low + n.low, m.high + n.high};
  return operand(messages,
                 subtract ? server.sub(x.values, y.values) : server.add(x.values, y.values));
}

Array Lanes::Integers::cleaned_bits(const Array& x, unsigned bits) const {
  lanes.count(x.info().count, 0, 0, lanes.maps_.slots());
  return lanes.cleaned(server.interleave(lanes.bits_of(x, bits)));
}

Array Lanes::Integers::part(const Array& x, std::size_t first, std::size_t count) const {
  std::vector<std::uint32_t> indices;
  for (std::size_t i = first; i < first + count; ++i)
    indices.push_back(static_cast<std::uint32_t>(i));
  return server.take(x, indices);
}

Array Lanes::Integers::each_of(const Array& x, std::size_t first, std::size_t step) const {
  std::vector<std::uint32_t> indices;
  for (std::size_t i = first; i < x.info().count; i += step)
    indices.push_back(static_cast<std::uint32_t>(i));
  return server.take(x, indices);
}

// Σ_j 2^j·b_j·(a modulo 2^(k-j)) of the bits b_j, p = 2^k.
LaneArray Lanes::Integers::product_of_bits(const LaneArray& a, const LaneArray& b,
                                           unsigned p) const {
  if (server.parameters().depth() <= least + cleaning_levels)
    throw NoiseError("lanes: a product of integers modulo " + std::to_string(p) +
                     " with these errors is made of cleaned bits, which takes " +
                     std::to_string(cleaning_levels + 1) +
                     " levels between bootstraps; there "
                     "are " +
                     std::to_string(server.parameters().depth() - least) +
                     ": take parameters with more levels");
  const unsigned k = log2_of(p);
  for (const LaneArray& each : {a, b}) settled(each, p);
  const std::size_t count = std::max(a.info().count, b.info().count);
  const Array all = cleaned_bits(server.interleave(std::array{lanes.values_of(spread(a, count)),
                                                              lanes.values_of(spread(b, count))}),
                                 k);
  const Access::State& state = Access::of(server);
  std::optional<Array> low, sum;
  double error = 0;
  for (unsigned j = k; j-- > 0;) {
    // The lowest k - j bits of a.
    const unsigned highest = k - 1 - j;
    const Array next =
        server.multiply_integer(each_of(all, highest, 2 * k), std::int64_t{1} << highest);
    low = low ? server.add(*low, next) : next;
    const Array bit = each_of(all, k + j, 2 * k);
    const double weight = std::exp2(j), e = error_of(low->info()), f = error_of(bit.info());
    error += weight * (e + (std::exp2(k - j) - 1) * f + e * f);
    const Array scaled = server.multiply_integer(*low, std::int64_t{1} << j);
    sum = state.product_plus(without_error(server, scaled), without_error(server, bit),
                             sum ? &*sum : nullptr);
  }
  lanes.count(0, 0, k * count, lanes.maps_.slots());
  return lanes.result(state.relinearised_and_rescaled(*sum), error,
                      {p, 0, static_cast<std::int64_t>(p) * (k - 1) + 1});
}

double Lanes::limit(unsigned p) const {
  if (p == 2) return limit_;
  const Integers of(*this);
  of.check_modulus(p);
  return integer_limits_.at(log2_of(p));
}

Array Lanes::refreshed_integers(const Array& x, const LaneMessages& messages) const {
  const unsigned bits = log2_of(messages.p), least = server_.parameters().least_bootstrap_level();
  const LaneMessages out = reduced(messages.p);
  const Integers of(*this);
  // 1. Without levels for a cleaning, the table of what they are.
  if (server_.parameters().depth() <= least + cleaning_levels)
    return of_messages(server_,
                       of.table({messages, x, error_of(x.info())},
                                Integers::table_of(messages.p, [](std::int64_t m) { return m; })),
                       out);
  // 2. Their bits, which cleaning makes better than a table of them.
  const Array all = of.cleaned_bits(x, bits);
  std::optional<Array> sum;
  for (std::size_t j = bits; j-- > 0;) {
    const Array bit = of.each_of(all, j, bits);
    sum = sum ? server_.add(server_.multiply_integer(*sum, 2), bit) : bit;
  }
  return of_messages(server_, *sum, out);
}

LaneArray Lanes::integers(std::span<const LaneArray> bits, unsigned p) const {
  const Integers of(*this);
  of.check_modulus(p);
  if (bits.empty() || bits.size() > log2_of(p))
    throw ParameterError("lanes: " + std::to_string(bits.size()) + " bits are no integers modulo " +
                         std::to_string(p) + ", which have 1 … " + std::to_string(log2_of(p)));
  std::vector<double> weights;
  std::size_t count = 1;
  for (const LaneArray& bit : bits) {
    server_.check(bit.held());
    Integers::check_bits(bit);
    Integers::check_counts(count, bit.info().count);
    weights.push_back(std::exp2(weights.size()));
  }
  of.settled(bits, weights, p);
  std::optional<Array> sum;
  for (std::size_t j = bits.size(); j-- > 0;) {
    const Array bit = values_of(bits[j]);
    sum = sum ? server_.add(server_.multiply_integer(*sum, 2), bit) : bit;
  }
  return lanes_of(*sum, {p, 0, (std::int64_t{1} << bits.size()) - 1});
}

std::vector<LaneArray> Lanes::bits(const LaneArray& a) const {
  const Integers of(*this);
  const unsigned p = of.modulus(std::span(&a, 1));
  of.settled(a, p);
  const Array x = values_of(a);
  count(x.info().count, 0, 0, maps_.slots());
  std::vector<LaneArray> out;
  for (const Array& bit : bits_of(x, log2_of(p))) out.push_back(lanes_of(bit));
  return out;
}

LaneArray Lanes::add(const LaneArray& a, const LaneArray& b) const {
  const Integers of(*this);
  const auto found = of.sum(a, b, false, of.modulus(std::array{a, b}));
  return lanes_of(found.values, found.messages);
}

LaneArray Lanes::subtract(const LaneArray& a, const LaneArray& b) const {
  const Integers of(*this);
  const auto found = of.sum(a, b, true, of.modulus(std::array{a, b}));
  return lanes_of(found.values, found.messages);
}

LaneArray Lanes::multiply_add(const LaneArray& a, std::int64_t by, std::int64_t value) const {
  const Integers of(*this);
  const std::int64_t p = of.modulus(std::span(&a, 1)), mask = p - 1;
  // Of numbers that are equal modulo p those nearest to 0.
  const auto nearest = [&](std::int64_t x) {
    return (x & mask) > p / 2 ? (x & mask) - p : x & mask;
  };
  const std::int64_t factor = nearest(by), more = value & mask;
  const double weight = static_cast<double>(std::abs(factor));
  const auto modulus = static_cast<unsigned>(p);
  if (!of.settle(std::span(&a, 1), std::span(&weight, 1), modulus))
    return lanes_of(
        of.table(a, Integers::table_of(modulus,
                                       [&](std::int64_t m) { return (factor * m + more) & mask; })),
        reduced(modulus));
  if (std::abs(factor) * Integers::size_of(a.messages()) + more > of.largest(modulus))
    refresh(std::span(&a, 1));
  const auto x = of.operand(a);
  const Array values =
      server_.add_scalar(server_.multiply_integer(x.values, factor), static_cast<double>(more));
  const std::int64_t first = factor * x.messages.low + more, last = factor * x.messages.high + more;
  return lanes_of(values, {modulus, std::min(first, last), std::max(first, last)});
}

LaneArray Lanes::modulo(const LaneArray& a, unsigned p) const {
  const Integers of(*this);
  const unsigned own = of.modulus(std::span(&a, 1));
  of.check_modulus(p);
  if (p > own)
    throw ParameterError("lanes: integers modulo " + std::to_string(own) +
                         " are not known modulo " + std::to_string(p) + ", which is no divisor");
  const auto x = of.operand(a);
  return lanes_of(x.values, {p, x.messages.low, x.messages.high});
}

LaneArray Lanes::multiply(const LaneArray& a, const LaneArray& b) const {
  const Integers of(*this);
  const unsigned p = of.modulus(std::array{a, b});
  const auto x = of.operand(a), y = of.operand(b);
  const LaneMessages &m = x.messages, &n = y.messages;
  const double error = static_cast<double>(Integers::size_of(n)) * x.error +
                       static_cast<double>(Integers::size_of(m)) * y.error + x.error * y.error;
  const unsigned level = std::min(x.values.info().level, y.values.info().level);
  if (error > limit(p) || level <= of.least ||
      Integers::size_of(m) * Integers::size_of(n) > of.largest(p))
    return of.product_of_bits(a, b, p);
  count(0, 0, std::max(x.values.info().count, y.values.info().count), maps_.slots());
  const auto [low, high] =
      std::minmax({m.low * n.low, m.low * n.high, m.high * n.low, m.high * n.high});
  return result(
      server_.multiply(without_error(server_, x.values), without_error(server_, y.values)), error,
      {p, low, high});
}

LaneArray Lanes::select_integers(const LaneArray& choice, const LaneArray& a,
                                 const LaneArray& b) const {
  const Integers of(*this);
  const std::array numbers{a, b};
  const unsigned p = of.modulus(numbers);
  if (choice.messages().p != 2)
    throw ParameterError("lanes: the choice must be bits, and this array has integers modulo " +
                         std::to_string(choice.messages().p));
  const auto distance = [&] {
    const LaneMessages m = a.messages(), n = b.messages();
    return static_cast<double>(std::max(m.high - n.low, n.high - m.low));
  };
  const std::array arrays{choice, a, b};
  const std::array weights{distance() + 1, 1.0, 1.0};
  of.settled(arrays, weights, p, 1);
  const auto s = of.operand(choice), x = of.operand(a), y = of.operand(b);
  count(0, 0, std::max({s.values.info().count, x.values.info().count, y.values.info().count}),
        maps_.slots());
  return result(chosen(server_, without_error(server_, s.values), without_error(server_, x.values),
                       without_error(server_, y.values)),
                s.error * distance() + std::max(x.error, y.error) + s.error * (x.error + y.error),
                both(x.messages, y.messages));
}

}  // namespace whorl::ckks
