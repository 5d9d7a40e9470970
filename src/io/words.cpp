#include "io/words.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "io/residues.h"

namespace whorl::io {

namespace {

constexpr std::size_t chunk_words = std::size_t{1} << 20;

template <class Word>
void check_range(std::span<const Word> words, const WordRule& rule) {
  for (std::size_t row = 0, start = 0; start < words.size(); ++row) {
    const std::size_t end = start + rule.row_words;
    const std::uint64_t modulus = rule.moduli[row % rule.moduli.size()];
    while (start < end) {
      const std::size_t step = std::min(chunk_words, end - start);
      check_residues(words.subspan(start, step), modulus, rule.field, start);
      start += step;
    }
  }
}

}  // namespace

void check_shape(const WordArray& words, const WordRule& rule) {
  if (words.size() != rule.count() || words.word_bytes() != rule.word_bytes)
    throw ShapeError(std::string(rule.field) + " has " + std::to_string(words.size()) +
                     " words of " + std::to_string(words.word_bytes()) + " bytes; it must have " +
                     std::to_string(rule.count()) + " of " + std::to_string(rule.word_bytes));
}

void check_range(const WordArray& words, const WordRule& rule) {
  with_word(rule.word_bytes, [&]<class Word>(Word) { check_range(words.as<Word>(), rule); });
}

WordArray take_words(ByteSpan bytes, const WordRule& rule, const Contents& contents) {
  const std::size_t count = bytes.size() / rule.word_bytes;
  if (contents) return WordArray(contents, bytes.data(), count, rule.word_bytes);
  return with_word(rule.word_bytes, [&]<class Word>(Word) {
    std::vector<Word> words;
    reserve(words, count, rule.field);
    words.resize(count);
    if (count != 0) std::memcpy(words.data(), bytes.data(), bytes.size());
    return WordArray(std::move(words));
  });
}

}  // namespace whorl::io
