#include "backend/cuda/dispatch/fft_bundles.cuh"

namespace whorl::backend::cuda {

template void launch_make_fft_bundles<BundleForm::block, true>(const Stream&, const FftKeyArrays&,
                                                               const std::uint32_t*, std::uint32_t,
                                                               std::uint32_t, double2*);

}  // namespace whorl::backend::cuda
