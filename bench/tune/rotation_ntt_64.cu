#include "rotation_ntt.cuh"

namespace whorl::tune {

void tune_rotation_ntt_64(Tuner& tuner) { tune_rotation_ntt<std::uint64_t>(tuner, 50, 25); }

}  // namespace whorl::tune
