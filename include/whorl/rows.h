// Copies rows of ciphertext batches in the host's memory: selects some rows of one batch, or joins
// several batches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "whorl/error.h"
#include "whorl/word_array.h"

namespace whorl {

/// ShapeError unless `words` are of `count` ciphertexts, `each` words of `word_bytes` bytes.
inline void check_words(const WordArray& words, std::size_t count, std::size_t each,
                        unsigned word_bytes) {
  if (words.size() / each != count || words.size() % each != 0 || words.word_bytes() != word_bytes)
    throw ShapeError(std::to_string(words.size()) + " words of " +
                     std::to_string(words.word_bytes()) + " bytes were given, but " +
                     std::to_string(count) + " ciphertexts have " + std::to_string(each) +
                     " words of " + std::to_string(word_bytes) + " bytes each");
}

/// How a batch lies in memory: `outer` blocks, each with one row of `inner` words for every
/// ciphertext.
struct Layout {
  std::size_t outer, inner;
};

/// The rows at `index` of a batch of `count` ciphertexts, in every block. An index may come several
/// times.
template <class Word>
std::vector<Word> take_rows(std::span<const Word> words, Layout layout, std::size_t count,
                            std::span<const std::uint32_t> index) {
  std::vector<Word> out(layout.outer * index.size() * layout.inner);
  Word* to = out.data();
  for (std::size_t block = 0; block < layout.outer; ++block)
    for (const std::uint32_t i : index) {
      if (i >= count)
        throw ShapeError("index: " + std::to_string(i) + " is not below " + std::to_string(count));
      std::copy_n(words.data() + (block * count + i) * layout.inner, layout.inner, to);
      to += layout.inner;
    }
  return out;
}

/// The rows of all batches one after another, in every block.
template <class Word>
std::vector<Word> join_rows(const std::vector<std::span<const Word>>& batches, Layout layout) {
  std::size_t size = 0;
  for (const auto& words : batches) size += words.size();
  std::vector<Word> out;
  out.reserve(size);
  for (std::size_t block = 0; block < layout.outer; ++block)
    for (const auto& words : batches) {
      const auto part = words.subspan(block * (words.size() / layout.outer));
      out.insert(out.end(), part.begin(), part.begin() + words.size() / layout.outer);
    }
  return out;
}

/// take_rows and join_rows for arrays whose words have 4 or 8 bytes.
inline WordArray take_words(const WordArray& words, Layout layout, std::size_t count,
                            std::span<const std::uint32_t> index) {
  const auto take = [&]<class Word>(Word) {
    return WordArray(take_rows(words.as<Word>(), layout, count, index));
  };
  return words.word_bytes() == 4 ? take(std::uint32_t{}) : take(std::uint64_t{});
}
template <class Ciphertexts>
WordArray join_words(std::span<const Ciphertexts* const> batches, Layout layout) {
  const auto join = [&]<class Word>(Word) {
    std::vector<std::span<const Word>> words;
    for (const Ciphertexts* batch : batches) words.push_back(batch->data.template as<Word>());
    return WordArray(join_rows(words, layout));
  };
  return batches.front()->data.word_bytes() == 4 ? join(std::uint32_t{}) : join(std::uint64_t{});
}

/// The places in the seed's batch of the ciphertexts at `index`. The result is empty if they are 0,
/// 1, 2 …, which is the default.
inline std::vector<std::uint32_t> take_numbers(std::span<const std::uint32_t> numbers,
                                               std::span<const std::uint32_t> index) {
  std::vector<std::uint32_t> out;
  out.reserve(index.size());
  bool whole = true;
  for (const std::uint32_t i : index) {
    out.push_back(numbers.empty() ? i : numbers[i]);
    whole = whole && out.back() == out.size() - 1;
  }
  if (whole) out.clear();
  return out;
}

/// If all batches have the same seed, writes that seed and their numbers, one batch after another,
/// to `made`. Otherwise `made` gets no seed. `count_of` gives the number of ciphertexts in a batch.
template <class Ciphertexts, class CountOf>
void join_seeds(std::span<const Ciphertexts* const> batches, const CountOf& count_of,
                Ciphertexts& made) {
  std::vector<std::uint32_t> numbers;
  for (const Ciphertexts* batch : batches) {
    if (!batch->seed || batch->seed != batches.front()->seed) return;
    const std::size_t count = count_of(*batch);
    for (std::size_t i = 0; i < count; ++i)
      numbers.push_back(batch->numbers.empty() ? static_cast<std::uint32_t>(i) : batch->numbers[i]);
  }
  made.seed = batches.front()->seed;
  made.numbers = take_numbers({}, numbers);
}

/// Throws ParameterMismatchError or KeyMismatchError unless both batches were made under the same
/// parameters and key.
template <class Ciphertexts>
void check_origin(const Ciphertexts& a, const Ciphertexts& b) {
  if (a.parameters != b.parameters)
    throw ParameterMismatchError("parameters: ciphertexts under " + a.parameters.literal().name +
                                 " were combined with ciphertexts under " +
                                 b.parameters.literal().name);
  if (a.key_id != b.key_id)
    throw KeyMismatchError("key_id: the ciphertexts were made under two different keys");
}

}  // namespace whorl
