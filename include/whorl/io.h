// Files and frames: everything that travels or is kept, checked before it is used. Secret keys are
// apart, in whorl/io_secret.h. docs/file-format.md has the bytes, and the exception of each check.
#pragma once

#include <cstddef>
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
#include "whorl/binfhe/parameters.h"
#include "whorl/common.h"

namespace whorl::io {

using Bytes = std::vector<std::uint8_t>;

/// What a frame holds. Numbers from `first_foreign` on are never Whorl's own: for schemes that
/// others add.
enum class FrameType : std::uint16_t {
  parameters = 1,
  secret_key = 2,
  evaluation_keys = 3,
  ciphertexts = 4,
  lut = 5,
  bgv_parameters = 16,
  bgv_secret_key = 17,
  bgv_evaluation_keys = 18,
  bgv_ciphertexts = 19,
  bgv_public_key = 20,
  first_foreign = 0x8000
};

/// "secret key", "BGV ciphertexts", … or "type 32768" of what is not Whorl's own.
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
  /// Larger announced payloads are refused unread, as are ciphertexts that would unpack to more
  /// (OversizedError).
  std::uint64_t max_bytes = 1ULL << 32;
  bool allow_insecure = false;  ///< accept parameter sets under 128 bits
  /// Accept the file of a secret key that group or others can read (whorl/io_secret.h). Otherwise
  /// it is refused (IoError, with its mode).
  bool allow_readable_by_others = false;
  /// If given, frames under other parameters (ParameterMismatchError) or keys (KeyMismatchError)
  /// are refused. Parameters and look-up tables belong to no key.
  std::optional<Digest> expect_parameters;
  std::optional<KeyId> expect_key;
  /// More ciphertexts in a frame are refused (OversizedError).
  std::uint64_t max_count = ~std::uint64_t{0};
  /// Ciphertexts that come as a seed, and would be expanded to more bytes than these and than four
  /// times the payload, are refused before they are (OversizedError). Fresh ciphertexts of
  /// FHEW/TFHE are: 2 bytes of payload become some 2,500. BGV's become twice as many.
  std::uint64_t max_expanded_bytes = 1ULL << 30;
};

/// Reads the first 64 bytes only; whether the rest is there and right is for `load` to find out.
FrameInfo info(std::span<const std::uint8_t> bytes);
FrameInfo info(const std::filesystem::path& path);

template <class T, class... Ts>
inline constexpr bool is_one_of = (std::is_same_v<T, Ts> || ...);

/// Which types are saved as they are. A scheme adds its own beside its codec (src/io/codec.h).
template <class T>
inline constexpr bool is_saved =
    is_one_of<T, binfhe::Parameters, binfhe::Ciphertexts, binfhe::EvaluationKeys, binfhe::Lut,
              bgv::Parameters, bgv::Ciphertexts, bgv::EvaluationKeys, bgv::PublicKey>;
template <class T>
concept Saved = is_saved<T>;

/// The frame of a value. ShapeError, RangeError or MismatchError for a value that could not be
/// loaded again: wrong lengths, residues out of range, a seed kept though `data` was changed. What
/// a seed stands for is not written: of fresh ciphertexts and of keys, half or more.
template <Saved T>
Bytes dump(const T& value);

/// Throws TruncatedError, OversizedError, TypeMismatchError, VersionError, CorruptionError,
/// RangeError or another FormatError; ParameterError for parameters that are none or need
/// `allow_insecure`; EncodingError; IoError, naming path and reason, for files.
template <Saved T>
T load(std::span<const std::uint8_t> bytes, const LoadOptions& options = {});
/// The file is read once, and its words are used where they lie in that memory: what becomes of it
/// afterwards does not matter. Its header and the small fields of its payload are checked before
/// memory is taken for the rest.
template <Saved T>
T load(const std::filesystem::path& path, const LoadOptions& options = {});

/// Files are written beside their place, synced and renamed, so a crash leaves the old file. Large
/// keys are streamed, not first gathered in memory. IoError names path and reason.
template <Saved T>
void save(const std::filesystem::path& path, const T& value);

}  // namespace whorl::io
