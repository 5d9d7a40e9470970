#include "backend/cuda/dispatch/rotation_ntt_unrolled.cuh"

namespace whorl::backend::cuda {

template void launch_rotate_ntt_unrolled<BundleForm::all>(const Stream&,
                                                          const NttKeyArrays<std::uint32_t>&,
                                                          const RotationBatch<std::uint32_t>&);

}  // namespace whorl::backend::cuda
