// Forward transforms that convert or divide besides.
#include <cstdint>

#include "backend/cuda/dispatch/ntt_launches.cuh"
#include "backend/cuda/dispatch/ntt_rows.h"
#include "backend/cuda/kernels/ntt_ends.cuh"

namespace whorl::backend::cuda {

namespace {

/// The last kernel of a forward transform.
template <class Word, int headroom, class Tuning, class Ends>
Launch<NttArguments<Word>> last_launch() {
  constexpr int last = Tuning::shape.kernels - 1;
  return Launch<NttArguments<Word>>::template of<Tuning::shape.kernel[last], Word>(
      ntt_kernel<Word, headroom, TunedKernel<Tuning, last>, Ends>, "ntt_kernel with ends");
}

/// The one kernel of few transforms, for N of which there is such a kernel.
template <class Word, class Ends>
Launch<NttArguments<Word>> converting_launch(std::uint32_t N, Word q) {
  return for_headroom(q, [&]<int headroom>() {
    return for_size(N, [&]<int log_n>() -> Launch<NttArguments<Word>> {
      if constexpr (few_ntt_cluster<sizeof(Word)>(log_n) > 0)
        return last_launch<Word, headroom, FewNttTuning<sizeof(Word), log_n>, Ends>();
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

}  // namespace

template <class Word>
bool may_convert(const Stream& stream, std::uint32_t N, std::size_t transforms) {
  const Many many(stream, transforms);
  return many.clusters && many.few &&
         for_size(N, [&]<int log_n>() { return few_ntt_cluster<sizeof(Word)>(log_n) > 0; });
}

template <class Word>
void ntt_rows_with(const Stream& stream, const NttLimbs<Word>& limbs, const NttSelection& selection,
                   std::size_t batch, RowsOf<Word> in, RowsOf<Word> out,
                   const NttConversion<Word>* conversion, const NttDivision<Word>* division) {
  if (batch == 0) return;
  const CurrentGpu current(stream.gpu().ordinal);
  const Many many(stream, selection.parts * selection.rows * batch);
  const Word largest = largest_modulus(limbs.forward, selection);
  Launches<NttArguments<Word>> launches{1, {}};
  if (conversion != nullptr) {
    launches.launch[0] = division != nullptr
                             ? converting_launch<Word, NttEnds<true, true>>(limbs.N, largest)
                             : converting_launch<Word, NttEnds<true, false>>(limbs.N, largest);
  } else {
    launches = choose_ntt<Word>(many, limbs.N, true, largest);
    launches.launch[launches.count - 1] = dividing_launch<Word>(many, limbs.N, largest);
  }
  for_row_launches<Word>(limbs.forward, selection, batch, {in.data, in.stride, in.first}, out,
                         [&](NttArguments<Word>& arguments, std::size_t grid_rows) {
                           if (conversion != nullptr) {
                             arguments.conversion = *conversion;
                             arguments.places.in_first = static_cast<std::uint32_t>(in.first);
                           }
                           if (division != nullptr) arguments.division = *division;
                           if (launches.count == 2) {
                             // `out` may have something to be added to: the first stays in its
                             // place.
                             NttArguments<Word> first = arguments;
                             first.out = in.data;
                             first.places.out_first = first.places.in_first;
                             first.places.out_stride = first.places.in_stride;
                             launches.launch[0](stream, batch, static_cast<unsigned>(grid_rows),
                                                first);
                           }
                           launches.launch[launches.count - 1](
                               stream, batch, static_cast<unsigned>(grid_rows), arguments);
                         });
}

#define WHORL_INSTANTIATE(Word)                                                                    \
  template bool may_convert<Word>(const Stream&, std::uint32_t, std::size_t);                      \
  template void ntt_rows_with(const Stream&, const NttLimbs<Word>&, const NttSelection&,           \
                              std::size_t, RowsOf<Word>, RowsOf<Word>, const NttConversion<Word>*, \
                              const NttDivision<Word>*);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)
#undef WHORL_INSTANTIATE

}  // namespace whorl::backend::cuda
