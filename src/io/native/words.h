// Arrays of words in frames.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/bytes.h"
#include "io/file_contents.h"
#include "whorl/common.h"
#include "whorl/error.h"
#include "whorl/word_array.h"

namespace whorl::io {

/// The contents are those of the file that a frame is in, or null.
using Contents = std::shared_ptr<FileContents>;

/// What an array must be: rows of words; the words of row r are below moduli[r mod number of
/// moduli].
struct WordRule {
  std::uint64_t rows, row_words;
  std::uint64_t word_bytes;
  std::vector<std::uint64_t> moduli;
  const char* field;

  /// OversizedError, as bytes(), where that is beyond 64 bits.
  std::uint64_t count() const { return checked_product(rows, row_words, field); }
  std::uint64_t bytes() const { return checked_product(count(), word_bytes, field); }
};

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

/// ShapeError unless the words have the number and the width that the rule states.
void check_shape(const WordArray& words, const WordRule& rule);

/// RangeError, naming the first offender, unless every word is below its modulus.
void check_range(const WordArray& words, const WordRule& rule, const Interrupt& interrupt = {});

/// The words where they lie in the contents of a file, or a copy if there is none.
/// OutOfMemoryError.
WordArray take_words(ByteSpan bytes, const WordRule& rule, const Contents& contents,
                     const Interrupt& interrupt = {});

/// The bytes of all words.
inline ByteSpan bytes_of(const WordArray& words) {
  return {static_cast<const std::uint8_t*>(words.data()), words.bytes()};
}

/// Calls body(Word{}) with the unsigned word of 2, 4 or 8 bytes.
template <class Body>
decltype(auto) with_word(std::uint64_t word_bytes, const Body& body) {
  return word_bytes == 2   ? body(std::uint16_t{})
         : word_bytes == 4 ? body(std::uint32_t{})
                           : body(std::uint64_t{});
}

}  // namespace whorl::io
