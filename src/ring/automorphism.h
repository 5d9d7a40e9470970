// X -> X^g on polynomials in either form.
#pragma once

#include <cstdint>
#include <vector>

namespace whorl::ring {

/// ParameterError unless N is a ring dimension and g odd and below 2N.
void check_exponent(std::uint32_t N, std::uint32_t g);

/// Value j of a(X^g) in the order of NttPlan is value [j] of a. ParameterError unless g is odd and
/// below 2N.
std::vector<std::uint32_t> evaluation_permutation(std::uint32_t N, std::uint32_t g);

/// Coefficient j of a goes to coefficient [j] mod N of a(X^g), negated if [j] >= N.
std::vector<std::uint32_t> coefficient_permutation(std::uint32_t N, std::uint32_t g);

}  // namespace whorl::ring
