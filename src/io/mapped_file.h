// A file mapped into memory, read-only.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "io/bytes.h"

namespace whorl::io {

class MappedFile {
 public:
  /// IoError if the file cannot be opened, is not a regular file, or cannot be mapped.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  ByteSpan bytes() const { return bytes_; }

  /// Lets the system forget the pages that lie wholly inside `part` until they are read again, so
  /// that streaming over a file does not make all of it resident.
  void release(ByteSpan part) const;

 private:
  explicit MappedFile(ByteSpan bytes) : bytes_(bytes) {}
  ByteSpan bytes_;
};

/// At most `limit` bytes from the start of a file; fewer if it is shorter. IoError as open.
std::vector<std::uint8_t> read_start(const std::filesystem::path& path, std::size_t limit);

}  // namespace whorl::io
