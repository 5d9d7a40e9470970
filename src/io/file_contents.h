// A file's bytes, in memory of their own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "io/bytes.h"

namespace whorl::io {

/// Who else may be able to read a file that is opened.
enum class Readers { anyone, owner_only };

/// What a file held when it was read: whatever becomes of it afterwards, the bytes stay as they
/// were checked. (A mapped file could be changed behind the checks, and cut short beneath a reader,
/// who then gets SIGBUS.) They are read as far as they are asked for, and take memory only then, so
/// that a reader can check the beginning before the rest costs anything.
class FileContents final : public ByteSource {
 public:
  /// Given the first bytes of a file, how many are to be read in all; it may throw.
  using Measure = std::function<std::uint64_t(ByteSpan start)>;

  /// A file, its first `start` bytes read. It has as many as measure(these) says, or fewer:
  /// OversizedError if there are more. IoError if the file cannot be read, is not a regular file,
  /// or, after `measure`, if group or others may read it against `readers`; OutOfMemoryError.
  static std::shared_ptr<FileContents> open(const std::filesystem::path& path, std::size_t start,
                                            const Measure& measure,
                                            Readers readers = Readers::anyone);
  ~FileContents();
  FileContents(const FileContents&) = delete;
  FileContents& operator=(const FileContents&) = delete;

  /// All of them, read or not. They begin at a page.
  ByteSpan bytes() const { return {memory_, size_}; }
  /// TruncatedError if the file has become shorter; IoError.
  void fill_to(const std::uint8_t* end) override;
  void fill() { fill_to(memory_ + size_); }
  /// Calls `look` with what was read, then with the rest piece by piece, none of which is kept.
  void pass_over(const std::function<void(ByteSpan)>& look);

 private:
  FileContents(const std::filesystem::path& path, std::size_t size);
  std::size_t read(std::span<std::uint8_t> out, std::size_t offset) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint8_t* memory_ = nullptr;
  std::size_t size_, filled_ = 0;
};

/// At most `limit` bytes from the start of a file; fewer if it is shorter. IoError as read.
std::vector<std::uint8_t> read_start(const std::filesystem::path& path, std::size_t limit);

}  // namespace whorl::io
