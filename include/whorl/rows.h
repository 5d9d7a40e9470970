// Batches of ciphertexts in the host's memory, word by word: some of one, and several as one.
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

/// How a batch lies in memory: `outer` blocks of a row of `inner` words for each ciphertext.
struct Layout {
  std::size_t outer, inner;
};

/// Block by block, the rows at `index` of `count`; any may come several times.
template <class Word>
std::vector<Word> take_rows(std::span<const Word> words, Layout layout, std::size_t count,
                            std::span<const std::uint32_t> index) {
  std::vector<Word> out(layout.outer * index.size() * layout.inner);
  Word* to = out.data();
  for (std::size_t block = 0; block < layout.outer; ++block)
    for (const std::uint32_t i : index) {
      if (i >= count)
        throw ShapeError("index: " + std::to_string(i) + ", not below " + std::to_string(count));
      std::copy_n(words.data() + (block * count + i) * layout.inner, layout.inner, to);
      to += layout.inner;
    }
  return out;
}

/// Block by block, the rows of all batches in sequence.
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

/// The same of words of 4 or 8 bytes.
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

/// Which numbers of a seed's batch those at `index` are; none are kept where they are all of them
/// from 0 on.
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

/// Of batches with `seed`, `numbers` and a count: the seed that all have, and their numbers in
/// sequence, written to `made`; none where their seeds differ. `count_of` counts a batch.
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

/// ParameterMismatchError, KeyMismatchError unless two batches are under the same parameters and
/// key.
template <class Ciphertexts>
void check_origin(const Ciphertexts& a, const Ciphertexts& b) {
  if (a.parameters != b.parameters)
    throw ParameterMismatchError("parameters: those of " + a.parameters.literal().name +
                                 " beside those of " + b.parameters.literal().name);
  if (a.key_id != b.key_id) throw KeyMismatchError("key_id: of one key beside that of another");
}

}  // namespace whorl
