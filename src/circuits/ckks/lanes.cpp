#include "whorl/circuits/ckks/lanes.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "circuits/ckks/bootstrap.h"
#include "circuits/ckks/cosine_fit.h"
#include "circuits/ckks/lane_errors.h"
#include "math/text.h"
#include "schemes/ckks/server_state.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace {

/// Roundings whose deviations are added up in an operation, with what brings its operands to one
/// level, and in a bootstrap: each must stay below `deviations`.
constexpr double roundings_of_operation = 8, roundings_of_bootstrap = 256;
/// The levels of 3x² - 2x³.
constexpr unsigned cleaning_levels = 2;
/// A client refuses values that are farther from bits (Client::decrypt_bits).
constexpr double largest_read = 0.125;

/// 1 - x.
Array complement(const Server& server, const Array& x) {
  return server.add_scalar(server.negate(x), 1);
}

std::vector<std::uint32_t> range(std::size_t first, std::size_t end) {
  std::vector<std::uint32_t> out;
  for (std::size_t i = first; i < end; ++i) out.push_back(static_cast<std::uint32_t>(i));
  return out;
}

}  // namespace

struct LaneArray::State {
  explicit State(Array of) : values(std::move(of)) {}

  mutable std::mutex changing;
  Array values;
};

struct Lanes::Counters {
  std::atomic<std::uint64_t> bootstraps = 0, cleanings = 0, products = 0;
  std::atomic<double> roundings = 0;  ///< of lanes
};

Array LaneArray::held() const {
  if (!state_) throw ShapeError("lanes: an array that is empty was given");
  const std::lock_guard lock(state_->changing);
  return state_->values;
}
double LaneArray::error() const { return error_of(info()); }
std::size_t LaneArray::bytes() const { return Access::State::residues(held()).bytes(); }

Lanes::Lanes(const Server& server, const EncodedBootstrap& maps, const LanesOptions& options)
    : server_(server), maps_(maps), options_(options), counters_(std::make_shared<Counters>()) {
  const Parameters& p = server.parameters();
  static_cast<void>(p.least_bootstrap_level());  // throws without bootstrapping
  const BootstrapLiteral& shape = *p.literal().bootstrap;
  if (shape.coefficients_last != 0)
    throw ParameterError(
        "lanes want parameters whose bootstraps move slots to coefficients first: "
        "coefficients_last = 0");
  if (!(options.most_log2_failure < 0))
    throw ParameterError("most_log2_failure = " + math::text_of(options.most_log2_failure) +
                         " is not below 0");
  const double floor = shape.bits == 0 ? floor_of_sine() : error_of_bits(shape.bits, 0);
  // Cleaning leaves 3e² of an error e, which should not be more than a bootstrap leaves anyway.
  limit_ = std::sqrt(floor / 3);
  entry_ = shape.bits == 0 ? limit_ : 1;
  while (shape.bits != 0 && error_of_bits(shape.bits, entry_) > 2 * floor) entry_ /= 1.0625;
  const unsigned levels = p.depth() - p.least_bootstrap_level();
  const unsigned needed = shape.bits == 0 ? cleaning_levels + 2 : 2;
  if (4 * floor > limit_ || levels < needed)
    throw ParameterError("a bootstrap with errors of up to 2^" + math::text_of(std::log2(floor)) +
                         " and " + std::to_string(levels) +
                         " levels does not serve bits: errors below 2^-6 and " +
                         std::to_string(needed) + " levels are needed");
}

double Lanes::floor_of_sine() {
  const BootstrapLiteral& shape = *server_.parameters().literal().bootstrap;
  // The fit's error at every multiple of the modulus that the sine is made for.
  const auto& of = EncodedBootstrapAccess::storage(maps_);
  const double fit = error_of_sine(shape, of.cosine, shape.range - 1);
  const Account& account = Access::of(server_).account;
  const CiphertextInfo halves =
      account.with_error(account.fresh(Packing::real, 1, maps_.slots(), 0.5, false), no_error);
  const double floor = error_of(account.bootstrap(halves, of.error, Roundings::all)) + fit;
  // What bootstraps state leaves out all roundings but the largest ones.
  fit_ = floor - error_of(account.bootstrap(halves, of.error));
  return floor;
}

double Lanes::error_of_bits(unsigned bits, double error) const {
  return ckks::error_of_bits(server_, maps_, bits, (std::exp2(bits) - 1) * error, deviations);
}

Array Lanes::values_of(const LaneArray& a) const {
  return a.inverted_ ? complement(server_, a.held()) : a.held();
}

LaneArray Lanes::lanes_of(Array values) const {
  const CiphertextInfo& info = values.info();
  if (const double error = error_of(info); error > largest_read)
    throw NoiseError("lanes: values that may be 2^" + math::text_of(std::log2(error)) +
                     " from bits are not decrypted, as 1/8 is the most: clean or refresh operands "
                     "before, or take parameters with a larger scale");
  count(0, 0, 0, info.count * info.slots());
  LaneArray out;
  out.state_ = std::make_shared<State>(of_bits(server_, values));
  return out;
}

LaneArray Lanes::result(const Array& exact, double error) const {
  return lanes_of(error > 0 ? server_.with_more_error(exact, error / deviations) : exact);
}

void Lanes::count(std::uint64_t bootstraps, std::uint64_t cleanings, std::uint64_t products,
                  std::uint64_t lanes) const {
  const double more =
      static_cast<double>(lanes) * (roundings_of_bootstrap * static_cast<double>(bootstraps) +
                                    roundings_of_operation * static_cast<double>(products + 1));
  counters_->bootstraps += bootstraps;
  counters_->cleanings += cleanings;
  counters_->products += products;
  counters_->roundings += more;
  if (log2_failure() <= options_.most_log2_failure) return;
  counters_->bootstraps -= bootstraps;
  counters_->cleanings -= cleanings;
  counters_->products -= products;
  counters_->roundings -= more;
  throw NoiseError("lanes: with " + std::to_string(bootstraps) + " more bootstraps and " +
                   std::to_string(products) +
                   " more products some lane would be wrong with a probability above 2^" +
                   math::text_of(options_.most_log2_failure) +
                   ": state a larger most_log2_failure, take parameters whose bootstraps fail less "
                   "often, or open a new server");
}

double Lanes::log2_failure() const {
  const double raised =
      static_cast<double>(counters_->bootstraps) * std::exp2(server_.parameters().log2_failure());
  return std::log2(raised + counters_->roundings * std::exp2(log2_beyond_deviations));
}

LaneCounts Lanes::counts() const {
  return {counters_->bootstraps, counters_->cleanings, counters_->products};
}

LaneArray Lanes::take_in(const Array& bits) const {
  server_.check(bits);
  const CiphertextInfo& info = bits.info();
  const Parameters& p = server_.parameters();
  if (info.packing != Packing::real)
    throw EncodingError("lanes hold bits as real numbers in slots; encrypt them with packing real");
  // Stored bits are stated to be off by their error.
  const double off = error_of(info) + 0x1p-40;
  if (const Bounds known = info.bounds(); known.low < -off || known.high > 1 + off)
    throw EncodingError("lanes hold 0 and 1, and these values lie between " +
                        math::text_of(known.low) + " and " + math::text_of(known.high) +
                        ": encrypt them with the bounds 0 and 1");
  if (info.level < p.least_bootstrap_level() || info.scale != p.scale(info.level))
    throw EncodingError("lanes have a level of at least " +
                        std::to_string(p.least_bootstrap_level()) +
                        " and its scale; these have level " + std::to_string(info.level) +
                        " and scale 2^" + math::text_of(std::log2(info.scale)) +
                        ": what finish() gives is for clients, and store() gives what is taken");
  if (info.slots() != maps_.slots())
    throw ShapeError("vectors of " + std::to_string(info.length) + " lanes meet the maps of " +
                     std::to_string(maps_.slots()) + " slots");
  if (info.vector != 0)
    throw ShapeError("lanes: vectors of " + std::to_string(info.vector) +
                     " bits take several ciphertexts each; cut them into vectors of at most " +
                     std::to_string(maps_.slots()));
  const Array two = server_.relinearise(bits);
  // No operation leaves less than an encryption does.
  const double fresh =
      Access::of(server_).account.fresh(Packing::real, 1, maps_.slots(), 1, false).error;
  const double missing = std::exp2(fresh) - std::exp2(two.info().error);
  return lanes_of(missing > 0 ? server_.with_more_error(two, missing) : two);
}

// ---- keeping bits readable

Array Lanes::cleaned(const Array& x) const {
  const CiphertextInfo& info = x.info();
  count(0, info.count, 2 * info.count, info.slots());
  const double e = error_of(info);
  const Array exact = without_error(server_, x), square = server_.square(exact),
              rest = server_.add_scalar(server_.multiply_integer(exact, -2), 3);
  const Array cleaned = server_.multiply(square, rest);
  return of_bits(server_, server_.with_more_error(cleaned, e * e * (3 + 2 * e) / deviations));
}

Array Lanes::refreshed(const Array& x) const {
  const CiphertextInfo& info = x.info();
  if (const unsigned bits = server_.parameters().literal().bootstrap->bits; bits != 0)
    return refreshed_bits(x, bits);
  count(info.count, 0, 0, info.slots());
  const Array halves = server_.add_scalar(x, -0.5);
  const std::size_t pairs = info.count / 2 * 2;
  std::vector<Array> out;
  if (pairs > 0)
    out.push_back(bootstrap_pairs(
        server_, pairs == info.count ? halves : server_.take(halves, range(0, pairs)), maps_));
  if (pairs < info.count)
    out.push_back(bootstrap(
        server_, pairs == 0 ? halves : server_.take(halves, range(pairs, info.count)), maps_));
  const Array all = out.size() == 1 ? out[0] : server_.concatenate(out);
  return of_bits(server_, server_.add_scalar(server_.with_more_error(all, fit_ / deviations), 0.5));
}

Array Lanes::refreshed_bits(const Array& given, unsigned most) const {
  const unsigned least = server_.parameters().least_bootstrap_level();
  const bool cleans =
      error_of(given.info()) > entry_ && given.info().level >= least + cleaning_levels;
  const Array x = cleans ? cleaned(given) : given;
  const CiphertextInfo& info = x.info();
  count(info.count, 0, 0, info.slots());
  // 1. Fewer bits in a coefficient where errors would reach them.
  const double e = error_of(info);
  while (most > 1 && error_of_bits(most, e) > 2 * error_of_bits(most, 0)) --most;
  const std::size_t numbers = (info.count + most - 1) / most;
  const auto bits = static_cast<unsigned>((info.count + numbers - 1) / numbers);
  // 2. Σ_j 2^j·x_j of `bits` vectors each; the last vector may be in several.
  std::optional<Array> sum;
  for (unsigned j = bits; j-- > 0;) {
    std::vector<std::uint32_t> indices;
    for (std::size_t i = 0; i < numbers; ++i)
      indices.push_back(static_cast<std::uint32_t>(std::min(i * bits + j, info.count - 1)));
    const Array bit = info.count == 1 ? x : server_.take(x, indices);
    sum = sum ? server_.add(server_.multiply_integer(*sum, 2), bit) : bit;
  }
  const std::vector<Array> out = bits_of(*sum, bits);
  // 3. Vector i·bits + j is vector i of result j.
  if (out.size() == 1) return of_bits(server_, out[0]);
  std::vector<std::uint32_t> indices;
  for (std::size_t v = 0; v < info.count; ++v)
    indices.push_back(static_cast<std::uint32_t>(v % bits * numbers + v / bits));
  return of_bits(server_, server_.take(server_.concatenate(out), indices));
}

std::vector<Array> Lanes::bits_of(const Array& numbers, unsigned bits) const {
  const Array halves = server_.add_scalar(numbers, 0.5);
  const Array parts = Access::State::with_scale(halves, std::exp2(bits));
  return bootstrap_bits(server_, server_.with_bound(parts, {0, 1}), bits, maps_, deviations);
}

std::vector<LaneArray> Lanes::count_ones(std::span<const LaneArray> arrays) const {
  const unsigned most = server_.parameters().literal().bootstrap->bits,
                 least = server_.parameters().least_bootstrap_level();
  const auto bits = static_cast<unsigned>(std::bit_width(arrays.size()));
  if (arrays.empty() || bits > most)
    throw ParameterError("count_ones: " + std::to_string(arrays.size()) +
                         " arrays; there must be " +
                         (most == 0 ? "parameters for bits, which these are not"
                                    : "1 … " + std::to_string((1u << most) - 1) +
                                          " for bootstrap.bits = " + std::to_string(most)));
  // 1. Errors add up as those of as many bits in a coefficient do.
  for (const LaneArray& a : arrays) {
    server_.check(a.held());
    if (a.info().count != arrays[0].info().count)
      throw ShapeError("count_ones: arrays of " + std::to_string(arrays[0].info().count) + " and " +
                       std::to_string(a.info().count) + " ciphertexts; they must be equal");
    if (a.error() > entry_ && a.info().level >= least + cleaning_levels) clean(std::span(&a, 1));
    if (a.error() > entry_) refresh(std::span(&a, 1));
  }
  std::optional<Array> sum;
  for (const LaneArray& a : arrays) sum = sum ? server_.add(*sum, values_of(a)) : values_of(a);
  count(sum->info().count, 0, 0, maps_.slots());
  // 2. Its bits.
  std::vector<LaneArray> out;
  for (const Array& bit : bits_of(*sum, bits)) out.push_back(lanes_of(bit));
  return out;
}

void Lanes::clean(std::span<const LaneArray> arrays) const {
  const unsigned least = server_.parameters().least_bootstrap_level();
  std::vector<const State*> done;
  for (const LaneArray& a : arrays) {
    const Array x = a.held();
    const bool again = std::ranges::find(done, a.state_.get()) != done.end();
    if (again || x.info().level < least + cleaning_levels) continue;
    done.push_back(a.state_.get());
    Array y = cleaned(x);
    const std::lock_guard lock(a.state_->changing);
    // Another thread may have cleaned or refreshed it meanwhile.
    if (a.state_->values.info().level == x.info().level) a.state_->values = std::move(y);
  }
}

void Lanes::refresh(std::span<const LaneArray> arrays) const {
  std::vector<State*> states;
  std::vector<Array> parts;
  for (const LaneArray& a : arrays) {
    const Array x = a.held();
    if (std::ranges::find(states, a.state_.get()) != states.end()) continue;
    states.push_back(a.state_.get());
    parts.push_back(x);
  }
  if (parts.empty()) return;
  const Array all = refreshed(parts.size() == 1 ? parts[0] : server_.concatenate(parts));
  std::size_t first = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::size_t end = first + parts[i].info().count;
    Array own = parts.size() == 1 ? all : server_.take(all, range(first, end));
    const std::lock_guard lock(states[i]->changing);
    states[i]->values = std::move(own);
    first = end;
  }
}

bool Lanes::is_due(double error, unsigned left) const {
  if (error * (1 + error) > limit_) return true;
  // What is neither clean nor can be cleaned would have a coefficient for itself in a refresh.
  if (left < cleaning_levels) return error > entry_;
  // Every level may double it. Cleaning takes it to 3e², by two levels; later may be too late.
  const auto at_refresh = [](double e, unsigned levels) {
    return std::ldexp(e, static_cast<int>(levels));
  };
  return at_refresh(error, left) > entry_ &&
         at_refresh(3 * error * error, left - cleaning_levels) > entry_;
}

std::vector<Array> Lanes::prepare(std::span<const LaneArray> operands, unsigned levels) const {
  const unsigned least = server_.parameters().least_bootstrap_level();
  const std::uint64_t slots = maps_.slots();
  for (const LaneArray& a : operands) {
    server_.check(a.held());
    if (a.info().slots() != slots)
      throw ShapeError("lanes: arrays of " + std::to_string(a.info().slots()) + " and " +
                       std::to_string(slots) + " lanes meet");
  }
  // Each round lifts what lacks levels, or cleans what has the largest error.
  for (unsigned round = 0; round < 16; ++round) {
    const auto refresh_below = [&](unsigned level) {
      std::vector<LaneArray> low;
      for (const LaneArray& a : operands)
        if (a.info().level < level) low.push_back(a);
      refresh(low);
    };
    refresh_below(least + levels);
    double sum = 0;
    unsigned left = server_.parameters().depth(), highest = 0;
    const LaneArray* worst = nullptr;
    for (const LaneArray& a : operands) {
      if (!worst || a.error() > worst->error()) worst = &a;
      sum += a.error();
      left = std::min(left, a.info().level);
      highest = std::max(highest, a.info().level);
    }
    const double largest = worst->error();
    const bool due = is_due(sum, left - levels - least);
    // What is about to be refreshed would draw what has been refreshed down to its level.
    const unsigned cleanable = least + levels + cleaning_levels;
    if (left < cleanable && (due ? worst->info().level < cleanable : highest > 2 * cleanable)) {
      refresh_below(cleanable);
      continue;
    }
    // The result lies below the lowest operand. So cleaning costs no level of what is so far above
    // it, and is done where it takes most of the sum away.
    if (due) left = std::min(left, worst->info().level - cleaning_levels);
    std::vector<LaneArray> dirty;
    for (const LaneArray& a : operands) {
      const bool twice = std::ranges::any_of(
          dirty, [&](const LaneArray& other) { return other.state_ == a.state_; });
      const bool gains = (due && a.state_ == worst->state_) ||
                         a.error() > std::max(8 * limit_ * limit_, largest / 4);
      if (!twice && gains && a.info().level >= left + cleaning_levels) dirty.push_back(a);
    }
    clean(dirty);
    if (due) continue;
    // Other threads may clean operands after this, and may just have done so.
    std::vector<Array> ready;
    for (const LaneArray& a : operands) ready.push_back(values_of(a));
    if (std::ranges::all_of(ready,
                            [&](const Array& x) { return x.info().level >= least + levels; }))
      return ready;
  }
  throw NoiseError("lanes: operands stay farther from bits than 2^" +
                   math::text_of(std::log2(limit_)) +
                   " after cleaning: take parameters with a larger scale or more levels");
}

// ---- gates. Of operands within their errors of bits, f is within the sum of its slopes times
// these, and of the products of two and of three of them with the mixed slopes, of f at bits.

LaneArray Lanes::bit_not(const LaneArray& a) const {
  server_.check(a.held());
  LaneArray out = a;
  out.inverted_ = !a.inverted_;
  return out;
}

LaneArray Lanes::bit_and(const LaneArray& a, const LaneArray& b) const {
  const std::array operands{a, b};
  const std::vector<Array> ready = prepare(operands, 1);
  const Array &x = ready[0], &y = ready[1];
  const double e = error_of(x.info()), f = error_of(y.info());
  const std::size_t most = std::max(x.info().count, y.info().count);
  count(0, 0, most, maps_.slots());
  return result(server_.multiply(without_error(server_, x), without_error(server_, y)),
                e + f + e * f);
}

LaneArray Lanes::bit_or(const LaneArray& a, const LaneArray& b) const {
  return bit_not(bit_and(bit_not(a), bit_not(b)));
}

namespace {

/// x ⊕ y - 1/2 = (2x - 1)·(1/2 - y). No operand is added to the product, which would have to come
/// to its level.
Array centred_xor(const Server& server, const Array& x, const Array& y) {
  const Access::State& state = Access::of(server);
  return server.multiply(state.multiply_add(x, 2, -1), state.multiply_add(y, -1, 0.5));
}

}  // namespace

LaneArray Lanes::bit_xor(const LaneArray& a, const LaneArray& b) const {
  const std::array operands{a, b};
  const std::vector<Array> ready = prepare(operands, 1);
  const Array &x = ready[0], &y = ready[1];
  const double e = error_of(x.info()), f = error_of(y.info());
  count(0, 0, std::max(x.info().count, y.info().count), maps_.slots());
  const Array half = centred_xor(server_, without_error(server_, x), without_error(server_, y));
  return result(server_.add_scalar(half, 0.5), e + f + 2 * e * f);
}

LaneArray Lanes::select(const LaneArray& choice, const LaneArray& a, const LaneArray& b) const {
  const std::array operands{choice, a, b};
  const std::vector<Array> ready = prepare(operands, 1);
  const Array &s = ready[0], &x = ready[1], &y = ready[2];
  const double d = error_of(s.info()), e = error_of(x.info()), f = error_of(y.info());
  count(0, 0, std::max({s.info().count, x.info().count, y.info().count}), maps_.slots());
  const Array one = without_error(server_, x), other = without_error(server_, y);
  // The other one is added before the product is rescaled.
  const Access::State& state = Access::of(server_);
  const Array difference = server_.sub(one, other);
  const unsigned level = std::min(s.info().level, difference.info().level);
  const std::array weight{1.0};
  const Array added = state.linear_combination(std::span(&other, 1), weight, 0, level, false),
              sum = state.product_plus(without_error(server_, s), difference, &added);
  return result(state.relinearised_and_rescaled(sum), d + std::max(e, f) + d * (e + f));
}

std::array<LaneArray, 2> Lanes::full_add(const LaneArray& a, const LaneArray& b,
                                         const LaneArray& c) const {
  const std::array operands{a, b, c};
  const std::vector<Array> ready = prepare(operands, 2);
  const Array &x = ready[0], &y = ready[1], &z = ready[2];
  const double d = error_of(x.info()), e = error_of(y.info()), f = error_of(z.info());
  count(0, 0, 2 * std::max({x.info().count, y.info().count, z.info().count}), maps_.slots());
  const Array p = without_error(server_, x), q = without_error(server_, y),
              r = without_error(server_, z);
  // With t = (x ⊕ y - 1/2)·(1/2 - z) the sum is 1/2 + 2t, and the carry (x + y + z)/2 - 1/4 - t.
  const Access::State& state = Access::of(server_);
  const Array t = server_.multiply(centred_xor(server_, p, q), state.multiply_add(r, -1, 0.5));
  const std::array<Array, 3> bits{p, q, r};
  const std::array halves{0.5, 0.5, 0.5};
  const Array half = state.linear_combination(bits, halves, -0.25, t.info().level + 1, true);
  const double sum = d + e + f, pairs = d * e + d * f + e * f, triple = d * e * f;
  return {result(state.multiply_add(t, 2, 0.5), sum + 2 * pairs + 4 * triple),
          result(server_.sub(half, t), sum + pairs + 2 * triple)};
}

LaneArray Lanes::rotate(const LaneArray& a, std::int64_t lanes) const {
  // Each rotation adds an error.
  const Array x = values_of(a);
  const bool due = error_of(x.info()) > limit_;
  return lanes_of(server_.rotate(due ? prepare(std::span(&a, 1), 0)[0] : x, lanes));
}

LaneArray Lanes::constant(const LaneArray& like, bool bit) const {
  const Array zero = server_.multiply_integer(without_error(server_, values_of(like)), 0);
  return lanes_of(bit ? server_.add_scalar(zero, 1) : zero);
}

LaneArray Lanes::known(const LaneArray& like, std::span<const std::uint8_t> bits) const {
  const Array x = without_error(server_, values_of(like));
  const std::size_t length = x.info().length;
  if (bits.empty() || bits.size() % length != 0)
    throw ShapeError("lanes: " + std::to_string(bits.size()) + " known bits are no rows of " +
                     std::to_string(length));
  for (const std::uint8_t& bit : bits)
    if (bit > 1)
      throw ParameterError("lanes: the known bit at index " + std::to_string(&bit - bits.data()) +
                           " is " + std::to_string(bit));
  const std::vector<std::complex<double>> values(bits.begin(), bits.end());
  const std::uint32_t first = 0;
  const Array zero = server_.multiply_integer(server_.take(x, std::span(&first, 1)), 0);
  return lanes_of(server_.add_plain(zero, values, length));
}

LaneArray Lanes::take(const LaneArray& a, std::span<const std::uint32_t> indices) const {
  return lanes_of(server_.take(values_of(a), indices));
}

LaneArray Lanes::concatenate(std::span<const LaneArray> arrays) const {
  std::vector<Array> values;
  for (const LaneArray& a : arrays) values.push_back(values_of(a));
  return lanes_of(server_.concatenate(values));
}

Array Lanes::finish(const LaneArray& a) const {
  return values_of(lanes_of(server_.lower(values_of(a), 0)));
}

Array Lanes::store(const LaneArray& a, std::optional<unsigned> level) const {
  const Array x = values_of(a);
  const unsigned least = server_.parameters().least_bootstrap_level(), own = x.info().level,
                 to = level.value_or(own);
  if (to < least || to > own)
    throw ParameterError("store: level " + std::to_string(to) + " is outside " +
                         std::to_string(least) + " … " + std::to_string(own) +
                         ", from where bits can be refreshed up to their own");
  return values_of(lanes_of(server_.lower(x, to)));
}

}  // namespace whorl::ckks
