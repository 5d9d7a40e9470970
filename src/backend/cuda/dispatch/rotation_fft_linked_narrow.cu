#include "backend/cuda/dispatch/rotation_fft_linked.cuh"

namespace whorl::backend::cuda {

template bool linked_fits<false, false>(const Stream&, const FftKeyArrays&);
template void launch_rotate_fft_linked<false, false>(const Stream&, const FftKeyArrays&,
                                                     BlindRotation,
                                                     const RotationBatch<std::uint32_t>&);

}  // namespace whorl::backend::cuda
