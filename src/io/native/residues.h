// Whether words are residues.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "whorl/error.h"

namespace whorl::io {

/// RangeError, naming the first offender, unless every word is below `modulus`. `first` is the
/// index of words[0] in the array spoken of.
template <class Word>
void check_residues(std::span<const Word> words, std::uint64_t modulus, std::string_view field,
                    std::uint64_t first = 0) {
  if (modulus > std::numeric_limits<Word>::max()) return;
  const auto bound = static_cast<Word>(modulus);
  // Branch-free, so that it is done many words at a time.
  Word above = 0;
  for (const Word word : words) above |= static_cast<Word>(word >= bound);
  if (above == 0) return;
  const auto found =
      std::find_if(words.begin(), words.end(), [&](Word word) { return word >= bound; });
  throw RangeError(std::string(field) + ": word " +
                   std::to_string(first + static_cast<std::uint64_t>(found - words.begin())) +
                   " is " + std::to_string(*found) + "; it must be below its modulus " +
                   std::to_string(modulus));
}

}  // namespace whorl::io
