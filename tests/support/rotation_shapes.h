// Shapes of blind-rotation keys for tests of the backend, which know nothing of
// lattice::lwe::RotationMethod; a test of that compares the two.
#pragma once

#include "support/test.h"

namespace whorl::test {

/// GINX: a step for each gadget, of `keys` keys with the digits of a and of b.
inline backend::RotationShape ginx_shape(std::uint32_t N, std::uint64_t Q, unsigned keys,
                                         std::vector<ring::Gadget> gadgets,
                                         backend::Arithmetic arithmetic) {
  backend::RotationShape shape;
  shape.n = static_cast<std::uint32_t>(gadgets.size());
  shape.N = N;
  shape.Q = Q;
  shape.keys = keys;
  shape.arithmetic = arithmetic;
  shape.step_keys.assign(shape.n, keys);
  shape.first_row = {0};
  for (const ring::Gadget& gadget : gadgets)
    shape.first_row.push_back(shape.first_row.back() + std::size_t{2} * keys * gadget.digits());
  shape.row_count = shape.first_row.back();
  shape.gadgets = std::move(gadgets);
  return shape;
}

}  // namespace whorl::test
