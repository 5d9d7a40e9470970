// An immutable array of little-endian words that does not care who owns the bytes: a vector made
// by key generation, or the contents of a file. Large keys are therefore never copied.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "whorl/error.h"

namespace whorl {

class WordArray {
 public:
  WordArray() = default;

  /// Takes over a vector; the word width is that of `Word` (2, 4 or 8 bytes).
  template <class Word>
  explicit WordArray(std::vector<Word> words) : count_(words.size()), word_bytes_(sizeof(Word)) {
    auto held = std::make_shared<const std::vector<Word>>(std::move(words));
    data_ = held->data();
    owner_ = std::move(held);
  }

  /// Refers to `count` words of `word_bytes` bytes at `data`, which live as long as `owner`.
  WordArray(std::shared_ptr<const void> owner, const void* data, std::size_t count,
            std::size_t word_bytes)
      : owner_(std::move(owner)), data_(data), count_(count), word_bytes_(word_bytes) {}

  std::size_t size() const { return count_; }
  std::size_t word_bytes() const { return word_bytes_; }
  std::size_t bytes() const { return count_ * word_bytes_; }
  const void* data() const { return data_; }
  /// What keeps the words; empty if nothing does.
  const std::shared_ptr<const void>& owner() const { return owner_; }

  /// The words, as the type they are stored in. ShapeError if `Word` has another width.
  template <class Word>
  std::span<const Word> as() const {
    if (sizeof(Word) != word_bytes_)
      throw ShapeError("words of " + std::to_string(word_bytes_) + " bytes read as words of " +
                       std::to_string(sizeof(Word)) + " bytes");
    return {static_cast<const Word*>(data_), count_};
  }

 private:
  std::shared_ptr<const void> owner_;
  const void* data_ = nullptr;
  std::size_t count_ = 0;
  std::size_t word_bytes_ = 4;
};

/// Bytes of the words that residues of ring elements modulo a prime are kept, computed with and
/// saved in: 4 below 2^31, where sums of two residues leave a bit to spare, else 8. RNS bases keep
/// to one side of it: any of their primes says which.
constexpr unsigned ring_word_bytes(std::uint64_t modulus) { return modulus < (1ULL << 31) ? 4 : 8; }

/// Of LWE words: bytes of the smallest word (2, 4 or 8) that holds every residue below `modulus`
/// and can be computed with: powers of two wrap around, so that they fill their words; others
/// follow the ring's rule.
constexpr std::size_t word_bytes_for(std::uint64_t modulus) {
  if (modulus <= (1ULL << 16)) return 2;
  return std::has_single_bit(modulus) && modulus <= (1ULL << 32) ? 4 : ring_word_bytes(modulus);
}

/// Of LWE arrays: bytes of the words, 4 or 8, that stages compute on ciphertexts modulo `modulus`
/// in. For one between 2^31 and 2^32 that is no power of two keys and files have 8, since those who
/// make and save them compute in these words, modulo a number that must leave them a bit to spare.
/// Arrays have 4 for it all the same: their sums go through 64 bits, and narrow words halve what is
/// moved. What is extracted from ring elements comes in the ring's words, and switching its modulus
/// brings it into these.
constexpr unsigned array_word_bytes(std::uint64_t modulus) {
  return modulus <= (1ULL << 32) ? 4 : 8;
}

}  // namespace whorl
