#include "backend/cuda/dispatch/rotation_fft_walk.cuh"

namespace whorl::backend::cuda {

template void launch_rotate_fft_walk<true, false, false>(const Stream&, const FftKeyArrays&,
                                                         const WalkTables&,
                                                         const RotationBatch<std::uint64_t>&);

}  // namespace whorl::backend::cuda
