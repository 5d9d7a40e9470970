#include "whorl/version.h"

#include "backend/cpu/kernels.h"

namespace whorl {

std::string_view version() { return WHORL_VERSION; }

std::string cpu_target() { return backend::cpu::simd_name(); }

}  // namespace whorl
