// Frames to memory and to files.
#pragma once

#include <filesystem>

#include "io/atomic_file.h"
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

}  // namespace whorl::io
