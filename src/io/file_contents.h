// A file's bytes, in memory of their own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "io/bytes.h"

namespace whorl::io {

/// What a file held when it was read: whatever becomes of it afterwards, the bytes stay as they
/// were checked. (A mapped file could be changed behind the checks, and cut short beneath a reader,
/// who then gets SIGBUS.)
class FileContents {
 public:
  /// Given the first bytes of a file, how many are to be read in all; it may throw.
  using Measure = std::function<std::uint64_t(ByteSpan start)>;

  /// The first bytes of a file, as many as measure(the first `start` of them) says, or all where
  /// there are fewer. OversizedError if there are more; IoError if the file cannot be read or is
  /// not a regular file; OutOfMemoryError.
  static std::shared_ptr<const FileContents> read(const std::filesystem::path& path,
                                                  std::size_t start, const Measure& measure);
  ~FileContents();
  FileContents(const FileContents&) = delete;
  FileContents& operator=(const FileContents&) = delete;

  /// They begin at a page.
  ByteSpan bytes() const { return {memory_, filled_}; }

 private:
  explicit FileContents(std::size_t bytes);

  std::uint8_t* memory_ = nullptr;
  std::size_t reserved_, filled_ = 0;
};

/// At most `limit` bytes from the start of a file; fewer if it is shorter. IoError as read.
std::vector<std::uint8_t> read_start(const std::filesystem::path& path, std::size_t limit);

}  // namespace whorl::io
