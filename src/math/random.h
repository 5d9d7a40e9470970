// There are three kinds of randomness, which must not be confused: bytes of the operating system; a
// Stream, which is public and can be repeated from its seed; a PrivateStream, for secrets and
// errors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace whorl::math {

using Seed = std::array<uint8_t, 32>;

/// A fresh seed from the operating system. Throws RandomnessError when it gives none.
Seed random_seed();

/// Fills out from the operating system. Throws RandomnessError when libsodium cannot start.
void random_bytes(std::span<uint8_t> out);

/// The ChaCha20 keystream (Bernstein's original: 256-bit key, 64-bit nonce, 64-bit block counter
/// from 0) with key = seed and nonce = index, little endian. Consecutive fills continue it, however
/// the bytes are split among them. Not for use by two threads at once. Wiped on destruction.
class Stream {
 public:
  Stream(const Seed& seed, uint64_t index);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void fill(std::span<uint8_t> out);

  /// Starts over with another key and index.
  void restart(const Seed& seed, uint64_t index);

 private:
  void keystream(uint8_t* out, size_t blocks);

  static constexpr size_t buffer_blocks = 16;

  Seed key_;
  std::array<uint8_t, 8> nonce_;
  uint64_t block_ = 0;
  size_t used_ = 0;
  std::array<uint8_t, 64 * buffer_blocks> buffer_;
};

/// Randomness for secrets and errors. The stream draws its key from the operating system when it is
/// made, and again when it is used in a forked child. So a child shares no randomness with its
/// parent or its siblings. Use one stream for each purpose and thread.
class PrivateStream {
 public:
  /// purpose is documentation for the reader of the calling code; streams of the same purpose are
  /// independent.
  explicit PrivateStream(const char* purpose);
  PrivateStream(const PrivateStream&) = delete;
  PrivateStream& operator=(const PrivateStream&) = delete;

  /// A stream that gives the same bytes every time (until a fork). For tests only.
  static PrivateStream reproducible_for_tests(const Seed& seed) { return PrivateStream(seed); }

  void fill(std::span<uint8_t> out);

 private:
  explicit PrivateStream(const Seed& seed);

  uint64_t process_;
  Stream stream_;
};

/// Public uniform residues from a seed. Word: uint16_t, uint32_t or uint64_t; modulus: 2 ..
/// 2^wordbits (64-bit words: 2^64 - 1), else ParameterError.
///
/// This is part of the file format. The keystream Stream(seed, index) is cut into words of
/// sizeof(Word) bytes, little endian. Each is masked to the bit length of modulus - 1, that is to
/// its low ceil(log2(modulus)) bits. Masked words that are not below the modulus are dropped; the
/// others are, in order, the residues. (The same seed gives other residues with another Word.)
template <class Word>
void expand_uniform(const Seed& seed, uint64_t index, uint64_t modulus, std::span<Word> out);

/// Rows of words in memory: row r begins at data + r * stride and has `words` of them.
template <class Word>
struct Rows {
  Word* data;
  size_t count;
  size_t words;
  size_t stride;
};

/// Row r of out is expand_uniform(seed, first_index + r, modulus), only sooner: many rows at once
/// keep a vector of keystreams busy. Writes nothing between the rows.
template <class Word>
void expand_uniform_rows(const Seed& seed, uint64_t first_index, uint64_t modulus, Rows<Word> out);

extern template void expand_uniform_rows(const Seed&, uint64_t, uint64_t, Rows<uint16_t>);
extern template void expand_uniform_rows(const Seed&, uint64_t, uint64_t, Rows<uint32_t>);
extern template void expand_uniform_rows(const Seed&, uint64_t, uint64_t, Rows<uint64_t>);
extern template void expand_uniform(const Seed&, uint64_t, uint64_t, std::span<uint16_t>);
extern template void expand_uniform(const Seed&, uint64_t, uint64_t, std::span<uint32_t>);
extern template void expand_uniform(const Seed&, uint64_t, uint64_t, std::span<uint64_t>);

}  // namespace whorl::math
