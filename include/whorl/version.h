// The version of Whorl, and the vector instructions that it uses.
#pragma once

#include <string>
#include <string_view>

namespace whorl {

/// Version of the linked library, "major.minor.patch".
std::string_view version();

/// Vector instructions in use, by Highway's names: "AVX3" (AVX-512), "AVX2", else "EMU128" or
/// "SCALAR".
std::string cpu_target();

}  // namespace whorl
