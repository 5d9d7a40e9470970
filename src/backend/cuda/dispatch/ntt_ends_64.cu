#include "backend/cuda/dispatch/ntt_ends.cuh"

namespace whorl::backend::cuda {

template Launch<NttArguments<std::uint64_t>> converting_launch<std::uint64_t, true>(std::uint32_t,
                                                                                    std::uint64_t);
template Launch<NttArguments<std::uint64_t>> converting_launch<std::uint64_t, false>(std::uint32_t,
                                                                                     std::uint64_t);
template Launch<NttArguments<std::uint64_t>> dividing_launch(Many, std::uint32_t, std::uint64_t);
template Launch<NttArguments<std::uint64_t>> multiplying_launch(Many, std::uint32_t, std::uint64_t);

}  // namespace whorl::backend::cuda
