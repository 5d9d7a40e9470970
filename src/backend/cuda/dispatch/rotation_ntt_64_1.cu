#include "backend/cuda/dispatch/rotation_ntt_launch.cuh"

namespace whorl::backend::cuda {

template void launch_rotate_ntt<1>(const Stream&, const NttKeyArrays<std::uint64_t>&, BlindRotation,
                                   const RotationBatch<std::uint64_t>&);

}  // namespace whorl::backend::cuda
