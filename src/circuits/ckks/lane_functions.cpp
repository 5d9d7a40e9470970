// Functions by bootstraps: tables and comparisons of integers modulo p
// (docs/lanes-integers.md).
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numbers>
#include <optional>
#include <string>

#include "circuits/ckks/bootstrap.h"
#include "circuits/ckks/lane_errors.h"
#include "circuits/ckks/lane_integers.h"
#include "circuits/ckks/table_fit.h"
#include "whorl/error.h"

namespace whorl::ckks {

Array as_turns(const Server& server, const Array& numbers, unsigned bits) {
  // Whole turns are taken off, so that numbers are as small as can be.
  const Bounds bounds = numbers.info().bounds();
  const double points = std::exp2(bits),
               shift = 0.5 -
                       points * std::round((bounds.low + bounds.high + 1 - points) / (2 * points)),
               largest = std::max(std::abs(bounds.low + shift), std::abs(bounds.high + shift));
  const Array halves = server.with_more_error(server.add_scalar(numbers, shift),
                                              error_of_maps(server, largest) / deviations);
  return server.with_bound(Access::State::with_scale(halves, points), {0, 1});
}

double error_of_maps(const Server& server, double largest) {
  // The roundings are public, and lanes may follow their signs: the sum of the sizes of N Gaussian
  // numbers is √(2N/π) deviations of their sum. Within a turn no bit is wrong for that (lanes.md).
  const Parameters& p = server.parameters();
  const bool in_a_turn = largest <= std::exp2(p.literal().bootstrap->bits);
  return (in_a_turn ? gaussian_deviations : std::sqrt(2 * p.N() / std::numbers::pi)) * largest *
         std::exp2(Access::of(server).account.map_rounding());
}

namespace {

/// The largest distance of entries from the constant.
double largest_of(const std::vector<std::int64_t>& entries, const TablePolynomial& table) {
  double out = 0;
  for (const std::int64_t entry : entries)
    out = std::max(out, std::abs(static_cast<double>(entry) - table.constant));
  return out;
}

/// ParameterError unless all have `own` entries below p.
void check_tables(std::span<const LaneTable> tables, unsigned own, unsigned p) {
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
}

}  // namespace

double Lanes::Integers::table_error(const TablePolynomial& table, const Array& turns,
                                    unsigned p) const {
  return error_of_table(server, lanes.maps_, log2_of(p), table, p * error_of(turns.info()),
                        deviations) /
         deviations;
}

std::vector<Array> Lanes::Integers::bootstrapped(const Operand& x,
                                                 std::span<const Task> tasks) const {
  const Array turns = as_turns(server, x.values, log2_of(x.messages.p));
  std::vector<TableTask> all;
  for (const Task& task : tasks) {
    TableTask made{table_polynomial(task.entries), task.vectors};
    made.error = table_error(made.polynomial, turns, x.messages.p);
    made.largest = largest_of(task.entries, made.polynomial);
    all.push_back(std::move(made));
  }
  return bootstrap_tables(server, turns, all, lanes.maps_);
}

std::vector<Array> Lanes::Integers::tables(const Operand& x, std::span<const Task> tasks) const {
  const unsigned p = x.messages.p;
  const std::size_t count = x.values.info().count;
  lanes.count(count, 0, 0, lanes.maps_.slots());
  if (count < 2 || p * p > largest_modulus() || !is_reduced(x.messages) ||
      x.error * (1 + p) > lanes.limit(p * p))
    return bootstrapped(x, tasks);
  // 1. Vectors 2i plus p times vectors 2i + 1, of which the last may be in both: neighbours are on
  // one device.
  std::vector<std::uint32_t> even, odd;
  for (std::size_t v = 0; v < count; v += 2) {
    even.push_back(static_cast<std::uint32_t>(v));
    odd.push_back(static_cast<std::uint32_t>(std::min(v + 1, count - 1)));
  }
  const Operand both =
      operand(reduced(p * p), server.add(server.take(x.values, even),
                                         server.multiply_integer(server.take(x.values, odd), p)));
  // 2. Each table of both, as functions of that number.
  std::vector<Task> halves;
  std::vector<std::vector<std::uint32_t>> orders;
  for (const Task& task : tasks) {
    Task low{table_of(
        p * p, [&](std::int64_t m) { return task.entries[static_cast<std::size_t>(m % p)]; })},
        high{table_of(
            p * p, [&](std::int64_t m) { return task.entries[static_cast<std::size_t>(m / p)]; })};
    std::vector<std::uint32_t>& order = orders.emplace_back();
    const auto lows = static_cast<std::size_t>(
        std::ranges::count_if(task.vectors, [](std::uint32_t v) { return v % 2 == 0; }));
    for (const std::uint32_t v : task.vectors) {
      Task& of = v % 2 == 0 ? low : high;
      order.push_back(static_cast<std::uint32_t>(of.vectors.size() + v % 2 * lows));
      of.vectors.push_back(v / 2);
    }
    halves.push_back(std::move(low));
    halves.push_back(std::move(high));
  }
  std::vector<Task> used;
  for (std::size_t i = 0; i < halves.size(); ++i)
    if (tasks[i / 2].vectors.empty() || !halves[i].vectors.empty()) used.push_back(halves[i]);
  const std::vector<Array> found = bootstrapped(both, used);
  // 3. In the order of the vectors.
  std::vector<Array> out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].vectors.empty()) {
      const Array in_turn = server.interleave(std::array{found[next], found[next + 1]});
      next += 2;
      out.push_back(count % 2 == 0 ? in_turn : part(in_turn, 0, count));
      continue;
    }
    std::vector<Array> parts;
    for (const Task& task : {halves[2 * i], halves[2 * i + 1]})
      if (!task.vectors.empty()) parts.push_back(found[next++]);
    out.push_back(server.take(parts.size() == 1 ? parts[0] : server.concatenate(parts), orders[i]));
  }
  return out;
}

std::optional<Lanes::Integers::Operand> Lanes::Integers::signed_difference(const LaneArray& a,
                                                                           const LaneArray& b,
                                                                           unsigned p) const {
  if (2 * p > largest_modulus() || !is_reduced(a.messages()) || !is_reduced(b.messages()))
    return std::nullopt;
  return sum(a, b, true, 2 * p);
}

// min(a - b, 0) is a table of the difference: the smaller one is b plus that, and the larger one a
// less that.
LaneArray Lanes::Integers::extreme(const LaneArray& a, const LaneArray& b, bool smaller) const {
  const unsigned p = modulus(std::array{a, b});
  const std::optional<Operand> difference = signed_difference(a, b, p);
  if (!difference) return lanes.select(lanes.less(a, b), smaller ? a : b, smaller ? b : a);
  const std::int64_t above = p;
  const LaneArray below = lanes.lanes_of(
      table(*difference,
            table_of(2 * p, [&](std::int64_t m) { return m < above ? 0 : m - 2 * above; })),
      {p, 1 - above, 0});
  return lanes.lanes_of(sum(smaller ? b : a, below, !smaller, p).values, reduced(p));
}

LaneArray Lanes::join(const LaneArray& a, const LaneArray& b) const {
  const Integers of(*this);
  const unsigned p = of.modulus(std::span(&a, 1)), other = of.modulus(std::span(&b, 1)),
                 all = p * other;
  of.check_modulus(all);
  std::size_t count = a.info().count;
  Integers::check_counts(count, b.info().count);
  if (!Integers::is_reduced(a.messages())) refresh(std::span(&a, 1));
  if (p * Integers::size_of(b.messages()) > of.largest(all)) refresh(std::span(&b, 1));
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
  check_tables(tables, own, p);
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
    if (is_new) tasks.push_back({Integers::Entries(tables[table].begin(), tables[table].end())});
    tasks[found->second].vectors.push_back(vector);
  }
  std::vector<std::uint32_t> first(tasks.size()), used(tasks.size());
  for (std::size_t i = 1; i < tasks.size(); ++i)
    first[i] = first[i - 1] + static_cast<std::uint32_t>(tasks[i - 1].vectors.size());
  for (const LaneLookup& each : where) {
    const std::size_t i = place[each.table];
    indices.push_back(first[i] + used[i]++);
  }
  of.settled(a, own);
  const std::vector<Array> found = of.tables(of.operand(a), tasks);
  const Array all = found.size() == 1 ? found[0] : server_.concatenate(found);
  return lanes_of(server_.take(all, indices), reduced(p));
}

LaneArray Lanes::apply(const LaneArray& a, std::span<const LaneTable> tables,
                       std::span<const std::uint32_t> which, unsigned p) const {
  const Integers of(*this);
  const unsigned own = of.modulus(std::span(&a, 1));
  if (p != 2) of.check_modulus(p);
  check_tables(tables, own, p);
  const std::size_t count = a.info().count, length = a.info().length;
  if (which.size() != length && which.size() != count * length)
    throw ShapeError("lanes: " + std::to_string(which.size()) +
                     " indices of tables are no row of " + std::to_string(length) +
                     " lanes, nor one for each of " + std::to_string(count) + " vectors");
  for (const std::uint32_t& table : which)
    if (table >= tables.size())
      throw ParameterError("lanes: lane " + std::to_string(&table - which.data()) +
                           " wants table " + std::to_string(table) + " of " +
                           std::to_string(tables.size()));
  of.settled(a, own);
  const Integers::Operand x = of.operand(a);
  this->count(count, 0, 0, maps_.slots());
  const Array turns = as_turns(server_, x.values, log2_of(own));
  LaneTables rows{{}, log2_of(own), which, 0, 0};
  std::vector<TablePolynomial> polynomials;
  for (const LaneTable& table : tables) {
    const Integers::Entries entries(table.begin(), table.end());
    polynomials.push_back(table_polynomial(entries));
    rows.error = std::max(rows.error, of.table_error(polynomials.back(), turns, own));
    rows.largest = std::max(rows.largest, largest_of(entries, polynomials.back()));
  }
  rows.polynomials = polynomials;
  return lanes_of(bootstrap_tables(server_, turns, rows, maps_), reduced(p));
}

LaneArray Lanes::less(const LaneArray& a, const LaneArray& b) const {
  const Integers of(*this);
  const std::array arrays{a, b};
  const unsigned p = of.modulus(arrays);
  if (const auto difference = of.signed_difference(a, b, p))
    return lanes_of(
        of.table(*difference, Integers::table_of(2 * p, [&](std::int64_t m) { return m >= p; })));
  // Where the highest bits differ that of b decides, and else that of a - b.
  const std::size_t count = std::max(a.info().count, b.info().count);
  const std::array three{of.spread(a, count), of.spread(b, count),
                         of.spread(subtract(a, b), count)};
  const LaneArray top = lanes_of(of.table(
      concatenate(three), Integers::table_of(p, [&](std::int64_t m) { return 2 * m >= p; })));
  const Array bits = values_of(top);
  std::vector<LaneArray> highest;
  for (std::size_t i = 0; i < 3; ++i) highest.push_back(lanes_of(of.part(bits, i * count, count)));
  return select(bit_xor(highest[0], highest[1]), highest[1], highest[2]);
}

LaneArray Lanes::equal(const LaneArray& a, const LaneArray& b) const {
  const Integers of(*this);
  const std::array arrays{a, b};
  const unsigned p = of.modulus(arrays);
  return lanes_of(of.table(of.sum(a, b, true, p),
                           Integers::table_of(p, [](std::int64_t m) { return m == 0; })));
}

LaneArray Lanes::minimum(const LaneArray& a, const LaneArray& b) const {
  return Integers(*this).extreme(a, b, true);
}
LaneArray Lanes::maximum(const LaneArray& a, const LaneArray& b) const {
  return Integers(*this).extreme(a, b, false);
}

}  // namespace whorl::ckks
