#include "backend/cpu/blind_rotate.h"

#include <string>

namespace whorl::backend::cpu {

void each_tile(std::size_t count, std::size_t bytes_per_ciphertext, const Workers& workers,
               const std::function<void(std::size_t, std::size_t)>& rotate) {
  constexpr std::size_t cache = 512 * 1024;
  const std::size_t fits = std::clamp<std::size_t>(cache / bytes_per_ciphertext, 1, most_tile);
  const std::size_t share = (count + workers.threads - 1) / std::max(1u, workers.threads);
  const std::size_t tile = std::clamp<std::size_t>(share, 1, fits);
  parallel_for((count + tile - 1) / tile, workers,
               [&](std::size_t t) { rotate(t * tile, std::min(tile, count - t * tile)); });
}

void check_lanes(unsigned prepared, unsigned used, const char* values) {
  if (prepared != used)
    throw RefusedError("the key was prepared for vectors of " + std::to_string(prepared) + " " +
                       values + ", but the device now uses " + std::to_string(used));
}

}  // namespace whorl::backend::cpu
