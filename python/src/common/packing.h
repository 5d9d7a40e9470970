// Names of BGV's packings.
#pragma once

#include "bindings.h"
#include "whorl/bgv/ciphertexts.h"

namespace whorl::python {

template <>
inline constexpr Choice<bgv::Packing, 2, EncodingError> choice<bgv::Packing>{
    "packing", {{{"slots", bgv::Packing::slots}, {"coefficients", bgv::Packing::coefficients}}}};

}  // namespace whorl::python
