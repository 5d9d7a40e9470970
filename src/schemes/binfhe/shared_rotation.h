// Several tables of one input by rotations that they share.
#pragma once

#include <span>

#include "lattice/lwe/evaluator.h"
#include "schemes/binfhe/derived.h"
#include "whorl/binfhe/lut.h"

namespace whorl::binfhe {

/// The work has a result for each table, under that key. They are of one input encoding, and few
/// enough for the step.
lattice::lwe::Work work_of_many(const Parameters& parameters, std::span<const Lut> luts,
                                const Reading& reading, Under under);

}  // namespace whorl::binfhe
