// Blind rotation on a GPU: meanings as in backend/ops.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "backend/cuda/runtime/stream.h"
#include "backend/ops.h"

namespace whorl::backend::cuda {

/// The key is complete on the device when this returns: other streams may use it. Rows are made on
/// `threads` host threads.
template <class Word>
std::unique_ptr<RotationKey> prepare_rotation_key(const Stream& stream, const RotationShape& shape,
                                                  const RowSource<Word>& rows, unsigned threads);

/// lwe (count, n+1), luts (tables, N), index (count), out (count, 2, N). An index that is not below
/// `tables` sets *bad_index and takes table 0.
template <class Word>
void blind_rotate(const Stream& stream, const RotationKey& key, BlindRotation way,
                  std::size_t count, const std::uint32_t* lwe, const Word* luts, std::size_t tables,
                  const std::uint32_t* index, Word* out, std::uint32_t* bad_index);

}  // namespace whorl::backend::cuda
