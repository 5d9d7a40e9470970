#include "backend/cuda/dispatch/rotation_fft_launch.cuh"

namespace whorl::backend::cuda {

template void launch_rotate_fft<1, true, false>(const Stream&, const FftKeyArrays&, BlindRotation,
                                                const RotationBatch<std::uint64_t>&);

}  // namespace whorl::backend::cuda
