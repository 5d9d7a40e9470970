// Circuits of FHEW/TFHE on messages with more bits than one blind rotation tells apart (Liu,
// Micciancio, Polyakov, ASIACRYPT 2022, §5): floors, signs and digits.
//
// p, with a padding bit if there is one, is a power of two up to q/256. Each step takes away up to
// log2(2N/256) bits, 4 for N = 2048, in two blind rotations. The parameters' small_modulus_gadgets
// make the later steps faster. EncodingError for another p, ParameterError for sets that rotate by
// odd exponents; otherwise errors as of Server's methods. Inputs count with their own noise here,
// so that fresh ones may pass where computed ones do not.
#pragma once

#include <vector>

#include "whorl/binfhe/server.h"

namespace whorl::binfhe {

/// m >> round_bits, modulo p >> round_bits, for messages m (OpenFHE: EvalFloor, with the same bits
/// of the phase). A padding bit stays where it is set. EncodingError unless 1 <= round_bits, and p
/// >> round_bits is at least 2.
Array eval_floor(const Server& server, const Array& a, unsigned round_bits);
/// Bits: 1 for m >= p/2, which stands for m - p < 0, else 0 (OpenFHE: EvalSign). With padding: the
/// padding bit, which a difference x - y (modular) has set where x < y. Takes one blind rotation
/// after the last step.
Array eval_sign(const Server& server, const Array& a, Encoding output = {});
/// The digits of m to the base 2N/256, the lowest first; the last may have fewer bits (OpenFHE:
/// EvalDecomp). Encodings say how large they are. Nothing is looked up: digits keep the noise that
/// steps leave, and the lowest has the input's errors. EncodingError if a padding bit may be set.
std::vector<Array> eval_decomp(const Server& server, const Array& a);

}  // namespace whorl::binfhe
