// How kernels go through arrays of words: in vectors where these are aligned, in strides.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/cuda/runtime/stream.h"

namespace whorl::backend::cuda {

inline bool aligned(const void* pointer, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}
/// Blocks for `items` of which a block takes `a_block` at a time; they go on in strides.
inline unsigned blocks_for(const Stream& stream, std::size_t items, std::size_t a_block) {
  const std::size_t most = std::size_t{64} * stream.gpu().multiprocessors;
  return static_cast<unsigned>(std::clamp<std::size_t>((items + a_block - 1) / a_block, 1, most));
}

}  // namespace whorl::backend::cuda
