// Kernels of forward transforms that also convert or divide. The file of each kind includes this.
#pragma once

#include <cstdint>

#include "backend/cuda/dispatch/ntt_launches.cuh"
#include "backend/cuda/kernels/ntt_ends.cuh"

namespace whorl::backend::cuda {

/// The last kernel of a forward transform.
template <class Word, int headroom, class Tuning, class Ends>
Launch<NttArguments<Word>> last_launch() {
  constexpr int last = Tuning::shape.kernels - 1;
  return Launch<NttArguments<Word>>::template of<Tuning::shape.kernel[last], Word>(
      ntt_kernel<Word, headroom, TunedKernel<Tuning, last>, Ends>, "ntt_kernel with ends");
}

template <class Word, bool divides>
Launch<NttArguments<Word>> converting_launch(std::uint32_t N, Word q) {
  return for_headroom(q, [&]<int headroom>() {
    return for_size(N, [&]<int log_n>() -> Launch<NttArguments<Word>> {
      if constexpr (few_ntt_cluster<sizeof(Word)>(log_n) > 0)
        return last_launch<Word, headroom, FewNttTuning<sizeof(Word), log_n>,
                           NttEnds<true, divides>>();
      else
        return {};
    });
  });
}
template <class Word>
Launch<NttArguments<Word>> dividing_launch(Many many, std::uint32_t N, Word q) {
  using Ends = NttEnds<false, true>;
  return for_headroom(q, [&]<int headroom>() {
    return for_size(N, [&]<int log_n>() {
      if constexpr (few_ntt_cluster<sizeof(Word)>(log_n) > 0)
        if (many.clusters && many.few)
          return last_launch<Word, headroom, FewNttTuning<sizeof(Word), log_n>, Ends>();
      using With = typename NttTuning<sizeof(Word), log_n, true>::Canonical;
      using Without = typename NttTuning<sizeof(Word), log_n, false>::Canonical;
      return many.clusters ? last_launch<Word, headroom, With, Ends>()
                           : last_launch<Word, headroom, Without, Ends>();
    });
  });
}

}  // namespace whorl::backend::cuda
