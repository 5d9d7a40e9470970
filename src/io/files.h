// Bodies of what whorl/io.h declares, for the source files that have the codecs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "io/atomic_file.h"
#include "io/codec.h"
#include "io/mapped_file.h"
#include "io/sink.h"
#include "whorl/io.h"

namespace whorl::io {

inline constexpr unsigned public_mode = 0666;  ///< less the umask
inline constexpr unsigned secret_mode = 0600;

/// What `write`, called with a Sink, writes.
template <class Write>
Bytes dump_frame(const Write& write) {
  Bytes bytes;
  MemorySink sink(bytes);
  write(sink);
  return bytes;
}

template <class Write>
void save_frame(const std::filesystem::path& path, unsigned mode, const Write& write) {
  AtomicFile file(path, mode);
  write(file);
  file.commit();
}

template <Saved T>
Bytes dump(const T& value) {
  return dump_frame([&](Sink& sink) { write_frame(sink, value); });
}

template <Saved T>
void save(const std::filesystem::path& path, const T& value) {
  save_frame(path, public_mode, [&](Sink& sink) { write_frame(sink, value); });
}

template <Saved T>
T load(std::span<const std::uint8_t> bytes, const LoadOptions& options) {
  return read_frame<T>(bytes, options, nullptr);
}

template <Saved T>
T load(const std::filesystem::path& path, const LoadOptions& options) {
  const Mapping mapping = MappedFile::open(path);
  return read_frame<T>(mapping->bytes(), options, mapping);
}

/// Makes them for a type that is saved; in one source file, beside its codec.
#define WHORL_INSTANTIATE_FILES(T)                                       \
  template Bytes dump<T>(const T&);                                      \
  template void save<T>(const std::filesystem::path&, const T&);         \
  template T load<T>(std::span<const std::uint8_t>, const LoadOptions&); \
  template T load<T>(const std::filesystem::path&, const LoadOptions&)

}  // namespace whorl::io
