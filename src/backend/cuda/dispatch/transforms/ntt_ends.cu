// Transforms that convert, divide or multiply besides.
#include <cstdint>

#include "backend/cuda/dispatch/transforms/ntt_launches.cuh"
#include "backend/cuda/dispatch/transforms/ntt_rows.h"

namespace whorl::backend::cuda {

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
    launches.launch[0] =
        division != nullptr
            ? converting_launch<Word, NttEnds::converts_and_divides>(limbs.N, largest)
            : converting_launch<Word, NttEnds::converts>(limbs.N, largest);
  } else {
    launches = choose_ntt<Word>(many, limbs.N, true, largest);
    launches.launch[launches.count - 1] = dividing_launch<Word>(many, limbs.N, largest);
  }
  for_row_launches<Word>(limbs.forward, selection, batch, {in.data, in.stride, in.first}, out,
                         [&](NttArguments<Word>& arguments, std::size_t rows) {
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
                             launches.launch[0](stream, batch, first, rows, selection.parts);
                           }
                           launches.launch[launches.count - 1](stream, batch, arguments, rows,
                                                               selection.parts);
                         });
}

template <class Word>
void intt_rows_of_products(const Stream& stream, const NttLimbs<Word>& limbs,
                           const NttSelection& selection, std::size_t batch,
                           const NttProduct<Word>& product, RowsOf<Word> out) {
  if (batch == 0) return;
  const CurrentGpu current(stream.gpu().ordinal);
  const Many many(stream, selection.parts * selection.rows * batch);
  const Word largest = largest_modulus(limbs.inverse, selection);
  Launches<NttArguments<Word>> launches = choose_ntt<Word>(many, limbs.N, false, largest);
  launches.launch[0] = multiplying_launch<Word>(many, limbs.N, largest);
  for_row_launches<Word>(limbs.inverse, selection, batch, {out.data, out.stride, out.first}, out,
                         [&](NttArguments<Word>& arguments, std::size_t rows) {
                           arguments.product = product;
                           launch_all(stream, launches, batch, rows, selection.parts, arguments);
                         });
}

#define WHORL_INSTANTIATE(Word)                                                                    \
  template bool may_convert<Word>(const Stream&, std::uint32_t, std::size_t);                      \
  template void ntt_rows_with(const Stream&, const NttLimbs<Word>&, const NttSelection&,           \
                              std::size_t, RowsOf<Word>, RowsOf<Word>, const NttConversion<Word>*, \
                              const NttDivision<Word>*);                                           \
  template void intt_rows_of_products(const Stream&, const NttLimbs<Word>&, const NttSelection&,   \
                                      std::size_t, const NttProduct<Word>&, RowsOf<Word>);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)
#undef WHORL_INSTANTIATE

}  // namespace whorl::backend::cuda
