#include "backend/cuda/dispatch/transforms/encoding.h"

#include <algorithm>
#include <bit>

#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/kernels/encoding.cuh"
#include "backend/cuda/runtime/error.h"

namespace whorl::backend::cuda {

namespace {

unsigned blocks_for(std::size_t threads) {
  return static_cast<unsigned>((threads + encoding_threads - 1) / encoding_threads);
}

}  // namespace

void order_powers_of_5(const Stream& stream, std::uint32_t M, std::size_t batch,
                       const std::complex<double>* in, std::complex<double>* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  constexpr std::size_t most = 65535;  // of a grid's second dimension
  const dim3 grid(blocks_for(M), static_cast<unsigned>(std::min(batch, most)));
  launch_chained(stream, "scatter_powers_of_5", scatter_powers_of_5, {grid, encoding_threads},
                 static_cast<std::uint32_t>(std::bit_width(M) - 1), batch,
                 reinterpret_cast<const FftValue*>(in), reinterpret_cast<FftValue*>(out));
}

template <class Word>
void round(const Stream& stream, Moduli<Word> moduli, double scale, std::uint32_t n,
           std::uint32_t step, std::uint32_t N, std::size_t batch, const double* in, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const std::size_t per_limb = batch * N;
  const auto log_apart = static_cast<std::uint32_t>(std::bit_width(N / n) - 1);
  for (std::size_t first = 0; first < moduli.size(); first += rounding_limbs_a_launch) {
    const std::size_t limbs = std::min<std::size_t>(rounding_limbs_a_launch, moduli.size() - first);
    RoundingLimbs constants{};
    for (std::size_t l = 0; l < limbs; ++l) {
      const std::uint64_t q = moduli[first + l].value();
      constants.limb[l] = {q, ~std::uint64_t{0} / q};  // q does not divide 2^64
    }
    // Enough blocks to fill the GPU several times over; threads go on in strides.
    const std::size_t most = std::max<std::size_t>(1, 64 * stream.gpu().multiprocessors / limbs);
    const dim3 grid(static_cast<unsigned>(std::clamp<std::size_t>(blocks_for(per_limb), 1, most)),
                    static_cast<unsigned>(limbs));
    launch_chained(stream, "round_to_residues", round_to_residues<Word>, {grid, encoding_threads},
                   constants, scale, log_apart, step, per_limb, in, out + first * per_limb);
  }
}

template void round(const Stream&, Moduli<std::uint32_t>, double, std::uint32_t, std::uint32_t,
                    std::uint32_t, std::size_t, const double*, std::uint32_t*);
template void round(const Stream&, Moduli<std::uint64_t>, double, std::uint32_t, std::uint32_t,
                    std::uint32_t, std::size_t, const double*, std::uint64_t*);

}  // namespace whorl::backend::cuda
