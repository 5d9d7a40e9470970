#include "backend/cuda/dispatch/rotation_ntt_launch.cuh"

namespace whorl::backend::cuda {

template void launch_rotate_ntt<2>(const Stream&, const NttKeyArrays<std::uint32_t>&, BlindRotation,
                                   const RotationBatch<std::uint32_t>&);

}  // namespace whorl::backend::cuda
