// Secret keys in frames and files, under a passphrase. A program that includes whorl/io.h alone
// links no code that reads them.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "whorl/bgv/client.h"
#include "whorl/binfhe/client.h"
#include "whorl/io.h"

namespace whorl::io {

/// Which types are saved under a passphrase only.
template <class Key>
inline constexpr bool is_saved_secret = is_one_of<Key, binfhe::SecretKey, bgv::SecretKey>;
template <class Key>
concept SavedSecret = is_saved_secret<Key>;

/// Wrapped under a key derived from the passphrase (Argon2id), encrypted and authenticated
/// (XChaCha20-Poly1305). Takes 256 MiB and most of a second. PassphraseError for an empty
/// passphrase.
template <SavedSecret Key>
Bytes dump(const Key& value, std::string_view passphrase);
/// The file is created with mode 0600.
template <SavedSecret Key>
void save(const std::filesystem::path& path, const Key& value, std::string_view passphrase);

/// Errors as of whorl/io.h's `load`, and PassphraseError.
template <SavedSecret Key>
Key load(std::span<const std::uint8_t> bytes, std::string_view passphrase,
         const LoadOptions& options = {});
template <SavedSecret Key>
Key load(const std::filesystem::path& path, std::string_view passphrase,
         const LoadOptions& options = {});

}  // namespace whorl::io
