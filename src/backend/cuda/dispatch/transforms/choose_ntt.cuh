// Kernels of plain transforms, without conversion or division. The file of each word and direction
// includes this.
#pragma once

#include <utility>

#include "backend/cuda/dispatch/transforms/ntt_launches.cuh"

namespace whorl::backend::cuda {

template <class Word, int headroom, class Tuning, Direction direction>
Launches<NttArguments<Word>> ntt_launches() {
  using L = Launch<NttArguments<Word>>;
  constexpr TransformShape shape = Tuning::shape;
  Launches<NttArguments<Word>> out{shape.kernels, {}};
  [&]<int... i>(std::integer_sequence<int, i...>) {
    if constexpr (direction == Direction::forward)
      ((out.launch[i] = L::template of<shape.kernel[i], Word>(
            ntt_kernel<Word, headroom, TunedKernel<Tuning, i>>, "ntt_kernel")),
       ...);
    else
      ((out.launch[shape.kernels - 1 - i] = L::template of<shape.kernel[i], Word>(
            intt_kernel<Word, headroom, TunedKernel<Tuning, i>>, "intt_kernel")),
       ...);
  }
  (std::make_integer_sequence<int, shape.kernels>());
  return out;
}

template <class Word, Direction direction>
Launches<NttArguments<Word>> choose_ntt(Many many, std::uint32_t N, Word q) {
  return for_tuning(many, N, q, [&]<int headroom, class Tuning>() {
    return ntt_launches<Word, headroom, Tuning, direction>();
  });
}

}  // namespace whorl::backend::cuda
