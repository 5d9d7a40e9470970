#include "whorl/circuits/ckks/lanes.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "circuits/ckks/bootstrap.h"
#include "circuits/ckks/cosine_fit.h"
#include "circuits/ckks/lane_integers.h"
#include "math/text.h"
#include "schemes/ckks/server_state.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace {

/// Roundings whose deviations are added up in an operation, with what brings its operands to one
/// level, and in a bootstrap: each must stay below `deviations`.
constexpr double roundings_of_operation = 8, roundings_of_bootstrap = 256;
/// A client refuses values that are farther from messages (Client::decrypt_bits).
constexpr double largest_read = 0.125;

/// 1 - x.
Array complement(const Server& server, const Array& x) {
  return server.add_scalar(server.negate(x), 1);
}

std::vector<std::uint32_t> range(std::size_t first, std::size_t end, std::size_t step = 1) {
  std::vector<std::uint32_t> out;
  for (std::size_t i = first; i < end; i += step) out.push_back(static_cast<std::uint32_t>(i));
  return out;
}

}  // namespace

struct LaneArray::State {
  State(Array of, const LaneMessages& as) : values(std::move(of)), messages(as) {}

  mutable std::mutex changing;
  Array values;
  LaneMessages messages;
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
LaneMessages LaneArray::messages() const {
  if (!state_) throw ShapeError("lanes: an array that is empty was given");
  const std::lock_guard lock(state_->changing);
  return state_->messages;
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
  entry_ = shape.bits == 0 ? limit_ : largest_entry(shape.bits);
  // Of integers the bits are off by as much as all together.
  for (unsigned bits = 0; bits <= shape.bits; ++bits)
    integer_limits_.push_back(bits < 2 ? limit_ : largest_entry(bits) * (std::exp2(bits) - 1));
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

double Lanes::largest_entry(unsigned bits) const {
  const double floor = error_of_bits(bits, 0);
  double out = 1;
  while (error_of_bits(bits, out) > 2 * floor) out /= 1.0625;
  return out;
}

Array Lanes::values_of(const LaneArray& a) const {
  return a.inverted_ ? complement(server_, a.held()) : a.held();
}

LaneArray Lanes::lanes_of(Array values, const LaneMessages& messages) const {
  const CiphertextInfo& info = values.info();
  if (const double error = error_of(info); error > largest_read)
    throw NoiseError("lanes: values that may be 2^" + math::text_of(std::log2(error)) + " from " +
                     (messages.p == 2 ? "bits" : "integers") +
                     " are not decrypted, as 1/8 is the most: clean or refresh operands before, or "
                     "take parameters with a larger scale");
  count(0, 0, 0, info.count * info.slots());
  LaneArray out;
  out.state_ = std::make_shared<State>(of_messages(server_, values, messages), messages);
  return out;
}

LaneArray Lanes::result(const Array& exact, double error, const LaneMessages& messages) const {
  return lanes_of(error > 0 ? server_.with_more_error(exact, error / deviations) : exact, messages);
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

LaneArray Lanes::take_in(const Array& messages) const {
  server_.check(messages);
  const CiphertextInfo& info = messages.info();
  const Parameters& p = server_.parameters();
  if (info.packing != Packing::real)
    throw EncodingError("lanes hold bits as real numbers in slots; encrypt them with packing real");
  // What is stored is stated to be off by its error.
  const double off = error_of(info) + 0x1p-40, most = std::exp2(p.literal().bootstrap->bits);
  const Bounds known = info.bounds();
  LaneMessages as;
  while (as.p < most && known.high > as.p - 1 + off) as = reduced(2 * as.p);
  const double beyond = known.high - static_cast<double>(as.high);
  if (known.low < -off || beyond > off || (as.p != 2 && beyond < -off))
    throw EncodingError(
        "lanes hold 0 and 1, " +
        (most > 2 ? "or integers modulo p, a power of two up to " + math::text_of(most) + ", "
                  : "") +
        "and these values lie between " + math::text_of(known.low) + " and " +
        math::text_of(known.high) + ": encrypt them with the bounds 0 and 1" +
        (most > 2 ? ", or 0 and p - 1" : ""));
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
  const Array two = server_.relinearise(messages);
  // No operation leaves less than an encryption does.
  const double fresh =
      Access::of(server_).account.fresh(Packing::real, 1, maps_.slots(), 1, false).error;
  const double missing = std::exp2(fresh) - std::exp2(two.info().error);
  return lanes_of(missing > 0 ? server_.with_more_error(two, missing) : two, as);
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
  const Array all = out.size() == 1 ? out[0] : server_.interleave(out);
  return of_bits(server_,
                 all.info().count == info.count ? all : server_.take(all, range(0, info.count)));
}

std::vector<Array> Lanes::bits_of(const Array& numbers, unsigned bits) const {
  return bootstrap_bits(server_, as_turns(server_, numbers, bits), bits, maps_, deviations);
}

void Lanes::clean(std::span<const LaneArray> arrays) const {
  const unsigned least = server_.parameters().least_bootstrap_level();
  std::vector<const State*> done;
  for (const LaneArray& a : arrays) {
    const Array x = a.held();
    const bool again = std::ranges::find(done, a.state_.get()) != done.end();
    if (again || a.messages().p != 2 || x.info().level < least + cleaning_levels) continue;
    done.push_back(a.state_.get());
    Array y = cleaned(x);
    const std::lock_guard lock(a.state_->changing);
    // Another thread may have cleaned or refreshed it meanwhile.
    if (a.state_->values.info().level == x.info().level) a.state_->values = std::move(y);
  }
}

void Lanes::refresh(std::span<const LaneArray> arrays) const {
  // Those of one p together: messages are read first, which hold for what is read later too.
  struct Group {
    LaneMessages messages;
    std::vector<State*> states;
    std::vector<Array> parts;
  };
  std::map<unsigned, Group> groups;
  for (const LaneArray& a : arrays) {
    const LaneMessages messages = a.messages();
    const Array x = a.held();
    Group& group = groups.try_emplace(messages.p, Group{messages, {}, {}}).first->second;
    if (std::ranges::find(group.states, a.state_.get()) != group.states.end()) continue;
    group.messages = both(group.messages, messages);
    group.states.push_back(a.state_.get());
    group.parts.push_back(x);
  }
  for (const auto& [p, group] : groups) {
    const auto& [messages, states, parts] = group;
    // Vectors of equal arrays are joined in turn, so that several devices keep them.
    const std::size_t count = parts[0].info().count;
    const bool equal =
        std::ranges::all_of(parts, [&](const Array& part) { return part.info().count == count; });
    const Array joined = parts.size() == 1 ? parts[0]
                         : equal           ? server_.interleave(parts)
                                           : server_.concatenate(parts),
                all = p == 2 ? refreshed(joined) : refreshed_integers(joined, messages);
    std::size_t first = 0;
    for (std::size_t i = 0; i < states.size(); ++i) {
      const std::size_t end = first + parts[i].info().count;
      const Array own = parts.size() == 1 ? all
                        : equal ? server_.take(all, range(i, all.info().count, states.size()))
                                : server_.take(all, range(first, end));
      const std::lock_guard lock(states[i]->changing);
      states[i]->values = own;
      states[i]->messages = {p, 0, std::int64_t{p} - 1};
      first = end;
    }
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
    Integers::check_bits(a);
    if (a.info().slots() != slots)
      throw ShapeError("lanes: arrays of " + std::to_string(a.info().slots()) + " and " +
                       std::to_string(slots) + " lanes meet");
  }
  const unsigned depth = server_.parameters().depth();
  if (depth < least + levels)
    throw NoiseError("lanes: an operation takes " + math::counted(levels, "level") +
                     ", and refreshed arrays have " + std::to_string(depth - least) +
                     ": take parameters with more levels");
  // Whether a refresh leaves levels for a cleaning behind the operation.
  const bool leaves = depth >= least + levels + cleaning_levels;
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
    unsigned left = depth, highest = 0;
    const LaneArray* worst = nullptr;
    for (const LaneArray& a : operands) {
      if (!worst || a.error() > worst->error()) worst = &a;
      sum += a.error();
      left = std::min(left, a.info().level);
      highest = std::max(highest, a.info().level);
    }
    const double largest = worst->error();
    const unsigned behind = left - levels - least;
    const bool helps = leaves || behind >= cleaning_levels || sum * (1 + sum) > limit_,
               due = helps && is_due(sum, behind);
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
  Integers::check_bits(a);
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

Array chosen(const Server& server, const Array& choice, const Array& one, const Array& other) {
  // The other one is added before the product is rescaled.
  const Access::State& state = Access::of(server);
  const Array difference = server.sub(one, other);
  const unsigned level = std::min(choice.info().level, difference.info().level);
  const std::array weight{1.0};
  const Array added = state.linear_combination(std::span(&other, 1), weight, 0, level, false),
              sum = state.product_plus(choice, difference, &added);
  return state.relinearised_and_rescaled(sum);
}

LaneArray Lanes::select(const LaneArray& choice, const LaneArray& a, const LaneArray& b) const {
  if (a.messages().p != 2 || b.messages().p != 2) return select_integers(choice, a, b);
  const std::array operands{choice, a, b};
  const std::vector<Array> ready = prepare(operands, 1);
  const Array &s = ready[0], &x = ready[1], &y = ready[2];
  const double d = error_of(s.info()), e = error_of(x.info()), f = error_of(y.info());
  count(0, 0, std::max({s.info().count, x.info().count, y.info().count}), maps_.slots());
  return result(chosen(server_, without_error(server_, s), without_error(server_, x),
                       without_error(server_, y)),
                d + std::max(e, f) + d * (e + f));
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
  const LaneMessages messages = a.messages();
  const Array x = values_of(a);
  if (error_of(x.info()) <= limit(messages.p)) return lanes_of(server_.rotate(x, lanes), messages);
  if (messages.p == 2)
    return lanes_of(server_.rotate(prepare(std::span(&a, 1), 0)[0], lanes), messages);
  refresh(std::span(&a, 1));
  return lanes_of(server_.rotate(values_of(a), lanes), messages);
}

LaneArray Lanes::constant(const LaneArray& like, unsigned message) const {
  const LaneMessages as = reduced(like.messages().p);
  if (message >= as.p)
    throw ParameterError("lanes: the constant " + std::to_string(message) + " is outside 0 … " +
                         std::to_string(as.high));
  const Array zero = server_.multiply_integer(without_error(server_, values_of(like)), 0);
  return lanes_of(message != 0 ? server_.add_scalar(zero, message) : zero, as);
}

LaneArray Lanes::known(const LaneArray& like, std::span<const std::uint8_t> messages) const {
  const LaneMessages as = reduced(like.messages().p);
  const Array x = without_error(server_, values_of(like));
  const std::size_t length = x.info().length;
  if (messages.empty() || messages.size() % length != 0)
    throw ShapeError("lanes: " + std::to_string(messages.size()) + " known " +
                     (as.p == 2 ? "bits" : "integers") + " are no rows of " +
                     std::to_string(length));
  for (const std::uint8_t& message : messages)
    if (message >= as.p)
      throw ParameterError("lanes: the known " + std::string(as.p == 2 ? "bit" : "integer") +
                           " at index " + std::to_string(&message - messages.data()) + " is " +
                           std::to_string(message));
  const std::vector<std::complex<double>> values(messages.begin(), messages.end());
  const std::uint32_t first = 0;
  const Array zero = server_.multiply_integer(server_.take(x, std::span(&first, 1)), 0);
  return lanes_of(server_.add_plain(zero, values, length), as);
}

LaneArray Lanes::take(const LaneArray& a, std::span<const std::uint32_t> indices) const {
  const LaneMessages messages = a.messages();
  return lanes_of(server_.take(values_of(a), indices), messages);
}

LaneArray Lanes::concatenate(std::span<const LaneArray> arrays) const {
  std::vector<Array> values;
  LaneMessages messages;
  for (const LaneArray& a : arrays) {
    const LaneMessages own = a.messages();
    if (!values.empty() && own.p != messages.p)
      throw ParameterError("lanes: messages modulo " + std::to_string(messages.p) + " and " +
                           std::to_string(own.p) + " are no array together");
    messages = values.empty() ? own : both(messages, own);
    values.push_back(values_of(a));
  }
  return lanes_of(server_.concatenate(values), messages);
}

Array Lanes::finish(const LaneArray& a) const {
  const LaneMessages messages = a.messages();
  return values_of(lanes_of(server_.lower(values_of(a), messages.p == 2 ? 0 : 1), messages));
}

Array Lanes::store(const LaneArray& a, std::optional<unsigned> level) const {
  // Bounds say what p is.
  const LaneMessages messages = reduced(a.messages().p);
  if (a.messages().low < 0 || a.messages().high > messages.high) refresh(std::span(&a, 1));
  const Array x = values_of(a);
  const unsigned least = server_.parameters().least_bootstrap_level(), own = x.info().level,
                 to = level.value_or(own);
  if (to < least || to > own)
    throw ParameterError("store: level " + std::to_string(to) + " is outside " +
                         std::to_string(least) + " … " + std::to_string(own) +
                         ", from where they can be refreshed up to their own");
  return values_of(lanes_of(server_.lower(x, to), messages));
}

}  // namespace whorl::ckks
