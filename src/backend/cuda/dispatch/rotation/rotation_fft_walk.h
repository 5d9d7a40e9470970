// Blind rotation with the folded FFT by AP, by automorphisms and with a raised modulus: keys and
// launches.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "backend/contract/rotation.h"
#include "backend/cuda/dispatch/rotation/rotation_fft_walk_launch.h"
#include "backend/cuda/runtime/stream.h"
#include "backend/parallel.h"

namespace whorl::backend::cuda {

/// Values are doubles where Q is above 2^31 or the modulus is raised. Those of GINX with a raised
/// modulus are laid out as the kernels for GINX read them: a digit of a whole coefficient is
/// linear, so that (X^a - 1)·ACC may be decomposed.
class FftWalkKey final : public RotationKey {
 public:
  explicit FftWalkKey(RotationShape shape) : RotationKey(std::move(shape)) {}
  std::size_t bytes() const override { return arrays.values.size(); }

  FftKeyArrays arrays;
  WalkTables walks;  ///< not of GINX
};

/// RefusedError for a raised modulus and Q above 2^31.
template <class Word>
std::unique_ptr<RotationKey> prepare_fft_walk_key(const Stream& stream, const RotationShape& shape,
                                                  const RowSource<Word>& rows,
                                                  const Workers& workers);

template <class Word>
void blind_rotate_fft_walk(const Stream& stream, const RotationKey& key, BlindRotation spread,
                           const RotationBatch<Word>& batch);

}  // namespace whorl::backend::cuda
