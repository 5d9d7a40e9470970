// Batches of transforms on a GPU.
#pragma once

#include <complex>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "backend/cuda/runtime/stream.h"
#include "ring/fft_plan.h"
#include "ring/ntt_plan.h"

namespace whorl::backend::cuda {

/// The same as in the contract. It is repeated here because kernels that take minutes to compile do
/// not include the contract.
template <class Word>
using NttPlans = std::span<const ring::NttPlan<Word>* const>;

/// Twiddle tables on one GPU, made once a plan and kept.
class TransformTables {
 public:
  TransformTables();
  ~TransformTables();
  struct State;
  State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// RingOps::ntt (or intt): data (L, B, N), limb l by plans[l], all of one N.
template <class Word>
void ntt(const Stream& stream, const TransformTables& tables, NttPlans<Word> plans,
         std::size_t batch, Word* data, bool forward);

/// FftOps::fft and ifft: (B, N) reals, (B, N/2) values.
void fft(const Stream& stream, const TransformTables& tables, const ring::FftPlan& plan,
         std::size_t batch, const double* in, std::complex<double>* out);
void ifft(const Stream& stream, const TransformTables& tables, const ring::FftPlan& plan,
          std::size_t batch, const std::complex<double>* in, double* out);

}  // namespace whorl::backend::cuda
