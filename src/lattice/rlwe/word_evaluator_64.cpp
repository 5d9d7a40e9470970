// The evaluator for words of 64 bits: a file of its own, since it takes long to compile.
#include "lattice/rlwe/arithmetic-inl.h"
#include "lattice/rlwe/linear_map-inl.h"
#include "lattice/rlwe/pieces-inl.h"
#include "lattice/rlwe/switching-inl.h"

template class whorl::lattice::rlwe::WordEvaluator<std::uint64_t>;
