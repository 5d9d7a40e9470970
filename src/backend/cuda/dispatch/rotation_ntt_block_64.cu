#include "backend/cuda/dispatch/rotation_ntt_unrolled.cuh"

namespace whorl::backend::cuda {

template void launch_rotate_ntt_unrolled<BundleForm::block>(const Stream&,
                                                            const NttKeyArrays<std::uint64_t>&,
                                                            const RotationBatch<std::uint64_t>&);

}  // namespace whorl::backend::cuda
