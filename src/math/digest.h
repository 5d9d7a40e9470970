// Digests of parameters.
#pragma once

#include <cstdint>
#include <ranges>
#include <vector>

#include "whorl/common.h"

namespace whorl::math {

/// BLAKE2b-128 over the words, little endian.
Digest digest_of_words(const std::vector<std::uint64_t>& words);

/// The same over all arguments: a word each, or a range of them.
template <class... Parts>
Digest digest_of(const Parts&... parts) {
  std::vector<std::uint64_t> words;
  const auto append = [&](const auto& part) {
    if constexpr (std::ranges::range<decltype(part)>)
      words.insert(words.end(), part.begin(), part.end());
    else
      words.push_back(static_cast<std::uint64_t>(part));
  };
  (append(parts), ...);
  return digest_of_words(words);
}

}  // namespace whorl::math
