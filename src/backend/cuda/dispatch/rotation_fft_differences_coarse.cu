#include "backend/cuda/dispatch/rotation_fft_unrolled.cuh"

namespace whorl::backend::cuda {

template void launch_rotate_fft_unrolled<BundleForm::differences, true, true>(
    const Stream&, const FftKeyArrays&, const RotationBatch<std::uint64_t>&);

}  // namespace whorl::backend::cuda
