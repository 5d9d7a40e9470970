#include "schemes/ckks/account.h"

#include <algorithm>
#include <cstdio>
#include <limits>
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

/// How many values a product has: slots as the longer operand, coefficients up to the sum of both
/// degrees.
std::uint64_t length_of_product(const CiphertextInfo& product, std::uint64_t a, std::uint64_t b,
                                std::uint32_t N) {
  if (product.packing != Packing::coefficients) return product.length;
  return std::min<std::uint64_t>(a + b - 1, N);
}

/// Larger values, times their scale, are no doubles.
constexpr double most_bound = 800;

/// log2 of the smaller of what is known and what a caller states.
double smaller(const char* what, double known_log2, double stated) {
  if (!(stated > 0))
    throw ParameterError(std::string(what) + " = " + exact_text_of(stated) + " is not positive");
  return std::min(known_log2, std::max(log2_negligible, std::log2(stated)));
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
  if (a.count == 0 || a.count > most_ciphertexts)
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
  if (!(a.bound >= log2_negligible && a.bound <= largest))
    refuse("bound = " + exact_text_of(a.bound) + " is outside " + exact_text_of(log2_negligible) +
           " … " + exact_text_of(largest) + ", the bits of the modulus or of the largest value");
  // The bound is a logarithm, and so a rounding away from the ends.
  const double farthest = std::exp2(a.bound) * (1 + 0x1p-40);
  for (const double end : {a.low, a.high})
    if (!(std::abs(end) <= farthest || std::isinf(end)))
      refuse("low or high, " + exact_text_of(end) + ", is above the bound " +
             exact_text_of(std::exp2(a.bound)));
  if (a.low > farthest || a.high < -farthest) refuse("low or high is infinite on the wrong side");
  if (!(a.low <= a.high))
    refuse("low = " + exact_text_of(a.low) + " is above high = " + exact_text_of(a.high));
  if (!(a.error >= log2_negligible && a.error <= parameters.log2_Q(a.level)))
    refuse("error = " + exact_text_of(a.error) + " is outside " + exact_text_of(log2_negligible) +
           " … the modulus' bits, " + exact_text_of(parameters.log2_Q(a.level)));
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

void Account::set_bounds(Info& out, double log2_bound, const Bounds& ends) {
  out = with_log2_bound(std::move(out), log2_bound);
  if (out.packing != Packing::real) return;
  out.low = ends.low;
  out.high = ends.high;
  // Where errors are as large as the ends are, these say nothing of the size.
  const double most = std::log2(ends.most());
  if (most > out.error + 4) out.bound = std::min(out.bound, std::max(log2_negligible, most));
}

double Account::relative_error(double log2_bound, Packing packing, double part) const {
  const bool coefficients = packing == Packing::coefficients;
  return log2_bound + part +
         (coefficients ? std::log2(static_cast<double>(parameters_.N())) / 2 : 0);
}

double Account::bound_of(double largest, std::uint64_t length, Packing packing) const {
  const double sum = packing == Packing::coefficients ? static_cast<double>(length) : 1;
  return std::max(log2_negligible, std::log2(largest * sum));
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
  const std::uint64_t slots = parameters_.slots();
  const bool several = packing != Packing::coefficients && length > slots;
  Info a;
  a.packing = packing;
  a.count = several ? std::min(count, most_ciphertexts) * ((length - 1) / slots + 1) : count;
  a.level = parameters_.depth();
  a.scale = parameters_.scale(a.level);
  a.length = several ? slots : length;
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
  return several ? as_vectors(a, length) : a;
}

void Account::check_lengths(std::uint64_t a, std::uint64_t b) {
  if (a != b && a != 1 && b != 1)
    throw ShapeError("a vector of " + std::to_string(a) + " values meets one of " +
                     std::to_string(b) + ": the lengths must be equal, or one of them must be 1");
}

Account::Info Account::joined(const Info& a, const Info& b) const {
  const bool coefficients = a.packing == Packing::coefficients;
  if (coefficients != (b.packing == Packing::coefficients))
    throw EncodingError(std::string("one batch holds ") + name(a.packing) + ", the other " +
                        name(b.packing) + ": coefficients and slots do not mix");
  if (!coefficients) check_lengths(a.length, b.length);
  if (a.vector != b.vector) {
    check_lengths(length_of(a), length_of(b));
    const Info &ones = a.vector == 0 ? a : b, &vectors = a.vector == 0 ? b : a;
    const std::string each = std::to_string(vectors.each(parameters_.N()));
    if (ones.count != 1)
      throw ShapeError("a batch of " + std::to_string(ones.count) +
                       " single values meets vectors of " + std::to_string(vectors.vector) +
                       " values, which take " + each + " ciphertexts each: take each value " +
                       each + " times in sequence, repeat() them to N/2 values, and make them " +
                       "vectors of that length by as_vectors()");
  }
  Info out = a;
  out.vector = std::max(a.vector, b.vector);
  out.packing = a.packing == b.packing ? a.packing : Packing::complex;
  out.count = std::max(a.count, b.count);
  out.length = std::max(a.length, b.length);
  return out;
}
Account::Info Account::joined(const Info& a, const Plain& m) const {
  Info of_plain = a;
  of_plain.packing = m.packing;
  of_plain.count = m.count;
  of_plain.length = m.length;
  return joined(a, of_plain);
}

Account::Info Account::prepared(const Info& a, const Preparation& by, double scale) const {
  if (by.level == a.level && by.by.is_one()) return a;
  Info out = a;
  out.level = by.level;
  out.scale = scale;
  // The integer is rounded, and has 53 bits.
  const double rounding = std::max(-1 - by.by.log2(), log2_of_rounding);
  out.error = log2_sum(a.error, relative_error(a.bound, a.packing, rounding));
  if (by.level != a.level)
    out.error = log2_sum(out.error, noise_.rounding(a.parts) - std::log2(scale));
  return out;
}

Account::One Account::to_scale(const Info& a, unsigned level, double scale) const {
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

Account::One Account::lower(const Info& a, unsigned level, double times) const {
  if (level > a.level)
    throw ParameterError("level " + std::to_string(level) + " is above the ciphertext's, " +
                         std::to_string(a.level));
  One out = to_scale(a, level, parameters_.scale(level) * times);
  static_cast<void>(fits("lower", out.result));
  return out;
}

Account::Info Account::restrict(Info a, unsigned level) const {
  a.level = level;
  return fits("restrict", a);
}

Account::One Account::lowered(const Info& a, unsigned level) const {
  return a.level == level ? One{a, {{}, level}} : lower(a, level);
}

Account::Two Account::add(const Info& first, const Info& second, bool subtract) const {
  const unsigned level = std::min(first.level, second.level);
  double scale = 0;
  for (const Info* x : {&first, &second})
    if (x->level == level) scale = std::max(scale, x->scale);
  const One a = to_scale(first, level, scale), b = to_scale(second, level, scale);
  Info out = joined(a.result, b.result);
  out.parts = std::max(a.result.parts, b.result.parts);
  out.error = log2_sum(a.result.error, b.result.error);
  set_bounds(out, log2_sum(a.result.bound, b.result.bound),
             sum(a.result.bounds(), times(b.result.bounds(), subtract ? -1 : 1)));
  return {fits("add", out), a.a, b.a};
}

Account::Two Account::multiply(const Info& first, const Info& second, bool square) const {
  const unsigned level = std::min(first.level, second.level);
  const One a = lowered(first, level), b = lowered(second, level);
  Info out = joined(a.result, b.result);
  out.parts = a.result.parts + b.result.parts - 1;
  if (out.parts > max_parts)
    throw ShapeError("a product of " + std::to_string(a.result.parts) + " and " +
                     std::to_string(b.result.parts) + " parts has more than " +
                     std::to_string(max_parts) + ": relinearise first");
  out.length = length_of_product(out, first.length, second.length, parameters_.N());
  out.scale = a.result.scale * b.result.scale;
  out.error =
      std::max(log2_negligible,
               log2_sum(log2_sum(a.result.bound + b.result.error, a.result.error + b.result.bound),
                        a.result.error + b.result.error));
  set_bounds(out, std::max(log2_negligible, a.result.bound + b.result.bound),
             square ? square_of(a.result.bounds()) : product(a.result.bounds(), b.result.bounds()));
  return {fits("multiply", out), a.a, b.a};
}

Account::Many Account::concatenate(std::span<const Info> arrays) const {
  unsigned level = arrays[0].level;
  for (const Info& a : arrays) level = std::min(level, a.level);
  Many out;
  std::size_t count = 0;
  for (const Info& a : arrays) {
    const One one = lowered(a, level);
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
    out.result = joined(out.result, one.result);
    out.result.error = error;
    set_bounds(out.result, bound, ends);
    out.each.push_back(one.a);
    count += a.count;
  }
  out.result.count = count;
  return out;
}

Account::Info Account::relinearise(Info a) const {
  for (; a.parts > 2; --a.parts) a = automorphism(a);  // each part takes a key switch too
  return a;
}
Account::Info Account::automorphism(Info a, SwitchKind kind) const {
  a.error = log2_sum(a.error, noise_.key_switch(a.level, kind) - std::log2(a.scale));
  return a;
}

double Account::scale_after_rescaling(const Info& a) const {
  // On the levels of a bootstrap's doublings squares have half the scale.
  const auto& bootstrap = parameters_.literal().bootstrap;
  const unsigned from = bootstrap ? doubled_level(parameters_) : 0;
  const bool doubling =
      bootstrap && bootstrap->bits == 0 && a.level > from && a.level <= from + bootstrap->doublings;
  if (canonical_square(a) && !doubling) return parameters_.scale(a.level - 1);
  return a.scale / parameters_.ratio(a.level);
}
Account::Info Account::rescale(const Info& a) const {
  check_level(a.level);
  Info out = a;
  out.scale = scale_after_rescaling(a);
  out.level = a.level - 1;
  if (out.scale < 65536)
    throw EncodingError("rescale: scale " + power(std::log2(a.scale)) + " would become " +
                        power(std::log2(out.scale)) +
                        ", below 2^16: it is rescaled already, or is no product; rescale only what "
                        "multiply gives without its rescaling");
  out.error = log2_sum(log2_sum(a.error, relative_error(a.bound, a.packing, log2_of_rounding)),
                       noise_.rounding(a.parts) - std::log2(out.scale));
  return fits("rescale", out);
}

Account::Info Account::with_bound(const Info& a, const Bounds& bound) const {
  check_ends(bound, a.packing);
  Info out = a;
  if (bound.low == -bound.high || std::isnan(bound.high)) {
    out.bound = smaller("bound", a.bound, bound.high);
  } else {
    if (!(bound.low <= bound.high))
      throw ParameterError("bound: the lower one, " + exact_text_of(bound.low) +
                           ", is above the upper one, " + exact_text_of(bound.high));
    out.bound = smaller("bound", a.bound, std::max(bound.most(), std::exp2(log2_negligible)));
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
Account::Info Account::with_log2_bound(Info a, double log2_bound) {
  a.bound = log2_bound;
  a.low = -std::numeric_limits<double>::infinity();
  a.high = std::numeric_limits<double>::infinity();
  return a;
}
Account::Info Account::with_error(Info a, double error) const {
  a.error = smaller("error", a.error, error);
  return a;
}
Account::Info Account::without_error(Info a) {
  a.error = log2_negligible;
  return a;
}
Account::Info Account::with_scale(Info a, double by) {
  a.scale *= by;
  a.bound = std::max(log2_negligible, a.bound - std::log2(by));
  a.error = std::max(log2_negligible, a.error - std::log2(by));
  a.low /= by;
  a.high /= by;
  return a;
}
Account::Info Account::with_canonical_scale(Info a) const {
  a.scale = parameters_.scale(a.level);
  return a;
}
Account::Info Account::with_length(Info a, std::uint64_t length) {
  a.length = length;
  return a;
}
Account::Info Account::as_vectors(Info a, std::uint64_t length) const {
  a.vector = length;
  try {
    check(parameters_, a);
  } catch (const RangeError& error) {
    throw ShapeError(error.what());
  }
  return a;
}
Account::Info Account::part(Info a, std::size_t each) {
  a.vector = 0;
  a.count /= each;
  return a;
}

Account::Info Account::multiply_integer(const Info& a, std::int64_t by) const {
  Info out = a;
  const double size = std::log2(std::max(1.0, std::abs(static_cast<double>(by))));
  out.error += size;
  set_bounds(out, a.bound + size, times(a.bounds(), static_cast<double>(by)));
  return fits("multiply by an integer", out);
}
Account::Info Account::multiply_by_i(const Info& a) const {
  Info out = with_log2_bound(a, a.bound);
  out.packing = Packing::complex;
  return out;
}
Account::Info Account::double_angle(const Info& square, Doubling by) const {
  Info out = multiply_integer(square, 2);
  if (by == Doubling::of_scale) out.scale /= 2;
  return add_plain(out, constant(-1, out.scale, out.packing));
}

Account::Plain Account::constant(double value, double scale, Packing packing) const {
  const Packing of = packing == Packing::coefficients ? packing : Packing::real;
  return {1, scale, bound_of(std::abs(value), 1, of), 1, of, {value, value}};
}

Account::Info Account::add_plain(const Info& a, const Plain& m, bool subtract) const {
  Info out = joined(a, m);
  out.error = log2_sum(log2_sum(a.error, noise_.encoding() - std::log2(m.scale)),
                       relative_error(m.bound, m.packing, log2_of_rounding));
  set_bounds(out, log2_sum(a.bound, m.bound), sum(a.bounds(), times(m.values, subtract ? -1 : 1)));
  return fits("add", out);
}
Account::Info Account::multiply_plain(const Info& a, const Plain& m) const {
  Info out = joined(a, m);
  const double rounding = noise_.encoding() - std::log2(m.scale);
  out.length = length_of_product(out, a.length, m.length, parameters_.N());
  out.scale = a.scale * m.scale;
  out.error = std::max(log2_negligible, log2_sum(log2_sum(a.error + m.bound, a.bound + rounding),
                                                 a.error + rounding));
  // Products with zeros are bounded as their operand is: their errors are no larger than that.
  set_bounds(out,
             m.bound > log2_negligible ? std::max(log2_negligible, a.bound + m.bound) : a.bound,
             product(a.bounds(), m.values));
  return fits("multiply", out);
}

Account::Info Account::combination(std::span<const Weighted> terms, double constant,
                                   unsigned level) const {
  Info out = terms[0].of;
  out.level = level;
  out.scale = parameters_.scale(level) * parameters_.scale(level);
  double bound = log2_size(constant);
  out.error = std::max(log2_negligible, bound + log2_of_rounding);
  Bounds ends{constant, constant};
  for (const Weighted& term : terms) {
    Info of = term.of;
    of.count = std::max(of.count, term.by.count);
    of.length = std::max(of.length, term.by.length);
    out = joined(out, of);
    // Plaintexts' values are stated by their bound.
    const double log2_scale = std::log2(term.by.scale), most = std::exp2(term.by.bound);
    const Bounds values = term.is_encoded ? Bounds(most) : term.by.values;
    const double by = log2_size(values.high),
                 rounding = term.is_encoded ? of.bound + noise_.encoding() - log2_scale
                                            : relative_error(of.bound, of.packing, -1 - log2_scale);
    bound = log2_sum(bound, std::max(log2_negligible, by + of.bound));
    ends = sum(ends, product(of.bounds(), values));
    out.error = std::max(log2_negligible, log2_sum(log2_sum(out.error, by + of.error), rounding));
  }
  set_bounds(out, bound, ends);
  return fits("a sum", out);
}

Account::Info Account::linear_map(const Info& a, const Map& map, std::uint64_t length) const {
  Info out = a;
  if (!map.real) out.packing = Packing::complex;
  out.length = length;
  out.scale = a.scale * map.scale;
  const double gain = log2_size(map.row_sum);
  out = with_log2_bound(
      out, gain > log2_negligible ? std::max(log2_negligible, a.bound + gain) : a.bound);
  // Key switches of different keys are independent, so that their squares add up in a row. Equal
  // diagonals have equal roundings, and the operand's error may be the same in all slots: these add
  // up as they are.
  Info exact = a;
  exact.error = log2_negligible;
  const double switches =
      automorphism(automorphism(exact, map.kind), map.kind).error + log2_size(map.row_norm);
  const double roundings = log2_sum(a.bound, a.error) + noise_.encoding() - std::log2(map.scale) +
                           std::log2(static_cast<double>(map.diagonals));
  out.error = std::max(log2_negligible,
                       log2_sum(a.error + gain, log2_sum(2 * switches, 2 * roundings) / 2));
  return fits("a linear map", out);
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
