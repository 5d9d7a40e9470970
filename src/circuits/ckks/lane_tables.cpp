// Tables of lanes: functions of several bits in each lane, as sums of products of minterms.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "circuits/ckks/lane_errors.h"
#include "schemes/ckks/server_state.h"
#include "whorl/circuits/ckks/lanes.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace {

/// Inputs from which on a table is made by the bootstrap that they need before it anyway: fewer do
/// not fill a coefficient.
constexpr std::size_t least_of_bootstrap = 4;
constexpr std::size_t most_inputs = 16;
/// With so many inputs some minterms are differences of others, which saves a third of the
/// products. With more it would save a tenth, and errors would be three times as large.
constexpr std::size_t most_of_differences = 4;
/// With so many inputs sums of minterms take more than products. They are made of sums of any of
/// `block` minterms, which all rows share; and at the lowest level that leaves one cleaning, so
/// that a refresh of the results is less than what is saved.
constexpr std::size_t least_large = 12, block = 4;
constexpr unsigned levels_left = 2;
/// With up to so many inputs in each half, whose minterms are up to 16, all rows are multiplied and
/// added up in one pass, for so many tables at once.
constexpr std::size_t most_fused_inputs = 4, outputs_at_once = 16;
/// What a product and a relinearisation with a rescaling take, in products without them; and how
/// many of one pass take as long as one alone.
constexpr std::size_t cost_of_product = 4, cost_of_end = 3, fused_in_one = 8;

using Table = std::vector<std::uint8_t>;

void check_tables(std::size_t inputs, std::span<const Table> tables) {
  if (inputs < 1 || inputs > most_inputs)
    throw ParameterError("lookup: " + std::to_string(inputs) + " inputs are outside 1 … " +
                         std::to_string(most_inputs) +
                         ": look several parts of a larger table up, and choose by the other bits");
  for (const Table& table : tables) {
    const std::string name = "lookup: table " + std::to_string(&table - tables.data());
    if (table.size() != std::size_t{1} << inputs)
      throw ParameterError(name + " has " + std::to_string(table.size()) + " entries, and " +
                           std::to_string(inputs) + " inputs want " +
                           std::to_string(std::size_t{1} << inputs));
    for (const std::uint8_t& bit : table)
      if (bit > 1)
        throw ParameterError(name + " has the entry " + std::to_string(bit) + " at index " +
                             std::to_string(&bit - table.data()) + ", which is neither 0 nor 1");
  }
}

// ---- what is to be done

/// Products that the minterms of so many inputs take.
std::size_t products_of_minterms(std::size_t inputs) {
  if (inputs < 2) return 0;
  const std::size_t half = inputs / 2, rest = inputs - half;
  const std::size_t less = inputs <= most_of_differences ? 1 : 0;
  return products_of_minterms(half) + products_of_minterms(rest) +
         ((std::size_t{1} << half) - less) * ((std::size_t{1} << rest) - less);
}
unsigned levels_of_minterms(std::size_t inputs) {
  return inputs == 0 ? 0 : static_cast<unsigned>(std::bit_width(inputs - 1));
}

/// A table by rows: entry h·2^low + l is entry l of row h, and where the high inputs are the bits
/// of h the table is row h. As minterms add up to 1, it is a base row, and for each other one the
/// sum of the minterms of its highs times what it has more than the base row.
/// In one pass it is the sum of all rows, each times the minterm of its highs; but a table that
/// takes no product the other way is made that way.
struct Rows {
  Table base;                                        ///< the most frequent one; of large tables 0
  std::map<Table, std::vector<std::uint32_t>> more;  ///< the highs of each other row
  std::vector<std::uint16_t> masks;  ///< in one pass: entries that are 1, of each row; else none

  Rows(const Table& table, std::size_t low, bool large, bool fused) {
    const std::size_t length = std::size_t{1} << low;
    for (std::size_t h = 0; h * length < table.size(); ++h) {
      const auto first = table.begin() + static_cast<std::ptrdiff_t>(h * length);
      more[Table(first, first + static_cast<std::ptrdiff_t>(length))].push_back(
          static_cast<std::uint32_t>(h));
    }
    const auto most =
        std::ranges::max_element(more, {}, [](const auto& each) { return each.second.size(); });
    base = large ? Table(length) : most->first;
    more.erase(base);
    if (!fused || products() == 0) return;
    masks.resize(table.size() / length);
    for (std::size_t i = 0; i < table.size(); ++i)
      masks[i / length] |= static_cast<std::uint16_t>(table[i] << i % length);
  }

  std::vector<std::int64_t> difference(const Table& row) const {
    std::vector<std::int64_t> out;
    for (std::size_t l = 0; l < row.size(); ++l) out.push_back(row[l] - base[l]);
    return out;
  }
  std::size_t products() const {
    if (!masks.empty())
      return masks.size() - static_cast<std::size_t>(std::ranges::count(masks, 0));
    return static_cast<std::size_t>(std::ranges::count_if(
        more, [&](const auto& each) { return !is_constant(difference(each.first)); }));
  }
  template <class T>
  static bool is_constant(const std::vector<T>& row) {
    return std::ranges::all_of(row, [&](T x) { return x == row[0]; });
  }
};

/// How many inputs are the low ones, of all ways that take the fewest levels.
struct Split {
  std::size_t low = 0;
  bool large = false, fused = false;
  std::size_t products = 0, cost = 0;
  std::vector<Rows> rows;  ///< of each table

  Split(std::size_t inputs, std::size_t low_, std::span<const Table> tables)
      : low(low_),
        large(inputs >= least_large),
        fused(low > 0 && low <= most_fused_inputs && inputs - low <= most_fused_inputs) {
    products = products_of_minterms(low) + products_of_minterms(inputs - low);
    cost = cost_of_product * products;
    for (const Table& table : tables) {
      const std::size_t more = rows.emplace_back(table, low, large, fused).products();
      products += more;
      cost += more == 0 ? 0 : cost_of_end + (fused ? (more - 1) / fused_in_one + 1 : more);
    }
  }
  static unsigned levels(std::size_t inputs, std::size_t low) {
    return std::max(levels_of_minterms(low), levels_of_minterms(inputs - low)) + (low > 0 ? 1 : 0);
  }
  static Split best(std::size_t inputs, std::span<const Table> tables) {
    Split out(inputs, inputs / 2, tables);
    const unsigned least = levels(inputs, out.low);
    for (std::size_t low = 0; low < inputs; ++low)
      if (low != inputs / 2 && levels(inputs, low) <= least)
        if (Split other(inputs, low, tables);
            std::pair(other.cost, other.products) < std::pair(out.cost, out.products))
          out = std::move(other);
    return out;
  }
};

// ---- minterms

/// Minterm i is 1 where the inputs are the bits of i, the lowest one first, and 0 elsewhere. They
/// lie at one level, and their arrays state no errors.
struct Minterms {
  std::vector<Array> all;
  /// What absolute values add up to at most if nothing was rounded, and what roundings' errors do.
  double size = 1, error = 0;

  void add(const Server& server, const Array& x) {
    error += error_of(x.info());
    all.push_back(without_error(server, x));
  }
  void lower(const Server& server, unsigned level) {
    for (Array& x : all) {
      if (x.info().level == level) continue;
      x = server.lower(x, level);
      error += error_of(x.info());
      x = without_error(server, x);
    }
  }
  unsigned level() const { return all[0].info().level; }
  Array narrowed(const Server& server, const Array& sum) const {
    return server.with_bound(sum, Bounds(size + error));
  }
};

/// sum_i weights_i·arrays_i + constant, without those whose weight is 0; nothing if all are.
std::optional<Array> weighted(const Server& server, std::span<const Array> arrays,
                              std::span<const std::int64_t> weights, double constant = 0) {
  std::vector<Array> some;
  std::vector<std::int64_t> by;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (weights[i] == 0) continue;
    some.push_back(arrays[i]);
    by.push_back(weights[i]);
  }
  if (some.empty()) return std::nullopt;
  if (some.size() == 1 && by[0] == 1 && constant == 0) return some[0];
  return Access::of(server).sum_of_multiples(some, by, constant);
}

/// The same at `level` and the square of its scale; nothing, not even the constant, if all are 0.
std::optional<Array> squared(const Server& server, std::span<const Array> arrays,
                             std::span<const std::int64_t> weights, double constant,
                             unsigned level) {
  std::vector<Array> some;
  std::vector<double> by;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (weights[i] == 0) continue;
    some.push_back(arrays[i]);
    by.push_back(static_cast<double>(weights[i]));
  }
  if (some.empty()) return std::nullopt;
  return Access::of(server).linear_combination(some, by, constant, level, false);
}

/// The inputs state no errors and lie at one level; `errors` are theirs. `next` is called before
/// each product.
Minterms minterms_of(const Server& server, std::span<const Array> inputs,
                     std::span<const double> errors, const auto& next) {
  Minterms out;
  if (inputs.empty()) return out;
  if (inputs.size() == 1) {
    const std::int64_t minus = -1;
    out.size = 1 + 2 * errors[0];
    out.add(server, *weighted(server, inputs, std::span(&minus, 1), 1));
    out.add(server, inputs[0]);
    return out;
  }
  const std::size_t half = inputs.size() / 2;
  Minterms low = minterms_of(server, inputs.first(half), errors.first(half), next),
           high = minterms_of(server, inputs.subspan(half), errors.subspan(half), next);
  const unsigned level = std::min(low.level(), high.level());
  low.lower(server, level);
  high.lower(server, level);
  const std::size_t lows = low.all.size(), highs = high.all.size(),
                    less = inputs.size() <= most_of_differences ? 1 : 0;
  // A difference takes over the errors of what is subtracted: each half counts twice.
  const double times = less > 0 ? 2 : 1;
  out.size = low.size * high.size;
  out.error = times * (low.error * high.size + high.error * low.size) +
              times * times * low.error * high.error;
  // 1. Products; with differences those of the last minterm of a half are left out at first.
  std::vector<std::optional<Array>> made(lows * highs);
  for (std::size_t h = 0; h < highs - less; ++h)
    for (std::size_t l = 0; l < lows - less; ++l) {
      next();
      made[h * lows + l] = server.multiply(low.all[l], high.all[h]);
    }
  // 2. All products with a minterm of the other half add up to it.
  const auto rest = [&](const Array& of, std::size_t count, const auto& at) {
    const Array lowered = server.lower(of, made[0]->info().level);
    std::vector<Array> terms{lowered};
    std::vector<std::int64_t> weights{1};
    for (std::size_t i = 0; i < count; ++i) {
      terms.push_back(*made[at(i)]);
      weights.push_back(-1);
    }
    made[at(count)] = weighted(server, terms, weights);
  };
  if (less > 0) {
    for (std::size_t l = 0; l + 1 < lows; ++l)
      rest(low.all[l], highs - 1, [&](std::size_t h) { return h * lows + l; });
    for (std::size_t h = 0; h < highs; ++h)
      rest(high.all[h], lows - 1, [&](std::size_t l) { return h * lows + l; });
  }
  for (const auto& x : made) out.add(server, *x);
  for (Array& x : out.all) x = out.narrowed(server, x);
  return out;
}

/// The sum of each choice of `block` minterms that stand together, the bits of an index; a sum of
/// any minterms is that of one for each block.
std::vector<Array> sums_of_blocks(const Server& server, std::span<const Array> minterms) {
  std::vector<Array> out;
  for (std::size_t first = 0; first < minterms.size(); first += block) {
    const std::size_t start = out.size();
    out.push_back(minterms[first]);  // stands for nothing
    for (std::size_t choice = 1; choice < std::size_t{1} << block; ++choice) {
      const Array& x = minterms[first + static_cast<std::size_t>(std::countr_zero(choice))];
      const std::size_t rest = choice & (choice - 1);
      out.push_back(rest == 0 ? x : server.add(out[start + rest], x));
    }
  }
  return out;
}
/// Which of these make up a row.
std::vector<std::int64_t> choices_of(const Table& row) {
  std::vector<std::int64_t> out(row.size() / block << block);
  for (std::size_t b = 0; b < row.size() / block; ++b) {
    std::size_t choice = 0;
    for (std::size_t i = 0; i < block; ++i) choice |= std::size_t{row[b * block + i]} << i;
    if (choice > 0) out[(b << block) + choice] = 1;
  }
  return out;
}

}  // namespace

std::optional<std::vector<LaneArray>> Lanes::looked_up_by_bootstrap(
    std::span<const LaneArray> inputs, std::span<const Table> tables, unsigned levels) const {
  const unsigned least = server_.parameters().least_bootstrap_level(),
                 most = server_.parameters().literal().bootstrap->bits;
  if (inputs.size() < least_of_bootstrap || inputs.size() > most) return std::nullopt;
  unsigned lowest = server_.parameters().depth();
  for (const LaneArray& a : inputs) {
    server_.check(a.held());
    lowest = std::min(lowest, a.info().level);
    if (a.messages().p != 2) return std::nullopt;
    if (a.error() > entry_ && a.info().level < least + cleaning_levels) return std::nullopt;
  }
  if (lowest >= least + levels) return std::nullopt;
  const std::size_t count = inputs[0].info().count;
  const LaneArray numbers = integers(inputs, 1u << inputs.size());
  std::vector<LaneTable> entries;
  std::vector<LaneLookup> where;
  for (const Table& table : tables) {
    for (std::uint32_t v = 0; v < count; ++v)
      where.push_back({v, static_cast<std::uint32_t>(entries.size())});
    entries.emplace_back(table.begin(), table.end());
  }
  const LaneArray all = apply(numbers, entries, where, 2);
  std::vector<LaneArray> out;
  for (std::size_t j = 0; j < tables.size(); ++j) {
    std::vector<std::uint32_t> own(count);
    std::iota(own.begin(), own.end(), static_cast<std::uint32_t>(j * count));
    out.push_back(take(all, own));
  }
  return out;
}

std::vector<LaneArray> Lanes::lookup(std::span<const LaneArray> inputs,
                                     std::span<const std::vector<std::uint8_t>> tables) const {
  check_tables(inputs.size(), tables);
  for (const LaneArray& a : inputs)
    if (a.info().count != inputs[0].info().count)
      throw ShapeError("lookup: inputs of " + std::to_string(inputs[0].info().count) + " and " +
                       std::to_string(a.info().count) + " ciphertexts; they must be equal");
  const Split split = Split::best(inputs.size(), tables);
  const unsigned levels = Split::levels(inputs.size(), split.low);
  if (auto out = looked_up_by_bootstrap(inputs, tables, levels)) return *std::move(out);
  const std::vector<Array> ready = prepare(inputs, levels);
  const std::size_t ciphertexts = ready[0].info().count;
  count(0, 0, ciphertexts * split.products, maps_.slots());
  // 1. The inputs at one level, as if they had no errors: minterms at x have sizes that add up to
  // the product of 1 + 2e at most, where the right one has that of 1 + e. The others are the error.
  unsigned level = server_.parameters().depth();
  if (split.large)
    level = std::min(level, server_.parameters().least_bootstrap_level() + levels + levels_left);
  for (const Array& x : ready) level = std::min(level, x.info().level);
  std::vector<Array> exact;
  std::vector<double> errors;
  double outer = 1, inner = 1;
  for (const Array& x : ready) {
    const Array lowered = server_.lower(x, level);
    errors.push_back(error_of(lowered.info()));
    outer *= 1 + 2 * errors.back();
    inner *= 1 + errors.back();
    exact.push_back(without_error(server_, lowered));
  }
  // 2. The minterms of both halves.
  const run::Fleet& fleet = *Access::of(server_).fleet;
  std::size_t done = 0;
  const auto next = [&](std::size_t products = 1) {
    fleet.stop_if_asked(done, split.products, "products of a table");
    done += products;
  };
  const std::span<const Array> all = exact;
  const std::span<const double> all_errors = errors;
  Minterms low = minterms_of(server_, all.first(split.low), all_errors.first(split.low), next),
           high = minterms_of(server_, all.subspan(split.low), all_errors.subspan(split.low), next);
  level = high.level();
  if (split.low > 0) level = std::min(level, low.level());
  low.lower(server_, level);
  high.lower(server_, level);
  // Of Σ_h high_h·s_h, where s_h adds up some of `low`: high minterms are off by some η_h and sums
  // by at most low.error, which makes Σ |high_h|·low.error + Σ |η_h|·(|s_h| + low.error), and their
  // absolute values add up to their sizes. A base row adds low.error.
  const double rounded =
      low.error * (high.size + (split.fused ? 0 : 1)) + high.error * (low.size + low.error);
  const std::vector<Array> blocks =
      split.large ? sums_of_blocks(server_, low.all) : std::vector<Array>();
  std::vector<Array> both = low.all;
  both.insert(both.end(), high.all.begin(), high.all.end());
  const Access::State& state = Access::of(server_);

  // 3. Rows in one pass: the sums of some tables from number `first` on, the first of them last.
  const auto sums_from = [&](std::size_t first) {
    std::vector<std::uint16_t> masks;
    std::size_t products = 0, outputs = 0;
    for (std::size_t t = first; t < tables.size() && outputs < outputs_at_once; ++t) {
      const Rows& rows = split.rows[t];
      if (rows.masks.empty()) continue;
      masks.insert(masks.end(), rows.masks.begin(), rows.masks.end());
      products += rows.products();
      ++outputs;
    }
    next(products);
    std::vector<Array> sums = state.masked_tensors(high.all, high.size + high.error, low.all,
                                                   low.size + low.error, masks);
    std::ranges::reverse(sums);
    return sums;
  };
  // 4. Rows one by one. It returns nothing for a table that is 0 everywhere, or 1.
  const auto sum_by_rows = [&](const Rows& rows, bool constant, double one) {
    // What is no product: the base row, and rows that differ from it by a constant. Beside products
    // it is added at the square of the scale, so that all is divided once.
    const bool multiplies = rows.products() > 0;
    std::vector<std::int64_t> flat(both.size());
    for (std::size_t l = 0; !constant && l < low.all.size(); ++l) flat[l] = rows.base[l];
    for (const auto& [row, highs] : rows.more)
      if (const std::vector<std::int64_t> more = rows.difference(row); Rows::is_constant(more))
        for (const std::uint32_t h : highs) flat[low.all.size() + h] = more[0];
    const bool is_added = std::ranges::any_of(flat, [](std::int64_t w) { return w != 0; });
    std::optional<Array> sum =
        multiplies ? squared(server_, both, flat, one, level) : weighted(server_, both, flat, one);
    // Sums of minterms of the high half times what their rows have more.
    for (const auto& [row, highs] : rows.more) {
      const std::vector<std::int64_t> more = rows.difference(row);
      if (Rows::is_constant(more)) continue;
      std::vector<std::int64_t> some(high.all.size());
      for (const std::uint32_t h : highs) some[h] = 1;
      next();
      sum = state.product_plus(
          high.narrowed(server_, *weighted(server_, high.all, some)),
          low.narrowed(server_, split.large ? *weighted(server_, blocks, choices_of(row))
                                            : *weighted(server_, low.all, more)),
          sum ? &*sum : nullptr);
    }
    if (multiplies) {
      sum = state.relinearised_and_rescaled(*sum);
      if (!is_added && one != 0) sum = server_.add_scalar(*sum, one);
    }
    return sum;
  };

  std::vector<LaneArray> out;
  std::vector<Array> sums;  // of the next tables that are made in one pass
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const Rows& rows = split.rows[t];
    if (!rows.masks.empty()) {
      if (sums.empty()) sums = sums_from(t);
      out.push_back(result(state.relinearised_and_rescaled(sums.back()), rounded + outer - inner));
      sums.pop_back();
      continue;
    }
    const bool constant = Rows::is_constant(rows.base);
    const double one = constant ? rows.base[0] : 0;
    const std::optional<Array> sum = sum_by_rows(rows, constant, one);
    out.push_back(sum ? result(*sum, rounded + outer - inner)
                      : this->constant(inputs[0], one != 0));
  }
  return out;
}

}  // namespace whorl::ckks
