// Levels and correction factors, which the server brings together before it adds, multiplies or
// concatenates. docs/bgv-noise.md says why in this way.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "schemes/bgv/server_state.h"

namespace whorl::bgv {

namespace {

/// Bits that a ciphertext's noise grows by, multiplied with an integer.
double log2_size(std::int64_t x) { return std::log2(std::abs(static_cast<double>(x))); }

/// Units alpha, beta with alpha·a = beta·b mod t that leave alpha·x + beta·y the least noise, for x
/// and y of log2 `noise_a` and `noise_b`: steps of the extended Euclidean algorithm.
struct Factors {
  std::int64_t alpha, beta;
  double noise;
};
Factors least_factors(std::uint64_t a, std::uint64_t b, double noise_a, double noise_b,
                      const math::Modulus<std::uint64_t>& t) {
  const auto with = [&](std::int64_t alpha, std::int64_t beta) {
    return Factors{alpha, beta, log2_sum(noise_a + log2_size(alpha), noise_b + log2_size(beta))};
  };
  // s·ratio = r mod t at each step.
  const std::uint64_t ratio = t.mul(a, t.inverse(b));
  std::int64_t r0 = static_cast<std::int64_t>(t.value()), r1 = static_cast<std::int64_t>(ratio);
  std::int64_t s0 = 0, s1 = 1;
  Factors best = with(1, t.centred(ratio));
  while (r1 != 0) {
    // A composite t has steps that are no units.
    if (std::gcd(s1, static_cast<std::int64_t>(t.value())) == 1)
      if (const Factors now = with(s1, r1); now.noise < best.noise) best = now;
    const std::int64_t quotient = r0 / r1;
    r0 = std::exchange(r1, r0 - quotient * r1);
    s0 = std::exchange(s1, s0 - quotient * s1);
  }
  return best;
}

}  // namespace

Array Server::State::to_limbs(Array a, unsigned limbs) const {
  while (a.info_.limbs > limbs) a = drop_limb(a);
  return a;
}

std::uint64_t Server::State::factor_after(std::uint64_t factor, unsigned limbs,
                                          unsigned left) const {
  for (; limbs > left; --limbs)
    factor = t.mul(factor, t.inverse(t.reduce(parameters.literal().chain[limbs - 1])));
  return factor;
}

std::pair<Array, Array> Server::State::aligned(const Array& a, const Array& b) const {
  const unsigned limbs = std::min(a.info_.limbs, b.info_.limbs);
  std::pair<Array, Array> out{a, b};
  const bool first_is_higher = a.info_.limbs > b.info_.limbs;
  Array &high = first_is_higher ? out.first : out.second,
        &low = first_is_higher ? out.second : out.first;
  if (high.info_.limbs > limbs) {
    // A factor multiplied in before primes are dropped costs no noise but what drops leave of it:
    // done where that is less than what two factors afterwards cost.
    const std::uint64_t without = factor_after(high.info_.factor, high.info_.limbs, limbs);
    const std::uint64_t by = t.mul(low.info_.factor, t.inverse(without));
    const std::int64_t scalar = t.centred(by);
    double early = high.info_.noise + log2_size(scalar), late = high.info_.noise;
    for (unsigned l = high.info_.limbs; l > limbs; --l) {
      early = model.dropped(early, l, high.info_.parts);
      late = model.dropped(late, l, high.info_.parts);
    }
    const Factors after = least_factors(without, low.info_.factor, late, low.info_.noise, t);
    if (by != 1 && log2_sum(early, low.info_.noise) <= after.noise)
      high = scale(high, scalar, t.mul(high.info_.factor, by));
    high = to_limbs(std::move(high), limbs);
  }
  if (out.first.info_.factor == out.second.info_.factor) return out;
  const Factors f = least_factors(out.first.info_.factor, out.second.info_.factor,
                                  out.first.info_.noise, out.second.info_.noise, t);
  const std::uint64_t factor = t.mul(t.from_signed(f.alpha), out.first.info_.factor);
  // By 1 there is nothing to do.
  if (f.alpha != 1) out.first = scale(out.first, f.alpha, factor);
  if (f.beta != 1) out.second = scale(out.second, f.beta, factor);
  return out;
}

std::vector<Array> Server::State::alike(std::span<const Array> arrays) const {
  unsigned limbs = arrays[0].info_.limbs;
  for (const Array& a : arrays) limbs = std::min(limbs, a.info_.limbs);
  // What is multiplied before it loses primes loses most of what that costs.
  const auto scalar_to = [&](const CiphertextInfo& i, std::uint64_t factor) {
    return t.centred(t.mul(factor, t.inverse(factor_after(i.factor, i.limbs, limbs))));
  };
  const auto noise_with = [&](const CiphertextInfo& i, std::uint64_t factor) {
    double noise = i.noise + log2_size(scalar_to(i, factor));
    for (unsigned l = i.limbs; l > limbs; --l) noise = model.dropped(noise, l, i.parts);
    return noise;
  };
  std::map<std::uint64_t, double> noises;  // of the factors that they would have
  for (const Array& a : arrays) {
    const std::uint64_t factor = factor_after(a.info_.factor, a.info_.limbs, limbs);
    double& noise = noises[factor];
    noise = std::max(noise, noise_with(a.info_, factor));
  }
  std::vector<std::uint64_t> candidates;
  for (auto one = noises.begin(); one != noises.end(); ++one) {
    candidates.push_back(one->first);
    for (auto other = std::next(one); other != noises.end(); ++other) {
      const Factors f = least_factors(one->first, other->first, one->second, other->second, t);
      candidates.push_back(t.mul(t.from_signed(f.alpha), one->first));
    }
  }
  const auto worst = [&](std::uint64_t factor) {
    double noise = 0;
    for (const Array& a : arrays) noise = std::max(noise, noise_with(a.info_, factor));
    return noise;
  };
  std::uint64_t best = candidates[0];
  double least = worst(best);
  for (const std::uint64_t each : candidates)
    if (const double noise = worst(each); noise < least) {
      best = each;
      least = noise;
    }
  std::vector<Array> out;
  for (const Array& a : arrays) {
    const std::int64_t scalar = scalar_to(a.info_, best);
    const std::uint64_t factor = t.mul(a.info_.factor, t.from_signed(scalar));
    out.push_back(to_limbs(scalar == 1 ? a : scale(a, scalar, factor), limbs));
  }
  return out;
}

unsigned Server::State::limbs_to_multiply(const Array& a) const {
  const CiphertextInfo& i = a.info_;
  if (i.parts == 2)
    for (const NoiseModel::Level& level : schedule)
      if (level.limbs == i.limbs && level.least <= i.noise && i.noise <= level.most)
        return level.left;
  return model.limbs_to_multiply(i.noise, i.limbs, i.parts);
}

std::pair<Array, Array> Server::State::reduced(const Array& a, const Array& b) const {
  const unsigned of_a = limbs_to_multiply(a), of_b = limbs_to_multiply(b),
                 limbs = std::min(of_a, of_b);
  if (of_a == of_b) return {to_limbs(a, limbs), to_limbs(b, limbs)};
  if (of_a < of_b) {
    auto [y, x] = reduced(b, a);
    return {std::move(x), std::move(y)};
  }
  // a loses more than it would by itself: it takes the factor of b where that is free, so that
  // products by a and by others like b have one factor.
  Array y = to_limbs(b, limbs);
  const std::uint64_t by =
      t.mul(y.info_.factor, t.inverse(factor_after(a.info_.factor, a.info_.limbs, limbs)));
  const std::int64_t scalar = t.centred(by);
  double scaled = a.info_.noise + log2_size(scalar), plain = a.info_.noise;
  for (unsigned l = a.info_.limbs; l > limbs; --l) {
    scaled = model.dropped(scaled, l, a.info_.parts);
    plain = model.dropped(plain, l, a.info_.parts);
  }
  if (by == 1 || scaled > plain + 0.5) return {to_limbs(a, limbs), std::move(y)};
  return {to_limbs(scale(a, scalar, t.mul(a.info_.factor, by)), limbs), std::move(y)};
}

}  // namespace whorl::bgv
