// Flooring, signs and digits of messages with more bits than one rotation tells apart: the work on
// a piece of a batch. flooring.h has the order of rotations, and what they do to errors.
#pragma once

#include "schemes/binfhe/flooring.h"
#include "schemes/binfhe/plan.h"

namespace whorl::binfhe {

Plan plan_floor(const Parameters& parameters, Encoding input, unsigned bits);
/// Bits: 1 for messages from half of the sectors on.
Plan plan_sign(const Parameters& parameters, Encoding input, Encoding output);
/// A result for each of digit_encodings.
Plan plan_decomposition(const Parameters& parameters, Encoding input);

}  // namespace whorl::binfhe
