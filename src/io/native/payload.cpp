#include "io/native/payload.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "io/native/tagged.h"

namespace whorl::io {

namespace {

constexpr std::size_t max_axes = 32;  // as many as NumPy 1 has
/// The product of all axes but those of length 0 is at most this. An element has less than 2^23
/// bytes in any of NumPy's arrays, whose bytes NumPy counts below 2^63.
constexpr std::uint64_t max_positions = std::uint64_t{1} << 40;
/// Ciphertexts that expand to at most this many times their payload have no bound besides
/// max_bytes: sending them is about as much work as loading them.
constexpr std::uint64_t harmless_expansion = 4;

constexpr std::tuple array_fields{Field{1, "shape", &ArrayFields::shape, max_axes},
                                  Field{2, "numbers", &ArrayFields::numbers},
                                  Field{3, "length", &ArrayFields::length},
                                  Field{4, "rest", &ArrayFields::rest},
                                  Field{5, "noise", &ArrayFields::noise},
                                  Field{6, "sum", &ArrayFields::sum},
                                  Field{7, "largest", &ArrayFields::largest},
                                  Field{8, "as_bits", &ArrayFields::as_bits},
                                  Field{9, "low", &ArrayFields::low},
                                  Field{10, "high", &ArrayFields::high},
                                  Field{11, "ring_key", &ArrayFields::ring_key},
                                  Field{12, "off", &ArrayFields::off},
                                  Field{13, "failure_log2", &ArrayFields::failure_log2}};

template <class Exception>
void check_shape(const Shape& shape, std::uint64_t count) {
  if (shape.size() > max_axes)
    throw Exception("shape has " + std::to_string(shape.size()) + " axes; it may have at most " +
                    std::to_string(max_axes));
  // Axes of length 0 are left out, as NumPy leaves them out where it counts an array's bytes.
  std::uint64_t product = 1;
  for (const std::uint64_t length : shape)
    if (length != 0) product = checked_product(product, length, "shape");
  if (product > max_positions)
    throw Exception("shape: its axes that are not 0 have the product " + std::to_string(product) +
                    "; it may be at most " + std::to_string(max_positions) +
                    ", since NumPy holds no larger arrays");
  if (std::ranges::find(shape, 0) != shape.end()) product = 0;
  if (product != count)
    throw Exception("shape is of " + std::to_string(product) + " ciphertexts, but there are " +
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

std::vector<NumberRun> runs_of(std::span<const std::uint32_t> numbers) {
  const auto step_at = [&](std::size_t i) { return std::int64_t{numbers[i + 1]} - numbers[i]; };
  std::vector<NumberRun> runs;
  for (std::size_t i = 0; i < numbers.size();) {
    NumberRun run{numbers[i], 1, 0};
    const std::int64_t step = i + 1 < numbers.size() ? step_at(i) : std::int64_t{1} << 32;
    if (step == static_cast<std::int32_t>(step)) {
      run.step = static_cast<std::int32_t>(step);
      while (i + 1 < numbers.size() && step_at(i) == step) {
        ++run.count;
        ++i;
      }
    }
    ++i;
    runs.push_back(run);
  }
  const bool whole =
      runs.size() == 1 && runs[0].first == 0 && (runs[0].count == 1 || runs[0].step == 1);
  return whole ? std::vector<NumberRun>() : runs;
}

void PayloadWriter::array(ArrayFields fields, std::uint64_t count) {
  if (fields.shape) {
    check_shape<ShapeError>(*fields.shape, count);
    if (is_flat(*fields.shape)) fields.shape.reset();
  }
  if ((flags_ & flag_seeded) == 0) fields.numbers.clear();
  std::uint64_t numbers = 0;
  for (const NumberRun& run : fields.numbers) numbers += run.count;
  if (!fields.numbers.empty() && numbers != count)
    throw ShapeError("numbers names " + std::to_string(numbers) +
                     " ciphertexts of a seed's batch; it must name " + std::to_string(count));
  write_fields(fields, array_fields, head_);
}

void PayloadWriter::align() {
  const std::uint64_t aligned = align_up(header_bytes + size()) - header_bytes;
  stream(aligned - size(), [](FrameWriter& frame) { frame.align(); });
}

void PayloadWriter::words(const WordArray& words, const WordRule& rule, std::uint64_t rows) {
  io::check_shape(words, rule);
  check_range(words, rule, options_.interrupt);
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
  FrameWriter frame(sink, make_header(type, parameters, key_id, size(), flags_),
                    options_.interrupt);
  frame.write(head_.data());
  for (const auto& part : parts_) part(frame);
  frame.finish();
}

std::optional<Seed> PayloadReader::seed() {
  if ((header_.flags & flag_seeded) == 0) return {};
  return reader_.array<std::tuple_size_v<Seed>>("seed");
}

std::optional<Shape> PayloadReader::shape(std::uint64_t count) {
  ArrayFields fields = array(count);
  if (!fields.numbers.empty() || fields.length != 0 || fields.rest != 0 || fields.of_lwe() ||
      fields.of_reals() || fields.ring_key)
    throw FormatError(what_ +
                      ": a field is set that they do not have (numbers, length, rest, noise, sum, "
                      "largest, as_bits, low, high, ring_key, off or failure_log2)");
  return std::move(fields.shape);
}

ArrayFields PayloadReader::array(std::uint64_t count) {
  // Runs are the only long field: there are at most as many of them as ciphertexts.
  const auto most_bytes = [&](std::uint64_t most) {
    return 512 + std::min(most, header_.payload_bytes) * sizeof(NumberRun);
  };
  if (ByteReader ahead = reader_; count > options_.max_count && ahead.value<std::uint32_t>(what_) >
                                                                    most_bytes(options_.max_count))
    throw OversizedError(what_ + ": " + std::to_string(count) + " are announced; at most " +
                         std::to_string(options_.max_count) +
                         " are accepted (max_count = " + std::to_string(count) + " accepts them)");
  auto fields = read_fields<ArrayFields>(reader_, array_fields, what_, most_bytes(count));
  if (fields.shape) {
    check_shape<FormatError>(*fields.shape, count);
    if (is_flat(*fields.shape))
      throw FormatError("shape: it has one axis; such a shape must be left out");
  }
  if (fields.numbers.empty()) return fields;
  if ((header_.flags & flag_seeded) == 0)
    throw FormatError("numbers: they need a seed, and there is none");
  std::uint64_t numbers = 0;
  for (const NumberRun& run : fields.numbers) {
    const std::int64_t last = run.first + std::int64_t{run.step} * (std::int64_t{run.count} - 1);
    if (run.count == 0 || last < 0 || last > std::numeric_limits<std::uint32_t>::max())
      throw FormatError("numbers: " + std::to_string(run.count) + " from " +
                        std::to_string(run.first) + " in steps of " + std::to_string(run.step) +
                        " leave 0 … 2^32 - 1");
    numbers += run.count;
  }
  if (numbers != count)
    throw FormatError("numbers names " + std::to_string(numbers) +
                      " ciphertexts of a seed's batch; it must name " + std::to_string(count));
  return fields;
}

std::vector<std::uint32_t> PayloadReader::numbers(const ArrayFields& fields, std::uint64_t count) {
  std::vector<std::uint32_t> numbers;
  if (fields.numbers.empty()) return numbers;
  reserve(numbers, count, "numbers");
  for (const NumberRun& run : fields.numbers)
    for (std::uint32_t k = 0; k < run.count; ++k)
      numbers.push_back(static_cast<std::uint32_t>(run.first + std::int64_t{run.step} * k));
  if (runs_of(numbers) != fields.numbers)
    throw FormatError("numbers: their runs are not those that saving writes");
  return numbers;
}

void PayloadReader::align() {
  const std::uint64_t offset = header_bytes + reader_.position();
  reader_.zeros(static_cast<std::size_t>(align_up(offset) - offset), what_);
}

TakenWords PayloadReader::take(WordRule rule, std::uint64_t rows) {
  rule.bytes();  // a part may fit where the whole does not
  const std::uint64_t words = checked_product(rows, rule.row_words, rule.field);
  const ByteSpan bytes =
      reader_.skip(checked_product(words, rule.word_bytes, rule.field), rule.field);
  return {std::move(rule), bytes};
}

void PayloadReader::finish() {
  reader_.finish(what_);
  finished_ = true;
  if (!contents_) return;
  contents_->fill(options_.interrupt);
  check_digest(*contents_, options_.interrupt);
}

void PayloadReader::finish(std::uint64_t count, std::uint64_t bytes, bool seeded) {
  reader_.finish(what_);
  const std::string unpacked =
      what_ + ": " + std::to_string(count) + " unpack to " + std::to_string(bytes) + " bytes; ";
  const auto at_most = [&](std::uint64_t value, std::uint64_t limit, const char* unit,
                           const char* option) {
    if (value > limit)
      throw OversizedError(unpacked + "at most " + std::to_string(limit) + unit +
                           " are accepted (" + option + " = " + std::to_string(value) +
                           " accepts them)");
  };
  at_most(count, options_.max_count, " ciphertexts", "max_count");
  if (seeded && bytes / harmless_expansion > header_.payload_bytes)
    at_most(bytes, options_.max_expanded_bytes, "", "max_expanded_bytes");
  at_most(bytes, options_.max_bytes, "", "max_bytes");
  finish();
}

WordArray PayloadReader::words(const TakenWords& taken) const {
  WordArray words = take_words(taken.bytes, taken.rule, contents_, options_.interrupt);
  check_range(words, taken.rule, options_.interrupt);
  return words;
}

}  // namespace whorl::io
