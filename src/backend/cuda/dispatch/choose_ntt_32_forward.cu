#include "backend/cuda/dispatch/choose_ntt.cuh"

namespace whorl::backend::cuda {

template Launches<NttArguments<std::uint32_t>> choose_ntt<std::uint32_t, true>(Many, std::uint32_t,
                                                                               std::uint32_t);

}  // namespace whorl::backend::cuda
