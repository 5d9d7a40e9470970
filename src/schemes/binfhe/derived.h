// What follows from parameters inside the library: gadgets, word size, encodings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ring/gadget.h"
#include "whorl/binfhe/parameters.h"
#include "whorl/error.h"

namespace whorl::binfhe {

/// Whether the ring modulus is computed with in 32-bit words.
inline bool narrow(const Parameters& parameters) { return parameters.Q() < (1ULL << 31); }

ring::Gadget switch_gadget(const Parameters& parameters);
/// One gadget per LWE coefficient.
std::vector<ring::Gadget> rotation_gadgets(const Parameters& parameters);

/// round(message·modulus/sectors) mod modulus: where a message sits in Z_modulus.
inline std::uint64_t encode(std::uint64_t message, Encoding encoding, std::uint64_t modulus) {
  using Wide = unsigned __int128;
  const Wide sectors = encoding.sectors();
  return static_cast<std::uint64_t>((Wide{message} * modulus * 2 + sectors) / (2 * sectors) %
                                    modulus);
}

/// EncodingError unless 2 <= p and every sector has at least 4 units of Z_2N and of Z_q.
inline void check_encoding(const Parameters& parameters, Encoding encoding) {
  const std::uint64_t most = std::min<std::uint64_t>(2ULL * parameters.N(), parameters.q()) / 4 /
                             (encoding.padding ? 2 : 1);
  if (encoding.p < 2 || encoding.p > most)
    throw EncodingError("plaintext modulus p = " + std::to_string(encoding.p) +
                        (encoding.padding ? " with padding" : "") + " is not in 2 … " +
                        std::to_string(most) + " of " + parameters.name());
}

}  // namespace whorl::binfhe
