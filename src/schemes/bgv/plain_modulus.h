// Plaintext moduli that pack vectors in slots.
#pragma once

#include <cstdint>
#include <string>

namespace whorl::bgv {

/// Whether t is a prime below 2^31 that is 1 mod 2N: X^N + 1 has N roots modulo t, one a slot
/// (Smart and Vercauteren, 2014).
bool has_slots(std::uint64_t t, std::uint32_t N);

/// For people: the nearest below and above `t` that have slots in a ring of dimension N.
std::string nearest_with_slots(std::uint64_t t, std::uint32_t N);

}  // namespace whorl::bgv
