#include "schemes/bgv/account.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "math/text.h"
#include "whorl/error.h"

namespace whorl::bgv {

namespace {

/// Bits that a ciphertext's noise grows by, multiplied with an integer.
double log2_size(std::int64_t x) { return std::log2(std::abs(static_cast<double>(x))); }

void check_within(const char* field, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (value < least || value > most)
    throw RangeError(std::string(field) + ": " + std::to_string(value) + " is outside " +
                     std::to_string(least) + " … " + std::to_string(most));
}

}  // namespace

double log2_norm(std::span<const std::int64_t> coefficients) {
  double sum = 0;
  for (const std::int64_t x : coefficients) sum += std::abs(static_cast<double>(x));
  return std::log2(std::max(sum, 1.0));
}

Account::Account(const Parameters& parameters)
    : parameters_(parameters),
      noise_(parameters),
      schedule_(noise_.schedule()),
      t_(parameters.t()) {
  for (const std::uint64_t q : parameters.literal().chain)
    inverse_primes_.push_back(t_.inverse(t_.reduce(q)));
}

void Account::check(const Parameters& parameters, const Info& a) {
  check_within("parts", a.parts, 2, max_parts);
  check_within("limbs", a.limbs, 1, parameters.limbs());
  if (a.count == 0) throw RangeError("count: 0 is below 1");
  const std::uint64_t t = parameters.t();
  check_within("factor", a.factor, 1, t - 1);
  if (std::gcd(a.factor, t) != 1)
    throw RangeError("factor: " + std::to_string(a.factor) +
                     " has no inverse modulo t = " + std::to_string(t));
  if (!(a.noise >= 0 && a.noise < 1e6))
    throw RangeError("noise: a bound of 2^" + math::text_of(a.noise) +
                     " is outside 2^0 … 2^(10^6)");
  check_within("rest", static_cast<std::uint64_t>(a.rest), 0, 2);
  const std::uint64_t N = parameters.N();
  if (a.length == N)
    throw RangeError("length: " + std::to_string(N) + " is N, which must be written as 0");
  if (a.packing == Packing::coefficients && (a.length != 0 || a.rest != Rest::zeros))
    throw RangeError("length, rest: " + std::to_string(a.length) + ", " +
                     std::to_string(static_cast<unsigned>(a.rest)) +
                     " must be 0, 0 for values that are packed as coefficients");
  if (a.rest == Rest::same && a.length != 1)
    throw RangeError("length: " + std::to_string(a.length) +
                     " is not 1, but the vector has one value in all slots");
  // A length that no batch of this count has is refused before it is computed with.
  if (a.length > N && ((a.length - 1) / N >= a.count || a.count % a.each(parameters.N()) != 0))
    throw RangeError("length: vectors of " + std::to_string(a.length) + " values do not fill " +
                     std::to_string(a.count) + " ciphertexts of N = " + std::to_string(N));
}

void Account::check_decrypts(const Info& a) const {
  const double left = budget(a);
  if (left > 0) return;
  char bits[32];
  std::snprintf(bits, sizeof bits, "%.1f", left);
  throw NoiseError("the noise budget is spent: by its bound " + std::string(bits) +
                   " bits are left at " + std::to_string(a.limbs) + " of " +
                   std::to_string(parameters_.limbs()) +
                   " limbs, so that decrypted values may be wrong. Choose parameters for a depth "
                   "above " +
                   std::to_string(parameters_.literal().depth) + ", for plain_products above " +
                   std::to_string(parameters_.literal().plain_products) +
                   " or for larger sums; or say allow_spent=True, and look at the measured one");
}

double Account::rated_budget(const Requirements& r) const {
  // What is known after so many products with plaintexts, by limbs. Of ciphertexts with as many
  // limbs the noisiest is followed, as bounds are monotone.
  std::vector<std::map<unsigned, Info>> after(r.plain_products + 1);
  const auto keep = [](std::map<unsigned, Info>& known, const Info& a) {
    Info& worst = known.try_emplace(a.limbs, a).first->second;
    if (a.noise > worst.noise) worst = a;
  };
  keep(after[0], fresh_public(Packing::slots, 1));
  for (unsigned level = 0;; ++level) {
    // Rotations come before the product with a plaintext, and before a sum that it may follow.
    for (unsigned used = 0; used < r.plain_products; ++used)
      for (const auto& [limbs, a] : after[used])
        keep(after[used + 1],
             multiply_plain(automorphism(automorphism(a)), {1, largest_norm(), 0}));
    double least = budget(after[0].begin()->second);
    for (auto& known : after) {
      std::map<unsigned, Info> next;
      for (auto& [limbs, a] : known) {
        Info sum = automorphism(a);
        sum.noise += r.sums;
        if (level < r.depth) sum = relinearise(multiply(sum, sum).result);
        least = std::min(least, budget(sum));
        keep(next, sum);
      }
      known = std::move(next);
    }
    if (least < 0 || level == r.depth) return least;
  }
}

Account::Info Account::fresh_secret(Packing packing, std::size_t count,
                                    std::uint64_t length) const {
  if (packing == Packing::coefficients) length = 0;
  return {packing, count, 2, parameters_.limbs(), 1, noise_.fresh_secret(), length};
}

Account::Info Account::fresh_public(Packing packing, std::size_t count,
                                    std::uint64_t length) const {
  Info out = fresh_secret(packing, count, length);
  out.noise = noise_.fresh_public();
  return out;
}

// ---- vectors

namespace {

std::uint64_t length_of(const CiphertextInfo& a, std::uint64_t N) {
  return a.length == 0 ? N : a.length;
}

void check_equal_lengths(const CiphertextInfo& a, const CiphertextInfo& b, std::uint64_t N) {
  if (a.rest == Rest::same || b.rest == Rest::same) return;
  const std::uint64_t of_a = length_of(a, N), of_b = length_of(b, N);
  if (of_a != of_b && std::max(of_a, of_b) > N)
    throw ShapeError(
        "vectors of " + std::to_string(of_a) + " values meet vectors of " + std::to_string(of_b) +
        " values: where one length is above N = " + std::to_string(N) + ", both must be equal");
}

bool zeros_are_needed(const CiphertextInfo& a, const CiphertextInfo& b, std::uint64_t N) {
  return a.packing == Packing::slots && a.rest == Rest::anything && b.rest != Rest::same &&
         length_of(a, N) < length_of(b, N);
}

void check_zeros(const CiphertextInfo& a, const CiphertextInfo& b, std::uint64_t N) {
  if (!zeros_are_needed(a, b, N)) return;
  const std::string length = std::to_string(a.length);
  throw ShapeError("vectors of " + length + " values meet vectors of " +
                   std::to_string(length_of(b, N)) + " values, and the slots behind the " + length +
                   " values may not be zero: multiply them by " + length + " ones first");
}

}  // namespace

void Account::check_lengths(const Info& a, const Info& b) const {
  if (a.packing == Packing::slots) check_equal_lengths(a, b, parameters_.N());
}

bool Account::needs_zeros(const Info& a, const Info& b) const {
  return zeros_are_needed(a, b, parameters_.N());
}

void Account::join(Info& out, const Info& a, const Info& b, Operation operation) const {
  const bool product = operation == Operation::product;
  out.count = std::max(a.count, b.count);
  if (a.packing == Packing::coefficients) return;
  const std::uint64_t N = parameters_.N();
  check_equal_lengths(a, b, N);
  check_zeros(a, b, N);
  check_zeros(b, a, N);
  if (a.rest == Rest::same || b.rest == Rest::same) {
    // One value for all slots takes the shape of what it meets.
    const Info& other = a.rest == Rest::same ? b : a;
    out.length = other.length;
    out.rest = !product && has_zeros(other) ? Rest::anything : other.rest;
  } else {
    out.length = std::max(length_of(a, N), length_of(b, N));
    const bool zeros_of_a = a.rest == Rest::zeros, zeros_of_b = b.rest == Rest::zeros;
    out.rest = (product ? zeros_of_a || zeros_of_b : zeros_of_a && zeros_of_b) ? Rest::zeros
                                                                               : Rest::anything;
  }
  if (out.length == N) out.length = 0;
}

Account::Info Account::with_vectors(Info a, std::uint64_t length, Rest rest) const {
  const bool all = length == 0 || length == parameters_.N();
  a.length = all ? 0 : length;
  a.rest = all ? Rest::zeros : rest;
  return a;
}

void Account::join_vectors(Info& out, std::span<const Info> all, std::uint32_t N) {
  if (out.packing == Packing::coefficients) return;
  const Info* longest = nullptr;
  for (const Info& a : all)
    if (a.rest != Rest::same && (!longest || length_of(a, N) > length_of(*longest, N)))
      longest = &a;
  out.length = longest ? longest->length : 1;
  out.rest = longest ? Rest::zeros : Rest::same;
  if (!longest) return;
  const std::size_t each = longest->each(N);
  for (const Info& a : all) {
    check_equal_lengths(a, *longest, N);
    check_zeros(a, *longest, N);
    if (a.count % each != 0)
      throw ShapeError("a batch of " + std::to_string(a.count) +
                       " ciphertexts with one value in all slots is joined with vectors of " +
                       std::to_string(longest->length) + " values, which take " +
                       std::to_string(each) + " ciphertexts each: the number must be a multiple");
    const bool fills = a.rest == Rest::same && longest->length % N != 0;
    if (a.rest == Rest::anything || fills) out.rest = Rest::anything;
  }
}

Account::Info Account::rotate(const Info& a) const {
  const std::uint64_t N = parameters_.N();
  if (a.length > N)
    throw ShapeError("rotate: vectors of " + std::to_string(a.length) + " values take " +
                     std::to_string(a.each(parameters_.N())) +
                     " ciphertexts of N = " + std::to_string(N) +
                     " values each, and no operation moves values from one to another");
  Info out = automorphism(a);
  // What was behind the values may be among them now.
  if (a.rest != Rest::same && (a.length != 0 || a.rest == Rest::anything)) {
    out.length = 0;
    out.rest = Rest::anything;
  }
  return out;
}

Account::Info Account::add_constant(const Info& a, double norm) const {
  Info out = a;
  // Where only some slots have the integer, the coefficients are any.
  out.noise = log2_sum(a.noise, has_zeros(a) ? largest_norm() : norm);
  return out;
}

// ---- steps

Account::Info Account::scaled(Info a, std::int64_t by, std::uint64_t factor) const {
  a.factor = factor;
  a.noise += std::log2(std::max(1.0, std::abs(static_cast<double>(by))));
  return a;
}

Account::Info Account::dropped(Info a) const {
  a.noise = noise_.dropped(a.noise, a.limbs, a.parts);
  a.factor = factor_after(a.factor, a.limbs, a.limbs - 1);
  --a.limbs;
  return a;
}

Account::Info Account::dropped_to(Info a, unsigned limbs) const {
  while (a.limbs > limbs) a = dropped(a);
  return a;
}

Account::Operand Account::prepared(Info a, const Preparation& by) const {
  const auto times = [&](std::int64_t scalar) {
    if (scalar != 1) a = scaled(a, scalar, t_.mul(a.factor, t_.from_signed(scalar)));
  };
  times(by.before);
  a = dropped_to(a, by.limbs);
  times(by.after);
  return {by, a};
}

double Account::noise_at(double noise, const Info& a, unsigned limbs) const {
  for (unsigned l = a.limbs; l > limbs; --l) noise = noise_.dropped(noise, l, a.parts);
  return noise;
}

std::uint64_t Account::factor_after(std::uint64_t factor, unsigned limbs, unsigned left) const {
  for (; limbs > left; --limbs) factor = t_.mul(factor, inverse_primes_[limbs - 1]);
  return factor;
}

/// The steps of the extended Euclidean algorithm.
std::vector<std::pair<std::int64_t, std::int64_t>> Account::common_factors(std::uint64_t a,
                                                                           std::uint64_t b) const {
  // s·ratio = r mod t at each step.
  const std::uint64_t ratio = t_.mul(a, t_.inverse(b));
  const auto t = static_cast<std::int64_t>(t_.value());
  std::int64_t r0 = t, r1 = static_cast<std::int64_t>(ratio);
  std::int64_t s0 = 0, s1 = 1;
  std::vector<std::pair<std::int64_t, std::int64_t>> out{{1, t_.centred(ratio)}};
  while (r1 != 0) {
    // A composite t has steps that are no units.
    if (std::gcd(s1, t) == 1) out.emplace_back(s1, r1);
    const std::int64_t quotient = r0 / r1;
    r0 = std::exchange(r1, r0 - quotient * r1);
    s0 = std::exchange(s1, s0 - quotient * s1);
  }
  return out;
}

/// Those that leave the least noise, for x and y of log2 `noise_a` and `noise_b`.
Account::Factors Account::least_factors(std::uint64_t a, std::uint64_t b, double noise_a,
                                        double noise_b) const {
  Factors best{0, 0, std::numeric_limits<double>::infinity()};
  for (const auto& [alpha, beta] : common_factors(a, b)) {
    const double noise = log2_sum(noise_a + log2_size(alpha), noise_b + log2_size(beta));
    if (noise < best.noise) best = {alpha, beta, noise};
  }
  return best;
}

// ---- sums

std::pair<Account::Operand, Account::Operand> Account::aligned(const Info& a, const Info& b) const {
  const unsigned limbs = std::min(a.limbs, b.limbs);
  Preparation of_a{limbs}, of_b{limbs};
  const bool first_is_higher = a.limbs > b.limbs;
  const Info &high = first_is_higher ? a : b, &low = first_is_higher ? b : a;
  if (high.limbs > limbs) {
    // A factor multiplied in before primes are dropped costs no noise but what drops leave of it:
    // done where that is less than what two factors afterwards cost.
    const std::uint64_t without = factor_after(high.factor, high.limbs, limbs);
    const std::uint64_t by = t_.mul(low.factor, t_.inverse(without));
    const std::int64_t scalar = t_.centred(by);
    const double early = noise_at(high.noise + log2_size(scalar), high, limbs),
                 late = noise_at(high.noise, high, limbs);
    const Factors after = least_factors(without, low.factor, late, low.noise);
    if (by != 1 && log2_sum(early, low.noise) <= after.noise)
      (first_is_higher ? of_a : of_b).before = scalar;
  }
  std::pair<Operand, Operand> out{prepared(a, of_a), prepared(b, of_b)};
  Info &x = out.first.now, &y = out.second.now;
  if (x.factor == y.factor) return out;
  const Factors f = least_factors(x.factor, y.factor, x.noise, y.noise);
  const std::uint64_t factor = t_.mul(t_.from_signed(f.alpha), x.factor);
  // A factor of 1 changes nothing.
  if (f.alpha != 1) x = scaled(x, f.alpha, factor);
  if (f.beta != 1) y = scaled(y, f.beta, factor);
  out.first.by.after = f.alpha;
  out.second.by.after = f.beta;
  return out;
}

Account::Two Account::add(const Info& a, const Info& b) const {
  const auto [x, y] = aligned(a, b);
  Info out = x.now;
  out.noise = log2_sum(x.now.noise, y.now.noise);
  out.parts = std::max(a.parts, b.parts);
  join(out, a, b, Operation::sum);
  return {out, x.by, y.by};
}

Account::Many Account::concatenate(std::span<const Info> arrays) const {
  unsigned limbs = arrays[0].limbs;
  for (const Info& a : arrays) limbs = std::min(limbs, a.limbs);
  // The noisiest of the arrays with the same limbs and factor decides.
  std::map<std::pair<unsigned, std::uint64_t>, Info> kinds;
  for (const Info& a : arrays) {
    Info& noisiest = kinds.try_emplace({a.limbs, a.factor}, a).first->second;
    if (a.noise > noisiest.noise) noisiest = a;
  }
  // What is multiplied before it loses primes loses most of what that costs.
  const auto scalar_to = [&](const Info& i, std::uint64_t factor) {
    return t_.centred(t_.mul(factor, t_.inverse(factor_after(i.factor, i.limbs, limbs))));
  };
  const auto worst = [&](std::uint64_t factor) {
    double noise = 0;
    for (const auto& [kind, a] : kinds)
      noise = std::max(noise, noise_at(a.noise + log2_size(scalar_to(a, factor)), a, limbs));
    return noise;
  };
  // The candidates do not depend on the noise, so that less of it in gives no more out.
  std::set<std::uint64_t> own;
  for (const auto& [kind, a] : kinds) own.insert(factor_after(a.factor, a.limbs, limbs));
  std::set<std::uint64_t> candidates = own;
  for (auto one = own.begin(); one != own.end(); ++one)
    for (auto other = std::next(one); other != own.end(); ++other)
      for (const auto& [alpha, beta] : common_factors(*one, *other))
        candidates.insert(t_.mul(t_.from_signed(alpha), *one));
  std::uint64_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const std::uint64_t each : candidates)
    if (const double noise = worst(each); noise < least) {
      best = each;
      least = noise;
    }
  Many out;
  for (const Info& a : arrays) {
    out.each.push_back({limbs, scalar_to(a, best)});
    const Info now = prepared(a, out.each.back()).now;
    if (out.each.size() == 1) {
      out.result = now;
      continue;
    }
    out.result.count += now.count;
    out.result.noise = std::max(out.result.noise, now.noise);
  }
  join_vectors(out.result, arrays, parameters_.N());
  return out;
}

// ---- products

unsigned Account::limbs_to_multiply(const Info& a) const {
  if (a.parts == 2)
    for (const NoiseModel::Level& level : schedule_)
      if (level.limbs == a.limbs && level.least <= a.noise && a.noise <= level.most)
        return level.left;
  return noise_.limbs_to_multiply(a.noise, a.limbs, a.parts);
}

std::pair<Account::Operand, Account::Operand> Account::reduced(const Info& a, const Info& b) const {
  const unsigned of_a = limbs_to_multiply(a), of_b = limbs_to_multiply(b);
  const Preparation plain{std::min(of_a, of_b)};
  if (of_a == of_b) return {prepared(a, plain), prepared(b, plain)};
  if (of_a < of_b) {
    auto [y, x] = reduced(b, a);
    return {std::move(x), std::move(y)};
  }
  // a loses more than it would by itself: it takes the factor of b where that is free, so that
  // products by a and by others like b have one factor.
  Operand y = prepared(b, plain);
  const std::uint64_t by =
      t_.mul(y.now.factor, t_.inverse(factor_after(a.factor, a.limbs, plain.limbs)));
  const std::int64_t scalar = t_.centred(by);
  const double with = noise_at(a.noise + log2_size(scalar), a, plain.limbs),
               without = noise_at(a.noise, a, plain.limbs);
  if (by == 1 || with > without + 0.5) return {prepared(a, plain), std::move(y)};
  return {prepared(a, {plain.limbs, scalar}), std::move(y)};
}

Account::Two Account::multiply(const Info& a, const Info& b) const {
  const unsigned parts = a.parts + b.parts - 1;
  if (parts > max_parts)
    throw ShapeError("multiply: the product would have " + std::to_string(parts) + " parts, and " +
                     std::to_string(max_parts) + " are the most: relinearise the operands first");
  const auto [x, y] = reduced(a, b);
  Info out = x.now;
  out.parts = parts;
  join(out, a, b, Operation::product);
  out.factor = t_.mul(x.now.factor, y.now.factor);
  out.noise = x.now.noise + y.now.noise;
  return {out, x.by, y.by};
}

Account::Info Account::relinearise(const Info& a) const {
  Info out = a;
  for (unsigned power = 2; power < a.parts; ++power)
    out.noise = log2_sum(out.noise, noise_.key_switch(a.limbs));
  out.parts = std::min(a.parts, 2u);
  return out;
}

Account::Info Account::automorphism(const Info& a) const {
  Info out = a;
  out.noise = log2_sum(a.noise, noise_.key_switch(a.limbs));
  return out;
}

Account::Info Account::linear_map(const Info& a, std::span<const std::optional<double>> norms,
                                  std::size_t babies) const {
  const Info x = with_vectors(a, 0, Rest::zeros), turned = automorphism(x);
  const auto add_to = [&](std::optional<Info>& sum, const Info& term) {
    sum = sum ? add(*sum, term).result : term;
  };
  std::optional<Info> sum;
  for (std::size_t first = 0; first < norms.size(); first += babies) {
    std::optional<Info> inner;
    for (std::size_t b = 0; b < babies; ++b)
      if (const auto& norm = norms[first + b])
        add_to(inner, multiply_plain(b == 0 ? x : turned, {1, *norm, 0}));
    if (inner) add_to(sum, first == 0 ? *inner : automorphism(*inner));
  }
  if (norms.size() > babies) sum->noise = log2_sum(sum->noise, noise_.rounding(sum->parts));
  return *sum;
}

// ---- levels

Account::One Account::mod_switch(const Info& a, unsigned limbs) const {
  return {dropped_to(a, limbs), {limbs}};
}

Account::One Account::shrink(const Info& a, double spare_bits) const {
  Info out = a;
  while (out.limbs > 1) {
    const Info next = dropped(out);
    if (budget(next) < spare_bits) break;
    out = next;
  }
  return {out, {out.limbs}};
}

// ---- plaintexts, and the rest

Account::Info Account::join_batches(std::span<const Info> batches, std::uint32_t N) {
  Info out = taken(batches[0], 0);
  for (const Info& batch : batches) {
    out.noise = std::max(out.noise, batch.noise);
    out.count += batch.count;
  }
  join_vectors(out, batches, N);
  return out;
}

Account::Info Account::part(const Info& a, std::size_t number) const {
  const std::size_t each = a.each(parameters_.N());
  return with_vectors(taken(a, a.count / each), number + 1 < each ? 0 : a.length % parameters_.N(),
                      a.rest);
}

Account::Info Account::of_plain(const Info& a, const Plain& m) const {
  Info out = a;
  out.count = m.count;
  out.length = m.length;
  out.rest = Rest::zeros;
  return out;
}

Account::Info Account::add_plain(const Info& a, const Plain& m) const {
  Info out = a;
  join(out, a, of_plain(a, m), Operation::sum);
  out.noise = log2_sum(a.noise, m.norm);
  return out;
}

Account::Info Account::multiply_plain(const Info& a, const Plain& m) const {
  Info out = a;
  join(out, a, of_plain(a, m), Operation::product);
  out.noise += m.norm;
  return out;
}

std::vector<std::int64_t> Account::with_factor(std::vector<std::int64_t> coefficients,
                                               std::uint64_t factor) const {
  if (factor != 1)
    for (std::int64_t& x : coefficients) x = t_.centred(t_.mul(t_.from_signed(x), factor));
  return coefficients;
}

}  // namespace whorl::bgv
