// Integers modulo p in lanes: sums are free, and a bootstrap looks tables up
// (docs/lanes-integers.md).
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "circuits/ckks/bootstrap.h"
#include "circuits/ckks/lane_errors.h"
#include "circuits/ckks/table_fit.h"
#include "math/text.h"
#include "schemes/ckks/server_state.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace {

/// Integers are refreshed before they are larger: then scales that are rounded to doubles change
/// none by more than 2^-30.
constexpr std::int64_t largest_integer = std::int64_t{1} << 20;

using Entries = std::vector<std::int64_t>;

unsigned log2_of(unsigned p) { return static_cast<unsigned>(std::countr_zero(p)); }

std::int64_t size_of(const LaneMessages& m) { return std::max(std::abs(m.low), std::abs(m.high)); }

bool is_reduced(const LaneMessages& m) { return m.low >= 0 && m.high < m.p; }

/// The entries for 0 … p - 1.
template <class F>
Entries table_of(unsigned p, const F& f) {
  Entries out;
  for (std::int64_t m = 0; m < p; ++m) out.push_back(f(m));
  return out;
}

}  // namespace

Array as_turns(const Server& server, const Array& numbers, unsigned bits) {
  const double points = std::exp2(bits),
               turns = std::floor((numbers.info().bounds().low + 0.5) / points);
  const Array halves = server.add_scalar(numbers, 0.5 - turns * points);
  return server.with_bound(Access::State::with_scale(halves, points), {0, 1});
}

struct Lanes::Integers {
  explicit Integers(const Lanes& of) : lanes(of) {}

  const Lanes& lanes;
  const Server& server = lanes.server_;
  const unsigned least = server.parameters().least_bootstrap_level();

  /// What an array holds now; its messages are read first, and hold for later values too.
  struct Operand {
    LaneMessages messages;
    Array values;
    double error;
  };
  Operand operand(const LaneArray& a) const {
    const LaneMessages messages = a.messages();
    Array values = lanes.values_of(a);
    const double error = error_of(values.info());
    return {messages, std::move(values), error};
  }

  unsigned largest_modulus() const { return 1u << server.parameters().literal().bootstrap->bits; }
  void check_modulus(unsigned p) const {
    if (p < 4 || p > largest_modulus() || !std::has_single_bit(p))
      throw ParameterError("lanes: integers modulo " + std::to_string(p) + "; there are " +
                           (largest_modulus() < 4
                                ? "none with parameters whose bootstraps hold fewer than two bits"
                                : "those modulo a power of two, 4 … " +
                                      std::to_string(largest_modulus()) +
                                      ", with these parameters"));
  }
  /// The p of all of them. ParameterError for bits, and for several; ShapeError for counts that do
  /// not meet.
  unsigned modulus(std::span<const LaneArray> arrays) const {
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
  static void check_counts(std::size_t& count, std::size_t own) {
    if (own != count && own != 1 && count != 1)
      throw ShapeError("lanes: arrays of " + std::to_string(count) + " and " + std::to_string(own) +
                       " ciphertexts meet");
    count = std::max(count, own);
  }

  /// Brings errors of operands down and levels up, until errors times these weights are at most
  /// `limit` together, and each has `levels` levels. False where that is not reached.
  bool settle(std::span<const LaneArray> arrays, std::span<const double> weights, double limit,
              unsigned levels = 0) const {
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
  void settled(std::span<const LaneArray> arrays, std::span<const double> weights, unsigned p,
               unsigned levels = 0) const {
    if (settle(arrays, weights, lanes.limit(p), levels)) return;
    double total = 0;
    for (std::size_t i = 0; i < arrays.size(); ++i) total += weights[i] * arrays[i].error();
    throw NoiseError("lanes: integers modulo " + std::to_string(p) + " would be 2^" +
                     math::text_of(std::log2(total)) + " off, and tables want 2^" +
                     math::text_of(std::log2(lanes.limit(p))) +
                     ", though operands were refreshed: take a smaller p, or parameters with a "
                     "larger scale");
  }

  /// a + b, or a - b, of which the errors are at most those that p wants.
  Operand sum(const LaneArray& a, const LaneArray& b, bool subtract, unsigned p) const {
    const std::array arrays{a, b};
    const std::array weights{1.0, 1.0};
    settled(arrays, weights, p);
    Operand x = operand(a), y = operand(b);
    if (size_of(x.messages) + size_of(y.messages) > largest_integer) {
      lanes.refresh(arrays);
      x = operand(a);
      y = operand(b);
    }
    const LaneMessages &m = x.messages, &n = y.messages;
    const LaneMessages messages = subtract ? LaneMessages{p, m.low - n.high, m.high - n.low}
                                           : LaneMessages{p, m.low + n.low, m.high + n.high};
    Array values = subtract ? server.sub(x.values, y.values) : server.add(x.values, y.values);
    const double error = error_of(values.info());
    return {messages, std::move(values), error};
  }

  /// A table of some vectors; none: of all.
  struct Task {
    Entries entries;
    std::vector<std::uint32_t> vectors = {};
  };
  /// Tables of integers by one bootstrap. Two integers share a coefficient where they fit.
  std::vector<Array> tables(const Operand& x, std::span<const Task> tasks) const {
    const unsigned bits = log2_of(x.messages.p);
    lanes.count(x.values.info().count, 0, 0, lanes.maps_.slots());
    std::vector<TableTask> all;
    for (const Task& task : tasks) {
      TableTask made{table_polynomial(task.entries), task.vectors, 0, 0};
      made.error = error_of_table(server, lanes.maps_, bits, made.polynomial, x.error, deviations) /
                   deviations;
      for (const std::int64_t entry : task.entries)
        made.largest =
            std::max(made.largest, std::abs(static_cast<double>(entry) - made.polynomial.constant));
      all.push_back(std::move(made));
    }
    return bootstrap_tables(server, as_turns(server, x.values, bits), all, lanes.maps_);
  }
  Array table(const Operand& x, Entries entries) const {
    const Task task{std::move(entries)};
    return tables(x, std::span(&task, 1))[0];
  }
  Array table(const LaneArray& a, unsigned p, Entries entries) const {
    const double once = 1;
    settled(std::span(&a, 1), std::span(&once, 1), p);
    return table(operand(a), std::move(entries));
  }

  /// As many ciphertexts as that.
  LaneArray spread(const LaneArray& a, std::size_t count) const {
    return a.info().count == count ? a : lanes.take(a, std::vector<std::uint32_t>(count, 0));
  }

  /// Bits of all integers by one bootstrap, cleaned: those of weight 2^j one after another.
  Array cleaned_bits(const Array& x, unsigned bits) const {
    lanes.count(x.info().count, 0, 0, lanes.maps_.slots());
    return lanes.cleaned(server.concatenate(lanes.bits_of(x, bits)));
  }
  Array part(const Array& x, std::size_t first, std::size_t count) const {
    std::vector<std::uint32_t> indices;
    for (std::size_t i = first; i < first + count; ++i)
      indices.push_back(static_cast<std::uint32_t>(i));
    return server.take(x, indices);
  }

  /// Σ_j 2^j·b_j·(a modulo 2^(k-j)) of the bits b_j, p = 2^k: these have so small errors that a's
  /// are magnified less than by b.
  LaneArray product_of_bits(const LaneArray& a, const LaneArray& b, unsigned p) const {
    if (server.parameters().depth() <= least + cleaning_levels)
      throw NoiseError("lanes: a product of integers modulo " + std::to_string(p) +
                       " with these errors is made of cleaned bits, which takes " +
                       std::to_string(cleaning_levels + 1) +
                       " levels between bootstraps; there "
                       "are " +
                       std::to_string(server.parameters().depth() - least) +
                       ": take parameters with more levels");
    const unsigned k = log2_of(p);
    const double once = 1;
    for (const LaneArray& each : {a, b}) settled(std::span(&each, 1), std::span(&once, 1), p);
    const std::size_t count = std::max(a.info().count, b.info().count);
    const Array all = cleaned_bits(
        lanes.values_of(lanes.concatenate(std::array{spread(a, count), spread(b, count)})), k);
    const Access::State& state = Access::of(server);
    std::optional<Array> low, sum;
    double error = 0;
    for (unsigned j = k; j-- > 0;) {
      // The lowest k - j bits of a.
      const unsigned highest = k - 1 - j;
      const Array next = server.multiply_integer(part(all, 2 * highest * count, count),
                                                 std::int64_t{1} << highest);
      low = low ? server.add(*low, next) : next;
      const Array bit = part(all, (2 * j + 1) * count, count);
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

  /// The difference of integers as one modulo 2p, in which its sign can be seen; none where 2p is
  /// too large, or where they are not in 0 … p - 1.
  std::optional<Operand> signed_difference(const LaneArray& a, const LaneArray& b,
                                           unsigned p) const {
    if (2 * p > largest_modulus() || !is_reduced(a.messages()) || !is_reduced(b.messages()))
      return std::nullopt;
    return sum(a, b, true, 2 * p);
  }
  /// min(a - b, 0) is a table of the difference: the smaller of both is b plus that, and the larger
  /// one a less that.
  LaneArray extreme(const LaneArray& a, const LaneArray& b, bool smaller) const {
    const std::array arrays{a, b};
    const unsigned p = modulus(arrays);
    const std::optional<Operand> difference = signed_difference(a, b, p);
    if (!difference) return lanes.select(lanes.less(a, b), smaller ? a : b, smaller ? b : a);
    const std::int64_t above = p;
    const LaneArray below = lanes.lanes_of(
        table(*difference,
              table_of(2 * p, [&](std::int64_t m) { return m < above ? 0 : m - 2 * above; })),
        {p, 1 - above, 0});
    const Operand found = sum(smaller ? b : a, below, !smaller, p);
    return lanes.lanes_of(found.values, reduced(p));
  }
};

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
                                table_of(messages.p, [](std::int64_t m) { return m; })),
                       out);
  // 2. Their bits, which cleaning makes better than a table of them.
  const Array all = of.cleaned_bits(x, bits);
  std::optional<Array> sum;
  for (std::size_t j = bits; j-- > 0;) {
    const Array bit = of.part(all, j * x.info().count, x.info().count);
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
    if (bit.messages().p != 2)
      throw ParameterError("lanes: bits are needed, and this array has integers modulo " +
                           std::to_string(bit.messages().p));
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
  const double once = 1;
  of.settled(std::span(&a, 1), std::span(&once, 1), p);
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
  if (!of.settle(std::span(&a, 1), std::span(&weight, 1), limit(modulus)))
    return lanes_of(
        of.table(a, modulus,
                 table_of(modulus, [&](std::int64_t m) { return (factor * m + more) & mask; })),
        reduced(modulus));
  if (std::abs(factor) * size_of(a.messages()) + more > largest_integer) refresh(std::span(&a, 1));
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
  const double error = static_cast<double>(size_of(n)) * x.error +
                       static_cast<double>(size_of(m)) * y.error + x.error * y.error;
  const unsigned level = std::min(x.values.info().level, y.values.info().level);
  if (error > limit(p) || level <= of.least || size_of(m) * size_of(n) > largest_integer)
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

LaneArray Lanes::join(const LaneArray& a, const LaneArray& b) const {
  const Integers of(*this);
  const unsigned p = of.modulus(std::span(&a, 1)), other = of.modulus(std::span(&b, 1)),
                 all = p * other;
  of.check_modulus(all);
  std::size_t count = a.info().count;
  Integers::check_counts(count, b.info().count);
  if (!is_reduced(a.messages())) refresh(std::span(&a, 1));
  const std::array arrays{a, b};
  const std::array weights{1.0, static_cast<double>(p)};
  of.settled(arrays, weights, all);
  const auto x = of.operand(a), y = of.operand(b);
  return lanes_of(
      server_.add(x.values, server_.multiply_integer(y.values, p)),
      {all, x.messages.low + p * y.messages.low, x.messages.high + p * y.messages.high});
}

LaneArray Lanes::apply(const LaneArray& a, std::span<const LaneTable> tables,
                       std::span<const LaneLookup> where, unsigned p) const {
  const Integers of(*this);
  const unsigned own = of.modulus(std::span(&a, 1));
  if (p != 2) of.check_modulus(p);
  const std::size_t count = a.info().count;
  for (const LaneTable& table : tables) {
    const std::string name = "lanes: table " + std::to_string(&table - tables.data());
    if (table.size() != own)
      throw ParameterError(name + " has " + std::to_string(table.size()) +
                           " entries, and integers modulo " + std::to_string(own) + " want " +
                           std::to_string(own));
    for (const std::uint32_t& entry : table)
      if (entry >= p)
        throw ParameterError(name + " has the entry " + std::to_string(entry) + " at index " +
                             std::to_string(&entry - table.data()) + ", which is outside 0 … " +
                             std::to_string(p - 1));
  }
  if (where.empty()) throw ParameterError("lanes: no vector is looked up");
  // Each table once, of all vectors that want it.
  std::map<std::uint32_t, std::size_t> place;
  std::vector<Integers::Task> tasks;
  std::vector<std::uint32_t> indices;
  for (const auto& [vector, table] : where) {
    if (vector >= count || table >= tables.size())
      throw ParameterError("lanes: vector " + std::to_string(vector) + " and table " +
                           std::to_string(table) + " are not of " + std::to_string(count) +
                           " and of " + std::to_string(tables.size()));
    const auto [found, is_new] = place.try_emplace(table, tasks.size());
    if (is_new) tasks.push_back({Entries(tables[table].begin(), tables[table].end())});
    tasks[found->second].vectors.push_back(vector);
  }
  std::vector<std::uint32_t> first(tasks.size()), used(tasks.size());
  for (std::size_t i = 1; i < tasks.size(); ++i)
    first[i] = first[i - 1] + static_cast<std::uint32_t>(tasks[i - 1].vectors.size());
  for (const LaneLookup& each : where) {
    const std::size_t i = place[each.table];
    indices.push_back(first[i] + used[i]++);
  }
  const double once = 1;
  of.settled(std::span(&a, 1), std::span(&once, 1), own);
  const std::vector<Array> found = of.tables(of.operand(a), tasks);
  const Array all = found.size() == 1 ? found[0] : server_.concatenate(found);
  return lanes_of(server_.take(all, indices), reduced(p));
}

LaneArray Lanes::less(const LaneArray& a, const LaneArray& b) const {
  const Integers of(*this);
  const std::array arrays{a, b};
  const unsigned p = of.modulus(arrays);
  if (const auto difference = of.signed_difference(a, b, p))
    return lanes_of(of.table(*difference, table_of(2 * p, [&](std::int64_t m) { return m >= p; })));
  // Where the highest bits differ that of b decides, and else that of a - b.
  const std::size_t count = std::max(a.info().count, b.info().count);
  const std::array three{of.spread(a, count), of.spread(b, count),
                         of.spread(subtract(a, b), count)};
  const LaneArray top = lanes_of(
      of.table(concatenate(three), p, table_of(p, [&](std::int64_t m) { return 2 * m >= p; })));
  const Array bits = values_of(top);
  std::vector<LaneArray> highest;
  for (std::size_t i = 0; i < 3; ++i) highest.push_back(lanes_of(of.part(bits, i * count, count)));
  return select(bit_xor(highest[0], highest[1]), highest[1], highest[2]);
}

LaneArray Lanes::equal(const LaneArray& a, const LaneArray& b) const {
  const Integers of(*this);
  const std::array arrays{a, b};
  const unsigned p = of.modulus(arrays);
  return lanes_of(
      of.table(of.sum(a, b, true, p), table_of(p, [](std::int64_t m) { return m == 0; })));
}

LaneArray Lanes::minimum(const LaneArray& a, const LaneArray& b) const {
  return Integers(*this).extreme(a, b, true);
}
LaneArray Lanes::maximum(const LaneArray& a, const LaneArray& b) const {
  return Integers(*this).extreme(a, b, false);
}

}  // namespace whorl::ckks
