#include "rotation_ntt.cuh"

namespace whorl::tune {

void tune_rotation_ntt_32(Tuner& tuner) { tune_rotation_ntt<std::uint32_t>(tuner, 27, 8); }

}  // namespace whorl::tune
