#include "backend/cuda/dispatch/rotation_fft_launch.cuh"

namespace whorl::backend::cuda {

void launch_rotate_fft_coarse(const Stream& stream, const FftKeyArrays& key, BlindRotation way,
                              const RotationBatch<std::uint64_t>& batch) {
  dispatch_rotate_fft<true, true>(stream, key, way, batch);
}

}  // namespace whorl::backend::cuda
