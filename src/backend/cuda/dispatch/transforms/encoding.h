// From complex values to residues on a GPU: meanings as in backend/contract/.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "backend/contract/ring.h"
#include "backend/cuda/runtime/stream.h"

namespace whorl::backend::cuda {

/// in (B, M) values at zeta^(5^j), out (B, M) in the order of ring::FftPlan, apart from it. Both
/// begin at 16 bytes.
void order_powers_of_5(const Stream& stream, std::uint32_t M, std::size_t batch,
                       const std::complex<double>* in, std::complex<double>* out);

/// RnsOps::round: in (B, n), out (moduli, B, N).
template <class Word>
void round(const Stream& stream, Moduli<Word> moduli, double scale, std::uint32_t n,
           std::uint32_t step, std::uint32_t N, std::size_t batch, const double* in, Word* out);

}  // namespace whorl::backend::cuda
