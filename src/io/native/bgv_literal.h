// The literal of BGV's parameters in frames.
#pragma once

#include <tuple>

#include "io/native/codec.h"
#include "whorl/bgv/parameters.h"

namespace whorl::io {

template <>
struct LiteralCodec<bgv::Parameters> {
  using Literal = bgv::ParameterLiteral;
  static constexpr std::tuple fields{Field{1, "N", &Literal::N},
                                     Field{2, "t", &Literal::t},
                                     Field{3, "chain", &Literal::chain, max_list},
                                     Field{4, "special", &Literal::special, max_list},
                                     Field{5, "digit_limbs", &Literal::digit_limbs},
                                     Field{6, "sigma", &Literal::sigma},
                                     Field{7, "depth", &Literal::depth},
                                     Field{8, "name", &Literal::name, max_name_bytes},
                                     Field{9, "plain_products", &Literal::plain_products}};
};

}  // namespace whorl::io
