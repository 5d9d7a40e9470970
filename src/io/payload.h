// A payload between a codec's fields and the frame: small fields first, then arrays of words. What
// the writer puts down the reader takes up in the same order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/bytes.h"
#include "io/frame.h"
#include "io/words.h"
#include "whorl/common.h"
#include "whorl/io.h"

namespace whorl::io {

/// Numbers first, first + step, … of the seed's batch, `count` of them.
struct NumberRun {
  std::uint32_t first = 0, count = 0;
  std::int32_t step = 0;
  bool operator==(const NumberRun&) const = default;
};
/// The one way in which numbers are written: each run as long as it goes, from the first one on;
/// none for all numbers from 0 on.
std::vector<NumberRun> runs_of(std::span<const std::uint32_t> numbers);

/// What an array of ciphertexts has besides what its scheme says of it: tagged fields.
struct ArrayFields {
  std::optional<Shape> shape{};
  std::vector<NumberRun> numbers{};  ///< of what has a seed
  std::uint64_t length = 0;          ///< values of each vector, where the scheme has vectors
  std::uint8_t rest = 0;             ///< what is behind them
};

/// Gathers small fields and refers to arrays, which must outlive it.
class PayloadWriter {
 public:
  ByteWriter& fields() { return head_; }
  /// Sets the frame's flag where there is one.
  void seed(const std::optional<Seed>& seed);
  /// Of an array of ciphertexts. ShapeError unless `count` is its product.
  void shape(const std::optional<Shape>& shape, std::uint64_t count) { array({shape}, count); }
  /// The same and more. `numbers` with a seed only.
  void array(ArrayFields fields, std::uint64_t count);

  // ---- after the last field

  /// Zeros up to the next aligned offset.
  void align();
  /// The first `rows` rows of an array that is checked as a whole. ShapeError, RangeError.
  void words(const WordArray& words, const WordRule& rule, std::uint64_t rows);
  void words(const WordArray& all, const WordRule& rule) { words(all, rule, rule.rows); }
  /// `bytes` bytes that `write` writes.
  void stream(std::uint64_t bytes, std::function<void(FrameWriter&)> write);

  /// The whole frame.
  void write_frame(Sink& sink, FrameType type, const Digest& parameters, const KeyId& key_id) const;

 private:
  std::uint64_t size() const { return parts_.empty() ? head_.size() : size_; }

  ByteWriter head_;
  std::vector<std::function<void(FrameWriter&)>> parts_;
  std::uint64_t size_ = 0;  ///< with all parts
  std::uint32_t flags_ = 0;
};

/// An array whose bytes are known to be there, and which nothing has been allocated for.
struct TakenWords {
  WordRule rule;
  ByteSpan bytes;
};

class PayloadReader {
 public:
  /// `contents`: of the file that the frame is in, whose words stay where they lie, and whose
  /// digest is checked by finish(); or null.
  PayloadReader(const OpenFrame& frame, const LoadOptions& options, Contents contents)
      : header_(frame.header),
        options_(options),
        contents_(std::move(contents)),
        what_(frame_type_name(frame.header.type)),
        reader_(frame.payload, contents_.get()) {}

  ByteReader& fields() { return reader_; }
  const Header& header() const { return header_; }
  const LoadOptions& options() const { return options_; }

  std::optional<Seed> seed();
  /// None before format 2. FormatError unless `count` is its product.
  std::optional<Shape> shape(std::uint64_t count);
  /// The same and more: FormatError unless the numbers are as many and below 2^32, and there is a
  /// seed where there are any. They are as they are written: see numbers().
  ArrayFields array(std::uint64_t count);
  void align();
  /// `rows` rows of an array, TruncatedError unless they are there; the others come from a seed.
  TakenWords take(WordRule rule, std::uint64_t rows);
  TakenWords take(WordRule rule) {
    const std::uint64_t rows = rule.rows;
    return take(std::move(rule), rows);
  }
  /// To be called when all is taken, before anything is allocated: OversizedError if something is
  /// left, or if the `count` ciphertexts or the `bytes` that they unpack to, from a seed or not,
  /// are more than the caller accepts. Of a file, the rest is read now, and CorruptionError is for
  /// a wrong digest.
  void finish();
  void finish(std::uint64_t count, std::uint64_t bytes, bool seeded);
  /// Whether it was called, so that the digest is right.
  bool finished() const { return finished_; }
  /// After finish(): `count` numbers from their runs. FormatError for runs that are not as runs_of
  /// gives them.
  static std::vector<std::uint32_t> numbers(const ArrayFields& fields, std::uint64_t count);

  /// The words of a whole array. RangeError.
  WordArray words(const TakenWords& taken) const;
  /// Words whose rows beyond those taken are still 0. RangeError.
  template <class Word>
  std::vector<Word> part(const TakenWords& taken) const {
    std::vector<Word> words;
    reserve(words, taken.rule.count(), taken.rule.field);
    words.resize(static_cast<std::size_t>(taken.rule.count()));
    if (!taken.bytes.empty()) std::memcpy(words.data(), taken.bytes.data(), taken.bytes.size());
    check_range(WordArray(nullptr, words.data(), taken.bytes.size() / sizeof(Word), sizeof(Word)),
                taken.rule);
    return words;
  }

 private:
  const Header& header_;
  const LoadOptions& options_;
  Contents contents_;
  std::string what_;
  ByteReader reader_;
  bool finished_ = false;
};

}  // namespace whorl::io
