#include "whorl/version.h"

#include "ring/host/kernels.h"

namespace whorl {

std::string_view version() { return WHORL_VERSION; }

std::string cpu_target() { return ring::simd_name(); }

}  // namespace whorl
