#include "rotation_fft.cuh"

namespace whorl::tune {

void tune_rotation_fft_narrow(Tuner& tuner) {
  tune_rotation_fft<FftWords::narrow>(tuner, "narrow", 27, {8, 9}, {2, 3});
}

}  // namespace whorl::tune
