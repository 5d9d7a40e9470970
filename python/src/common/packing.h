// Names of BGV's packings.
#pragma once

#include "bindings.h"
#include "whorl/bgv/ciphertexts.h"

namespace whorl::python {

template <>
struct Choice<bgv::Packing> {
  using Error = EncodingError;
  static constexpr const char* field = "packing";
  static constexpr std::pair<const char*, bgv::Packing> names[] = {
      {"slots", bgv::Packing::slots}, {"coefficients", bgv::Packing::coefficients}};
};

}  // namespace whorl::python
