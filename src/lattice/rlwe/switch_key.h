// A switching key as it travels.
#pragma once

#include <cstdint>

#include "ring/basis.h"
#include "whorl/common.h"
#include "whorl/word_array.h"

namespace whorl::lattice::rlwe {

/// Bodies (digits, rows, N) of a switching key from s(X^g)^power to s, in evaluation form; the
/// uniform halves are key_uniform's.
struct SwitchKeyData {
  std::uint32_t g = 1;
  unsigned power = 1;
  Seed seed{};
  WordArray b;
  ring::KeyLayout layout = {};  ///< without digits: the plan's usual one
};

}  // namespace whorl::lattice::rlwe
