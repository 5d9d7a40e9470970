// An immutable array of little-endian words. Its bytes may belong to a vector that key generation
// made, or to the contents of a file, so that large keys are never copied.
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
  /// The object that owns the words; empty if there is none.
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

/// Bytes of a word that holds a residue of a ring element, in memory, in computation and in files.
/// They are 4 for a modulus below 2^31, so that a sum of two residues fits, and otherwise 8. All
/// primes of one RNS basis have the same word.
constexpr unsigned ring_word_bytes(std::uint64_t modulus) { return modulus < (1ULL << 31) ? 4 : 8; }

/// Bytes (2, 4 or 8) of a word of an LWE key: the smallest word in which residues modulo `modulus`
/// are stored and computed. Sums modulo a power of two up to 2^16 or 2^32 wrap around, so its
/// residues may fill the whole word. Any other modulus above 2^16 follows ring_word_bytes.
constexpr std::size_t word_bytes_for(std::uint64_t modulus) {
  if (modulus <= (1ULL << 16)) return 2;
  return std::has_single_bit(modulus) && modulus <= (1ULL << 32) ? 4 : ring_word_bytes(modulus);
}

/// Bytes (4 or 8) of a word of an LWE array on a device, for ciphertexts modulo `modulus`. A
/// modulus between 2^31 and 2^32 that is not a power of two is a special case. Keys and files have
/// words of 8 bytes for it, because the client computes in these words, and arithmetic modulo such
/// a number needs a spare bit. Arrays have words of 4 bytes: their sums go through 64 bits, and
/// narrow words halve the traffic. Ciphertexts that are extracted from ring elements have the
/// ring's words; the modulus switch that follows writes words of this size.
constexpr unsigned array_word_bytes(std::uint64_t modulus) {
  return modulus <= (1ULL << 32) ? 4 : 8;
}

}  // namespace whorl
