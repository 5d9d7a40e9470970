#include "schemes/ckks/account.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

#include "math/text.h"
#include "schemes/ckks/derived.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace {

using math::exact_text_of;

std::string power(double log2) {
  char out[32];
  std::snprintf(out, sizeof out, "2^%.1f", log2);
  return out;
}

/// Doubles keep values to 2^-53: what scales that are rounded to doubles add to an error.
constexpr double log2_of_rounding = -52;

/// How many values a product has: slots as the longer operand, coefficients up to the sum of both
/// degrees.
std::uint64_t length_of_product(const CiphertextInfo& product, std::uint64_t a, std::uint64_t b,
                                std::uint32_t N) {
  if (product.packing != Packing::coefficients) return product.length;
  return std::min<std::uint64_t>(a + b - 1, N);
}

/// Smaller bounds and errors are stated as this; so is the bound of zeros.
constexpr double least_log2 = -200;
/// Larger values, times their scale, are no doubles.
constexpr double most_bound = 800;

/// log2 of the smaller of what is known and what a caller states.
double smaller(const char* what, double known_log2, double stated) {
  if (!(stated > 0))
    throw ParameterError(std::string(what) + " = " + exact_text_of(stated) + " is not positive");
  return std::min(known_log2, std::max(least_log2, std::log2(stated)));
}

Bounds sum(const Bounds& a, const Bounds& b) { return {a.low + b.low, a.high + b.high}; }
Bounds times(const Bounds& a, double by) {
  return {std::min(a.low * by, a.high * by), std::max(a.low * by, a.high * by)};
}
Bounds product(const Bounds& a, const Bounds& b) {
  const Bounds low = times(a, b.low), high = times(a, b.high);
  return {std::min(low.low, high.low), std::max(low.high, high.high)};
}
Bounds square_of(const Bounds& a) {
  const double most = a.most() * a.most();
  if (a.low <= 0 && a.high >= 0) return {0, most};
  return {std::min(a.low * a.low, a.high * a.high), most};
}
Bounds both(const Bounds& a, const Bounds& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}
std::string text_of(const Bounds& b) {
  return math::text_of(b.low) + " … " + math::text_of(b.high);
}

/// EncodingError unless the bound is one number, or the values are real ones in slots.
void check_ends(const Bounds& bound, Packing packing) {
  if (packing == Packing::real || bound.low == -bound.high) return;
  throw EncodingError("bound = (" + math::text_of(bound.low) + ", " + math::text_of(bound.high) +
                      "): only real numbers in slots have a lower and an upper bound; give the "
                      "largest absolute value");
}

const char* name(Packing packing) {
  return packing == Packing::complex ? "complex numbers"
         : packing == Packing::real  ? "real numbers"
                                     : "coefficients";
}

}  // namespace

Account::Account(const Parameters& parameters) : parameters_(parameters), noise_(parameters) {
  for (unsigned level = 0; level <= parameters.top(); ++level)
    bases_.push_back(basis_of(parameters, level));
}

void Account::check(const Parameters& parameters, const Info& a) {
  const auto refuse = [](const std::string& what) { throw RangeError("ciphertexts: " + what); };
  if (a.packing > Packing::coefficients)
    refuse("packing " + std::to_string(static_cast<unsigned>(a.packing)) + " is not 0, 1 or 2");
  if (a.count == 0 || a.count > (1u << 24))
    refuse("count = " + std::to_string(a.count) + " is outside 1 … 2^24");
  if (a.parts < 2 || a.parts > max_parts)
    refuse("parts = " + std::to_string(a.parts) + " is outside 2 … " + std::to_string(max_parts));
  if (a.level > parameters.depth())
    refuse("level = " + std::to_string(a.level) + " is above the highest, " +
           std::to_string(parameters.depth()));
  if (!(a.scale >= 1 && std::log2(a.scale) < parameters.log2_Q(a.level)))
    refuse("scale = " + exact_text_of(a.scale) + " is outside 1 … the modulus " +
           power(parameters.log2_Q(a.level)));
  const std::uint64_t most =
      a.packing == Packing::coefficients ? parameters.N() : parameters.slots();
  if (a.length == 0 || a.length > most)
    refuse("length = " + std::to_string(a.length) + " is outside 1 … " + std::to_string(most));
  if (a.vector != 0 &&
      (a.packing == Packing::coefficients || a.length != most || a.vector <= most ||
       (a.vector - 1) / most >= a.count || a.count % a.each(parameters.N()) != 0))
    refuse("vectors of " + std::to_string(a.vector) + " values do not fill " +
           std::to_string(a.count) + " ciphertexts of " + std::to_string(a.length) +
           " values, of N/2 = " + std::to_string(parameters.slots()));
  const double largest = std::min(most_bound, parameters.log2_Q(a.level));
  if (!(a.bound >= least_log2 && a.bound <= largest))
    refuse("bound = " + exact_text_of(a.bound) + " is outside -200 … " + exact_text_of(largest) +
           ", the bits of the modulus or of the largest value");
  // The bound is a logarithm, and so a rounding away from the ends.
  const double farthest = std::exp2(a.bound) * (1 + 0x1p-40);
  for (const double end : {a.low, a.high})
    if (!(std::abs(end) <= farthest || std::isinf(end)))
      refuse("low or high, " + exact_text_of(end) + ", is above the bound " +
             exact_text_of(std::exp2(a.bound)));
  if (a.low > farthest || a.high < -farthest) refuse("low or high is infinite on the wrong side");
  if (!(a.low <= a.high))
    refuse("low = " + exact_text_of(a.low) + " is above high = " + exact_text_of(a.high));
  if (a.rest > Rest::copies)
    refuse("rest = " + std::to_string(static_cast<unsigned>(a.rest)) + " is neither 0 nor 1");
  if (!(a.error >= least_log2 && a.error <= parameters.log2_Q(a.level)))
    refuse("error = " + exact_text_of(a.error) + " is outside -200 … the modulus' bits, " +
           exact_text_of(parameters.log2_Q(a.level)));
}

// 8 deviations of an error's coefficient, 1/sqrt(N) of a slot's.
double Account::largest_error(const Info& a) const {
  return a.error + 3 - 0.5 * std::log2(static_cast<double>(parameters_.N()));
}

// The coefficients of m are at most the largest of its values; an error's are added.
double Account::room(const Info& a) const {
  return parameters_.log2_Q(a.level) - 1 - std::log2(a.scale) - log2_sum(a.bound, largest_error(a));
}

const Account::Info& Account::fits(const char* what, const Info& a) const {
  if (a.bound > most_bound)
    throw NoiseError(std::string(what) + ": values of up to " + power(a.bound) +
                     " are above the largest that can be decrypted, " + power(most_bound));
  const double scale = std::log2(a.scale), Q = parameters_.log2_Q(a.level);
  if (room(a) >= 0 && scale < Q) return a;
  if (scale + 1 >= Q)
    throw NoiseError(std::string(what) + ": the scale would be " + power(scale) + " at level " +
                     std::to_string(a.level) + ", whose modulus is " + power(Q) +
                     more_levels(scale > 2.5 * std::log2(parameters_.scale(a.level))
                                     ? "rescale products first, "
                                     : ""));
  const double error = largest_error(a);
  if (error > a.bound)
    throw NoiseError(std::string(what) + ": errors with a standard deviation of up to " +
                     power(a.error) + " at scale " + power(std::log2(a.scale)) +
                     " do not fit level " + std::to_string(a.level) + ", whose modulus is " +
                     power(parameters_.log2_Q(a.level)) +
                     ": state a smaller error by with_error if you know one, or take parameters "
                     "with a larger scale_bits");
  const double held = parameters_.log2_Q(0) - 1 - std::log2(parameters_.scale(0)),
               wanted = std::ceil(held - room(a));
  throw NoiseError(
      std::string(what) + ": values of up to " + power(a.bound) + " at scale " + power(scale) +
      " do not fit level " + std::to_string(a.level) + ", whose modulus is " + power(Q) +
      ": state a smaller bound by with_bound, here or of an operand, if you know one; give encrypt "
      "a smaller bound; or take parameters with " +
      (wanted <= Requirements::most_value_bits ? "value_bits = " + exact_text_of(wanted)
                                               : "a larger depth"));
}

void Account::check_level(unsigned level) {
  if (level == 0)
    throw NoiseError("the ciphertext is at level 0, where no product can be rescaled" +
                     more_levels());
}

void Account::know(Info& out, double log2_bound, const Bounds& ends) {
  out = bounded_by(std::move(out), log2_bound);
  if (out.packing != Packing::real) return;
  out.low = ends.low;
  out.high = ends.high;
  // Where errors are as large as the ends are, these say nothing of the size.
  const double most = std::log2(ends.most());
  if (most > out.error + 4) out.bound = std::min(out.bound, std::max(least_log2, most));
}

Account::Info Account::bounded_by(Info a, double log2_bound) {
  a.bound = log2_bound;
  a.low = -std::numeric_limits<double>::infinity();
  a.high = std::numeric_limits<double>::infinity();
  return a;
}

Account::Info Account::magnified(const Info& a, double by) {
  Info out = a;
  out.scale *= by;
  out.bound = std::max(least_log2, a.bound - std::log2(by));
  out.error = std::max(least_log2, a.error - std::log2(by));
  out.low /= by;
  out.high /= by;
  return out;
}

double Account::relative(const Info& a, double part) const {
  const bool coefficients = a.packing == Packing::coefficients;
  return a.bound + part + (coefficients ? std::log2(static_cast<double>(parameters_.N())) / 2 : 0);
}

double Account::bound_of(double largest, std::uint64_t length, Packing packing) const {
  const double sum = packing == Packing::coefficients ? static_cast<double>(length) : 1;
  return std::max(least_log2, std::log2(largest * sum));
}

Account::Info Account::fresh(Packing packing, std::size_t count, std::uint64_t length,
                             const Bounds& bound, bool with_public_key) const {
  check_ends(bound, packing);
  if (!(bound.low <= bound.high && bound.most() > 0))
    throw EncodingError("bound = " +
                        (bound.low == -bound.high || std::isnan(bound.high)
                             ? math::text_of(bound.high)
                             : text_of(bound)) +
                        ": it must be a positive number, or two of which the first one is not the "
                        "larger, and not both 0");
  Info a;
  a.packing = packing;
  a.count = count;
  a.level = parameters_.depth();
  a.scale = parameters_.scale(a.level);
  a.length = length;
  a.error = (with_public_key ? noise_.fresh_public() : noise_.fresh_secret()) - std::log2(a.scale);
  a.bound = bound_of(bound.most(), length, packing);
  if (packing == Packing::real) {
    a.low = bound.low;
    a.high = bound.high;
  }
  if (room(a) < 0 || bound.most() * a.scale >= 0x1p61)
    throw EncodingError("bound = " + exact_text_of(bound.most()) + " at scale " +
                        power(std::log2(a.scale)) +
                        " does not fit: scale times bound must be below 2^61 and below half of the "
                        "modulus " +
                        power(parameters_.log2_Q(a.level)) +
                        ": divide the values, and multiply results by an integer, which is exact; "
                        "or take a smaller scale_bits" +
                        (room(a) < 0 ? " or a larger depth" : ""));
  return a;
}

void Account::check_lengths(std::uint64_t a, std::uint64_t b) {
  if (a != b && a != 1 && b != 1)
    throw ShapeError("a vector of " + std::to_string(a) + " values meets one of " +
                     std::to_string(b) + ": the lengths must be equal, or one of them must be 1");
}

Account::Info Account::met(const Info& a, const Info& b) const {
  const bool coefficients = a.packing == Packing::coefficients;
  if (coefficients != (b.packing == Packing::coefficients))
    throw EncodingError(std::string("one batch holds ") + name(a.packing) + ", the other " +
                        name(b.packing) + ": coefficients and slots do not mix");
  if (!coefficients) check_lengths(a.length, b.length);
  const auto length = [](const Info& x) { return x.vector == 0 ? x.length : x.vector; };
  if (a.vector != b.vector) check_lengths(length(a), length(b));
  Info out = a;
  out.vector = std::max(a.vector, b.vector);
  out.packing = a.packing == b.packing ? a.packing : Packing::complex;
  out.count = std::max(a.count, b.count);
  out.length = std::max(a.length, b.length);
  return out;
}

Account::Info Account::prepared(const Info& a, const Preparation& by, double scale) const {
  if (by.level == a.level && by.by.is_one()) return a;
  Info out = a;
  out.level = by.level;
  out.scale = scale;
  // The integer is rounded, and has 53 bits.
  const double rounding = std::max(-1 - by.by.log2(), log2_of_rounding);
  out.error = log2_sum(a.error, relative(a, rounding));
  if (by.level != a.level)
    out.error = log2_sum(out.error, noise_.rounding(a.parts) - std::log2(scale));
  return out;
}

Account::One Account::brought(const Info& a, unsigned level, double scale) const {
  if (level == a.level && a.scale == scale) return {a, {{}, level}};
  // scale/a.scale times the ratio of the moduli, as mantissa·2^exponent.
  int exponent = 0;
  double mantissa = std::frexp(scale / a.scale, &exponent);
  for (unsigned l = a.level; l > level; --l) {
    int more = 0;
    mantissa = std::frexp(mantissa * parameters_.ratio(l), &more);
    exponent += more;
  }
  // Rounding the integer changes values by one part in twice its size.
  if (exponent <= 24)
    throw EncodingError("a ciphertext of scale " + power(std::log2(a.scale)) + " at level " +
                        std::to_string(a.level) + " cannot be brought to scale " +
                        power(std::log2(scale)) + " at level " + std::to_string(level) +
                        ": it would be multiplied by an integer below 2^24, whose rounding is too "
                        "coarse; rescale products first");
  const int kept = std::min(exponent, 53);
  const Preparation by{{static_cast<std::uint64_t>(std::nearbyint(std::ldexp(mantissa, kept))),
                        static_cast<unsigned>(exponent - kept)},
                       level};
  return {prepared(a, by, scale), by};
}

Account::One Account::bring(const Info& a, unsigned level, double times) const {
  if (level > a.level)
    throw ParameterError("level " + std::to_string(level) + " is above the ciphertext's, " +
                         std::to_string(a.level));
  One out = brought(a, level, parameters_.scale(level) * times);
  static_cast<void>(fits("lower", out.result));
  return out;
}

Account::Info Account::restrict(const Info& a, unsigned level) const {
  Info out = a;
  out.level = level;
  return fits("restrict", out);
}

Account::Two Account::add(const Info& first, const Info& second, bool subtract) const {
  const unsigned level = std::min(first.level, second.level);
  double scale = 0;
  for (const Info* x : {&first, &second})
    if (x->level == level) scale = std::max(scale, x->scale);
  const One a = brought(first, level, scale), b = brought(second, level, scale);
  Info out = met(a.result, b.result);
  out.parts = std::max(a.result.parts, b.result.parts);
  out.error = log2_sum(a.result.error, b.result.error);
  know(out, log2_sum(a.result.bound, b.result.bound),
       sum(a.result.bounds(), times(b.result.bounds(), subtract ? -1 : 1)));
  return {fits("add", out), a.a, b.a};
}

Account::Two Account::multiply(const Info& first, const Info& second, bool square) const {
  const unsigned level = std::min(first.level, second.level);
  const auto lower = [&](const Info& x) {
    return x.level == level ? One{x, {{}, level}} : bring(x, level);
  };
  const One a = lower(first), b = lower(second);
  Info out = met(a.result, b.result);
  out.parts = a.result.parts + b.result.parts - 1;
  if (out.parts > max_parts)
    throw ShapeError("a product of " + std::to_string(a.result.parts) + " and " +
                     std::to_string(b.result.parts) + " parts has more than " +
                     std::to_string(max_parts) + ": relinearise first");
  out.length = length_of_product(out, first.length, second.length, parameters_.N());
  out.scale = a.result.scale * b.result.scale;
  out.error =
      std::max(least_log2,
               log2_sum(log2_sum(a.result.bound + b.result.error, a.result.error + b.result.bound),
                        a.result.error + b.result.error));
  know(out, std::max(least_log2, a.result.bound + b.result.bound),
       square ? square_of(a.result.bounds()) : product(a.result.bounds(), b.result.bounds()));
  return {fits("multiply", out), a.a, b.a};
}

Account::Many Account::concatenate(std::span<const Info> arrays) const {
  unsigned level = arrays[0].level;
  for (const Info& a : arrays) level = std::min(level, a.level);
  Many out;
  std::size_t count = 0;
  for (const Info& a : arrays) {
    const One one = a.level == level ? One{a, {{}, level}} : bring(a, level);
    if (out.each.empty()) out.result = one.result;
    if (one.result.scale != out.result.scale)
      throw EncodingError("concatenate: scales " + exact_text_of(out.result.scale) + " and " +
                          exact_text_of(one.result.scale) + " differ at level " +
                          std::to_string(level) + ": rescale first");
    if (a.length != out.result.length)
      throw ShapeError("concatenate: vectors of " + std::to_string(out.result.length) + " and of " +
                       std::to_string(a.length) + " values do not make one batch");
    const double bound = std::max(out.result.bound, one.result.bound);
    const double error = std::max(out.result.error, one.result.error);
    const Bounds ends = both(out.result.bounds(), one.result.bounds());
    out.result = met(out.result, one.result);
    out.result.error = error;
    know(out.result, bound, ends);
    out.each.push_back(one.a);
    count += a.count;
  }
  out.result.count = count;
  return out;
}

Account::Info Account::relinearise(const Info& a) const {
  Info out = a;
  out.parts = 2;
  for (unsigned part = 2; part < a.parts; ++part)
    out.error = log2_sum(out.error, noise_.key_switch(a.level) - std::log2(a.scale));
  return out;
}
double Account::floor_of_lowering(unsigned level) const {
  return noise_.rounding(2) - std::log2(parameters_.scale(level));
}
Account::Info Account::automorphism(const Info& a) const {
  Info out = a;
  out.error = log2_sum(a.error, noise_.key_switch(a.level) - std::log2(a.scale));
  return out;
}

double Account::rescaled(const Info& a) const {
  // On the levels of a bootstrap's doublings squares have half the scale.
  const auto& bootstrap = parameters_.literal().bootstrap;
  const unsigned from = bootstrap ? doubled_level(parameters_) : 0;
  const bool doubling = bootstrap && a.level > from && a.level <= from + bootstrap->doublings;
  if (canonical_square(a) && !doubling) return parameters_.scale(a.level - 1);
  return a.scale / parameters_.ratio(a.level);
}
Account::Info Account::rescale(const Info& a) const {
  check_level(a.level);
  Info out = a;
  out.scale = rescaled(a);
  out.level = a.level - 1;
  if (out.scale < 65536)
    throw EncodingError("rescale: scale " + power(std::log2(a.scale)) + " would become " +
                        power(std::log2(out.scale)) +
                        ", below 2^16: it is rescaled already, or is no product; rescale only what "
                        "multiply gives without its rescaling");
  out.error = log2_sum(log2_sum(a.error, relative(a, log2_of_rounding)),
                       noise_.rounding(a.parts) - std::log2(out.scale));
  return fits("rescale", out);
}

Account::Info Account::take(const Info& a, std::size_t count) const {
  Info out = a;
  out.count = count;
  if (const std::size_t each = a.each(parameters_.N()); count % each != 0)
    throw ShapeError(std::to_string(count) + " ciphertexts are no whole number of vectors of " +
                     std::to_string(a.vector) + " values, which take " + std::to_string(each));
  return out;
}

Account::Info Account::bounded(const Info& a, const Bounds& bound) const {
  check_ends(bound, a.packing);
  Info out = a;
  if (bound.low == -bound.high || std::isnan(bound.high)) {
    out.bound = smaller("bound", a.bound, bound.high);
  } else {
    if (!(bound.low <= bound.high))
      throw ParameterError("bound: the lower one, " + exact_text_of(bound.low) +
                           ", is above the upper one, " + exact_text_of(bound.high));
    out.bound = smaller("bound", a.bound, std::max(bound.most(), std::exp2(least_log2)));
  }
  if (a.packing != Packing::real) return out;
  const Bounds known = a.bounds();
  // Ends that are computed in two ways differ by roundings.
  const double slack = 0x1p-40 * known.most();
  if (bound.low > known.high + slack || bound.high < known.low - slack)
    throw ParameterError("bound = " + text_of(bound) +
                         " contradicts what is known: values are in " + text_of(known));
  out.low = std::min(std::max(known.low, bound.low), known.high);
  out.high = std::max(std::min(known.high, bound.high), out.low);
  return out;
}
double Account::erring(const Info& a, double error) const {
  return smaller("error", a.error, error);
}

Account::Info Account::scale_integer(const Info& a, std::int64_t by) const {
  Info out = a;
  const double size = std::log2(std::max(1.0, std::abs(static_cast<double>(by))));
  out.error += size;
  know(out, a.bound + size, times(a.bounds(), static_cast<double>(by)));
  return fits("multiply by an integer", out);
}

Account::Plain Account::constant(double value, double scale, Packing packing) const {
  const Packing of = packing == Packing::coefficients ? packing : Packing::real;
  return {1, scale, bound_of(std::abs(value), 1, of), 1, of, {value, value}};
}

Account::Info Account::add_plain(const Info& a, const Plain& m, bool subtract) const {
  Info of_plain = a;
  of_plain.packing = m.packing;
  of_plain.count = m.count;
  of_plain.length = m.length;
  Info out = met(a, of_plain);
  Info rounded = of_plain;
  rounded.bound = m.bound;
  out.error = log2_sum(log2_sum(a.error, noise_.encoding() - std::log2(m.scale)),
                       relative(rounded, log2_of_rounding));
  know(out, log2_sum(a.bound, m.bound), sum(a.bounds(), times(m.values, subtract ? -1 : 1)));
  return fits("add", out);
}
Account::Info Account::multiply_plain(const Info& a, const Plain& m) const {
  Info of_plain = a;
  of_plain.packing = m.packing;
  of_plain.count = m.count;
  of_plain.length = m.length;
  Info out = met(a, of_plain);
  const double rounding = noise_.encoding() - std::log2(m.scale);
  out.length = length_of_product(out, a.length, m.length, parameters_.N());
  out.scale = a.scale * m.scale;
  out.error = std::max(
      least_log2, log2_sum(log2_sum(a.error + m.bound, a.bound + rounding), a.error + rounding));
  // Products with zeros are bounded as their operand is: their errors are no larger than that.
  know(out, m.bound > least_log2 ? std::max(least_log2, a.bound + m.bound) : a.bound,
       product(a.bounds(), m.values));
  return fits("multiply", out);
}

Account::Info Account::combination(std::span<const Weighted> terms, double constant,
                                   unsigned level) const {
  const auto log2_of = [](double x) { return std::max(least_log2, std::log2(std::abs(x))); };
  Info out = terms[0].of;
  out.level = level;
  out.scale = parameters_.scale(level) * parameters_.scale(level);
  double bound = log2_of(constant);
  out.error = std::max(least_log2, bound + log2_of_rounding);
  Bounds ends{constant, constant};
  for (const Weighted& term : terms) {
    out = met(out, term.of);
    const double by = log2_of(term.coefficient),
                 rounding = term.plaintext
                                ? term.of.bound + noise_.encoding() - std::log2(term.scale)
                                : relative(term.of, -1 - std::log2(term.scale));
    bound = log2_sum(bound, std::max(least_log2, by + term.of.bound));
    ends = sum(ends, product(term.of.bounds(), term.plaintext
                                                   ? Bounds(std::abs(term.coefficient))
                                                   : Bounds(term.coefficient, term.coefficient)));
    out.error = std::max(least_log2, log2_sum(log2_sum(out.error, by + term.of.error), rounding));
  }
  know(out, bound, ends);
  return fits("a sum", out);
}

// Baby steps and giant steps switch keys, so that each term has two such errors at most.
Account::Info Account::linear_map(const Info& a, const Map& map, std::uint64_t length) const {
  Info out = automorphism(automorphism(a));
  if (!map.real) out.packing = Packing::complex;
  out.length = length;
  out.scale = a.scale * map.scale;
  out = bounded_by(out, map.gain > least_log2 ? std::max(least_log2, a.bound + map.gain) : a.bound);
  const double roundings =
      noise_.encoding() - std::log2(map.scale) + std::log2(static_cast<double>(map.diagonals));
  out.error = std::max(least_log2, log2_sum(log2_sum(out.error + map.gain, a.bound + roundings),
                                            out.error + roundings));
  return fits("a linear map", out);
}

std::vector<double> Account::errors_of_sine(double more) const {
  const BootstrapLiteral& shape = *parameters_.literal().bootstrap;
  const unsigned result = result_level(parameters_), doubled = doubled_level(parameters_),
                 argument = result + shape.sine();
  const double r = shape.log2_ratio;
  const auto rounding = [&](unsigned level) {
    return noise_.key_switch(level) - std::log2(parameters_.scale(level)) + more;
  };
  // Powers of the polynomial and squares of its result are rounded at their levels. Each doubling
  // of an angle that follows multiplies an error by up to 4. The last one has the last rounding.
  double of_polynomial = -200;
  for (unsigned level = result + 1; level < argument; ++level) {
    const unsigned later = level < doubled ? 0 : std::min(level - doubled, shape.doublings);
    of_polynomial = std::max(
        of_polynomial, rounding(level) + 2 + 1.8 * later + r - std::log2(2 * std::numbers::pi));
  }
  return {rounding(argument) + 1 + std::log2(static_cast<double>(shape.range)) + r, of_polynomial,
          rounding(result)};
}

// docs/ckks-noise.md: coefficients hold the values from the lowest levels on, and a slot's error is
// sqrt(N) of a coefficient's. With coefficients_last the sine's values are coefficients of the
// message, of which a slot is a sum. All terms are relative to values of size 1.
Account::Info Account::refreshed(const Info& a, const SineError& sine) const {
  const BootstrapLiteral& shape = *parameters_.literal().bootstrap;
  const double log2_N = std::log2(static_cast<double>(parameters_.N())), r = shape.log2_ratio,
               q = parameters_.log2_Q(0);
  const double raised =
      log2_sum(noise_.to_sparse_key_switch(), noise_.key_switch(parameters_.top()));
  const unsigned depth = parameters_.depth(), result = result_level(parameters_);
  Info out = a;
  out.parts = 2;
  out.level = depth;
  out.scale = parameters_.scale(depth);
  std::vector<double> errors;
  if (result == depth) {
    errors = errors_of_sine(0);
    errors.push_back(noise_.low_key_switch() + 1 - log2_N / 2 - (q - r));
    errors.push_back(raised - log2_N / 2 - q + r);
    errors.push_back(sine.fit);
  } else {
    const double log2_slots = std::log2(static_cast<double>(a.slots()));
    errors = errors_of_sine(log2_slots / 2);
    // Of the coefficients those of the vector's slots are left.
    const double kept = (log2_slots + 1 - log2_N) / 2;
    errors.push_back(raised - q + r + kept);
    // What a map rounds is added up by those after it.
    for (unsigned level = depth; level < result; ++level)
      errors.push_back(noise_.key_switch(level) + 1 - std::log2(parameters_.scale(level)) +
                       log2_slots / 2 * (level - depth) / (result - depth));
    errors.push_back(sine.fit + log2_slots / 2);
  }
  errors.push_back(sine.straightness);
  for (const double error : errors) out.error = log2_sum(out.error, error);
  return fits("bootstrap", out);
}

void Account::check_decrypts(const Info& a, const char* advice) const {
  const double error = a.packing == Packing::coefficients
                           ? a.error - 0.5 * std::log2(static_cast<double>(parameters_.N()))
                           : a.error;
  if (error + 3 < a.bound) return;
  throw NoiseError("the error's standard deviation, " + power(error) +
                   ", is within a factor of 8 of the largest values, " + power(a.bound) +
                   ": nothing that was encrypted can be read; " + advice);
}

}  // namespace whorl::ckks
