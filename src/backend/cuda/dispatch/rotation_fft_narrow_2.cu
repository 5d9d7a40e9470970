#include "backend/cuda/dispatch/rotation_fft_launch.cuh"

namespace whorl::backend::cuda {

template void launch_rotate_fft<2, false, false>(const Stream&, const FftKeyArrays&, BlindRotation,
                                                 const RotationBatch<std::uint32_t>&);

}  // namespace whorl::backend::cuda
