#include "io/native/words.h"

#include "io/native/pieces.h"

namespace whorl::io {

namespace {

template <class Word>
void check_range(std::span<const Word> words, const WordRule& rule, const Interrupt& interrupt) {
  for (std::size_t row = 0, start = 0; start < words.size(); ++row, start += rule.row_words)
    in_pieces(rule.row_words, sizeof(Word), interrupt, [&](std::size_t first, std::size_t some) {
      check_residues(words.subspan(start + first, some), rule.moduli[row % rule.moduli.size()],
                     rule.field, start + first);
    });
}

}  // namespace

void check_shape(const WordArray& words, const WordRule& rule) {
  if (words.size() != rule.count() || words.word_bytes() != rule.word_bytes)
    throw ShapeError(std::string(rule.field) + " has " + std::to_string(words.size()) +
                     " words of " + std::to_string(words.word_bytes()) + " bytes; it must have " +
                     std::to_string(rule.count()) + " of " + std::to_string(rule.word_bytes));
}

void check_range(const WordArray& words, const WordRule& rule, const Interrupt& interrupt) {
  with_word(rule.word_bytes,
            [&]<class Word>(Word) { check_range(words.as<Word>(), rule, interrupt); });
}

WordArray take_words(ByteSpan bytes, const WordRule& rule, const Contents& contents,
                     const Interrupt& interrupt) {
  const std::size_t count = bytes.size() / rule.word_bytes;
  if (contents) return WordArray(contents, bytes.data(), count, rule.word_bytes);
  return with_word(rule.word_bytes, [&]<class Word>(Word) {
    const auto words = unfilled<Word>(count, rule.field);
    copy_pieces(bytes, words.get(), interrupt);
    return WordArray(words, words.get(), count, sizeof(Word));
  });
}

}  // namespace whorl::io
