// Blind rotation with the folded FFT: keys and launches.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "backend/contract/rotation.h"
#include "backend/cuda/dispatch/rotation/rotation_fft_launch.h"
#include "backend/cuda/dispatch/rotation/rotation_fft_split.h"
#include "backend/cuda/kernels/accumulator.cuh"
#include "backend/cuda/runtime/stream.h"
#include "backend/parallel.h"

namespace whorl::backend::cuda {

class FftRotationKey final : public RotationKey {
 public:
  explicit FftRotationKey(RotationShape shape) : RotationKey(std::move(shape)) {}
  std::size_t bytes() const override { return arrays.values.size(); }

  FftKeyArrays arrays;
  SplitTables split;  ///< of keys of GINX
};

template <class Word>
std::unique_ptr<RotationKey> prepare_fft_key(const Stream& stream, const RotationShape& shape,
                                             const RowSource<Word>& rows, const Workers& workers);

template <class Word>
void blind_rotate_fft(const Stream& stream, const RotationKey& key, BlindRotation spread,
                      const RotationBatch<Word>& batch);

}  // namespace whorl::backend::cuda
