// Files and frames: whatever is sent or saved is checked before it is used. Secret keys are in a
// header of their own, whorl/io_secret.h. docs/file-format.md lists the bytes, and the exception
// that each check throws.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "whorl/bgv/ciphertexts.h"
#include "whorl/bgv/parameters.h"
#include "whorl/binfhe/ciphertexts.h"
#include "whorl/binfhe/lut.h"
#include "whorl/binfhe/packed.h"
#include "whorl/binfhe/parameters.h"
#include "whorl/binfhe/program.h"
#include "whorl/bridges/compression.h"
#include "whorl/bridges/lanes.h"
#include "whorl/bridges/lwe_output.h"
#include "whorl/bridges/products.h"
#include "whorl/circuits/binfhe/integers.h"
#include "whorl/ckks/ciphertexts.h"
#include "whorl/ckks/compact_bits.h"
#include "whorl/ckks/parameters.h"
#include "whorl/common.h"

namespace whorl::io {

using Bytes = std::vector<std::uint8_t>;

/// The type of object in a frame. Whorl itself never uses numbers from `first_foreign` on; they are
/// for schemes that other programs add.
enum class FrameType : std::uint16_t {
  binfhe_parameters = 1,
  binfhe_secret_key = 2,
  binfhe_evaluation_keys = 3,
  binfhe_ciphertexts = 4,
  binfhe_lut = 5,
  binfhe_public_key = 6,
  binfhe_packed_ciphertexts = 7,
  binfhe_compression_keys = 8,
  binfhe_product_keys = 9,
  binfhe_program = 10,
  integer_program = 11,
  bgv_parameters = 16,
  bgv_secret_key = 17,
  bgv_evaluation_keys = 18,
  bgv_ciphertexts = 19,
  bgv_public_key = 20,
  ckks_parameters = 32,
  ckks_secret_key = 33,
  ckks_evaluation_keys = 34,
  ckks_ciphertexts = 35,
  ckks_public_key = 36,
  ckks_compact_bits = 37,
  lwe_input_keys = 48,
  lwe_output_keys = 49,
  first_foreign = 0x8000
};

/// The name of a type: "FHEW/TFHE secret key", "BGV ciphertexts", …, or "type 32768" for a type
/// that Whorl does not know.
std::string type_name(FrameType type);

/// What a frame's header says.
struct FrameInfo {
  FrameType type;
  std::uint16_t version;
  Digest parameters_digest;
  KeyId key_id;
  std::uint64_t payload_bytes;
};

struct LoadOptions {
  /// A frame whose header announces a larger payload is refused before the payload is read
  /// (OversizedError). Ciphertexts that would take more bytes after unpacking are refused before
  /// memory is allocated for them.
  std::uint64_t max_bytes = 1ULL << 32;
  bool allow_insecure = false;  ///< accept parameter sets under 128 bits
  /// Accept the file of a secret key that group or others can read or change (whorl/io_secret.h).
  /// Otherwise it is refused (IoError, with its mode).
  bool allow_readable_by_others = false;
  /// If given, frames made under other parameters (ParameterMismatchError) or another key
  /// (KeyMismatchError) are refused. Parameters, look-up tables and programs belong to no key.
  std::optional<Digest> expect_parameters;
  std::optional<KeyId> expect_key;
  /// A frame with more ciphertexts is refused (OversizedError).
  std::uint64_t max_count = ~std::uint64_t{0};
  /// Fresh ciphertexts are stored as a seed, and grow when they are expanded: with FHEW/TFHE 2
  /// bytes of payload become some 2,500, with BGV and CKKS one byte becomes two. They are refused
  /// before they are expanded (OversizedError, with the bytes that they need) if they would take
  /// more than max_expanded_bytes and also more than four times the payload. The same bounds what a
  /// program takes in memory, of which a few bytes may say that much is joined or added up.
  std::uint64_t max_expanded_bytes = 1ULL << 28;
  /// This is asked between pieces of a few megabytes.
  Interrupt interrupt{};
};

/// Reads the header only, the first 64 bytes. `load` checks whether the rest is there and right.
FrameInfo info(std::span<const std::uint8_t> bytes);
FrameInfo info(const std::filesystem::path& path);

template <class T, class... Ts>
inline constexpr bool is_one_of = (std::is_same_v<T, Ts> || ...);

/// The types that are saved without a passphrase. A scheme adds its own types next to its codec
/// (src/io/native/codec.h).
template <class T>
inline constexpr bool is_saved =
    is_one_of<T, binfhe::Parameters, binfhe::Ciphertexts, binfhe::EvaluationKeys, binfhe::Lut,
              binfhe::Program, binfhe::PublicKey, binfhe::PackedCiphertexts,
              bridges::CompressionKeys, bridges::ProductKeys, bgv::Parameters, bgv::Ciphertexts,
              bgv::EvaluationKeys, bgv::PublicKey, ckks::Parameters, ckks::Ciphertexts,
              ckks::EvaluationKeys, ckks::PublicKey, ckks::CompactBits, bridges::LweInputKeys,
              bridges::LweOutputKeys, integers::Program>;
template <class T>
concept Saved = is_saved<T>;

struct SaveOptions {
  /// This is asked between pieces of a few megabytes.
  Interrupt interrupt{};
  /// Ciphertexts are saved with this shape in place of the one that they have; nothing is copied
  /// for it.
  std::optional<Shape> shape{};
};

/// The frame of a value. Throws ShapeError, RangeError or MismatchError for a value that could not
/// be loaded again: lengths are wrong, residues are out of range, or `data` was changed while
/// `seed` was kept. For fresh ciphertexts and keys the seed is written in the place of the words
/// that it expands to, which are half of all words or more.
template <Saved T>
Bytes dump(const T& value, const SaveOptions& options = {});

/// Throws TruncatedError, OversizedError, TypeMismatchError, VersionError, CorruptionError,
/// RangeError or another FormatError. Throws ParameterError if the parameters are not valid, or
/// have less than 128 bits of security and `allow_insecure` is false. Throws EncodingError for an
/// encoding that the parameters do not allow. For files it throws IoError with path and reason.
template <Saved T>
T load(std::span<const std::uint8_t> bytes, const LoadOptions& options = {});
/// Reads the file once into memory, and uses its words where they lie in that memory. Later changes
/// of the file have no effect. The header and the small fields of the payload are checked before
/// memory is taken for the rest.
template <Saved T>
T load(const std::filesystem::path& path, const LoadOptions& options = {});

/// Writes a temporary file in the same folder, syncs it and renames it, so a crash leaves the old
/// file. A file that holds a secret key is not replaced (IoError). Large keys are written from
/// where they lie, and are not first copied in memory. IoError names path and reason.
template <Saved T>
void save(const std::filesystem::path& path, const T& value, const SaveOptions& options = {});

}  // namespace whorl::io
