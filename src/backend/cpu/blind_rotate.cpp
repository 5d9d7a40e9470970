#include "backend/cpu/blind_rotate.h"

#include <algorithm>

namespace whorl::backend::cpu {

std::size_t rotation_tile(std::size_t count, std::size_t bytes_per_ciphertext, unsigned threads) {
  constexpr std::size_t cache = 512 * 1024;
  const std::size_t fits = std::clamp<std::size_t>(cache / bytes_per_ciphertext, 1, most_tile);
  const std::size_t share = (count + threads - 1) / std::max(1u, threads);
  return std::clamp<std::size_t>(share, 1, fits);
}

}  // namespace whorl::backend::cpu
