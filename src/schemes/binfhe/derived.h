// Values that follow from parameters, for use inside the library: gadgets, word size, encodings.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/contract/lwe.h"
#include "lattice/lwe/rotation_method.h"
#include "math/memory.h"
#include "ring/gadget.h"
#include "whorl/binfhe/ciphertexts.h"
#include "whorl/binfhe/parameters.h"
#include "whorl/error.h"
#include "whorl/word_array.h"

namespace whorl::binfhe {

/// Whether the ring modulus is computed with in 32-bit words.
inline bool narrow(const Parameters& parameters) { return ring_word_bytes(parameters.Q()) == 4; }

ring::Gadget switch_gadget(const Parameters& parameters);
/// Returns the ranges of the blind-rotation key `key`: see Parameters::rotation_key_rows.
std::vector<GadgetRange> gadget_ranges(const ParameterLiteral& literal, std::size_t key);
/// One gadget per LWE coefficient.
std::vector<ring::Gadget> rotation_gadgets(const Parameters& parameters, std::size_t key = 0);
lattice::lwe::RotationMethod rotation_method(const ParameterLiteral& literal);
backend::RotationShape rotation_shape(const Parameters& parameters, Transform transform,
                                      std::size_t key = 0);
backend::SwitchShape switch_shape(const Parameters& parameters);

/// E[s^2] of a coefficient of the ring key.
double ring_mean_square(const Parameters& parameters);
/// Variance of rounding an LWE ciphertext, in units of `to`; nothing is rounded if `from` divides
/// `to`. Centred where the LWE secret has a mean.
double rounding_variance(const ParameterLiteral& literal, std::uint64_t from, std::uint64_t to);
/// What LweOps::modulus_switch centres LWE ciphertexts by: 1 over the mean of the LWE secret's
/// coefficients, 0 where that is 0.
unsigned rounding_centre(const ParameterLiteral& literal);

/// round(message·modulus/sectors) mod modulus: where a message sits in Z_modulus.
inline std::uint64_t encode(std::uint64_t message, Encoding encoding, std::uint64_t modulus) {
  using Wide = unsigned __int128;
  const Wide sectors = encoding.sectors();
  return static_cast<std::uint64_t>((Wide{message} * modulus * 2 + sectors) / (2 * sectors) %
                                    modulus);
}

/// encode() for secret messages: no division, which takes a time of its operands'.
class SecretEncoder {
 public:
  SecretEncoder(Encoding encoding, std::uint64_t modulus)
      : modulus_(modulus),
        whole_(modulus / encoding.sectors()),
        rest_(modulus % encoding.sectors()),
        sectors_(encoding.sectors()),
        reciprocal_(~std::uint64_t{0} / (2 * sectors_)) {}
  /// The message must be below p, or with padding below 2p.
  std::uint64_t operator()(std::uint64_t message) const {
    // message, rest < sectors <= 2^30: below 2^62. The reciprocal's quotient is at most 2 short.
    // The result is the modulus only where a sector has less than a unit: of coarse messages.
    const std::uint64_t x = 2 * message * rest_ + sectors_, divisor = 2 * sectors_;
    auto quotient =
        static_cast<std::uint64_t>((static_cast<unsigned __int128>(x) * reciprocal_) >> 64);
    for (int correction = 0; correction < 2; ++correction)
      quotient += 1 - ((x - quotient * divisor - divisor) >> 63);
    const std::uint64_t unit = message * whole_ + quotient;
    return unit - (modulus_ & (0 - (1 - ((unit - modulus_) >> 63))));
  }

 private:
  std::uint64_t modulus_, whole_, rest_, sectors_, reciprocal_;
};

/// round(phase·sectors/modulus) mod sectors of secret phases, halves up: no division either.
class SecretDecoder {
 public:
  SecretDecoder(Encoding encoding, std::uint64_t modulus)
      : modulus_(modulus),
        sectors_(encoding.sectors()),
        whole_(sectors_ / modulus),
        rest_(sectors_ % modulus),
        reciprocal_(
            static_cast<std::uint64_t>((static_cast<unsigned __int128>(rest_) << 64) / modulus)) {}
  /// The phase must be below the modulus, which is below 2^60.
  std::uint64_t operator()(std::uint64_t phase) const {
    // The quotient of the product is exact, or 1 short.
    auto quotient =
        static_cast<std::uint64_t>((static_cast<unsigned __int128>(phase) * reciprocal_) >> 64);
    std::uint64_t rest = phase * rest_ - quotient * modulus_;  // below 2·modulus
    const std::uint64_t more = 1 - ((rest - modulus_) >> 63);
    rest -= modulus_ & (0 - more);
    quotient += more + (1 - ((2 * rest - modulus_) >> 63)) + phase * whole_;
    return quotient - (sectors_ & (0 - (1 - ((quotient - sectors_) >> 63))));
  }

 private:
  std::uint64_t modulus_, sectors_, whole_, rest_, reciprocal_;
};

/// The vector of a batch that words of this width are in.
template <class Word, class Batch>
auto& words_of(Batch& batch) {
  if constexpr (sizeof(Word) == 4)
    return batch.data;
  else
    return batch.wide;
}
/// body(the words of a batch), in the width that they have.
template <class Batch, class Body>
decltype(auto) with_words(Batch& batch, const Body& body) {
  return batch.is_wide() ? body(batch.wide) : body(batch.data);
}

/// Gives a new batch the words of its ciphertexts, zeros.
template <class Word>
void make_words(std::vector<Word>& words, const Ciphertexts& of) {
  const std::size_t size = of.count * of.row();
  if constexpr (sizeof(Word) == 4)
    math::make_room(words, size);
  else
    math::make_room(words, size, {});
}

inline std::uint64_t modulus_of(const Parameters& parameters, Under under) {
  return under == Under::lwe ? parameters.q() : parameters.Q();
}
/// "under the ring key".
inline const char* describe(Under under) {
  return under == Under::lwe ? "under the LWE key" : "under the ring key";
}
/// KeyMismatchError unless these are under the LWE key, which `what` needs.
void check_under_lwe_key(const std::string& what, Under under);

/// How tables read their input. They take two rotations if `arbitrary`. Exponents are multiples of
/// `step`, a power of two: that many tables share each rotation.
struct Reading {
  bool arbitrary = false;
  std::uint32_t step = 1;
};
/// The least step with which so many tables share a rotation.
inline std::uint32_t shared_step(std::size_t tables) {
  return std::bit_ceil(static_cast<std::uint32_t>(tables));
}

/// Units of Z_q in a sector of the operations of large precision: twice OpenFHE's beta.
inline constexpr std::uint64_t large_sector = 256;

/// The most sectors that one rotation by multiples of `step` tells apart: 4 steps of Z_2N and 4
/// units of Z_q each.
inline std::uint64_t most_rotated_sectors(const Parameters& parameters, std::uint32_t step = 1) {
  return std::min<std::uint64_t>(2ULL * parameters.N() / step, parameters.q()) / 4;
}
/// The most sectors of ciphertexts, which operations of large precision may take.
inline std::uint64_t most_sectors(const Parameters& parameters) {
  return std::max(most_rotated_sectors(parameters), parameters.q() / large_sector);
}
/// The most sectors of ciphertexts of which messages are known only nearly, for tables that are not
/// exact (Xiao et al., TCHES 2025, §5.2: inputs of 16 bits).
inline std::uint64_t most_coarse_sectors(const Parameters& parameters) {
  return std::max<std::uint64_t>(most_sectors(parameters), 1U << 16);
}

/// Names the parameters in messages.
inline std::string named(const Parameters& parameters) {
  return parameters.name().empty() ? "this set" : parameters.name();
}

inline void check_sectors(const Parameters& parameters, Encoding encoding, std::uint64_t sectors,
                          const char* what, const std::string& instead = {}) {
  const std::uint64_t most = sectors / (encoding.padding ? 2 : 1);
  if (encoding.p < 2 || encoding.p > most)
    throw EncodingError("plaintext modulus p = " + std::to_string(encoding.p) +
                        (encoding.padding ? " with padding" : "") + " is not in 2 … " +
                        std::to_string(most) + what + named(parameters) + instead);
}
/// EncodingError unless 2 <= p, and there are at most most_sectors().
inline void check_encoding(const Parameters& parameters, Encoding encoding) {
  check_sectors(parameters, encoding, most_sectors(parameters), " of ");
}
/// EncodingError unless 2 <= p, and there are at most most_coarse_sectors().
inline void check_coarse(const Parameters& parameters, Encoding encoding) {
  check_sectors(parameters, encoding, most_coarse_sectors(parameters), " of ");
}
/// EncodingError unless 2 <= p, and one rotation can tell the sectors apart.
inline void check_rotated(const Parameters& parameters, Encoding encoding) {
  check_sectors(parameters, encoding, most_rotated_sectors(parameters), " of gates and tables of ");
}

/// EncodingError that names the first value that is not below `bound`, which users know as `what`.
/// It is a function of its own in the machine code, for tests/constant_time.
[[gnu::noinline]] inline void check_values(std::span<const std::uint32_t> values,
                                           std::uint64_t bound, const char* what = "p") {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] >= bound)
      throw EncodingError("value " + std::to_string(values[i]) + " at index " + std::to_string(i) +
                          " is not below " + what + " = " + std::to_string(bound));
}

}  // namespace whorl::binfhe
