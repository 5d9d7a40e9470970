#include "backend/cpu/blind_rotate.h"

#include <algorithm>

namespace whorl::backend::cpu {

std::vector<std::size_t> first_rows(const RotationShape& shape) {
  std::vector<std::size_t> first(shape.n + 1, 0);
  for (std::uint32_t i = 0; i < shape.n; ++i)
    first[i + 1] = first[i] + std::size_t{2} * shape.keys * shape.gadgets[i].digits();
  return first;
}

unsigned largest_digit_count(const RotationShape& shape) {
  unsigned most = 1;
  for (const auto& gadget : shape.gadgets) most = std::max(most, gadget.digits());
  return most;
}

std::size_t rotation_tile(std::size_t count, std::size_t bytes_per_ciphertext, unsigned threads) {
  constexpr std::size_t cache = 512 * 1024;
  const std::size_t fits = std::clamp<std::size_t>(cache / bytes_per_ciphertext, 1, most_tile);
  const std::size_t share = (count + threads - 1) / std::max(1u, threads);
  return std::clamp<std::size_t>(share, 1, fits);
}

}  // namespace whorl::backend::cpu
