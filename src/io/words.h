// Arrays of words in frames.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "io/bytes.h"
#include "io/mapped_file.h"
#include "whorl/word_array.h"

namespace whorl::io {

template <class Word>
WordArray copy_words(ByteSpan bytes, const char* field) {
  std::vector<Word> words;
  reserve(words, bytes.size() / sizeof(Word), field);
  words.resize(bytes.size() / sizeof(Word));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  return WordArray(std::move(words));
}

/// The words where they lie if they are mapped, else a copy.
inline WordArray take_words(ByteSpan bytes, std::uint64_t word_bytes, const char* field,
                            const std::shared_ptr<const MappedFile>& mapping) {
  if (mapping != nullptr)
    return WordArray(mapping, bytes.data(), bytes.size() / word_bytes, word_bytes);
  return word_bytes == 2   ? copy_words<std::uint16_t>(bytes, field)
         : word_bytes == 4 ? copy_words<std::uint32_t>(bytes, field)
                           : copy_words<std::uint64_t>(bytes, field);
}

/// ShapeError unless there are `count` words of `word_bytes`.
inline void check_key_shape(const WordArray& words, std::uint64_t count, std::uint64_t word_bytes,
                            const char* field) {
  if (words.size() != count || words.word_bytes() != word_bytes)
    throw ShapeError(std::string(field) + ": " + std::to_string(words.size()) + " words of " +
                     std::to_string(words.word_bytes()) + " bytes, expected " +
                     std::to_string(count) + " of " + std::to_string(word_bytes));
}

/// The bytes of all words.
inline ByteSpan bytes_of(const WordArray& words) {
  return {static_cast<const std::uint8_t*>(words.data()), words.bytes()};
}

}  // namespace whorl::io
