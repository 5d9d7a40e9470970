#include "backend/cuda/dispatch/rotation_fft_unrolled.cuh"

namespace whorl::backend::cuda {

template void launch_rotate_fft_unrolled<BundleForm::block, true, false>(
    const Stream&, const FftKeyArrays&, const RotationBatch<std::uint64_t>&);
template std::uint32_t unrolled_at_once<BundleForm::block, true, false>(const Stream&,
                                                                        const FftKeyArrays&);

}  // namespace whorl::backend::cuda
