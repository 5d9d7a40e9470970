#include "rotation_fft.cuh"

namespace whorl::tune {

void tune_rotation_fft_one_digit(Tuner& tuner) {
  tune_rotation_fft<FftWords::one_digit>(tuner, "one digit a step", 48, {23, 23}, {1, 1});
}

}  // namespace whorl::tune
