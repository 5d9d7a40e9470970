// Blind rotation with the NTT by AP, by automorphisms and with a raised modulus: keys and launches.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "backend/contract/rotation.h"
#include "backend/cuda/dispatch/rotation/rotation_ntt_walk_launch.h"
#include "backend/cuda/runtime/stream.h"
#include "backend/parallel.h"

namespace whorl::backend::cuda {

template <class Word>
class NttWalkKey final : public RotationKey {
 public:
  explicit NttWalkKey(RotationShape shape) : RotationKey(std::move(shape)) {}
  std::size_t bytes() const override { return arrays.values.size() * sizeof(Word); }

  NttWalkArrays<Word> arrays;
};

template <class Word>
std::unique_ptr<RotationKey> prepare_ntt_walk_key(const Stream& stream, const RotationShape& shape,
                                                  const RowSource<Word>& rows,
                                                  const Workers& workers);

template <class Word>
void blind_rotate_ntt_walk(const Stream& stream, const RotationKey& key,
                           const RotationBatch<Word>& batch);

}  // namespace whorl::backend::cuda
