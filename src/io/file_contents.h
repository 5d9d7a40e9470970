// A file's bytes, in memory of their own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "io/bytes.h"
#include "whorl/common.h"

namespace whorl::io {

/// Who else may be able to read a file that is opened.
enum class Readers { anyone, owner_only };

/// The contents of a file when it was read. They stay as they were checked, even if the file
/// changes afterwards. (The file is not mapped, because a mapped file could change after the
/// checks, and a reader of a file that becomes shorter gets SIGBUS.) Bytes are read, and take
/// memory, when a reader asks for them, so that it can check the beginning before the rest costs
/// anything.
class FileContents final : public ByteSource {
 public:
  /// A function that gets the first bytes of a file and returns how many to read in all. It may
  /// throw.
  using Measure = std::function<std::uint64_t(ByteSpan start)>;

  /// Opens a file and reads its first `start` bytes. Its contents end where measure(these bytes)
  /// says, or earlier: OversizedError if the file has more. IoError if the file cannot be read or
  /// is not a regular file, or, after `measure`, if group or others can read it and `readers` is
  /// owner_only; OutOfMemoryError.
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
  void fill(const Interrupt& interrupt);
  /// Calls `look` with what was read, then with the rest, piece by piece; the rest is not kept.
  void pass_over(const std::function<void(ByteSpan)>& look, const Interrupt& interrupt);

 private:
  FileContents(const std::filesystem::path& path, std::size_t size);
  std::size_t read(std::span<std::uint8_t> out, std::size_t offset) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint8_t* memory_ = nullptr;
  std::size_t size_, filled_ = 0;
};

/// Reads at most `limit` bytes from the start of a file; fewer if it is shorter. IoError as read.
std::vector<std::uint8_t> read_start(const std::filesystem::path& path, std::size_t limit);

}  // namespace whorl::io
