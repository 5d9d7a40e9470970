// A payload between a codec's fields and the frame: small fields first, then arrays of words. What
// the writer puts down the reader takes up in the same order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/bytes.h"
#include "io/native/frame.h"
#include "io/native/pieces.h"
#include "io/native/words.h"
#include "whorl/common.h"
#include "whorl/io.h"

namespace whorl::io {

/// Numbers first, first + step, … of the seed's batch, `count` of them.
struct NumberRun {
  std::uint32_t first = 0, count = 0;
  std::int32_t step = 0;
  bool operator==(const NumberRun&) const = default;
};
/// The runs in which numbers are written. From the first number on, each run is as long as
/// possible. The numbers 0, 1, 2 … have no runs.
std::vector<NumberRun> runs_of(std::span<const std::uint32_t> numbers);

/// The tagged fields of an array of ciphertexts, which all schemes write in the same way.
struct ArrayFields {
  std::optional<Shape> shape{};
  std::vector<NumberRun> numbers{};  ///< of what has a seed
  std::uint64_t length = 0;          ///< values of each vector, where the scheme has vectors
  std::uint8_t rest = 0;             ///< what is behind them
  double noise = 1;                  ///< of what has no seed, where the scheme has this
  bool sum = false;                  ///< the same
  std::optional<std::uint32_t> largest{}, as_bits{};  ///< the same
  std::optional<double> low{}, high{};  ///< between which values lie, where the scheme says it
  bool ring_key = false;  ///< that the key is the one of rings, where the scheme has two
  std::optional<double> off{}, failure_log2{};  ///< of what has no seed, where the scheme has this

  bool of_lwe() const { return noise != 1 || sum || largest || as_bits || off || failure_log2; }
  bool of_reals() const { return low || high; }
};

/// Gathers small fields and refers to arrays, which must outlive it.
class PayloadWriter {
 public:
  explicit PayloadWriter(SaveOptions options = {}) : options_(std::move(options)) {}

  const Interrupt& interrupt() const { return options_.interrupt; }
  /// The shape to write of ciphertexts that have this one.
  const std::optional<Shape>& shape_of(const std::optional<Shape>& held) const {
    return options_.shape ? options_.shape : held;
  }
  ByteWriter& fields() { return head_; }
  /// Writes the seed and sets the frame's flag, if there is a seed.
  void seed(const std::optional<Seed>& seed);
  /// Writes the shape of an array of ciphertexts. ShapeError unless `count` is its product.
  void shape(const std::optional<Shape>& shape, std::uint64_t count) {
    array({shape_of(shape)}, count);
  }
  /// Writes all fields of an array. `numbers` need a seed.
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

  SaveOptions options_;
  ByteWriter head_;
  std::vector<std::function<void(FrameWriter&)>> parts_;
  std::uint64_t size_ = 0;  ///< with all parts
  std::uint32_t flags_ = 0;
};

/// An array whose bytes are in the payload; no memory has been allocated for it yet.
struct TakenWords {
  WordRule rule;
  ByteSpan bytes;
};

class PayloadReader {
 public:
  /// `contents`: the contents of the file that holds the frame, so that words are used where they
  /// lie and finish() checks the digest; or null.
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
  /// Reads a shape. FormatError unless `count` is its product.
  std::optional<Shape> shape(std::uint64_t count);
  /// Reads all fields of an array. FormatError unless there are `count` numbers below 2^32, and a
  /// seed if there are any numbers. The runs are not checked here: see numbers().
  ArrayFields array(std::uint64_t count);
  void align();
  /// `rows` rows of an array, TruncatedError unless they are there; the others come from a seed.
  TakenWords take(WordRule rule, std::uint64_t rows);
  TakenWords take(WordRule rule) {
    const std::uint64_t rows = rule.rows;
    return take(std::move(rule), rows);
  }
  /// A codec calls this after it has read all fields, before it allocates anything. OversizedError
  /// if bytes are left, or if the number of ciphertexts (`count`) or their size after unpacking
  /// (`bytes`, with or without a seed) is above what the caller accepts. The rest of a file is read
  /// now: CorruptionError for a wrong digest.
  void finish();
  void finish(std::uint64_t count, std::uint64_t bytes, bool seeded);
  /// Whether it was called, so that the digest is right.
  bool finished() const { return finished_; }
  /// Returns `count` numbers from their runs, once finish() was called. FormatError unless the runs
  /// are those of runs_of.
  static std::vector<std::uint32_t> numbers(const ArrayFields& fields, std::uint64_t count);

  /// The words of a whole array. RangeError.
  WordArray words(const TakenWords& taken) const;
  /// Room for a whole array, whose rows beyond those taken are still to be written. RangeError.
  template <class Word>
  std::shared_ptr<Word[]> part(const TakenWords& taken) const {
    auto words = unfilled<Word>(taken.rule.count(), taken.rule.field);
    copy_pieces(taken.bytes, words.get(), options_.interrupt);
    check_range(WordArray(nullptr, words.get(), taken.bytes.size() / sizeof(Word), sizeof(Word)),
                taken.rule, options_.interrupt);
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
