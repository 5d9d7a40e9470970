// Gates on messages in clear.
#pragma once

#include <cstdint>

#include "whorl/binfhe/server.h"

namespace whorl::test {

/// A gate's bit, where so many of its inputs are 1. XOR and XNOR take any sum.
inline std::uint32_t truth(binfhe::Gate gate, std::uint32_t ones) {
  using binfhe::Gate;
  switch (gate) {
    case Gate::and_:
      return ones == 2;
    case Gate::nand:
      return ones != 2;
    case Gate::or_:
    case Gate::or3:
    case Gate::or4:
      return ones > 0;
    case Gate::nor:
      return ones == 0;
    case Gate::xor_:
      return ones % 2;
    case Gate::xnor:
      return 1 - ones % 2;
    case Gate::majority:
      return ones >= 2;
    case Gate::and3:
      return ones == 3;
    case Gate::and4:
      return ones == 4;
  }
  return 2;  // none of them
}

}  // namespace whorl::test
