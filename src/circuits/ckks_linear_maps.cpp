// Linear maps of CKKS slots: which rotations and plaintexts, and what is known of results.
#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <string>

#include "circuits/ckks_maps.h"
#include "circuits/encoded.h"
#include "math/text.h"
#include "schemes/ckks/access.h"
#include "schemes/ckks/derived.h"
#include "whorl/circuits/linear_maps.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace rlwe = lattice::rlwe;

namespace {

using Complex = std::complex<double>;

std::int64_t modulo(std::int64_t k, std::uint64_t period) {
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

MapSteps steps_of(const std::vector<std::int64_t>& k, std::uint64_t period) {
  // Every step but 0 meets a key. A giant step divides and decomposes besides: transforms, most of
  // it.
  constexpr std::size_t giant_cost = 4;
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
      for (const std::int64_t each : k) {
        const std::size_t place = s.place(each, period);
        s.used.insert(place % babies);
        s.used_giants.insert(place / babies);
      }
      s.giants = *s.used_giants.rbegin() + 1;
      std::size_t cost = 0;
      for (const std::size_t b : s.used) cost += modulo(s.baby(b), period) != 0;
      for (const std::size_t i : s.used_giants)
        cost += modulo(s.giant(i), period) != 0 ? giant_cost : 0;
      if (cost >= least) continue;
      least = cost;
      best = std::move(s);
    }
  return best;
}

/// ShapeError unless results repeat with the least power of two that is not below their length, as
/// the values of vectors do: rows of the matrix that are so far apart must be equal.
void check_period(const LinearMap& map) {
  const std::uint64_t n = map.period, turn = std::bit_ceil(map.length);
  if (turn == n) return;
  std::map<std::int64_t, const std::vector<Complex>*> by_residue;
  for (const auto& [k, values] : map.diagonals) by_residue.emplace(modulo(k, n), &values);
  for (const auto& [k, values] : by_residue) {
    const auto same = by_residue.find(modulo(k - static_cast<std::int64_t>(turn), n));
    for (std::uint64_t j = 0; j < n; ++j) {
      const Complex other = same == by_residue.end() ? 0.0 : (*same->second)[(j + turn) % n];
      if ((*values)[j] != other)
        throw ShapeError("a linear map of period " + std::to_string(n) + " gives vectors of " +
                         std::to_string(map.length) + " values, but its rows " + std::to_string(j) +
                         " and " + std::to_string((j + turn) % n) +
                         ", which are to be equal, differ");
    }
  }
}

MapSteps checked_steps(const LinearMap& map) {
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
    for (const Complex& z : values)
      if (!std::isfinite(z.real()) || !std::isfinite(z.imag()))
        throw EncodingError("diagonal " + std::to_string(k) + " has a value that is not finite");
    if (!residues.insert(modulo(k, n)).second)
      throw ParameterError("diagonal " + std::to_string(k) + " is there twice, modulo the period " +
                           std::to_string(n));
  }
  check_period(map);
  return steps_of(unrolled(residues, static_cast<std::int64_t>(n)), n);
}

}  // namespace

struct EncodedMap::Storage {
  static constexpr const char* missing = "a linear map that is not encoded was given";

  unsigned level = 0;
  SwitchRole role = SwitchRole::usual;
  std::uint64_t period = 1, length = 1, columns = 0;
  MapSteps steps;
  Account::Map known;
  std::vector<rlwe::Array> plains;  ///< (giants, babies); empty for zeros

  const rlwe::Array& plain(std::size_t giant, std::size_t baby) const {
    return plains[giant * steps.babies + baby];
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
  const std::uint64_t turn = std::bit_ceil(std::uint64_t{rows});  // the results' period
  map.period = std::max(turn, std::bit_ceil(std::uint64_t{columns}));
  map.length = rows;
  map.columns = columns;
  for (std::uint64_t k = 0; k < map.period; ++k) {
    std::vector<Complex> diagonal(map.period);
    bool any = false;
    for (std::uint64_t j = 0; j < map.period; ++j) {
      const std::uint64_t row = j % turn, column = (j + k) % map.period;
      if (row >= rows || column >= columns) continue;
      diagonal[j] = values[row * columns + column];
      any = any || diagonal[j] != 0.0;
    }
    if (any || (map.diagonals.empty() && k + 1 == map.period))
      map.diagonals.emplace(static_cast<std::int64_t>(k), std::move(diagonal));
  }
  return map;
}

std::vector<std::int64_t> rotations_of(const LinearMap& map) {
  return checked_steps(map).rotations(map.period);
}

std::vector<std::int64_t> rotations_of_diagonals(std::uint64_t period,
                                                 const std::set<std::int64_t>& diagonals) {
  return steps_of(unrolled(diagonals, static_cast<std::int64_t>(period)), period).rotations(period);
}

EncodedMap encode(const Server& server, const LinearMap& map, unsigned level, double scale) {
  const unsigned depth = server.parameters().depth();
  if (level == 0 || level > depth)
    throw ParameterError("level = " + std::to_string(level) + " of a linear map is outside 1 … " +
                         std::to_string(depth));
  if (scale == 0) scale = server.parameters().scale(level);
  return encode_for(server, map, level, scale, SwitchRole::usual);
}

EncodedMap encode_for(const Server& server, const LinearMap& map, unsigned level, double scale,
                      SwitchRole role, const std::function<void()>& encoded) {
  const Parameters& parameters = server.parameters();
  if (map.period > parameters.slots())
    throw ShapeError("a linear map of period " + std::to_string(map.period) +
                     " was given for ciphertexts of " + std::to_string(parameters.slots()) +
                     " slots");
  if (!(scale >= 1 && std::isfinite(scale)))
    throw ParameterError("scale = " + math::text_of(scale) + " of a linear map is below 1");

  EncodedMapAccess::Storage out;
  out.steps = checked_steps(map);
  out.level = level;
  // Without rotations the evaluator takes the primes of usual keys.
  out.role = out.steps.rotations(map.period).empty() ? SwitchRole::usual : role;
  out.period = map.period;
  out.length = map.length;
  out.columns = map.columns;
  out.known = {scale, 0, map.diagonals.size(), true};
  const ring::Basis basis =
      basis_of(parameters, level) | layout_of(parameters.literal(), out.role).special;
  std::vector<double> sums(map.period);
  out.plains.resize(out.steps.giants * out.steps.babies);
  std::size_t done = 0;
  for (const auto& [k, values] : map.diagonals) {
    Access::fleet(server).stop_if_asked(done++, map.diagonals.size(), "plaintexts of a linear map");
    for (std::uint64_t j = 0; j < map.period; ++j) {
      sums[j] += std::sqrt(std::norm(values[j]));
      out.known.real = out.known.real && values[j].imag() == 0;
    }
    const std::size_t place = out.steps.place(k, map.period);
    const std::int64_t turn = modulo(out.steps.giant(place / out.steps.babies), map.period);
    std::vector<Complex> turned;
    turned.reserve(map.period);
    std::rotate_copy(values.begin(), values.end() - turn, values.end(), std::back_inserter(turned));
    out.plains[place] = Access::encode_factor(server, turned, scale, basis);
    if (encoded) encoded();
  }
  out.known.gain = std::max(-200.0, std::log2(std::ranges::max(sums)));
  return EncodedMapAccess::wrap(std::move(out));
}

Array apply(const Server& server, const Array& x, const EncodedMap& map) {
  const auto& of = EncodedMapAccess::storage(map);
  // Of a matrix it is known where a vector ends; what is behind it meets zeros.
  if (of.columns == 0)
    Access::check_slots(server, "a linear map", x);
  else
    Access::check_packed(server, "a linear map", x);
  if (of.columns != 0 && of.columns != x.info().length)
    throw ShapeError("vectors of " + std::to_string(x.info().length) + " values meet a matrix of " +
                     std::to_string(of.columns) + " columns");
  if (of.period % x.info().slots() != 0)
    throw ShapeError("vectors of period " + std::to_string(x.info().slots()) +
                     " meet a linear map of period " + std::to_string(of.period) +
                     ", which must be a multiple of it");
  if (x.info().level < of.level)
    throw NoiseError("a linear map for level " + std::to_string(of.level) +
                     " meets a ciphertext of level " + std::to_string(x.info().level));
  const Account& account = Access::account(server);
  return Access::fleet(server).together([&] {
    const Array two = server.lower(server.relinearise(x), of.level);
    const CiphertextInfo known =
        account.rescale(account.linear_map(two.info(), of.known, of.length));
    return Access::put(known, mapped(server, Access::residues(two), map));
  });
}

rlwe::Array mapped(const Server& server, const rlwe::Array& x, const EncodedMap& map) {
  const auto& of = EncodedMapAccess::storage(map);
  const auto rotation = [&](std::int64_t slots) {
    return Access::rotation(server, of.period, slots, of.role);
  };
  rlwe::Evaluator::LinearMap steps;
  for (std::size_t b = 0; b < of.steps.babies; ++b)
    steps.babies.push_back(of.steps.used.contains(b) ? rotation(of.steps.baby(b)) : 0);
  steps.giants.clear();
  for (std::size_t i = 0; i < of.steps.giants; ++i)
    steps.giants.push_back(of.steps.used_giants.contains(i) ? rotation(of.steps.giant(i)) : 0);
  steps.plain = [&](std::size_t giant, std::size_t baby) { return of.plain(giant, baby); };
  return Access::evaluator(server).linear_map(x, steps, Access::keys(server, of.role),
                                              Access::account(server).basis(of.level - 1), 1);
}

}  // namespace whorl::ckks
