// Digits of polynomials modulo one prime: how they are launched.
#include <algorithm>

#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/rns/rns.h"
#include "backend/cuda/kernels/rns_digits.cuh"

namespace whorl::backend::cuda {

template <class Word>
void decompose(const Stream& stream, const CudaRnsTables<Word>& tables, const ring::Basis& basis,
               const ring::Gadget& gadget, std::size_t parts, std::size_t batch, const Word* in,
               Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const DigitFields<Word> rule(gadget);
  const std::size_t row = batch * tables.plan().N();
  const auto coefficients = stream.allocate<Word>(parts * row);
  rns_transform(stream, tables, basis, false, parts, batch, in, coefficients.data());

  DigitArguments<Word> a = {};
  a.q = rule.q;
  a.above = rule.above;
  a.raise = rule.raise;
  a.digits = rule.digits;
  for (unsigned j = 0; j < rule.digits; ++j)
    a.field[j] = {rule.mask(j), rule.less(j), rule.shift(j)};
  a.parts = parts;
  a.row = row / rns_width<Word>;
  a.in = coefficients.data();
  a.out = out;
  // Enough blocks to fill the GPU several times over; threads go on in strides.
  const std::size_t most = 64 * stream.gpu().multiprocessors,
                    rows = std::min<std::size_t>(parts, most),
                    pieces = (a.row + digit_threads - 1) / digit_threads,
                    blocks = std::min(pieces, std::max<std::size_t>(1, most / rows));
  launch_chained(stream, "decompose_rows", decompose_rows<Word>,
                 {dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(rows)), digit_threads},
                 a);

  rns_transform<Word>(stream, tables, basis, true, parts * rule.digits, batch, out, out);
}

#define WHORL_INSTANTIATE(Word)                                                          \
  template void decompose(const Stream&, const CudaRnsTables<Word>&, const ring::Basis&, \
                          const ring::Gadget&, std::size_t, std::size_t, const Word*, Word*);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)
#undef WHORL_INSTANTIATE

}  // namespace whorl::backend::cuda
