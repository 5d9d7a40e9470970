// The literal of CKKS's parameters in frames.
#pragma once

#include <tuple>

#include "io/native/codec.h"
#include "io/native/tagged.h"
#include "whorl/ckks/parameters.h"

namespace whorl::io {

template <>
struct StructFields<ckks::BootstrapLiteral> {
  using Shape = ckks::BootstrapLiteral;
  static constexpr std::tuple fields{
      Field{1, "bootstrap.weight", &Shape::weight},
      Field{2, "bootstrap.range", &Shape::range},
      Field{3, "bootstrap.slots_to_coeffs", &Shape::slots_to_coeffs},
      Field{4, "bootstrap.coeffs_to_slots", &Shape::coeffs_to_slots},
      Field{5, "bootstrap.degree", &Shape::degree},
      Field{6, "bootstrap.doublings", &Shape::doublings},
      Field{7, "bootstrap.log2_ratio", &Shape::log2_ratio},
      Field{8, "bootstrap.series", &Shape::series},
      Field{9, "bootstrap.arcsine", &Shape::arcsine},
      Field{10, "bootstrap.coefficients_last", &Shape::coefficients_last},
      Field{11, "bootstrap.bits", &Shape::bits}};
};

/// Levels are pairs of u32: terminals, mains.
template <>
struct LiteralCodec<ckks::Parameters> {
  using Literal = ckks::ParameterLiteral;
  static constexpr std::tuple fields{Field{1, "N", &Literal::N},
                                     Field{2, "chain", &Literal::chain, max_list},
                                     Field{3, "terminals", &Literal::terminals},
                                     Field{4, "levels", &Literal::levels, max_list},
                                     Field{5, "special", &Literal::special, max_list},
                                     Field{6, "digit_limbs", &Literal::digit_limbs},
                                     Field{7, "sigma", &Literal::sigma},
                                     Field{8, "log2_scale", &Literal::log2_scale},
                                     Field{9, "name", &Literal::name, max_name_bytes},
                                     Field{10, "bootstrap", &Literal::bootstrap}};
};

}  // namespace whorl::io
