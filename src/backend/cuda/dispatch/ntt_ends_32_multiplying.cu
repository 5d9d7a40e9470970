#include "backend/cuda/dispatch/ntt_ends.cuh"

namespace whorl::backend::cuda {

template Launch<NttArguments<std::uint32_t>> multiplying_launch(Many, std::uint32_t, std::uint32_t);

}  // namespace whorl::backend::cuda
