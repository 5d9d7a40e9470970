// What servers and clients of integers have in common.
#pragma once

#include <cstdint>
#include <string>

#include "whorl/circuits/binfhe/integers.h"

namespace whorl::integers {

/// The range of bits that count 8, which tells clients that they are such.
inline constexpr binfhe::MessageRange flag_range{0, 8};

/// `each` digits for every integer of a shape. ShapeError, which begins with `which`, for more than
/// most_axes axes, or 2^32 digits or more.
std::uint64_t shape_size(const Shape& shape, std::uint64_t each, const std::string& which = {});

/// ParameterError, which begins with `which`, unless there are 1 … 256 bits.
void check_kind(const Kind& kind, const std::string& which = {});

}  // namespace whorl::integers
