#include "math/digest.h"

#include <sodium.h>

namespace whorl::math {

Digest digest_of_words(const std::vector<std::uint64_t>& words) {
  std::vector<std::uint8_t> bytes;
  for (const std::uint64_t word : words)
    for (unsigned shift = 0; shift < 64; shift += 8)
      bytes.push_back(static_cast<std::uint8_t>(word >> shift));
  Digest digest;
  crypto_generichash(digest.data(), digest.size(), bytes.data(), bytes.size(), nullptr, 0);
  return digest;
}

}  // namespace whorl::math
