// The frame around everything that travels: header, payload, digest. docs/file-format.md has the
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include <sodium.h>

#include "io/bytes.h"
#include "io/file_contents.h"
#include "io/native/sink.h"
#include "whorl/io.h"

namespace whorl::io {

/// The format version that is written and read. Version 1 was never released.
inline constexpr std::uint16_t format_version = 2;
inline constexpr std::size_t header_bytes = 64;
inline constexpr std::size_t digest_bytes = 32;
/// Arrays of words start at multiples of this, counted from the start of the frame.
inline constexpr std::size_t alignment = 64;

/// The flag of ciphertexts that are stored as a seed and the words that do not come from it.
inline constexpr std::uint32_t flag_seeded = 1;

/// Facts about all frames of one type.
struct FrameKind {
  FrameType type;
  bool keyed = true;    ///< they carry a key's id
  bool seeded = false;  ///< they may come with a seed
};

/// FrameInfo, and more fields that only loaders need.
struct Header : FrameInfo {
  std::uint32_t flags = 0;
};

/// A header of this build's version.
inline Header make_header(FrameType type, const Digest& parameters, const KeyId& key_id,
                          std::uint64_t payload_bytes, std::uint32_t flags = 0) {
  Header header;
  header.type = type;
  header.version = format_version;
  header.parameters_digest = parameters;
  header.key_id = key_id;
  header.payload_bytes = payload_bytes;
  header.flags = flags;
  return header;
}

/// IoError if a file at `path` begins as that of a secret key does, whether it is damaged or not:
/// whoever replaces it loses what was encrypted under the key.
void keep_secret(const std::filesystem::path& path);

/// "a secret key", "evaluation keys", …, or "type 32768" for a type that Whorl does not know.
std::string frame_type_name(FrameType type);

constexpr std::uint64_t align_up(std::uint64_t offset) {
  return (offset + alignment - 1) / alignment * alignment;
}

std::array<std::uint8_t, header_bytes> encode_header(const Header& header);

/// Checks magic, version, header check and type number, in this order, of the first bytes of a
/// frame. Errors: FormatError, TruncatedError, VersionError, CorruptionError, TypeMismatchError.
Header decode_header(ByteSpan bytes);

/// A frame whose header and length are right, positioned at the payload.
struct OpenFrame {
  Header header;
  ByteSpan payload;
};

/// Bytes of the whole frame that begins with `start`, whose header, type and `options` are checked.
std::uint64_t frame_bytes(ByteSpan start, const FrameKind& expected, const LoadOptions& options);

/// Checks all that can be checked before the payload is understood, allocating nothing: the header,
/// the type, `options`, the length, and last the digest, for which the frame is streamed over.
OpenFrame open_frame(ByteSpan bytes, const FrameKind& expected, const LoadOptions& options);
/// The same without the digest, of bytes of which only the header is there yet.
OpenFrame split_frame(ByteSpan bytes, const FrameKind& expected, const LoadOptions& options);
/// The digest of a frame that is the whole of a file: CorruptionError. What was not read yet is
/// not kept.
void check_digest(FileContents& contents, const Interrupt& interrupt);

/// Writes one frame whose payload length is known beforehand, so that nothing is gathered.
class FrameWriter {
 public:
  FrameWriter(Sink& sink, const Header& header, Interrupt interrupt = {});

  void write(ByteSpan bytes);
  /// Zeros up to the next aligned offset.
  void align();
  /// Writes the digest. Error if the payload is not as long as the header says.
  void finish();

 private:
  Sink& sink_;
  Interrupt interrupt_;
  std::uint64_t total_;
  std::uint64_t position_ = 0;
  crypto_generichash_state hash_;
};

}  // namespace whorl::io
