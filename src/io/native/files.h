// Bodies of what whorl/io.h declares, for the source files that have the codecs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "io/atomic_file.h"
#include "io/file_contents.h"
#include "io/native/codec.h"
#include "io/native/sink.h"
#include "math/memory.h"
#include "whorl/io.h"

namespace whorl::io {

inline constexpr unsigned public_mode = 0666;  ///< less the umask
inline constexpr unsigned secret_mode = 0600;

/// A file that holds a frame of one kind. Its header has been checked.
inline Contents open_file(const std::filesystem::path& path, const FrameKind& kind,
                          const LoadOptions& options, Readers readers = Readers::anyone) {
  return FileContents::open(
      path, header_bytes, [&](ByteSpan start) { return frame_bytes(start, kind, options); },
      readers);
}

/// What `write`, called with a Sink, writes.
template <class Write>
Bytes dump_frame(const Write& write) {
  Bytes bytes;
  MemorySink sink(bytes);
  write(sink);
  return bytes;
}

template <class Write>
void save_frame(const std::filesystem::path& path, unsigned mode, bool overwrite_secret,
                const Write& write) {
  AtomicFile file(path, mode);
  if (!overwrite_secret) keep_secret(path);
  write(file);
  if (!overwrite_secret) keep_secret(path);
  file.commit();
}

template <Saved T>
Bytes dump(const T& value, const SaveOptions& options) {
  return math::with_memory_for("a frame", [&] {
    return dump_frame([&](Sink& sink) { write_frame(sink, value, options); });
  });
}

template <Saved T>
void save(const std::filesystem::path& path, const T& value, const SaveOptions& options) {
  math::with_memory_for("a file", [&] {
    save_frame(path, public_mode, false, [&](Sink& sink) { write_frame(sink, value, options); });
  });
}

template <Saved T>
T load(std::span<const std::uint8_t> bytes, const LoadOptions& options) {
  return math::with_memory_for(
      "a frame", [&] { return read_frame(bytes, Codec<T>::kind, options, read_value<T>); });
}

template <Saved T>
T load(const std::filesystem::path& path, const LoadOptions& options) {
  return math::with_memory_for("a file", [&] {
    const Contents contents = open_file(path, Codec<T>::kind, options);
    return read_frame(contents, Codec<T>::kind, options, read_value<T>);
  });
}

/// Makes them for a type that is saved; in one source file, beside its codec.
#define WHORL_INSTANTIATE_FILES(T)                                                   \
  template Bytes dump<T>(const T&, const SaveOptions&);                              \
  template void save<T>(const std::filesystem::path&, const T&, const SaveOptions&); \
  template T load<T>(std::span<const std::uint8_t>, const LoadOptions&);             \
  template T load<T>(const std::filesystem::path&, const LoadOptions&)

}  // namespace whorl::io
