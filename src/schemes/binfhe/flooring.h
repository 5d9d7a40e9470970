// The order of rotations in operations of large precision (Liu, Micciancio, Polyakov, ASIACRYPT
// 2022; OpenFHE's EvalFloor, EvalSign and EvalDecomp), and what they do to errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "whorl/binfhe/parameters.h"

namespace whorl::binfhe {

/// Takes away what the phase has modulo `small`, in two rotations. Both moduli are powers of two.
struct Flooring {
  std::uint64_t modulus;  ///< of the ciphertext
  std::uint64_t small;    ///< at most 2N, and at most `modulus`
  std::size_t key;        ///< the blind-rotation key
};
/// An input is switched to the modulus `start`, where a sector has large_sector units. After a
/// flooring it is switched to modulus·large_sector/small, where a sector has as many units again;
/// the last flooring of eval_floor is not followed by a switch.
struct Floorings {
  std::uint64_t start;
  std::vector<Flooring> steps;
  std::uint64_t end;    ///< the modulus after them
  std::size_t end_key;  ///< that serves there
};

/// Whether the operations of large precision take such messages: the sectors are a power of two, at
/// most q/large_sector.
bool takes_large(const Parameters& parameters, Encoding encoding);
/// EncodingError that names the operation unless takes_large; ParameterError if the keys rotate by
/// odd exponents only, so that no rotation is exact.
void check_large(const char* operation, const Parameters& parameters, Encoding encoding);
/// Also unless `bits` is at least 1 and leaves at least 2 sectors.
void check_floor(const char* operation, const Parameters& parameters, Encoding encoding,
                 unsigned bits);
/// Bits that one flooring takes away at most: log2(2N/large_sector).
unsigned most_floor_bits(const Parameters& parameters);

/// Plans the floorings that take away the lowest `bits` bits of messages.
Floorings floor_steps(const Parameters& parameters, Encoding encoding, unsigned bits);
/// Until one rotation can decide.
Floorings sign_steps(const Parameters& parameters, Encoding encoding);

/// Messages m >> bits modulo p >> bits.
Encoding floored(Encoding encoding, unsigned bits);
/// Returns the encodings of the digits of messages, the lowest first.
std::vector<Encoding> digit_encodings(const Parameters& parameters, Encoding encoding);

/// What floorings do to errors; variances at q.
struct FlooredErrors {
  double failure_log2;          ///< that one of their rotations decides wrongly
  double result;                ///< of the result, scaled from modulus `end` to q
  double at_end;                ///< of the same, at modulus `end`
  std::vector<double> dropped;  ///< of what each takes away, as a digit
};
/// `variance`: of the input, at q.
FlooredErrors errors_of(const Parameters& parameters, const NoiseEstimate& estimate,
                        const Floorings& floorings, double variance);
/// Returns the variance of a bootstrap by key `key` to modulus `modulus`, at `modulus`.
double bootstrap_variance(const Parameters& parameters, const NoiseEstimate& estimate,
                          std::uint64_t modulus, std::size_t key);
/// log2 of the probability that a sign is wrong; `errors` are of sign_steps.
double sign_failure_log2(const FlooredErrors& errors);

}  // namespace whorl::binfhe
