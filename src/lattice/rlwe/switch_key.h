// Switching keys: which ones, and as they travel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

/// The source of a switching key: s(X^g)^power, where s is the secret of the key or another secret.
struct SwitchSource {
  std::uint32_t g = 1;
  unsigned power = 1;
};

/// Lists the sources of keys for products of up to `parts` parts, 2 … 8 (ParameterError; 2 takes no
/// key), and for automorphisms, each once; g = 1 takes no key.
std::vector<SwitchSource> switch_sources(unsigned parts, std::vector<std::uint32_t> automorphisms);
/// The layout of keys over all primes, which follow one another: digits of `digit_limbs` primes.
ring::KeyLayout usual_layout(unsigned limbs, unsigned special, unsigned digit_limbs);
/// Bytes of a switching key as it travels.
std::size_t switch_key_bytes(std::uint32_t N, unsigned digits, unsigned rows, unsigned word_bytes);

}  // namespace whorl::lattice::rlwe
