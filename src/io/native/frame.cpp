#include "io/native/frame.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include "io/native/pieces.h"
#include "math/text.h"

namespace whorl::io {

namespace {

constexpr std::array<std::uint8_t, 4> magic = {'W', 'H', 'R', 'L'};
constexpr std::size_t check_bytes = 8;
constexpr std::size_t checked_bytes = header_bytes - check_bytes;

/// libsodium hashes without having been started, but slowly: starting it picks the code for this
/// machine. Starting it again does nothing.
crypto_generichash_state start_digest() {
  if (sodium_init() < 0) throw RandomnessError("libsodium does not start");
  crypto_generichash_state hash;
  crypto_generichash_init(&hash, nullptr, 0, digest_bytes);
  return hash;
}

std::array<std::uint8_t, check_bytes> header_check(ByteSpan header) {
  std::array<std::uint8_t, crypto_generichash_BYTES_MIN> hash;
  crypto_generichash(hash.data(), hash.size(), header.data(), checked_bytes, nullptr, 0);
  std::array<std::uint8_t, check_bytes> check;
  std::copy_n(hash.begin(), check_bytes, check.begin());
  return check;
}

/// Compares the digest of a frame's bytes, which come piece by piece, with the one at its end.
class DigestCheck {
 public:
  explicit DigestCheck(std::size_t frame) : left_(frame - digest_bytes) {}

  void update(ByteSpan piece) {
    const ByteSpan hashed = piece.first(std::min(left_, piece.size()));
    crypto_generichash_update(&hash_, hashed.data(), hashed.size());
    left_ -= hashed.size();
    const ByteSpan end = piece.subspan(hashed.size());
    std::ranges::copy(end, written_.begin() + static_cast<std::ptrdiff_t>(found_));
    found_ += end.size();
  }

  void finish() {
    std::array<std::uint8_t, digest_bytes> computed;
    crypto_generichash_final(&hash_, computed.data(), computed.size());
    if (computed != written_)
      throw CorruptionError("digest: the bytes are not those that were written");
  }

 private:
  crypto_generichash_state hash_ = start_digest();
  std::size_t left_, found_ = 0;
  std::array<std::uint8_t, digest_bytes> written_{};
};

struct NamedType {
  FrameType type;
  std::string_view name;
  bool one = false;  ///< "a" stands before it
};
constexpr NamedType known_types[] = {
    {FrameType::binfhe_parameters, "FHEW/TFHE parameters"},
    {FrameType::binfhe_secret_key, "FHEW/TFHE secret key", true},
    {FrameType::binfhe_evaluation_keys, "FHEW/TFHE evaluation keys"},
    {FrameType::binfhe_ciphertexts, "FHEW/TFHE ciphertexts"},
    {FrameType::binfhe_lut, "FHEW/TFHE look-up table", true},
    {FrameType::binfhe_public_key, "FHEW/TFHE public key", true},
    {FrameType::binfhe_packed_ciphertexts, "FHEW/TFHE packed ciphertexts"},
    {FrameType::binfhe_compression_keys, "FHEW/TFHE compression keys"},
    {FrameType::binfhe_product_keys, "FHEW/TFHE product keys"},
    {FrameType::binfhe_program, "FHEW/TFHE program", true},
    {FrameType::integer_program, "FHEW/TFHE program of integers", true},
    {FrameType::bgv_parameters, "BGV parameters"},
    {FrameType::bgv_secret_key, "BGV secret key", true},
    {FrameType::bgv_evaluation_keys, "BGV evaluation keys"},
    {FrameType::bgv_ciphertexts, "BGV ciphertexts"},
    {FrameType::bgv_public_key, "BGV public key", true},
    {FrameType::ckks_parameters, "CKKS parameters"},
    {FrameType::ckks_secret_key, "CKKS secret key", true},
    {FrameType::ckks_evaluation_keys, "CKKS evaluation keys"},
    {FrameType::ckks_ciphertexts, "CKKS ciphertexts"},
    {FrameType::ckks_public_key, "CKKS public key", true},
    {FrameType::ckks_compact_bits, "CKKS compact bits"},
    {FrameType::lwe_input_keys, "CKKS keys for LWE input"},
    {FrameType::lwe_output_keys, "CKKS keys for LWE output"}};

const NamedType* find_type(FrameType type) {
  const auto* const found = std::find_if(std::begin(known_types), std::end(known_types),
                                         [type](const NamedType& t) { return t.type == type; });
  return found == std::end(known_types) ? nullptr : found;
}

void check_expectations(const Header& header, const FrameKind& expected,
                        const LoadOptions& options) {
  if (header.type != expected.type)
    throw TypeMismatchError("type: the frame holds " + frame_type_name(header.type) +
                            ", but the caller expects " + frame_type_name(expected.type));
  if (header.payload_bytes > options.max_bytes)
    throw OversizedError("payload length is " + std::to_string(header.payload_bytes) +
                         " bytes; at most " + std::to_string(options.max_bytes) +
                         " are accepted (max_bytes = " + std::to_string(header.payload_bytes) +
                         " accepts them)");
  if (options.expect_parameters && header.parameters_digest != *options.expect_parameters)
    throw ParameterMismatchError("parameter digest: the frame was made under parameters " +
                                 math::short_id(header.parameters_digest) +
                                 ", but the caller expects " +
                                 math::short_id(*options.expect_parameters));
  if (expected.keyed && options.expect_key && header.key_id != *options.expect_key)
    throw KeyMismatchError("key id: the frame was made under key " + math::short_id(header.key_id) +
                           ", but the caller expects " + math::short_id(*options.expect_key));
  if (!expected.keyed && header.key_id != KeyId{})
    throw FormatError("key id is not zero, but " + frame_type_name(expected.type) +
                      " belong to no key");
  const std::uint32_t known = expected.seeded ? flag_seeded : 0;
  if ((header.flags & ~known) != 0)
    throw FormatError("flags: " + std::to_string(header.flags) + " has bits beyond " +
                      std::to_string(known));
}

}  // namespace

void keep_secret(const std::filesystem::path& path) {
  constexpr std::size_t type_at = 6;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  const std::vector<std::uint8_t> start = read_start(path, type_at + sizeof(FrameType));
  if (start.size() < type_at + sizeof(FrameType) ||
      !std::equal(magic.begin(), magic.end(), start.begin()))
    return;
  FrameType type{};
  std::memcpy(&type, start.data() + type_at, sizeof type);
  const NamedType* known = find_type(type);
  if (known && known->name.ends_with("secret key"))
    throw IoError(path.string() + " holds a secret key, which is not replaced: remove the file " +
                  "first, or save a key with overwrite_secret=True");
}

std::string frame_type_name(FrameType type) {
  const NamedType* const known = find_type(type);
  return (known != nullptr && known->one ? "a " : "") + type_name(type);
}

std::string type_name(FrameType type) {
  if (const NamedType* const known = find_type(type)) return std::string(known->name);
  const std::string number = "type " + std::to_string(static_cast<std::uint16_t>(type));
  return type >= FrameType::first_foreign ? number + ", of another scheme" : number;
}

std::array<std::uint8_t, header_bytes> encode_header(const Header& header) {
  ByteWriter fields;
  fields.bytes(magic);
  fields.value(header.version);
  fields.value(static_cast<std::uint16_t>(header.type));
  fields.value(header.flags);
  fields.zeros(4);
  fields.value(header.payload_bytes);
  fields.bytes(header.parameters_digest);
  fields.bytes(header.key_id);
  fields.bytes(header_check(fields.data()));
  std::array<std::uint8_t, header_bytes> encoded;
  std::copy_n(fields.data().begin(), header_bytes, encoded.begin());
  return encoded;
}

Header decode_header(ByteSpan bytes) {
  // What there is of the magic is looked at first: a short text file is no truncated frame.
  const std::size_t common = std::min(bytes.size(), magic.size());
  if (!std::equal(magic.begin(), magic.begin() + static_cast<std::ptrdiff_t>(common),
                  bytes.begin()))
    throw FormatError("magic: these bytes are not a Whorl frame");
  ByteReader whole(bytes);
  ByteReader fields(whole.take(header_bytes, "header"));
  fields.take(magic.size(), "magic");

  Header header;
  header.version = fields.value<std::uint16_t>("format version");
  // The version comes before the header check, whose place another version may have changed.
  if (header.version != format_version)
    throw VersionError("format version is " + std::to_string(header.version) +
                       "; this build reads version " + std::to_string(format_version) +
                       (header.version > format_version
                            ? ": a later Whorl reads it"
                            : ": earlier ones were never released, make the file again"));
  const auto check = header_check(bytes);
  if (!std::equal(check.begin(), check.end(), bytes.begin() + checked_bytes))
    throw CorruptionError("header check: the header was altered");

  header.type = static_cast<FrameType>(fields.value<std::uint16_t>("type"));
  if (header.type < FrameType::first_foreign && find_type(header.type) == nullptr)
    throw TypeMismatchError(frame_type_name(header.type) + " is unknown to this build");
  header.flags = fields.value<std::uint32_t>("flags");
  fields.zeros(4, "header");
  header.payload_bytes = fields.value<std::uint64_t>("payload length");
  header.parameters_digest = fields.array<16>("parameter digest");
  header.key_id = fields.array<16>("key id");
  return header;
}

std::uint64_t frame_bytes(ByteSpan start, const FrameKind& expected, const LoadOptions& options) {
  const Header header = decode_header(start);
  check_expectations(header, expected, options);
  constexpr std::uint64_t around = header_bytes + digest_bytes;
  if (header.payload_bytes > std::numeric_limits<std::uint64_t>::max() - around)
    throw OversizedError("payload length is " + std::to_string(header.payload_bytes) +
                         " bytes, which is more than there can be");
  return header.payload_bytes + around;
}

OpenFrame split_frame(ByteSpan bytes, const FrameKind& expected, const LoadOptions& options) {
  const Header header = decode_header(bytes);
  check_expectations(header, expected, options);

  ByteReader reader(bytes);
  reader.take(header_bytes, "header");
  const ByteSpan payload = reader.take(header.payload_bytes, "payload");
  reader.take(digest_bytes, "digest");
  reader.finish("frame");
  return {header, payload};
}

OpenFrame open_frame(ByteSpan bytes, const FrameKind& expected, const LoadOptions& options) {
  const OpenFrame frame = split_frame(bytes, expected, options);
  DigestCheck check(bytes.size());
  in_pieces(bytes, options.interrupt, [&](ByteSpan piece) { check.update(piece); });
  check.finish();
  return frame;
}

void check_digest(FileContents& contents, const Interrupt& interrupt) {
  DigestCheck check(contents.bytes().size());
  contents.pass_over([&](ByteSpan piece) { check.update(piece); }, interrupt);
  check.finish();
}

FrameWriter::FrameWriter(Sink& sink, const Header& header, Interrupt interrupt)
    : sink_(sink),
      interrupt_(std::move(interrupt)),
      total_(header_bytes + header.payload_bytes),
      hash_(start_digest()) {
  sink_.expect(total_ + digest_bytes);
  write(encode_header(header));
}

void FrameWriter::write(ByteSpan bytes) {
  in_pieces(bytes, interrupt_, [this](ByteSpan piece) {
    crypto_generichash_update(&hash_, piece.data(), piece.size());
    sink_.write(piece);
  });
  position_ += bytes.size();
}

void FrameWriter::align() {
  constexpr std::array<std::uint8_t, alignment> zeros = {};
  write(ByteSpan(zeros).first(align_up(position_) - position_));
}

void FrameWriter::finish() {
  if (position_ != total_)
    throw FormatError("payload length is " + std::to_string(total_ - header_bytes) +
                      " bytes, but " + std::to_string(position_ - header_bytes) + " were written");
  std::array<std::uint8_t, digest_bytes> digest;
  crypto_generichash_final(&hash_, digest.data(), digest.size());
  sink_.write(digest);
}

FrameInfo info(std::span<const std::uint8_t> bytes) { return decode_header(bytes); }

FrameInfo info(const std::filesystem::path& path) {
  return decode_header(read_start(path, header_bytes));
}

}  // namespace whorl::io
