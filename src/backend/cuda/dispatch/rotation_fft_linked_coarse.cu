#include "backend/cuda/dispatch/rotation_fft_linked.cuh"

namespace whorl::backend::cuda {

template bool linked_fits<true, true>(const Stream&, const FftKeyArrays&);
template void launch_rotate_fft_linked<true, true>(const Stream&, const FftKeyArrays&,
                                                   BlindRotation,
                                                   const RotationBatch<std::uint64_t>&);

}  // namespace whorl::backend::cuda
