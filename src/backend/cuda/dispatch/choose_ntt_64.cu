#include "backend/cuda/dispatch/choose_ntt.cuh"

namespace whorl::backend::cuda {

template Launches<NttArguments<std::uint64_t>> choose_ntt<std::uint64_t, true>(Many, std::uint32_t,
                                                                               std::uint64_t);
template Launches<NttArguments<std::uint64_t>> choose_ntt<std::uint64_t, false>(Many, std::uint32_t,
                                                                                std::uint64_t);

}  // namespace whorl::backend::cuda
