// Bodies of what whorl/io_secret.h declares, for the source files that have the codecs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "io/native/files.h"
#include "io/native/secret_codec.h"
#include "whorl/io_secret.h"

namespace whorl::io {

template <class Key>
void write_secret(Sink& sink, const Key& key, std::string_view passphrase, const KdfCost& cost) {
  PayloadWriter out;
  write_literal(key.parameters(), out.fields());
  write_wrapped(sink, SecretCodec<Key>::kind.type, key.parameters().digest(), key.key_id(), out,
                SecretCodec<Key>::parts(key), passphrase, cost);
}

template <class Key>
Bytes dump_secret(const Key& key, std::string_view passphrase, const KdfCost& cost) {
  return dump_frame([&](Sink& sink) { write_secret(sink, key, passphrase, cost); });
}

/// Returns the function that read_frame takes to read a secret key of the frame `bytes`.
template <class Key>
auto read_secret(ByteSpan bytes, std::string_view passphrase, const KdfCost& max_kdf) {
  return [bytes, passphrase, max_kdf](PayloadReader& in, const OpenFrame& frame) {
    const auto parameters = read_parameters<ParametersOf<Key>>(in);
    const auto coefficients =
        read_wrapped(in, bytes, SecretCodec<Key>::coefficients(parameters), passphrase, max_kdf);
    return SecretCodec<Key>::make(parameters, frame.header.key_id, coefficients.span());
  };
}

template <SavedSecret Key>
Key load(std::span<const std::uint8_t> bytes, std::string_view passphrase,
         const LoadOptions& options, const KdfCost& max_kdf) {
  return read_frame(bytes, SecretCodec<Key>::kind, options,
                    read_secret<Key>(bytes, passphrase, max_kdf));
}

template <SavedSecret Key>
Bytes dump(const Key& value, std::string_view passphrase) {
  return dump_secret(value, passphrase, kdf_default);
}

template <SavedSecret Key>
void save(const std::filesystem::path& path, const Key& value, std::string_view passphrase,
          bool overwrite_secret) {
  save_frame(path, secret_mode, overwrite_secret,
             [&](Sink& sink) { write_secret(sink, value, passphrase, kdf_default); });
}

template <SavedSecret Key>
Key load(const std::filesystem::path& path, std::string_view passphrase, const LoadOptions& options,
         const KdfCost& max_kdf) {
  const Contents contents =
      open_file(path, SecretCodec<Key>::kind, options,
                options.allow_readable_by_others ? Readers::anyone : Readers::owner_only);
  return read_frame(contents, SecretCodec<Key>::kind, options,
                    read_secret<Key>(contents->bytes(), passphrase, max_kdf));
}

/// Makes them for a type of secret key; in one source file, beside its codec.
#define WHORL_INSTANTIATE_SECRET_FILES(Key)                                                   \
  template Bytes dump_secret(const Key&, std::string_view, const KdfCost&);                   \
  template Bytes dump<Key>(const Key&, std::string_view);                                     \
  template void save<Key>(const std::filesystem::path&, const Key&, std::string_view, bool);  \
  template Key load<Key>(std::span<const std::uint8_t>, std::string_view, const LoadOptions&, \
                         const KdfCost&);                                                     \
  template Key load<Key>(const std::filesystem::path&, std::string_view, const LoadOptions&,  \
                         const KdfCost&)

}  // namespace whorl::io
