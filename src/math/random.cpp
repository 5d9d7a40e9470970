#include "math/random.h"

#include <sodium.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "math/keystream.h"
#include "math/process.h"
#include "whorl/error.h"

namespace whorl::math {
namespace {

static_assert(std::endian::native == std::endian::little,
              "keystream words are little endian, and read as they lie");

// libsodium picks its implementations here, and must do so before any use.
void start_sodium() {
  static const bool started = sodium_init() >= 0;
  if (!started) throw RandomnessError("libsodium could not start: no source of randomness");
}

struct WipedSeed {
  Seed seed;
  ~WipedSeed() { sodium_memzero(seed.data(), seed.size()); }
};

}  // namespace

Seed random_seed() {
  Seed seed;
  random_bytes(seed);
  return seed;
}

void random_bytes(std::span<uint8_t> out) {
  start_sodium();
  randombytes_buf(out.data(), out.size());
}

Stream::Stream(const Seed& seed, uint64_t index) {
  start_sodium();
  restart(seed, index);
}

Stream::~Stream() {
  sodium_memzero(key_.data(), key_.size());
  sodium_memzero(buffer_.data(), buffer_.size());
}

void Stream::restart(const Seed& seed, uint64_t index) {
  key_ = seed;
  for (size_t i = 0; i < nonce_.size(); ++i) nonce_[i] = static_cast<uint8_t>(index >> (8 * i));
  block_ = 0;
  used_ = buffer_.size();
}

void Stream::keystream(uint8_t* out, size_t blocks) {
  std::fill_n(out, 64 * blocks, uint8_t{0});
  crypto_stream_chacha20_xor_ic(out, out, 64 * blocks, nonce_.data(), block_, key_.data());
  block_ += blocks;
}

void Stream::fill(std::span<uint8_t> out) {
  const auto from_buffer = [&] {
    const size_t count = std::min(out.size(), buffer_.size() - used_);
    std::copy_n(buffer_.data() + used_, count, out.data());
    used_ += count;
    out = out.subspan(count);
  };
  from_buffer();
  if (out.size() >= buffer_.size()) {
    // The pieces stay in the first-level cache between being zeroed and being filled.
    constexpr size_t piece_blocks = 64;
    for (size_t blocks = out.size() / 64; blocks != 0;) {
      const size_t piece = std::min(blocks, piece_blocks);
      keystream(out.data(), piece);
      out = out.subspan(64 * piece);
      blocks -= piece;
    }
  }
  if (!out.empty()) {
    keystream(buffer_.data(), buffer_blocks);
    used_ = 0;
    from_buffer();
  }
}

PrivateStream::PrivateStream(const char* /*purpose*/)
    : PrivateStream(WipedSeed{random_seed()}.seed) {}

PrivateStream::PrivateStream(const Seed& seed) : process_(process_mark()), stream_(seed, 0) {}

void PrivateStream::fill(std::span<uint8_t> out) {
  if (const uint64_t process = process_mark(); process != process_) {
    stream_.restart(WipedSeed{random_seed()}.seed, 0);
    process_ = process;
  }
  stream_.fill(out);
}

namespace {

// What the keystream's words are held against.
template <class Word>
struct Residues {
  explicit Residues(uint64_t modulus) {
    constexpr uint64_t max_word = std::numeric_limits<Word>::max();
    if (modulus < 2 || modulus - 1 > max_word) {
      throw ParameterError("modulus " + std::to_string(modulus) + " is outside [2, 2^" +
                           std::to_string(8 * sizeof(Word)) + "]");
    }
    top = static_cast<Word>(modulus - 1);
    word_mask = static_cast<Word>(max_word >> (8 * sizeof(Word) - std::bit_width(top)));
    // The word's mask in each word of 64 bits.
    mask = ~uint64_t{0} / max_word * word_mask;
  }

  bool none_dropped() const { return top == word_mask; }
  double probability_to_be_dropped() const {
    return static_cast<double>(word_mask - top) / (static_cast<double>(word_mask) + 1);
  }

  Word top;
  Word word_mask;
  uint64_t mask;
};

template <class Word>
void expand_one_by_one(const Seed& seed, uint64_t index, const Residues<Word>& residues,
                       std::span<Word> out) {
  constexpr size_t block_words = 64 / sizeof(Word);
  constexpr size_t piece_blocks = 64;
  alignas(64) std::array<Word, piece_blocks * block_words> words;
  size_t done = 0;
  for (uint64_t block = 0; done < out.size();) {
    const size_t blocks =
        std::min(piece_blocks, (out.size() - done + block_words - 1) / block_words);
    keystream_rows(seed, {index, 1, block, 64 * blocks, residues.mask}, 0,
                   reinterpret_cast<uint8_t*>(words.data()));
    for (size_t i = 0; i < blocks * block_words && done < out.size(); ++i) {
      out[done] = words[i];
      done += static_cast<size_t>(words[i] <= residues.top);
    }
    block += blocks;
  }
}

template <class Word>
bool all_at_most(std::span<const Word> words, Word top) {
  Word largest = 0;
  for (const Word word : words) largest = std::max(largest, word);
  return largest <= top;
}

}  // namespace

template <class Word>
void expand_uniform_rows(const Seed& seed, uint64_t first_index, uint64_t modulus, Rows<Word> out) {
  const Residues<Word> residues(modulus);
  const auto keystream = [&](size_t row, size_t count) {
    keystream_rows(seed, {first_index + row, count, 0, out.words * sizeof(Word), residues.mask},
                   out.stride * sizeof(Word),
                   reinterpret_cast<uint8_t*>(out.data + row * out.stride));
  };
  if (residues.none_dropped()) return keystream(0, out.count);
  // Most moduli lie just below a power of two, and most rows drop no word: they are the keystream
  // as it is. Where that is not to be expected, it is not tried.
  const bool worth_a_try =
      residues.probability_to_be_dropped() * static_cast<double>(out.words) < 0.5;
  constexpr size_t rows_at_once = 16;
  for (size_t begin = 0; begin < out.count; begin += rows_at_once) {
    const size_t end = std::min(begin + rows_at_once, out.count);
    if (worth_a_try) keystream(begin, end - begin);
    for (size_t row = begin; row < end; ++row) {
      const std::span<Word> words{out.data + row * out.stride, out.words};
      if (worth_a_try && all_at_most<Word>(words, residues.top)) continue;
      expand_one_by_one(seed, first_index + row, residues, words);
    }
  }
}

template <class Word>
void expand_uniform(const Seed& seed, uint64_t index, uint64_t modulus, std::span<Word> out) {
  expand_uniform_rows(seed, index, modulus, Rows<Word>{out.data(), 1, out.size(), out.size()});
}

template void expand_uniform_rows(const Seed&, uint64_t, uint64_t, Rows<uint16_t>);
template void expand_uniform_rows(const Seed&, uint64_t, uint64_t, Rows<uint32_t>);
template void expand_uniform_rows(const Seed&, uint64_t, uint64_t, Rows<uint64_t>);
template void expand_uniform(const Seed&, uint64_t, uint64_t, std::span<uint16_t>);
template void expand_uniform(const Seed&, uint64_t, uint64_t, std::span<uint32_t>);
template void expand_uniform(const Seed&, uint64_t, uint64_t, std::span<uint64_t>);

}  // namespace whorl::math
