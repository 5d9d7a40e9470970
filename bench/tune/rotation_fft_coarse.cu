#include "rotation_fft.cuh"

namespace whorl::tune {

void tune_rotation_fft_coarse(Tuner& tuner) {
  tune_rotation_fft<true, true>(tuner, "coarse", 48, {23, 23}, {1, 1});
}

}  // namespace whorl::tune
