// Blind rotation with the folded FFT: keys and launches.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/contract/rotation.h"
#include "backend/cuda/kernels/accumulator.cuh"
#include "backend/cuda/runtime/stream.h"
#include "backend/parallel.h"

namespace whorl::backend::cuda {

template <class Word>
std::unique_ptr<RotationKey> prepare_fft_key(const Stream& stream, const RotationShape& shape,
                                             const RowSource<Word>& rows, const Workers& workers);

template <class Word>
void blind_rotate_fft(const Stream& stream, const RotationKey& key, BlindRotation way,
                      const RotationBatch<Word>& batch);

}  // namespace whorl::backend::cuda
