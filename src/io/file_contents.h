// A file's bytes, in memory of their own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "io/bytes.h"

namespace whorl::io {

/// The contents of a file when it was read. They stay as they were checked, even if the file
/// changes afterwards. (The file is not mapped, because a mapped file could change after the
/// checks, and a reader of a file that becomes shorter gets SIGBUS.)
class FileContents {
 public:
  /// A function that gets the first bytes of a file and returns how many to read in all. It may
  /// throw.
  using Measure = std::function<std::uint64_t(ByteSpan start)>;

  /// Reads as many bytes from the start of a file as measure(its first `start` bytes) returns, or
  /// all if there are fewer. OversizedError if there are more; IoError if the file cannot be read
  /// or is not a regular file; OutOfMemoryError.
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
