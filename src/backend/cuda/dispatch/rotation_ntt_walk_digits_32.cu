#include "backend/cuda/dispatch/rotation_ntt_walk.cuh"

namespace whorl::backend::cuda {

template void launch_rotate_ntt_walk<1, false>(const Stream&, const NttWalkArrays<std::uint32_t>&,
                                               const RotationBatch<std::uint32_t>&);

}  // namespace whorl::backend::cuda
