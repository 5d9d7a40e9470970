#include "rotation.cuh"

namespace whorl::tune {

void tune_rotation(Tuner& tuner) {
  tune_rotation_fft_narrow(tuner);
  tune_rotation_fft_wide(tuner);
  tune_rotation_fft_one_digit(tuner);
  tune_rotation_ntt_32(tuner);
  tune_rotation_ntt_64(tuner);
}

}  // namespace whorl::tune
