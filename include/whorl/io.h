// Files and frames: everything that travels or is kept, checked before it is used.
// docs/file-format.md has the bytes, and the exception of each check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "whorl/bgv.h"
#include "whorl/binfhe.h"

namespace whorl::io {

using Bytes = std::vector<std::uint8_t>;

/// What a frame holds.
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
  bgv_public_key = 20
};

/// What a frame's header says.
struct FrameInfo {
  FrameType type;
  std::uint16_t version;
  binfhe::Digest parameters_digest;  ///< of BGV's frames: bgv::Digest, the same type
  binfhe::KeyId key_id;
  std::uint64_t payload_bytes;
};

struct LoadOptions {
  /// Larger announced payloads are refused unread, as are ciphertexts that would unpack to more
  /// (OversizedError).
  std::uint64_t max_bytes = 1ULL << 32;
  bool allow_insecure = false;  ///< accept parameter sets under 128 bits
  /// If given, frames under other parameters (ParameterMismatchError) or keys (KeyMismatchError)
  /// are refused. Parameters and look-up tables belong to no key.
  std::optional<binfhe::Digest> expect_parameters;
  std::optional<binfhe::KeyId> expect_key;
};

/// Reads the first 64 bytes only; whether the rest is there and right is for a loader to find out.
FrameInfo info(std::span<const std::uint8_t> bytes);
FrameInfo info(const std::filesystem::path& path);

/// The frame of a value. ShapeError, RangeError or MismatchError for a value that could not be
/// loaded again: wrong lengths, residues out of range, a seed kept though `data` was changed.
Bytes dump(const binfhe::Parameters& value);
Bytes dump(const binfhe::Ciphertexts& value);
Bytes dump(const binfhe::EvaluationKeys& value);
Bytes dump(const binfhe::Lut& value);
/// Wrapped under a key derived from the passphrase (Argon2id), encrypted and authenticated
/// (XChaCha20-Poly1305). Takes 256 MiB and most of a second. PassphraseError for an empty
/// passphrase.
Bytes dump(const binfhe::SecretKey& value, std::string_view passphrase);

/// Loaders throw TruncatedError, OversizedError, TypeMismatchError, VersionError, CorruptionError,
/// RangeError or another FormatError; ParameterError for parameters that are none or need
/// `allow_insecure`; EncodingError; PassphraseError; IoError, naming path and reason, for files.
binfhe::Parameters load_parameters(std::span<const std::uint8_t> bytes, const LoadOptions& = {});
binfhe::Ciphertexts load_ciphertexts(std::span<const std::uint8_t> bytes, const LoadOptions& = {});
binfhe::EvaluationKeys load_evaluation_keys(std::span<const std::uint8_t> bytes,
                                            const LoadOptions& = {});
binfhe::Lut load_lut(std::span<const std::uint8_t> bytes, const LoadOptions& = {});
binfhe::SecretKey load_secret_key(std::span<const std::uint8_t> bytes, std::string_view passphrase,
                                  const LoadOptions& = {});

/// Files are written beside their place, synced and renamed, so a crash leaves the old file. Large
/// keys are streamed, not first gathered in memory. IoError names path and reason.
void save(const std::filesystem::path& path, const binfhe::Parameters& value);
void save(const std::filesystem::path& path, const binfhe::Ciphertexts& value);
void save(const std::filesystem::path& path, const binfhe::EvaluationKeys& value);
void save(const std::filesystem::path& path, const binfhe::Lut& value);
/// The file is created with mode 0600.
void save(const std::filesystem::path& path, const binfhe::SecretKey& value,
          std::string_view passphrase);

binfhe::Parameters load_parameters(const std::filesystem::path& path, const LoadOptions& = {});
binfhe::Ciphertexts load_ciphertexts(const std::filesystem::path& path, const LoadOptions& = {});
/// Maps the file; the words of the keys are used where they lie. The file may be replaced or
/// removed meanwhile, but not written into.
binfhe::EvaluationKeys load_evaluation_keys(const std::filesystem::path& path,
                                            const LoadOptions& = {});
binfhe::Lut load_lut(const std::filesystem::path& path, const LoadOptions& = {});
binfhe::SecretKey load_secret_key(const std::filesystem::path& path, std::string_view passphrase,
                                  const LoadOptions& = {});

// ---- BGV: the same, with the same errors

/// A batch of fresh encryptions under the secret key is written as its seed and the c_0's.
Bytes dump(const bgv::Parameters& value);
Bytes dump(const bgv::Ciphertexts& value);
Bytes dump(const bgv::PublicKey& value);
/// Seeds and bodies: half of what a server has of them.
Bytes dump(const bgv::EvaluationKeys& value);
Bytes dump(const bgv::SecretKey& value, std::string_view passphrase);

bgv::Parameters load_bgv_parameters(std::span<const std::uint8_t> bytes, const LoadOptions& = {});
bgv::Ciphertexts load_bgv_ciphertexts(std::span<const std::uint8_t> bytes, const LoadOptions& = {});
bgv::PublicKey load_bgv_public_key(std::span<const std::uint8_t> bytes, const LoadOptions& = {});
bgv::EvaluationKeys load_bgv_evaluation_keys(std::span<const std::uint8_t> bytes,
                                             const LoadOptions& = {});
bgv::SecretKey load_bgv_secret_key(std::span<const std::uint8_t> bytes, std::string_view passphrase,
                                   const LoadOptions& = {});

void save(const std::filesystem::path& path, const bgv::Parameters& value);
void save(const std::filesystem::path& path, const bgv::Ciphertexts& value);
void save(const std::filesystem::path& path, const bgv::PublicKey& value);
void save(const std::filesystem::path& path, const bgv::EvaluationKeys& value);
/// The file is created with mode 0600.
void save(const std::filesystem::path& path, const bgv::SecretKey& value,
          std::string_view passphrase);

bgv::Parameters load_bgv_parameters(const std::filesystem::path& path, const LoadOptions& = {});
bgv::Ciphertexts load_bgv_ciphertexts(const std::filesystem::path& path, const LoadOptions& = {});
bgv::PublicKey load_bgv_public_key(const std::filesystem::path& path, const LoadOptions& = {});
/// Maps the file, as binfhe's.
bgv::EvaluationKeys load_bgv_evaluation_keys(const std::filesystem::path& path,
                                             const LoadOptions& = {});
bgv::SecretKey load_bgv_secret_key(const std::filesystem::path& path, std::string_view passphrase,
                                   const LoadOptions& = {});

}  // namespace whorl::io
