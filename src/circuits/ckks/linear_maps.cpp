// Linear maps of CKKS slots: which rotations and plaintexts, and what is known of results.
#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "circuits/ckks/maps.h"
#include "circuits/common/encoded.h"
#include "math/text.h"
#include "schemes/ckks/derived.h"
#include "schemes/ckks/server_state.h"
#include "whorl/circuits/ckks/linear_maps.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace rlwe = lattice::rlwe;

namespace {

using Complex = std::complex<double>;

std::int64_t modulo(std::int64_t k, std::uint64_t period) {
  if (std::has_single_bit(period))  // periods are powers of two, and divisions take long
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(k) & (period - 1));
  const auto n = static_cast<std::int64_t>(period);
  return ((k % n) + n) % n;
}

/// Diagonals baby(b) + giant(i), from `lowest` on.
struct MapSteps {
  std::int64_t lowest = 0, first = 0, first_giant = 0, stride = 1;
  std::size_t babies = 1, giants = 1;
  std::set<std::size_t> used, used_giants;  ///< steps that some diagonal takes

  std::int64_t baby(std::size_t b) const { return first + stride * static_cast<std::int64_t>(b); }
  std::int64_t giant(std::size_t i) const {
    return first_giant + stride * static_cast<std::int64_t>(i * babies);
  }
  /// The number giant·babies + baby of a diagonal, which is one of those from `lowest` on or the
  /// same modulo the period.
  std::size_t place(std::int64_t k, std::uint64_t period) const {
    return static_cast<std::size_t>((lowest + modulo(k - lowest, period) - first - first_giant) /
                                    stride);
  }
  std::vector<std::int64_t> rotations(std::uint64_t period) const;
};

std::vector<std::int64_t> MapSteps::rotations(std::uint64_t period) const {
  std::set<std::int64_t> out;
  for (const std::size_t b : used) out.insert(baby(b));
  for (const std::size_t i : used_giants) out.insert(giant(i));
  std::erase_if(out, [&](std::int64_t k) { return modulo(k, period) == 0; });
  return {out.begin(), out.end()};
}

/// The indices as a run that begins behind the largest gap of the circle, around 0 if it can be.
std::vector<std::int64_t> unrolled(const std::set<std::int64_t>& residues, std::int64_t period) {
  std::vector<std::int64_t> k(residues.begin(), residues.end());
  std::size_t begin = 0;
  std::int64_t widest = k.front() + period - k.back();
  for (std::size_t i = 1; i < k.size(); ++i)
    if (k[i] - k[i - 1] > widest) {
      widest = k[i] - k[i - 1];
      begin = i;
    }
  for (std::size_t i = 0; i < begin; ++i) k[i] += period;
  std::rotate(k.begin(), k.begin() + static_cast<std::ptrdiff_t>(begin), k.end());
  if (k.front() > period / 2)
    for (std::int64_t& each : k) each -= period;
  return k;
}

MapSteps steps_of(const std::vector<std::int64_t>& k, std::uint64_t period, bool few_rotations) {
  // Every step but 0 meets a key. A giant step divides and decomposes besides: transforms, most of
  // it. Where it counts less, both kinds have about as many steps, and fewer in all.
  const std::size_t giant_cost = few_rotations ? 2 : 4;
  std::int64_t stride = 0;
  for (const std::int64_t each : k) stride = std::gcd(stride, each - k.front());
  stride = std::max<std::int64_t>(stride, 1);
  const auto count = static_cast<std::size_t>((k.back() - k.front()) / stride) + 1;
  MapSteps best;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (std::size_t babies = 1; babies < 2 * count; babies *= 2)
    for (const bool at_zero :
         {true, false}) {  // from the first on, or where both kinds of steps have a 0
      if (at_zero && k.front() % stride != 0) continue;
      MapSteps s;
      s.lowest = k.front();
      s.stride = stride;
      s.babies = babies;
      if (at_zero) {
        const std::int64_t turn = stride * static_cast<std::int64_t>(babies);
        s.first_giant = k.front() - modulo(k.front(), static_cast<std::uint64_t>(turn));
      } else {
        s.first = k.front();
      }
      std::size_t cost = 0;
      s.giants = 0;  // so far: giant steps come in their order
      std::vector<bool> seen(babies);
      for (const std::int64_t each : k) {
        const std::size_t place = s.place(each, period), b = place % babies, i = place / babies;
        if (!seen[b]) cost += modulo(s.baby(b), period) != 0;
        seen[b] = true;
        if (i < s.giants) continue;
        s.giants = i + 1;
        cost += modulo(s.giant(i), period) != 0 ? giant_cost : 0;
      }
      if (cost >= least) continue;
      least = cost;
      best = s;
    }
  for (const std::int64_t each : k) {
    const std::size_t place = best.place(each, period);
    best.used.insert(place % best.babies);
    best.used_giants.insert(place / best.babies);
  }
  return best;
}

/// What each row takes of the values of an operand, of which vectors of `columns` have some twice.
class Rows {
 public:
  explicit Rows(const LinearMap& map)
      : map_(map), across_(map.columns == 0 ? map.period : std::bit_ceil(map.columns)) {
    for (const auto& [k, values] : map.diagonals)
      places_.emplace_back(static_cast<std::uint64_t>(modulo(k, map.period)), values.data());
  }
  bool are_equal(std::uint64_t a, std::uint64_t b) {
    read(a, one_);
    read(b, other_);
    return one_ == other_;
  }

 private:
  void read(std::uint64_t row, std::vector<Complex>& out) const {
    out.assign(across_, 0.0);
    for (const auto& [k, values] : places_) {
      const std::uint64_t slot = (row + k) % across_;
      out[map_.columns != 0 && slot >= map_.columns ? slot - map_.columns : slot] += values[row];
    }
  }

  const LinearMap& map_;
  std::uint64_t across_;
  std::vector<std::pair<std::uint64_t, const Complex*>> places_;
  std::vector<Complex> one_, other_;
};

/// ShapeError unless results repeat with the least power of two that is not below their length, as
/// the values of vectors do: rows of the matrix that are so far apart must be equal.
void check_period(const LinearMap& map) {
  const std::uint64_t n = map.period, turn = std::bit_ceil(map.length);
  Rows rows(map);
  for (std::uint64_t j = 0; turn != n && j < n; ++j)
    if (!rows.are_equal(j, (j + turn) % n))
      throw ShapeError("a linear map of period " + std::to_string(n) + " gives vectors of " +
                       std::to_string(map.length) + " values, but its rows " + std::to_string(j) +
                       " and " + std::to_string((j + turn) % n) +
                       ", which are to be equal, differ");
}

/// The map whose results have copies of their first values behind them. Rows there are set to those
/// `length` places before them; none if they are so already, as matrix_map's are.
std::optional<LinearMap> completed(const LinearMap& map) {
  const std::uint64_t n = map.period, turn = std::bit_ceil(map.length);
  bool complete = true;
  Rows rows(map);
  for (std::uint64_t j = 0; turn != map.length && complete && j < n; ++j)
    complete = j % turn < map.length || rows.are_equal(j, j - map.length);
  if (complete) return std::nullopt;
  std::map<std::int64_t, std::vector<Complex>> all;
  const auto at = [&](std::int64_t k, std::uint64_t row) -> Complex& {
    auto& diagonal = all[modulo(k, n)];
    diagonal.resize(n);
    return diagonal[row];
  };
  at(map.diagonals.begin()->first, 0) = 0;
  for (const auto& [k, values] : map.diagonals)
    for (std::uint64_t j = 0; j < n; ++j) {
      const std::uint64_t row = j % turn;
      if (row >= map.length || values[j] == 0.0) continue;
      at(k, j) = values[j];
      if (row < turn - map.length)
        at(k - static_cast<std::int64_t>(map.length), j + map.length) = values[j];
    }
  return LinearMap{map.period, map.length, map.columns, std::move(all), map.few_rotations};
}

void check(const LinearMap& map) {
  const std::uint64_t n = map.period;
  if (!std::has_single_bit(n) || map.length == 0 || map.length > n)
    throw ShapeError("a linear map has period " + std::to_string(n) + " and results of " +
                     std::to_string(map.length) +
                     " values; the period must be a power of two, and not below that number");
  if (map.diagonals.empty()) throw ParameterError("a linear map has no diagonal");
  std::set<std::int64_t> residues;
  for (const auto& [k, values] : map.diagonals) {
    if (values.size() != n)
      throw ShapeError("diagonal " + std::to_string(k) + " has " + std::to_string(values.size()) +
                       " values; the map's period is " + std::to_string(n));
    if (!residues.insert(modulo(k, n)).second)
      throw ParameterError("diagonal " + std::to_string(k) + " is there twice, modulo the period " +
                           std::to_string(n));
  }
  check_period(map);
}

/// What the rows of a map sum up to, in one pass over its diagonals: it counts in an encoding.
class RowSums {
 public:
  explicit RowSums(std::uint64_t period) : sums_(period), squares_(period), most_(period) {}

  void add(const std::vector<Complex>& values) {
    std::size_t imaginary = 0;
    for (const Complex& z : values) imaginary += static_cast<std::size_t>(z.imag() != 0);
    const bool real = imaginary == 0;
    real_ = real_ && real;
    const Complex* z = values.data();
    double *sums = sums_.data(), *squares = squares_.data(), *most = most_.data();
    for (std::size_t j = 0; j < values.size(); ++j) {
      const double square = std::norm(z[j]);
      sums[j] += real ? std::abs(z[j].real()) : std::sqrt(square);
      squares[j] += square;
      most[j] = most[j] < square ? square : most[j];
    }
  }

  /// False if a value is not finite, or its square.
  bool finite() const {
    return std::ranges::all_of(squares_, [](double x) { return std::isfinite(x); });
  }
  bool real() const { return real_; }
  /// The largest absolute value.
  double most() const { return std::sqrt(std::ranges::max(most_)); }
  double row_sum() const { return std::ranges::max(sums_); }
  double row_norm() const { return std::sqrt(std::ranges::max(squares_)); }

 private:
  std::vector<double> sums_, squares_, most_;
  bool real_ = true;
};

void check_finite(const LinearMap& map) {
  for (const auto& [k, values] : map.diagonals)
    for (const Complex& z : values)
      if (!std::isfinite(z.real()) || !std::isfinite(z.imag()))
        throw EncodingError("diagonal " + std::to_string(k) + " has a value that is not finite");
}

MapSteps steps_of(const LinearMap& map) {
  std::set<std::int64_t> residues;
  for (const auto& [k, values] : map.diagonals) residues.insert(modulo(k, map.period));
  return steps_of(unrolled(residues, static_cast<std::int64_t>(map.period)), map.period,
                  map.few_rotations);
}

}  // namespace

struct EncodedMap::Storage {
  static constexpr const char* missing = "a linear map that is not encoded was given";

  unsigned level = 0;
  std::uint64_t period = 1, length = 1, columns = 0;
  MapSteps steps;
  Account::Map known;
  ring::Basis basis;  ///< of plaintexts in products
  std::vector<rlwe::Array>
      plains;  ///< (giants, babies), perhaps over fewer primes; empty for zeros

  rlwe::Array plain(const rlwe::Evaluator& evaluator, std::size_t giant, std::size_t baby) const {
    const rlwe::Array& kept = plains[giant * steps.babies + baby];
    if (!kept || kept.basis() == basis) return kept;
    return evaluator.extend(kept, basis, ring::Lift::exact);
  }
};

using EncodedMapAccess = circuits::EncodedAccess<EncodedMap>;

unsigned EncodedMap::level() const { return EncodedMapAccess::storage(*this).level; }
std::uint64_t EncodedMap::period() const { return EncodedMapAccess::storage(*this).period; }
std::size_t EncodedMap::diagonals() const {
  return EncodedMapAccess::storage(*this).known.diagonals;
}
std::size_t EncodedMap::key_switches() const {
  const auto& of = EncodedMapAccess::storage(*this);
  std::size_t turns = 0;
  for (const std::size_t i : of.steps.used_giants)
    turns += modulo(of.steps.giant(i), of.period) != 0;
  for (const std::size_t b : of.steps.used) turns += modulo(of.steps.baby(b), of.period) != 0;
  return turns;
}
std::size_t EncodedMap::bytes() const {
  std::size_t sum = 0;
  for (const rlwe::Array& each : EncodedMapAccess::storage(*this).plains) sum += each.bytes();
  return sum;
}

LinearMap matrix_map(std::span<const Complex> values, std::size_t rows, std::size_t columns) {
  if (values.empty() || rows == 0 || values.size() / rows != columns || values.size() % rows != 0)
    throw ShapeError("matrix: " + std::to_string(values.size()) + " values are not " +
                     std::to_string(rows) + " times " + std::to_string(columns));
  LinearMap map;
  // The results' period, and that of vectors: x repeats, so that no more diagonals are needed.
  const std::uint64_t turn = std::bit_ceil(std::uint64_t{rows}),
                      across = std::bit_ceil(std::uint64_t{columns});
  map.period = std::max(turn, across);
  map.length = rows;
  map.columns = columns;
  const auto at = [&](std::uint64_t slot, std::uint64_t j) {
    return static_cast<std::int64_t>((slot + map.period - j) % across);
  };
  const auto set = [&](std::int64_t k, std::uint64_t j, const Complex& value) {
    auto& diagonal = map.diagonals[k];
    diagonal.resize(map.period);
    diagonal[j] = value;
  };
  enum class Part { results, copies };  // of rows: the copies are behind the results
  const auto each = [&](Part part) {
    const bool behind = part == Part::copies;
    for (std::uint64_t j = 0; j < map.period; ++j) {
      if ((j % turn >= rows) != behind) continue;
      const std::uint64_t row = behind ? j % turn - rows : j % turn;
      for (std::uint64_t column = 0; column < columns; ++column) {
        const Complex& value = values[row * columns + column];
        if (value == 0.0) continue;
        // The same value lies behind the vector too, if there is room.
        const std::uint64_t copy = column + columns;
        const bool nearer = behind && copy < across && !map.diagonals.contains(at(column, j)) &&
                            map.diagonals.contains(at(copy, j));
        set(at(nearer ? copy : column, j), j, value);
      }
    }
  };
  each(Part::results);
  each(Part::copies);
  if (map.diagonals.empty()) set(0, 0, 0);
  return map;
}

namespace {

double most_of(const LinearMap& map) {
  double most = 0;
  for (const auto& [k, values] : map.diagonals)
    for (const Complex& z : values) most = std::max(most, std::norm(z));
  return std::sqrt(most);
}

/// The first primes of a level whose product is at least four times `most`, at least one, or all:
/// integers up to `most` in size are far from half of it.
ring::Basis few_primes(const Parameters& p, unsigned level, double most) {
  ring::Basis out;
  double bits = 0;
  for (const unsigned i : p.primes(level)) {
    if (!out.empty() && bits >= std::log2(most) + 2) break;
    out.insert(i);
    bits += std::log2(static_cast<double>(p.literal().chain[i]));
  }
  return out;
}

}  // namespace

std::vector<std::int64_t> rotations_of(const LinearMap& map) {
  check(map);
  const std::optional<LinearMap> whole = completed(map);
  return steps_of(whole ? *whole : map).rotations(map.period);
}

std::vector<std::int64_t> rotations_of_diagonals(std::uint64_t period,
                                                 const std::set<std::int64_t>& diagonals) {
  return steps_of(unrolled(diagonals, static_cast<std::int64_t>(period)), period, false)
      .rotations(period);
}

EncodedMap encode(const Server& server, const LinearMap& map, unsigned level,
                  const MapOptions& options) {
  const unsigned depth = server.parameters().depth();
  if (level == 0 || level > depth)
    throw ParameterError("level = " + std::to_string(level) + " of a linear map is outside 1 … " +
                         std::to_string(depth));
  MapPlace place{.scale = options.scale == 0 ? server.parameters().scale(level) : options.scale,
                 .compact = options.compact};
  if (options.low_rotations)
    place.kind = Access::of(server).low_kind(map.period, rotations_of(map), level);
  return encode_for(server, map, level, place);
}

EncodedMap encode_for(const Server& server, const LinearMap& given, unsigned level,
                      const MapPlace& place, const std::function<void()>& encoded) {
  const Access::State& state = Access::of(server);
  const Parameters& parameters = server.parameters();
  if (given.period > parameters.slots())
    throw ShapeError("a linear map of period " + std::to_string(given.period) +
                     " was given for ciphertexts of " + std::to_string(parameters.slots()) +
                     " slots");
  const double scale = place.scale;
  if (!(scale >= 1 && std::isfinite(scale)))
    throw ParameterError("scale = " + math::text_of(scale) + " of a linear map is below 1");

  check(given);
  const std::optional<LinearMap> whole = completed(given);
  const LinearMap& map = whole ? *whole : given;
  EncodedMapAccess::Storage out;
  out.steps = steps_of(map);
  out.level = level;
  // Without rotations the evaluator takes the primes of usual keys.
  if (!out.steps.rotations(map.period).empty()) out.known.kind = place.kind;
  out.period = map.period;
  out.length = map.length;
  out.columns = map.columns;
  out.known.scale = scale;
  out.known.diagonals = map.diagonals.size();
  out.basis = basis_of(parameters, level) | layout_of(parameters.literal(), out.known.kind).special;
  const ring::Basis few =
      place.compact ? few_primes(parameters, level, scale * most_of(map)) : out.basis;
  RowSums rows(map.period);
  out.plains.resize(out.steps.giants * out.steps.babies);
  // Diagonals are encoded together, as many as take 64 MB.
  const std::size_t at_once = std::max<std::size_t>(1, (std::size_t{1} << 22) / map.period);
  std::vector<Complex> turned;
  turned.reserve(std::min(at_once, map.diagonals.size()) * map.period);
  std::vector<std::size_t> places;
  const auto encode_some = [&] {
    if (!rows.finite()) check_finite(map);
    std::vector<rlwe::Array> plains = state.factors(turned, rows.most(), map.period, scale, few);
    // What is stored by its period is small already, and cannot be extended.
    if (place.compact && plains[0].shape().log_repeats != 0)
      plains = state.factors(turned, rows.most(), map.period, scale, out.basis);
    for (std::size_t i = 0; i < places.size(); ++i) {
      out.plains[places[i]] = std::move(plains[i]);
      if (encoded) encoded();
    }
    turned.clear();
    places.clear();
  };
  std::size_t done = 0;
  for (const auto& [k, values] : map.diagonals) {
    state.fleet->stop_if_asked(done++, map.diagonals.size(), "plaintexts of a linear map");
    rows.add(values);
    const std::size_t step = out.steps.place(k, map.period);
    const std::int64_t turn = modulo(out.steps.giant(step / out.steps.babies), map.period);
    turned.insert(turned.end(), values.end() - turn, values.end());
    turned.insert(turned.end(), values.begin(), values.end() - turn);
    places.push_back(step);
    if (places.size() == at_once || done == map.diagonals.size()) encode_some();
  }
  out.known.real = rows.real();
  out.known.row_sum = rows.row_sum();
  out.known.row_norm = rows.row_norm();
  return EncodedMapAccess::wrap(std::move(out));
}

Array apply(const Server& server, const Array& x, const EncodedMap& map) {
  const auto& of = EncodedMapAccess::storage(map);
  const Access::State& state = Access::of(server);
  // A matrix says where a vector ends.
  if (of.columns == 0)
    state.check_slots("a linear map", x);
  else
    state.check_alone("a linear map", x);
  for (const rlwe::Array& plain : of.plains)
    if (plain) state.check_residues(&plain);
  if (of.columns != 0 && of.columns != x.info().length)
    throw ShapeError("vectors of " + std::to_string(x.info().length) + " values meet a matrix of " +
                     std::to_string(of.columns) + " columns");
  if (of.period % x.info().slots() != 0)
    throw ShapeError("vectors of period " + std::to_string(x.info().slots()) +
                     " meet a linear map of period " + std::to_string(of.period) +
                     ", which must be a multiple of it");
  if (x.info().level < of.level)
    throw NoiseError("a linear map for level " + std::to_string(of.level) +
                     " meets a ciphertext of level " + std::to_string(x.info().level) +
                     more_levels_than(x.info().level));
  const Account& account = state.account;
  return state.fleet->together([&] {
    const Array two = server.lower(server.relinearise(x), of.level);
    return state.array(account.rescale(account.linear_map(two.info(), of.known, of.length)),
                       mapped(server, state.residues(two), map));
  });
}

rlwe::Array mapped(const Server& server, const rlwe::Array& x, const EncodedMap& map) {
  const auto& of = EncodedMapAccess::storage(map);
  const Access::State& state = Access::of(server);
  const auto rotation = [&](std::int64_t slots) {
    return state.rotation(of.period, slots, of.known.kind);
  };
  rlwe::Evaluator::LinearMap steps;
  for (std::size_t b = 0; b < of.steps.babies; ++b)
    steps.babies.push_back(of.steps.used.contains(b) ? rotation(of.steps.baby(b)) : 0);
  steps.giants.clear();
  for (std::size_t i = 0; i < of.steps.giants; ++i)
    steps.giants.push_back(of.steps.used_giants.contains(i) ? rotation(of.steps.giant(i)) : 0);
  steps.plain = [&](std::size_t giant, std::size_t baby) {
    return of.plain(*state.evaluator, giant, baby);
  };
  return state.evaluator->linear_map(x, steps, state.keys_of(of.known.kind),
                                     state.account.basis(of.level - 1), state.no_plain_modulus);
}

}  // namespace whorl::ckks
