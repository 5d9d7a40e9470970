#include "rotation_fft.cuh"

namespace whorl::tune {

void tune_rotation_fft_wide(Tuner& tuner) {
  tune_rotation_fft<FftWords::wide>(tuner, "wide", 50, {25, 25}, {2, 2});
}

}  // namespace whorl::tune
