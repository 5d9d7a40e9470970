#include "math/random.h"

#include <pthread.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <string>

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

// Forks seen by this process and its ancestors. The process id alone would miss a grandchild that
// was given the id of its dead grandparent; the count alone would miss a raw clone().
std::atomic<uint64_t> forks{0};

uint64_t fork_count() {
  static const bool registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); }) == 0;
  if (!registered) throw RandomnessError("no memory to register a fork handler");
  return forks.load(std::memory_order_relaxed);
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
    // In pieces that stay in the first-level cache between being zeroed and being filled.
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

PrivateStream::PrivateStream(const Seed& seed)
    : fork_count_(fork_count()), process_(getpid()), stream_(seed, 0) {}

void PrivateStream::fill(std::span<uint8_t> out) {
  const uint64_t count = fork_count();
  const pid_t process = getpid();
  if (count != fork_count_ || process != process_) {
    stream_.restart(WipedSeed{random_seed()}.seed, 0);
    fork_count_ = count;
    process_ = process;
  }
  stream_.fill(out);
}

template <class Word>
void expand_uniform(const Seed& seed, uint64_t index, uint64_t modulus, std::span<Word> out) {
  constexpr uint64_t max_word = std::numeric_limits<Word>::max();
  if (modulus < 2 || modulus - 1 > max_word) {
    throw ParameterError("modulus " + std::to_string(modulus) + " is outside [2, 2^" +
                         std::to_string(8 * sizeof(Word)) + "]");
  }
  const Word top = static_cast<Word>(modulus - 1);
  const Word mask = static_cast<Word>(max_word >> (8 * sizeof(Word) - std::bit_width(top)));
  constexpr size_t piece_words = 4096 / sizeof(Word);
  // Most moduli lie just below a power of two: whole groups without a rejection are the rule, and
  // are copied without a look at each word.
  constexpr size_t group_words = 64;

  Stream stream(seed, index);
  std::array<Word, piece_words> words;
  size_t done = 0;
  while (done < out.size()) {
    // Never more words than residues wanted, so that the loops below need no check of their own.
    const size_t count = std::min(piece_words, out.size() - done);
    stream.fill({reinterpret_cast<uint8_t*>(words.data()), count * sizeof(Word)});
    size_t i = 0;
    for (; i + group_words <= count; i += group_words) {
      Word rejected = 0;
      Word* const to = out.data() + done;
      for (size_t j = 0; j < group_words; ++j) {
        const Word word = static_cast<Word>(words[i + j] & mask);
        to[j] = word;
        rejected = static_cast<Word>(rejected | static_cast<Word>(word > top));
      }
      if (rejected == 0) {
        done += group_words;
        continue;
      }
      for (size_t j = 0; j < group_words; ++j) {
        const Word word = static_cast<Word>(words[i + j] & mask);
        out[done] = word;
        done += static_cast<size_t>(word <= top);
      }
    }
    for (; i < count; ++i) {
      const Word word = static_cast<Word>(words[i] & mask);
      out[done] = word;
      done += static_cast<size_t>(word <= top);
    }
  }
}

template void expand_uniform(const Seed&, uint64_t, uint64_t, std::span<uint16_t>);
template void expand_uniform(const Seed&, uint64_t, uint64_t, std::span<uint32_t>);
template void expand_uniform(const Seed&, uint64_t, uint64_t, std::span<uint64_t>);

}  // namespace whorl::math
