#include "ring/gadget.h"

#include <bit>
#include <cmath>
#include <string>

#include "whorl/error.h"

namespace whorl::ring {

Gadget::Gadget(std::uint64_t Q, unsigned log_base, unsigned digits)
    : modulus_(Q), log_base_(log_base), digits_(digits) {
  const unsigned bits = static_cast<unsigned>(std::bit_width(Q - 1));
  if (log_base < 1 || log_base > 31)
    throw ParameterError("gadget log_base " + std::to_string(log_base) + " is not in 1 … 31");
  if (digits < 1 || digits > bits || log_base * (digits - 1) >= bits)
    throw ParameterError("gadget of " + std::to_string(digits) + " digits of " +
                         std::to_string(log_base) + " bits does not fit a modulus of " +
                         std::to_string(bits) + " bits");
  dropped_ = log_base * digits >= bits ? 0 : bits - log_base * digits;
  offset_ = dropped_ > 0 ? std::int64_t{1} << (dropped_ - 1) : 0;
  for (unsigned j = 0; j + 1 < digits; ++j) offset_ += std::int64_t{1} << (shift(j) + log_base - 1);
}

double Gadget::digit_mean_square(unsigned j) const {
  const double base =
      j + 1 == digits_ ? static_cast<double>(modulus_) / std::ldexp(1.0, static_cast<int>(shift(j)))
                       : std::ldexp(1.0, static_cast<int>(log_base_));
  return (base * base + 2) / 12;
}

}  // namespace whorl::ring
