// A file that appears whole or not at all.
#pragma once

#include <filesystem>

#include "io/native/sink.h"

namespace whorl::io {

/// Writes to a temporary file in the folder of `path`; commit() syncs it and renames it into place.
/// Without commit() the temporary file goes and whatever was at `path` stays. IoError names `path`
/// as it was given, and the reason. A symbolic link at `path` is followed; anything else there than
/// a regular file is refused, since a rename would replace it. The temporary file of a save to the
/// same path that was killed goes with the next one; that of one that is under way, in any process,
/// stays.
class AtomicFile : public Sink {
 public:
  /// `mode` as open(2) takes it: the process's umask applies.
  AtomicFile(const std::filesystem::path& path, unsigned mode);
  ~AtomicFile() override;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(ByteSpan bytes) override;
  void commit();

 private:
  std::filesystem::path path_, target_, temporary_;
  int descriptor_ = -1;
};

}  // namespace whorl::io
