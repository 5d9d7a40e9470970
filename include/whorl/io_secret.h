// Frames and files of secret keys, encrypted under a passphrase. A program that includes only
// whorl/io.h links no code that reads secret keys.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "whorl/bgv/client.h"
#include "whorl/binfhe/client.h"
#include "whorl/ckks/client.h"
#include "whorl/io.h"

namespace whorl::io {

/// The types that are saved only under a passphrase.
template <class Key>
inline constexpr bool is_saved_secret =
    is_one_of<Key, binfhe::SecretKey, bgv::SecretKey, ckks::SecretKey>;
template <class Key>
concept SavedSecret = is_saved_secret<Key>;

/// Cost of deriving a key from a passphrase (Argon2id, RFC 9106): passes over the memory, and bytes
/// of it.
struct KdfCost {
  std::uint64_t passes = 0;
  std::uint64_t memory_bytes = 0;
};

/// What `save` spends: 3 passes over 256 MiB, most of a second.
inline constexpr KdfCost kdf_default = {3, std::uint64_t{1} << 28};

/// The frame of a secret key, encrypted and authenticated (XChaCha20-Poly1305) under a key that is
/// derived from the passphrase (Argon2id). This takes 256 MiB and most of a second (kdf_default).
/// PassphraseError for an empty passphrase.
template <SavedSecret Key>
Bytes dump(const Key& value, std::string_view passphrase);
/// The file is created with mode 0600. A file that holds a secret key is replaced only if
/// `overwrite_secret` says so (IoError): what was encrypted under that key would be lost.
template <SavedSecret Key>
void save(const std::filesystem::path& path, const Key& value, std::string_view passphrase,
          bool overwrite_secret = false);

/// Throws the errors of `load` in whorl/io.h, and PassphraseError. The frame states the cost of
/// opening it (passes and bytes). If either is above that of `max_kdf`, the frame is refused before
/// any work (OversizedError names both costs).
template <SavedSecret Key>
Key load(std::span<const std::uint8_t> bytes, std::string_view passphrase,
         const LoadOptions& options = {}, const KdfCost& max_kdf = kdf_default);
/// The same, and IoError for a file that group or others can read or change, unless
/// `options.allow_readable_by_others`.
template <SavedSecret Key>
Key load(const std::filesystem::path& path, std::string_view passphrase,
         const LoadOptions& options = {}, const KdfCost& max_kdf = kdf_default);

}  // namespace whorl::io
