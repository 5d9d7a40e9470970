// Products of ciphertexts with sums that masks choose: which kernel for how many.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/rns/rns.h"
#include "backend/cuda/kernels/rns_masked.cuh"
#include "backend/cuda/tuning/rns.h"
#include "whorl/error.h"

namespace whorl::backend::cuda {

namespace {

template <unsigned groups, bool lazy, class Word>
void launch(const Stream& stream, const MaskedArguments<Word>& a, std::size_t rows) {
  constexpr unsigned threads = tuning::masked_threads<Word>;
  const std::size_t blocks = a.row / threads;
  if (blocks > std::numeric_limits<std::int32_t>::max())
    throw ShapeError("masked_tensors: rows of " + std::to_string(a.row) +
                     " values are more than one launch makes");
  launch_chained(stream, "masked_tensors", masked_tensors<Word, threads, groups, lazy>,
                 {dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(rows)), threads}, a);
}

template <bool lazy, class Word>
void launch_for(const Stream& stream, const MaskedArguments<Word>& a, std::size_t rows) {
  if (a.lows <= 4)
    launch<1, lazy>(stream, a, rows);
  else if (a.lows <= 8)
    launch<2, lazy>(stream, a, rows);
  else
    launch<4, lazy>(stream, a, rows);
}

}  // namespace

template <class Word>
void masked_tensors(const Stream& stream, const CudaRnsTables<Word>& tables,
                    const ring::Basis& basis, std::size_t batch, const CheckedMasks<Word>& of) {
  const CurrentGpu current(stream.gpu().ordinal);
  const std::vector<unsigned> primes = basis.indices();
  const std::size_t H = of.high.size();
  MaskedArguments<Word> a = {};
  std::ranges::copy(of.high, a.high);
  std::ranges::copy(of.low, a.low);
  a.moduli = tables.moduli.data();
  a.row = batch * tables.plan().N();
  a.part = primes.size() * a.row;
  a.highs = static_cast<std::uint32_t>(H);
  a.lows = static_cast<std::uint32_t>(of.low.size());
  Word largest = 0;
  for (std::size_t r = 0; r < primes.size(); ++r) {
    a.prime[r] = static_cast<std::uint8_t>(primes[r]);
    largest = std::max(largest, tables.plan().moduli()[primes[r]].value());
  }
  for (std::size_t first = 0; first < of.out.size(); first += masked_outputs) {
    const std::size_t outputs = std::min<std::size_t>(masked_outputs, of.out.size() - first);
    a.outputs = static_cast<std::uint32_t>(outputs);
    std::ranges::copy(of.out.subspan(first, outputs), a.out);
    for (std::size_t j = 0; j < outputs; ++j)
      for (std::size_t h = 0; h < most_masked; h += 2) {
        const auto mask = [&](std::size_t i) {
          return i < H ? std::uint32_t{of.masks[(first + j) * H + i]} : 0u;
        };
        a.masks[j][h / 2] = mask(h) | mask(h + 1) << 16;
      }
    if constexpr (sizeof(Word) == 8) {
      launch_for<true>(stream, a, primes.size());
    } else {
      if (largest < Word{1} << 30)
        launch_for<true>(stream, a, primes.size());
      else
        launch_for<false>(stream, a, primes.size());
    }
  }
}

template void masked_tensors(const Stream&, const CudaRnsTables<std::uint32_t>&, const ring::Basis&,
                             std::size_t, const CheckedMasks<std::uint32_t>&);
template void masked_tensors(const Stream&, const CudaRnsTables<std::uint64_t>&, const ring::Basis&,
                             std::size_t, const CheckedMasks<std::uint64_t>&);

}  // namespace whorl::backend::cuda
