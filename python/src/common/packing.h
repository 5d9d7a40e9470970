// Names of packings.
#pragma once

#include "bindings.h"
#include "whorl/bgv/ciphertexts.h"
#include "whorl/ckks/ciphertexts.h"

namespace whorl::python {

template <>
inline constexpr Choice<bgv::Packing, 2, EncodingError> choice<bgv::Packing>{
    "packing", {{{"slots", bgv::Packing::slots}, {"coefficients", bgv::Packing::coefficients}}}};

template <>
inline constexpr Choice<ckks::Packing, 3, EncodingError> choice<ckks::Packing>{
    "packing",
    {{{"complex", ckks::Packing::complex},
      {"real", ckks::Packing::real},
      {"coefficients", ckks::Packing::coefficients}}}};

}  // namespace whorl::python
