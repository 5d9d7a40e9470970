#include "whorl/binfhe/lut.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <tuple>

#include "math/text.h"
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/linear_part.h"

namespace whorl::binfhe {

namespace {

bool is_negacyclic(std::span<const std::uint32_t> values, Encoding input, Encoding output) {
  if (input.p % 2 != 0 || output.padding) return false;
  for (std::size_t m = 0; m < input.p / 2; ++m)
    if ((values[m] + values[m + input.p / 2]) % output.p != 0) return false;
  return true;
}

void check_input(const Parameters& parameters, Encoding input, bool exact) {
  if (exact || input.sectors() <= most_rotated_sectors(parameters))
    return check_rotated(parameters, input);
  check_coarse(parameters, input);
  if (!std::has_single_bit(input.p))
    throw EncodingError("p = " + std::to_string(input.p) +
                        " is more than one rotation tells apart, so that it must be a power of "
                        "two; the next is " +
                        std::to_string(std::bit_ceil(input.p)));
}

[[noreturn]] void refuse_one_rotation(Encoding input, Encoding output, bool large) {
  throw EncodingError("no rotation by itself looks these values up: with " + describe(input) +
                      (large ? " a multiple of the input would have to be added, which is exact "
                               "only for a power of two up to q"
                             : " f(m) + f(m + p/2) would have to be linear in m modulo " +
                                   std::to_string(output.sectors()) +
                                   ", so that a whole multiple of the input is left") +
                      ": leave one_rotation out for two rotations, or give inputs a padding bit");
}

/// Sectors that noise passes and those that were lost when messages were rounded to units of Z_q.
std::uint32_t with_rounding(std::uint32_t sectors, Encoding encoding, std::uint64_t q,
                            double times = 1) {
  if (q % encoding.sectors() == 0) return sectors;
  const double lost =
      times * static_cast<double>(encoding.sectors()) / (2.0 * static_cast<double>(q));
  return sectors + static_cast<std::uint32_t>(0.5 + lost);
}

}  // namespace

/// Distances by reach, by whether two rotations read the table, and by the ends of messages.
struct Lut::Distances {
  using Key = std::tuple<std::uint32_t, bool, std::int64_t, std::int64_t>;
  static constexpr std::size_t most = 256;
  std::mutex mutex;
  std::map<Key, double> found;
};

Lut::Lut(Parameters parameters, std::vector<std::uint32_t> values, Encoding input, Encoding output,
         LutKind kind, bool exact, std::int32_t weight)
    : parameters_(std::move(parameters)),
      values_(std::move(values)),
      input_(input),
      output_(output),
      kind_(kind),
      exact_(exact),
      weight_(weight),
      distances_(std::make_shared<Distances>()) {}

Lut Lut::create(const Parameters& parameters, std::vector<std::uint32_t> values, Encoding input,
                Encoding output, bool exact, bool one_rotation) {
  check_input(parameters, input, exact);
  exact ? check_encoding(parameters, output) : check_coarse(parameters, output);
  if (values.size() != input.p)
    throw EncodingError("a table for p = " + std::to_string(input.p) + " has " +
                        std::to_string(values.size()) + " values");
  check_values(values, output.p, "the output's p");
  LutKind kind = input.padding                          ? LutKind::padded
                 : is_negacyclic(values, input, output) ? LutKind::negacyclic
                                                        : LutKind::arbitrary;
  std::int32_t weight = 0;
  if (kind == LutKind::arbitrary && one_rotation) {
    const std::optional<LinearPart> part = linear_part(values, input, output);
    // Messages that are rounded to units of Z_q would be off by `weight` times as much.
    const bool rounded = part && part->weight != 0 && parameters.q() % input.p != 0;
    if (!part || (rounded && exact)) refuse_one_rotation(input, output, part.has_value());
    kind = LutKind::near_negacyclic;
    weight = part->weight;
  }
  if (kind == LutKind::arbitrary && exact && input.p > parameters.N() / 4)
    throw EncodingError("an arbitrary table has p at most N/4 = " +
                        std::to_string(parameters.N() / 4) + ", not " + std::to_string(input.p));
  return {parameters, std::move(values), input, output, kind, exact, weight};
}

Lut Lut::create(const Parameters& parameters,
                const std::function<std::uint32_t(std::uint32_t)>& function, Encoding input,
                Encoding output, bool exact, bool one_rotation) {
  check_input(parameters, input, exact);
  std::vector<std::uint32_t> values(input.p);
  for (std::uint32_t m = 0; m < input.p; ++m) values[m] = function(m);
  return create(parameters, std::move(values), input, output, exact, one_rotation);
}

std::uint32_t Lut::error_bound(double noise, double allow_failure,
                               const std::optional<MessageRange>& range) const {
  return bound_of(*this, {kind_ == LutKind::arbitrary}, noise, allow_failure, range).output;
}

std::uint32_t Lut::reach(double noise, double allow_failure) const {
  const MessageRange none{0, -1};
  return bound_of(*this, {kind_ == LutKind::arbitrary}, noise, allow_failure, none).input;
}

namespace {

/// Whether a multiple of the input is added; read by two rotations, nothing is.
bool adds(const Lut& lut, bool arbitrary) {
  return lut.kind() == LutKind::near_negacyclic && !arbitrary;
}

/// The largest distance of f(m) and what is found up to `reach` away, in halves of a sector.
std::int64_t widest_distance(const Lut& lut, bool arbitrary, std::int64_t reach,
                             MessageRange messages) {
  const std::int64_t p = lut.input().p, p_out = lut.output().p;
  // Phases that are told apart, and the messages from one to the next.
  const std::int64_t across =
      (arbitrary || lut.kind() == LutKind::padded ? 1LL : 2LL) * lut.parameters().N();
  const std::int64_t apart = std::max<std::int64_t>(1, p / across);
  // What the linear part of a table lacks where a neighbour is found is half of this a message.
  const std::int64_t rise =
      adds(lut, arbitrary)
          ? 2 * std::int64_t{lut.weight()} * static_cast<std::int64_t>(lut.output().sectors()) / p
          : 0;
  const auto values = lut.values();
  if (2 * reach >= p) {  // any message
    const auto [least, most] = std::ranges::minmax(values);
    const bool negated = arbitrary || lut.kind() == LutKind::padded;
    const std::int64_t between = negated ? 2LL * most : std::int64_t{most} - least;
    return rise == 0 ? std::min(p_out, 2 * between) : p_out;
  }
  std::int64_t widest = 0;
  const auto meet = [&](std::int64_t twice) {
    std::int64_t off = std::abs(twice);
    if (off >= 2 * p_out) off %= 2 * p_out;  // seldom, and slow
    widest = std::max(widest, std::min(off, 2 * p_out - off));
  };
  // Phases beyond the table's ends find its values negated, as X^N = -1. A table that is not
  // negacyclic goes round its half circle; the sign's noise may pass the end once more.
  for (std::int64_t i = messages.low; i <= messages.high && widest < p_out; ++i) {
    const std::int64_t m = (i % p + p) % p;
    const std::int64_t here = values[static_cast<std::size_t>(m)];
    const std::int64_t first = m - reach;
    for (std::int64_t k = first + ((-first) % apart + apart) % apart; k <= m + reach; k += apart) {
      const std::int64_t around = k < 0 ? k + p : k >= p ? k - p : k;
      const std::int64_t found = values[static_cast<std::size_t>(around)];
      const bool inside = k >= 0 && k < p, near_an_end = m < reach || m + reach >= p;
      if (inside || lut.kind() != LutKind::padded) meet(2 * (here - found) + rise * (k - m));
      if (arbitrary ? near_an_end : !inside && lut.kind() == LutKind::padded)
        meet(2 * (here + found));
    }
  }
  return widest;
}

}  // namespace

double most_off(const Lut& lut, bool arbitrary, std::uint32_t reach,
                const std::optional<MessageRange>& range) {
  const std::int64_t p = lut.input().p;
  MessageRange messages = range.value_or(MessageRange{0, p - 1});
  if (messages.high - messages.low >= p) messages = {0, p - 1};
  Lut::Distances& distances = *lut.distances_;
  const Lut::Distances::Key key{reach, arbitrary, messages.low, messages.high};
  {
    const std::lock_guard lock(distances.mutex);
    if (const auto it = distances.found.find(key); it != distances.found.end()) return it->second;
  }
  const double found = static_cast<double>(widest_distance(lut, arbitrary, reach, messages)) / 2;
  const std::lock_guard lock(distances.mutex);
  if (distances.found.size() >= Lut::Distances::most) distances.found.clear();
  distances.found[key] = found;
  return found;
}

Bound bound_of(const Lut& lut, const Reading& reading, double noise, double allow_failure,
               const std::optional<MessageRange>& range, double off) {
  check_allowed(allow_failure);
  if (!(noise >= 0 && std::isfinite(noise)))
    throw RangeError("the noise " + math::text_of(noise) + " is not a finite number of at least 0");
  const Parameters& parameters = lut.parameters();
  const Encoding input = lut.input(), output = lut.output();
  const double weight = adds(lut, reading.arbitrary) ? std::abs(lut.weight()) : 0;
  // Half each for what the input's noise and the output's may do.
  const double allowed_log2 = std::log2(allow_failure) - 1;
  // The input's errors may be a part of the rotation's.
  const double of_unit = std::pow(1 + weight * std::sqrt(noise), 2);
  std::uint32_t in = 0, out = 0;
  for (const Transform transform : {Transform::ntt, Transform::fft}) {
    NoiseEstimate estimate = parameters.noise(transform);
    estimate.refreshed = unit_of_noise(parameters);
    in = std::max(in, least_allowed(input.p, [&](std::uint32_t sectors) {
                    return lut_failure_log2(parameters, estimate, input, reading, noise, sectors) >
                           allowed_log2;
                  }));
    out = std::max(out, least_allowed(output.p / 2, [&](std::uint32_t sectors) {
                     return decryption_failure_log2(parameters, of_unit * estimate.refreshed,
                                                    output, sectors) > allowed_log2;
                   }));
  }
  in = with_rounding(in, input, parameters.q());
  in = static_cast<std::uint32_t>(std::min<double>(input.p, in + std::ceil(off)));
  // A neighbour's value, and what the added input's rounding to units of Z_q does.
  const double rounded = weight != 0 ? with_rounding(0, output, parameters.q(), weight) : 0;
  const double found = most_off(lut, reading.arbitrary, in, range) + rounded;
  return {in, static_cast<std::uint32_t>(std::min<double>(std::ceil(found) + out, output.p / 2)),
          found};
}

}  // namespace whorl::binfhe
