#include "schemes/ckks/compact_bits.h"

#include <bit>
#include <cmath>
#include <string>

#include "schemes/ckks/derived.h"
#include "whorl/error.h"

namespace whorl::ckks {

CompactLayout::CompactLayout(const Parameters& parameters, std::uint64_t count,
                             std::uint64_t length)
    : basis(basis_of(parameters, 0)) {
  const ParameterLiteral& p = parameters.literal();
  if (!p.bootstrap || p.bootstrap->bits == 0)
    throw ParameterError("compact bits come into lanes by bootstraps for bits, which \"" + p.name +
                         "\" does not have: take parameters with bootstrap.bits of 1 and more");
  if (parameters.log2_Q(0) >= compact_log2_modulus)
    throw ParameterError("compact bits: level 0 has more than " +
                         std::to_string(compact_log2_modulus) +
                         " bits; take parameters with a smaller one");
  if (count < 1 || count > most_ciphertexts)
    throw RangeError("compact bits: " + std::to_string(count) + " vectors are outside 1 … " +
                     std::to_string(most_ciphertexts));
  if (length < 1 || length > parameters.slots())
    throw RangeError("compact bits: " + std::to_string(length) +
                     " bits of a vector are outside 1 … " + std::to_string(parameters.slots()));
  slots = std::bit_ceil(length);
  numbers = (count + p.bootstrap->bits - 1) / p.bootstrap->bits;
  bits = static_cast<unsigned>((count + numbers - 1) / numbers);
  gap = static_cast<std::uint32_t>(parameters.slots() / slots);
  basis.for_each([&](unsigned i) { modulus *= p.chain[i]; });
}

// The message is rounded down, c_0 to a word, and the word back to an integer; what floating-point
// numbers add to the second is below 2^-36 of a word.
double compact_error(const Parameters& parameters, double deviations) {
  const double sigma = parameters.literal().sigma;
  return (deviations * sigma + 1 + 0.5) * std::exp2(-parameters.log2_Q(0)) +
         (0.5 + 0x1p-36) * std::exp2(-double{compact_word_bits});
}

}  // namespace whorl::ckks
