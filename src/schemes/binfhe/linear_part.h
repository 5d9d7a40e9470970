// Tables of one rotation without padding: what is rotated, and what is added to it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "whorl/binfhe/lut.h"

namespace whorl::binfhe {

/// A linear part of a table: f(x)/S' = g(x) + weight·x/p + constant on the circle of reals modulo
/// 1, where S' are the output's sectors and g is negacyclic, g(x + p/2) = -g(x). So (f(x) + f(x +
/// p/2))/S' = 2·weight·x/p + weight/2 + 2·constant.
struct LinearPart {
  std::int32_t weight;
  std::uint64_t first;  ///< f(0) + f(p/2)
};

/// The linear part with the least |weight|, or none. p·rise/(2S') has to be an integer, where
/// `rise` is what f(x) + f(x + p/2) rises by from x to x + 1.
std::optional<LinearPart> linear_part(std::span<const std::uint32_t> values, Encoding input,
                                      Encoding output);

/// round(Q·g(x)) modulo Q; of a negacyclic table round(Q·f(x)/S').
std::uint64_t rotated_value(const Lut& lut, std::uint64_t x, std::uint64_t Q);
/// round(Q·constant) modulo Q, which is 0 of tables of other kinds.
std::uint64_t added_constant(const Lut& lut, std::uint64_t Q);

}  // namespace whorl::binfhe
