// The payloads of FHEW/TFHE's frames; docs/file-format.md has the bytes.
#include "io/binfhe_files.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "io/frame.h"
#include "io/frame_output.h"
#include "io/mapped_file.h"
#include "io/parameter_codec.h"
#include "io/residues.h"
#include "io/words.h"
#include "math/random.h"
#include "schemes/binfhe/derived.h"

namespace whorl::io {

namespace {

using binfhe::Ciphertexts;
using binfhe::Encoding;
using binfhe::EvaluationKeys;
using binfhe::KeyId;
using binfhe::Lut;
using binfhe::Parameters;
using binfhe::SecretKey;
using Mapping = std::shared_ptr<const MappedFile>;

constexpr std::size_t chunk_words = 4096;
constexpr std::size_t coefficient_bytes = sizeof(std::int32_t);

// ---- what all frames share

ByteWriter begin_payload(const Parameters& parameters) {
  ByteWriter head;
  encode_literal(parameters.literal(), head);
  return head;
}

/// Rebuilds the parameters at the head of a payload, which must be those that the header names.
Parameters read_parameters(ByteReader& reader, const Header& header, const LoadOptions& options) {
  auto parameters = Parameters::create(decode_literal(reader), options.allow_insecure);
  if (parameters.digest() != header.parameters_digest)
    throw ParameterMismatchError(
        "parameter digest: the header names other parameters than the payload holds");
  return parameters;
}

void write_encoding(ByteWriter& out, const Encoding& encoding) {
  out.value(encoding.p);
  out.value(static_cast<std::uint8_t>(encoding.padding));
  out.zeros(3);
}

Encoding read_encoding(ByteReader& in, const Parameters& parameters, const std::string& field) {
  Encoding encoding;
  encoding.p = in.value<std::uint32_t>(field);
  const auto padding = in.value<std::uint8_t>(field);
  if (padding > 1)
    throw FormatError(field + ": padding is " + std::to_string(padding) + ", at most 1");
  encoding.padding = padding != 0;
  in.zeros(3, field);
  binfhe::check_encoding(parameters, encoding);
  return encoding;
}

// ---- parameters

void write_frame(Sink& sink, const Parameters& value) {
  const ByteWriter head = begin_payload(value);
  FrameWriter frame(sink, make_header(FrameType::parameters, value.digest(), {}, head.size()));
  frame.write(head.data());
  frame.finish();
}

Parameters read_parameters_frame(ByteSpan bytes, const LoadOptions& options) {
  const OpenFrame frame = open_frame(bytes, FrameType::parameters, options);
  ByteReader reader(frame.payload);
  auto parameters = read_parameters(reader, frame.header, options);
  reader.finish("parameters");
  return parameters;
}

// ---- ciphertexts

/// Words of the width in the file, `chunk_words` at a time, from or to every `stride`-th word of
/// `data` starting at `offset`.
template <class Word>
void write_words(FrameWriter& frame, std::span<const std::uint32_t> data, std::size_t offset,
                 std::size_t stride) {
  std::array<Word, chunk_words> chunk;
  for (std::size_t at = offset; at < data.size();) {
    std::size_t filled = 0;
    for (; filled < chunk_words && at < data.size(); at += stride)
      chunk[filled++] = static_cast<Word>(data[at]);
    frame.write(bytes_of(std::span<const Word>(chunk.data(), filled)));
  }
}

template <class Word>
void read_words(ByteSpan bytes, std::uint64_t modulus, std::span<std::uint32_t> data,
                std::size_t offset, std::size_t stride) {
  std::array<Word, chunk_words> chunk;
  const std::size_t count = bytes.size() / sizeof(Word);
  for (std::size_t first = 0; first < count; first += chunk_words) {
    const std::size_t filled = std::min(chunk_words, count - first);
    std::memcpy(chunk.data(), bytes.data() + first * sizeof(Word), filled * sizeof(Word));
    check_residues(std::span<const Word>(chunk.data(), filled), modulus, "ciphertexts", first);
    for (std::size_t k = 0; k < filled; ++k) data[offset + (first + k) * stride] = chunk[k];
  }
}

/// Whoever altered `data` and kept the seed would find other ciphertexts in the file.
void check_seed(const Ciphertexts& value) {
  std::vector<std::uint32_t> expected(value.parameters.n());
  for (std::size_t i = 0; i < value.count; ++i) {
    math::expand_uniform<std::uint32_t>(*value.seed, i, value.parameters.q(), expected);
    const auto row = value[i];
    if (!std::equal(expected.begin(), expected.end(), row.begin()))
      throw MismatchError("seed: a of ciphertext " + std::to_string(i) +
                          " does not come from it; whoever changes data must clear seed");
  }
}

void write_frame(Sink& sink, const Ciphertexts& value) {
  const std::uint64_t q = value.parameters.q();
  if (value.data.size() != checked_product(value.count, value.row(), "ciphertexts"))
    throw ShapeError("data: " + std::to_string(value.data.size()) + " words, expected " +
                     std::to_string(value.count) + " times " + std::to_string(value.row()));
  check_residues(std::span<const std::uint32_t>(value.data), q, "data");
  if (value.seed) check_seed(value);

  ByteWriter head = begin_payload(value.parameters);
  write_encoding(head, value.encoding);
  head.value(static_cast<std::uint64_t>(value.count));
  if (value.seed) head.bytes(*value.seed);
  const std::size_t word_bytes = word_bytes_for(q);
  const std::size_t words = value.seed ? value.count : value.data.size();
  FrameWriter frame(sink,
                    make_header(FrameType::ciphertexts, value.parameters.digest(), value.key_id,
                                head.size() + words * word_bytes, value.seed ? flag_seeded : 0));
  frame.write(head.data());
  const std::size_t offset = value.seed ? value.row() - 1 : 0;
  const std::size_t stride = value.seed ? value.row() : 1;
  if (word_bytes == sizeof(std::uint16_t))
    write_words<std::uint16_t>(frame, value.data, offset, stride);
  else
    write_words<std::uint32_t>(frame, value.data, offset, stride);
  frame.finish();
}

Ciphertexts read_ciphertexts_frame(ByteSpan bytes, const LoadOptions& options) {
  const OpenFrame frame = open_frame(bytes, FrameType::ciphertexts, options);
  ByteReader reader(frame.payload);
  const auto parameters = read_parameters(reader, frame.header, options);
  const Encoding encoding = read_encoding(reader, parameters, "encoding");
  const auto count = reader.value<std::uint64_t>("count");
  std::optional<binfhe::Seed> seed;
  if ((frame.header.flags & flag_seeded) != 0) seed = reader.array<32>("seed");

  const std::uint64_t q = parameters.q();
  const std::size_t row = std::size_t{parameters.n()} + 1;
  const std::uint64_t all_words = checked_product(count, row, "ciphertexts");
  const std::size_t word_bytes = word_bytes_for(q);
  const ByteSpan words = reader.take(
      checked_product(seed ? count : all_words, word_bytes, "ciphertexts"), "ciphertexts");
  reader.finish("ciphertexts");
  const std::uint64_t unpacked = checked_product(all_words, sizeof(std::uint32_t), "ciphertexts");
  if (unpacked > options.max_bytes)
    throw OversizedError("ciphertexts: " + std::to_string(count) + " unpack to " +
                         std::to_string(unpacked) + " bytes, at most " +
                         std::to_string(options.max_bytes) + " accepted (max_bytes)");

  std::vector<std::uint32_t> data;
  reserve(data, all_words, "ciphertexts");
  data.resize(static_cast<std::size_t>(all_words));
  const std::size_t offset = seed ? row - 1 : 0;
  const std::size_t stride = seed ? row : 1;
  if (word_bytes == sizeof(std::uint16_t))
    read_words<std::uint16_t>(words, q, data, offset, stride);
  else
    read_words<std::uint32_t>(words, q, data, offset, stride);
  if (seed) {
    for (std::size_t i = 0; i < count; ++i)
      math::expand_uniform(*seed, i, q, std::span(data).subspan(i * row, row - 1));
  }
  return {parameters,      frame.header.key_id,
          encoding,        static_cast<std::size_t>(count),
          std::move(data), seed};
}

// ---- evaluation keys

/// Sizes of the two arrays, which the parameters alone determine.
struct KeyShape {
  std::uint64_t rotation_words, rotation_word_bytes, switch_words, switch_word_bytes;

  explicit KeyShape(const Parameters& parameters)
      : rotation_words(
            checked_product(parameters.rotation_key_rows(), parameters.N(), "rotation key")),
        rotation_word_bytes(parameters.Q() < (std::uint64_t{1} << 32) ? 4 : 8),
        switch_words(parameters.key_switch_rows()),
        switch_word_bytes(word_bytes_for(parameters.Q_ks())) {}

  std::uint64_t rotation_bytes() const {
    return checked_product(rotation_words, rotation_word_bytes, "rotation key");
  }
  std::uint64_t switch_bytes() const {
    return checked_product(switch_words, switch_word_bytes, "switching key");
  }
};

/// Range-checks a chunk at a time, so that a mapped key need not become resident as a whole.
template <class Word>
void check_key_words(const WordArray& words, std::uint64_t modulus, const char* field,
                     const MappedFile* mapping) {
  constexpr std::size_t chunk = std::size_t{1} << 20;
  const auto all = words.as<Word>();
  for (std::size_t first = 0; first < all.size(); first += chunk) {
    const auto part = all.subspan(first, std::min(chunk, all.size() - first));
    check_residues(part, modulus, field, first);
    if (mapping != nullptr) mapping->release(bytes_of(part));
  }
}

void check_key_words(const WordArray& words, std::uint64_t modulus, const char* field,
                     const MappedFile* mapping) {
  switch (words.word_bytes()) {
    case 2:
      return check_key_words<std::uint16_t>(words, modulus, field, mapping);
    case 4:
      return check_key_words<std::uint32_t>(words, modulus, field, mapping);
    default:
      return check_key_words<std::uint64_t>(words, modulus, field, mapping);
  }
}

WordArray key_words(ByteSpan bytes, std::uint64_t word_bytes, std::uint64_t modulus,
                    const char* field, const Mapping& mapping) {
  WordArray words = take_words(bytes, word_bytes, field, mapping);
  check_key_words(words, modulus, field, mapping.get());
  return words;
}

void write_frame(Sink& sink, const EvaluationKeys& value) {
  const KeyShape shape(value.parameters);
  check_key_shape(value.rotation_b, shape.rotation_words, shape.rotation_word_bytes, "rotation_b");
  check_key_shape(value.switch_b, shape.switch_words, shape.switch_word_bytes, "switch_b");
  check_key_words(value.rotation_b, value.parameters.Q(), "rotation_b", nullptr);
  check_key_words(value.switch_b, value.parameters.Q_ks(), "switch_b", nullptr);

  ByteWriter head = begin_payload(value.parameters);
  head.bytes(value.rotation_seed);
  head.bytes(value.switch_seed);
  const std::uint64_t rotation_start = align_up(header_bytes + head.size());
  const std::uint64_t switch_start = align_up(rotation_start + shape.rotation_bytes());
  const std::uint64_t end = switch_start + shape.switch_bytes();
  FrameWriter frame(sink, make_header(FrameType::evaluation_keys, value.parameters.digest(),
                                      value.key_id, end - header_bytes));
  frame.write(head.data());
  frame.align();
  frame.write(bytes_of(value.rotation_b));
  frame.align();
  frame.write(bytes_of(value.switch_b));
  frame.finish();
}

EvaluationKeys read_evaluation_keys_frame(ByteSpan bytes, const LoadOptions& options,
                                          const Mapping& mapping) {
  const OpenFrame frame = open_frame(bytes, FrameType::evaluation_keys, options, mapping.get());
  ByteReader reader(frame.payload);
  const auto parameters = read_parameters(reader, frame.header, options);
  const auto rotation_seed = reader.array<32>("rotation_seed");
  const auto switch_seed = reader.array<32>("switch_seed");
  const auto align = [&reader] {
    const std::uint64_t offset = header_bytes + reader.position();
    reader.zeros(static_cast<std::size_t>(align_up(offset) - offset), "evaluation keys");
  };
  const KeyShape shape(parameters);
  align();
  const ByteSpan rotation = reader.take(shape.rotation_bytes(), "rotation_b");
  align();
  const ByteSpan switching = reader.take(shape.switch_bytes(), "switch_b");
  reader.finish("evaluation keys");
  return {parameters,
          frame.header.key_id,
          rotation_seed,
          key_words(rotation, shape.rotation_word_bytes, parameters.Q(), "rotation_b", mapping),
          switch_seed,
          key_words(switching, shape.switch_word_bytes, parameters.Q_ks(), "switch_b", mapping)};
}

// ---- look-up tables

void write_frame(Sink& sink, const Lut& value) {
  ByteWriter head = begin_payload(value.parameters());
  write_encoding(head, value.input());
  write_encoding(head, value.output());
  head.value(static_cast<std::uint8_t>(value.kind()));
  head.zeros(7);
  FrameWriter frame(sink, make_header(FrameType::lut, value.parameters().digest(), {},
                                      head.size() + value.values().size_bytes()));
  frame.write(head.data());
  frame.write(bytes_of(value.values()));
  frame.finish();
}

Lut read_lut_frame(ByteSpan bytes, const LoadOptions& options) {
  const OpenFrame frame = open_frame(bytes, FrameType::lut, options);
  ByteReader reader(frame.payload);
  const auto parameters = read_parameters(reader, frame.header, options);
  const Encoding input = read_encoding(reader, parameters, "input");
  const Encoding output = read_encoding(reader, parameters, "output");
  const auto kind = reader.value<std::uint8_t>("kind");
  reader.zeros(7, "kind");
  const ByteSpan words =
      reader.take(checked_product(input.p, sizeof(std::uint32_t), "values"), "values");
  reader.finish("look-up table");

  std::vector<std::uint32_t> values;
  reserve(values, input.p, "values");
  values.resize(input.p);
  std::memcpy(values.data(), words.data(), words.size());
  check_residues(std::span<const std::uint32_t>(values), output.p, "values");
  Lut lut = Lut::create(parameters, std::move(values), input, output);
  // The kind follows from the rest; a file that says otherwise was not made by Whorl.
  if (kind != static_cast<std::uint8_t>(lut.kind()))
    throw FormatError("kind: " + std::to_string(kind) + ", but these values make it " +
                      std::to_string(static_cast<unsigned>(lut.kind())));
  return lut;
}

// ---- secret keys

void write_frame(Sink& sink, const SecretKey& value, std::string_view passphrase,
                 const KdfCost& cost) {
  const auto lwe = bytes_of(value.lwe());
  const auto ring = bytes_of(value.ring());
  math::SecretVector<std::uint8_t> coefficients(lwe.size() + ring.size());
  std::copy(lwe.begin(), lwe.end(), coefficients.begin());
  std::copy(ring.begin(), ring.end(), coefficients.begin() + lwe.size());

  const WrapHeader wrap_header = make_wrap_header(cost);
  ByteWriter head = begin_payload(value.parameters());
  encode_wrap_header(wrap_header, head);
  const Header header =
      make_header(FrameType::secret_key, value.parameters().digest(), value.key_id(),
                  head.size() + coefficients.size() + wrap_tag_bytes);
  ByteWriter associated;
  associated.bytes(encode_header(header));
  associated.bytes(head.data());
  const auto wrapped = wrap(coefficients.span(), passphrase, wrap_header, associated.data());

  FrameWriter frame(sink, header);
  frame.write(head.data());
  frame.write(wrapped);
  frame.finish();
}

}  // namespace

Bytes dump_secret_key(const SecretKey& value, std::string_view passphrase, const KdfCost& cost) {
  return dump_frame([&](Sink& sink) { write_frame(sink, value, passphrase, cost); });
}

SecretKey load_secret_key(ByteSpan bytes, std::string_view passphrase, const LoadOptions& options,
                          const KdfCost& limit) {
  const OpenFrame frame = open_frame(bytes, FrameType::secret_key, options);
  ByteReader reader(frame.payload);
  const auto parameters = read_parameters(reader, frame.header, options);
  const WrapHeader wrap_header = decode_wrap_header(reader, limit);
  const std::size_t clear_bytes = header_bytes + reader.position();
  const std::size_t n = parameters.n();
  const std::size_t N = parameters.N();
  const ByteSpan wrapped = reader.take((n + N) * coefficient_bytes + wrap_tag_bytes, "wrapped key");
  reader.finish("secret key");

  const auto secret = unwrap(wrapped, passphrase, wrap_header, bytes.first(clear_bytes));
  math::SecretVector<std::int32_t> coefficients(n + N);
  std::memcpy(coefficients.data(), secret.data(), secret.size());
  const auto all = std::as_const(coefficients).span();
  return SecretKey::from_coefficients(parameters, frame.header.key_id, all.first(n),
                                      all.subspan(n));
}

Bytes dump(const Parameters& value) {
  return dump_frame([&](Sink& sink) { write_frame(sink, value); });
}
Bytes dump(const Ciphertexts& value) {
  return dump_frame([&](Sink& sink) { write_frame(sink, value); });
}
Bytes dump(const EvaluationKeys& value) {
  return dump_frame([&](Sink& sink) { write_frame(sink, value); });
}
Bytes dump(const Lut& value) {
  return dump_frame([&](Sink& sink) { write_frame(sink, value); });
}
Bytes dump(const SecretKey& value, std::string_view passphrase) {
  return dump_secret_key(value, passphrase, kdf_default);
}

Parameters load_parameters(ByteSpan bytes, const LoadOptions& options) {
  return read_parameters_frame(bytes, options);
}
Ciphertexts load_ciphertexts(ByteSpan bytes, const LoadOptions& options) {
  return read_ciphertexts_frame(bytes, options);
}
EvaluationKeys load_evaluation_keys(ByteSpan bytes, const LoadOptions& options) {
  return read_evaluation_keys_frame(bytes, options, nullptr);
}
Lut load_lut(ByteSpan bytes, const LoadOptions& options) { return read_lut_frame(bytes, options); }
SecretKey load_secret_key(ByteSpan bytes, std::string_view passphrase, const LoadOptions& options) {
  return load_secret_key(bytes, passphrase, options, kdf_limit);
}

void save(const std::filesystem::path& path, const Parameters& value) {
  save_frame(path, public_mode, [&](Sink& sink) { write_frame(sink, value); });
}
void save(const std::filesystem::path& path, const Ciphertexts& value) {
  save_frame(path, public_mode, [&](Sink& sink) { write_frame(sink, value); });
}
void save(const std::filesystem::path& path, const EvaluationKeys& value) {
  save_frame(path, public_mode, [&](Sink& sink) { write_frame(sink, value); });
}
void save(const std::filesystem::path& path, const Lut& value) {
  save_frame(path, public_mode, [&](Sink& sink) { write_frame(sink, value); });
}
void save(const std::filesystem::path& path, const SecretKey& value, std::string_view passphrase) {
  save_frame(path, secret_mode,
             [&](Sink& sink) { write_frame(sink, value, passphrase, kdf_default); });
}

Parameters load_parameters(const std::filesystem::path& path, const LoadOptions& options) {
  return load_parameters(MappedFile::open(path)->bytes(), options);
}
Ciphertexts load_ciphertexts(const std::filesystem::path& path, const LoadOptions& options) {
  return load_ciphertexts(MappedFile::open(path)->bytes(), options);
}
EvaluationKeys load_evaluation_keys(const std::filesystem::path& path, const LoadOptions& options) {
  const Mapping mapping = MappedFile::open(path);
  return read_evaluation_keys_frame(mapping->bytes(), options, mapping);
}
Lut load_lut(const std::filesystem::path& path, const LoadOptions& options) {
  return load_lut(MappedFile::open(path)->bytes(), options);
}
SecretKey load_secret_key(const std::filesystem::path& path, std::string_view passphrase,
                          const LoadOptions& options) {
  return load_secret_key(MappedFile::open(path)->bytes(), passphrase, options);
}

}  // namespace whorl::io
