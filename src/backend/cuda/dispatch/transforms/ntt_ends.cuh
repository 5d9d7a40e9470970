// Kernels of transforms that also convert, divide or multiply. The file of each kind includes this.
#pragma once

#include <cstdint>

#include "backend/cuda/dispatch/transforms/ntt_launches.cuh"
#include "backend/cuda/kernels/ntt_ends.cuh"

namespace whorl::backend::cuda {

/// The last kernel of a forward transform.
template <class Word, int headroom, class Tuning, NttEnds ends>
Launch<NttArguments<Word>> last_launch() {
  constexpr int last = Tuning::shape.kernels - 1;
  return Launch<NttArguments<Word>>::template of<Tuning::shape.kernel[last], Word>(
      ntt_kernel<Word, headroom, TunedKernel<Tuning, last>, ends>, "ntt_kernel with ends");
}

template <class Word, NttEnds ends>
Launch<NttArguments<Word>> converting_launch(std::uint32_t N, Word q) {
  return for_headroom(q, [&]<int headroom>() {
    return for_size(N, [&]<int log_n>() -> Launch<NttArguments<Word>> {
      if constexpr (few_ntt_cluster<sizeof(Word)>(log_n) > 0)
        return last_launch<Word, headroom, FewNttTuning<sizeof(Word), log_n>, ends>();
      else
        return {};
    });
  });
}
template <class Word>
Launch<NttArguments<Word>> dividing_launch(Many many, std::uint32_t N, Word q) {
  return for_tuning(many, N, q, [&]<int headroom, class Tuning>() {
    return last_launch<Word, headroom, Tuning, NttEnds::divides>();
  });
}
template <class Word>
Launch<NttArguments<Word>> multiplying_launch(Many many, std::uint32_t N, Word q) {
  return for_tuning(many, N, q, [&]<int headroom, class Tuning>() {
    constexpr int last = Tuning::shape.kernels - 1;
    return Launch<NttArguments<Word>>::template of<Tuning::shape.kernel[last], Word>(
        intt_kernel<Word, headroom, TunedKernel<Tuning, last>, InttInput::products>,
        "intt_kernel of products");
  });
}

}  // namespace whorl::backend::cuda
