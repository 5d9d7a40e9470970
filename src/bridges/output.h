// What keys are made of that give lanes out as LWE ciphertexts, and what errors that makes.
#pragma once

#include "backend/contract/lwe.h"
#include "bridges/packing.h"
#include "whorl/binfhe/parameters.h"

namespace whorl::bridges {

/// The LWE key switch out of the subring, of the kind that the parameters have: with the fewest
/// digits whose errors are at most half of a bootstrapped ciphertext's variance, or with those of
/// the least errors.
backend::SwitchShape output_switch(const Packing& packing, const binfhe::Parameters& lwe);
/// Its rows: words of LweOutputKeys::b.
std::size_t output_rows(const backend::SwitchShape& shape);

/// The variance, in units of q, of what is added to the error of a coefficient that is a part of
/// the modulus of level 0.
double output_variance(const ckks::Parameters& parameters, const binfhe::Parameters& lwe);

}  // namespace whorl::bridges
