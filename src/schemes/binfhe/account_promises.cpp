// What is promised of messages that are known nearly, as tables that are not exact make them.
#include <algorithm>
#include <cmath>

#include "lattice/lwe/noise.h"
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/derived.h"

namespace whorl::binfhe {

Promise Account::promise(std::span<const Lut> luts, const Looked& input,
                         double exact_failure_log2) const {
  const double allowed = allow_failure_ < 1 ? allow_failure_ : allowed_failure;
  const double noise = std::max(input.noise, bootstrapped()), off = input.promise.most_off();
  Promise own{exact_failure_log2};
  for (const Lut& lut : luts) {
    double of_lut = 0;
    if (!lut.exact()) {
      own.failure_log2 = std::max(own.failure_log2, std::log2(allowed));
      of_lut = bound_of(lut, input.reading, noise, allowed, input.range, off).off;
    } else if (off > 0) {
      of_lut = most_off(lut, input.reading.arbitrary,
                        static_cast<std::uint32_t>(std::min<double>(std::ceil(off), lut.input().p)),
                        input.range);
    } else {
      continue;
    }
    own.off = std::max(own.most_off(), of_lut);
  }
  own.failure_log2 = std::min(0.0, lattice::sum_log2(own.failure_log2, input.promise.failure_log2));
  return own;
}

bool Account::is_coarse(Encoding encoding, const Origin& origin, Under under) const {
  return encoding.sectors() > most_sectors(parameters_) ||
         (origin.promise.off && !(allows(decryption_failure_log2(encoding, origin.noise, under)) &&
                                  allows(decryption_failure_log2(encoding, bootstrapped()))));
}

Decrypted decrypted(const Parameters& parameters, Encoding encoding, Under under,
                    const Origin& origin) {
  const double unit = unit_of_noise(parameters, under);
  const auto failure_log2 = [&](std::uint32_t sectors) {
    return decryption_failure_log2(parameters, origin.noise * unit, encoding, sectors, under);
  };
  const std::uint32_t most = encoding.p / 2;
  const std::uint32_t off = least_allowed(most, [&](std::uint32_t sectors) {
    return failure_log2(sectors) > std::log2(allowed_failure);
  });
  // Rounding to units of the modulus may move messages of coarse encodings by sectors. The noise of
  // sums has it.
  const double rounded = origin.is_sum() ? 0
                                         : origin.offset * std::sqrt(unit) *
                                               static_cast<double>(encoding.sectors()) /
                                               static_cast<double>(modulus_of(parameters, under));
  const double bound = off + std::floor(0.5 + rounded) + std::ceil(origin.promise.most_off());
  const double by_errors_log2 = off < most ? failure_log2(off) : -HUGE_VAL;
  return {static_cast<std::uint32_t>(std::min<double>(bound, most)),
          std::min(0.0, lattice::sum_log2(origin.promise.failure_log2, by_errors_log2)),
          by_errors_log2};
}

Decrypted decrypted(const Ciphertexts& c) {
  Origin origin;
  origin.noise = c.seed ? fresh_noise(c.parameters, c.under) : c.noise;
  if (!c.seed) origin.promise = {c.failure_log2, c.off};
  if (!c.sum || c.seed) origin.offset = encoding_offset(c.parameters, c.encoding, c.under);
  return decrypted(c.parameters, c.encoding, c.under, origin);
}

}  // namespace whorl::binfhe
