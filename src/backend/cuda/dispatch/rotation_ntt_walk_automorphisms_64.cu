#include "backend/cuda/dispatch/rotation_ntt_walk.cuh"

namespace whorl::backend::cuda {

template void launch_rotate_ntt_walk<1, true>(const Stream&, const NttWalkArrays<std::uint64_t>&,
                                              const RotationBatch<std::uint64_t>&);

}  // namespace whorl::backend::cuda
