// Blind rotation with the NTT: keys and launches.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "backend/contract/rotation.h"
#include "backend/cuda/dispatch/rotation/rotation_ntt_launch.h"
#include "backend/cuda/kernels/accumulator.cuh"
#include "backend/cuda/runtime/stream.h"
#include "backend/parallel.h"

namespace whorl::backend::cuda {

template <class Word>
class NttRotationKey final : public RotationKey {
 public:
  explicit NttRotationKey(RotationShape shape) : RotationKey(std::move(shape)) {}
  std::size_t bytes() const override { return arrays.values.size() * sizeof(Word); }

  NttKeyArrays<Word> arrays;
};

template <class Word>
std::unique_ptr<RotationKey> prepare_ntt_key(const Stream& stream, const RotationShape& shape,
                                             const RowSource<Word>& rows, const Workers& workers);

template <class Word>
void blind_rotate_ntt(const Stream& stream, const RotationKey& key, BlindRotation spread,
                      const RotationBatch<Word>& batch);

}  // namespace whorl::backend::cuda
