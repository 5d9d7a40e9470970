// Values that follow from CKKS parameters, for both client and server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lattice/rlwe/switch_key.h"
#include "ring/basis.h"
#include "schemes/ring/derived.h"
#include "whorl/ckks/ciphertexts.h"
#include "whorl/ckks/parameters.h"

namespace whorl::ckks {

/// The primes of a level, of a literal that may not have been checked, but for its levels.
ring::Basis basis_of(const ParameterLiteral& literal, unsigned level);
/// What keys of that kind are over. The usual one is that of lattice::rlwe::make_plan.
ring::KeyLayout layout_of(const ParameterLiteral& literal, SwitchKind kind);
/// The kind of SlotsToCoeffs's keys, of parameters with bootstrapping.
inline SwitchKind slots_to_coeffs_kind(const ParameterLiteral& literal) {
  return {SwitchRole::low, literal.bootstrap->slots_to_coeffs};
}

/// The primes of a level.
inline ring::Basis basis_of(const Parameters& parameters, unsigned level) {
  ring::Basis basis;
  for (const unsigned i : parameters.primes(level)) basis.insert(i);
  return basis;
}

/// Returns, for parameters with bootstrapping, the level of the sine's result, in which values are
/// as users have them.
inline unsigned result_level(const Parameters& p) {
  return p.depth() + p.literal().bootstrap->after_sine();
}
/// The level of the sine itself, after all doublings; an arcsine is taken of it, or bits.
inline unsigned doubled_level(const Parameters& p) {
  return result_level(p) + p.literal().bootstrap->after_doublings();
}
/// log2 of what the scale of a bootstrap's input is multiplied by.
inline constexpr unsigned input_bits = 6;
/// Returns log2 of scales in SlotsToCoeffs, of parameters for bits: before the first map and behind
/// each. Plaintexts of all maps get one scale, so that none is rounded much more than another. But
/// what a map itself rounds weighs more the more maps follow; so scales stay 1.5 bits above that of
/// level 0 for each of these.
std::vector<double> scales_to_coefficients(const Parameters& p);
/// Returns, for coefficients_last, what a ciphertext at level 0's scale is multiplied by, so that
/// its modulus is at least 2^log2_ratio times its scale, and as near to it as can be.
std::int64_t raised_by(const Parameters& p);
/// Levels of polynomials of z^n, n up to that degree below 32 (circuits/ckks/harmonics.h).
constexpr unsigned depth_of_harmonics(unsigned degree) {
  return degree <= 1 ? 1 : degree <= 3 ? 3 : degree <= 7 ? 4 : 6;
}
/// log2 of a bound of the probability that some of N multiples of the modulus are at least `range`
/// (Irwin and Hall's distribution).
double log2_beyond(const ParameterLiteral& literal, double range);

/// The g of conjugation: X -> X^-1.
inline std::uint32_t conjugation_exponent(const Parameters& p) { return 2 * p.N() - 1; }

/// Returns how many words each ciphertext of a batch has on the host.
inline std::size_t words_of(const Parameters& parameters, const CiphertextInfo& info) {
  return std::size_t{info.parts} * parameters.primes(info.level).size() * parameters.N();
}

/// What is known of batches as one. They have one key, and the words that belong to them.
/// ShapeError unless they can be one.
CiphertextInfo joined_info(std::span<const Ciphertexts* const> batches);

/// A batch has no more ciphertexts.
inline constexpr std::size_t most_ciphertexts = std::size_t{1} << 24;

/// Returns the number of values of each vector, over all its ciphertexts.
inline std::uint64_t length_of(const CiphertextInfo& info) {
  return info.vector == 0 ? info.length : info.vector;
}

/// A key that is asked for.
struct KeyName {
  SwitchKind kind;
  lattice::rlwe::SwitchSource source;
};
/// The keys that are asked for; ParameterError for numbers of parts and levels out of range, and
/// for bootstrapping's keys under parameters without it.
std::vector<KeyName> keys_of(const Parameters& parameters, const KeyRequest& request);

}  // namespace whorl::ckks
