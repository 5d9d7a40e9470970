#include "backend/cuda/dispatch/ntt_ends.cuh"

namespace whorl::backend::cuda {

template Launch<NttArguments<std::uint32_t>> converting_launch<std::uint32_t, true>(std::uint32_t,
                                                                                    std::uint32_t);
template Launch<NttArguments<std::uint32_t>> converting_launch<std::uint32_t, false>(std::uint32_t,
                                                                                     std::uint32_t);

}  // namespace whorl::backend::cuda
