#include "io/payload.h"

#include <tuple>

#include "io/tagged.h"

namespace whorl::io {

namespace {

constexpr std::size_t max_axes = 32;  // as many as NumPy 1 has
/// What is expanded to so many times its payload is bounded as what is not: whoever sends it has
/// as much work as whoever loads it.
constexpr std::uint64_t harmless_expansion = 4;

/// What an array of ciphertexts has besides what its scheme says of it.
struct ArrayFields {
  std::optional<Shape> shape{};
};
constexpr std::tuple array_fields{Field{1, "shape", &ArrayFields::shape, max_axes}};

template <class Exception>
void check_shape(const Shape& shape, std::uint64_t count) {
  if (shape.size() > max_axes)
    throw Exception("shape: " + std::to_string(shape.size()) + " axes, at most " +
                    std::to_string(max_axes));
  std::uint64_t product = 1;
  for (const std::uint64_t length : shape) product = checked_product(product, length, "shape");
  if (product != count)
    throw Exception("shape: of " + std::to_string(product) + " ciphertexts, there are " +
                    std::to_string(count));
}

/// The shape of an array that names none.
bool is_flat(const Shape& shape) { return shape.size() == 1; }

}  // namespace

void PayloadWriter::seed(const std::optional<Seed>& seed) {
  if (!seed) return;
  flags_ |= flag_seeded;
  head_.bytes(*seed);
}

void PayloadWriter::shape(const std::optional<Shape>& shape, std::uint64_t count) {
  ArrayFields fields;
  if (shape) {
    check_shape<ShapeError>(*shape, count);
    if (!is_flat(*shape)) fields.shape = shape;
  }
  write_fields(fields, array_fields, head_);
}

void PayloadWriter::align() {
  const std::uint64_t aligned = align_up(header_bytes + size()) - header_bytes;
  stream(aligned - size(), [](FrameWriter& frame) { frame.align(); });
}

void PayloadWriter::words(const WordArray& words, const WordRule& rule, std::uint64_t rows) {
  io::check_shape(words, rule);
  check_range(words, rule);
  const ByteSpan written =
      bytes_of(words).first(checked_product(rows, rule.row_words, rule.field) * rule.word_bytes);
  stream(written.size(), [written](FrameWriter& frame) { frame.write(written); });
}

void PayloadWriter::stream(std::uint64_t bytes, std::function<void(FrameWriter&)> write) {
  size_ = size() + bytes;
  parts_.push_back(std::move(write));
}

void PayloadWriter::write_frame(Sink& sink, FrameType type, const Digest& parameters,
                                const KeyId& key_id) const {
  FrameWriter frame(sink, make_header(type, parameters, key_id, size(), flags_));
  frame.write(head_.data());
  for (const auto& part : parts_) part(frame);
  frame.finish();
}

std::optional<Seed> PayloadReader::seed() {
  if ((header_.flags & flag_seeded) == 0) return {};
  return reader_.array<std::tuple_size_v<Seed>>("seed");
}

std::optional<Shape> PayloadReader::shape(std::uint64_t count) {
  if (header_.version < 2) return {};
  auto shape = read_fields<ArrayFields>(reader_, array_fields, what_).shape;
  if (shape) {
    check_shape<FormatError>(*shape, count);
    if (is_flat(*shape)) throw FormatError("shape: of one axis, which is left out");
  }
  return shape;
}

void PayloadReader::align() {
  const std::uint64_t offset = header_bytes + reader_.position();
  reader_.zeros(static_cast<std::size_t>(align_up(offset) - offset), what_);
}

TakenWords PayloadReader::take(WordRule rule, std::uint64_t rows) {
  rule.bytes();  // a part may fit where the whole does not
  const std::uint64_t words = checked_product(rows, rule.row_words, rule.field);
  const ByteSpan bytes =
      reader_.take(checked_product(words, rule.word_bytes, rule.field), rule.field);
  return {std::move(rule), bytes};
}

void PayloadReader::finish(std::uint64_t count, std::uint64_t bytes, bool seeded) const {
  finish();
  const std::string unpacked =
      what_ + ": " + std::to_string(count) + " unpack to " + std::to_string(bytes) + " bytes, ";
  const auto at_most = [&](std::uint64_t value, std::uint64_t limit, const char* unit,
                           const char* option) {
    if (value > limit)
      throw OversizedError(unpacked + "at most " + std::to_string(limit) + unit + " accepted (" +
                           option + ")");
  };
  at_most(count, options_.max_count, " ciphertexts", "max_count");
  if (seeded && bytes / harmless_expansion > header_.payload_bytes)
    at_most(bytes, options_.max_expanded_bytes, "", "max_expanded_bytes");
  at_most(bytes, options_.max_bytes, "", "max_bytes");
}

WordArray PayloadReader::words(const TakenWords& taken) const {
  WordArray words = take_words(taken.bytes, taken.rule, contents_);
  check_range(words, taken.rule);
  return words;
}

}  // namespace whorl::io
