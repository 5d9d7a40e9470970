// Plaintext moduli that pack vectors in slots.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace whorl::bgv {

/// Whether t is a prime below 2^31 that is 1 mod 2N: X^N + 1 has N roots modulo t, one a slot
/// (Smart and Vercauteren, 2014).
bool has_slots(std::uint64_t t, std::uint32_t N);

inline constexpr const char* none_near = "no t near it serves";
/// Names to people the nearest moduli below and above `t` that have slots in a ring of dimension N,
/// and for which `serves` is true, if it is given; or none_near. At most 16 on either side are
/// tried.
std::string nearest_with_slots(std::uint64_t t, std::uint32_t N,
                               const std::function<bool(std::uint64_t)>& serves = {});

}  // namespace whorl::bgv
