#include "io/file_contents.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "io/native/pieces.h"
#include "io/system_error.h"

namespace whorl::io {

namespace {

/// Closes at the end of a scope, unless somebody has taken the number away.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

int open_regular(const std::filesystem::path& path, struct stat& status) {
  // O_NONBLOCK: opening a pipe nobody writes to would hang; it changes nothing for regular files.
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (number < 0) throw_io_error(path, "opened");
  if (::fstat(number, &status) != 0) {
    const int code = errno;
    ::close(number);
    throw_io_error(path, "examined", code);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(number);
    throw IoError(path.string() + " cannot be read: it is not a regular file");
  }
  return number;
}

/// Fills `out` from an offset of a file, or what there is of it; returns how much that is.
std::size_t read_into(int file, const std::filesystem::path& path, std::span<std::uint8_t> out,
                      std::size_t offset) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t got = ::pread(file, out.data() + filled, out.size() - filled,
                                static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_io_error(path, "read");
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

/// IoError if group or others may read or change the file.
void check_private(const std::filesystem::path& path, mode_t mode) {
  if ((mode & (S_IRGRP | S_IROTH | S_IWGRP | S_IWOTH)) == 0) return;
  std::string octal = "0";
  for (const unsigned shift : {6U, 3U, 0U})
    octal += static_cast<char>('0' + ((static_cast<unsigned>(mode) >> shift) & 7U));
  throw IoError(path.string() + ": its mode " + octal +
                " lets group or others read or change this secret key; mend it with: chmod 600 " +
                path.string() + " (allow_readable_by_others=True accepts it)");
}

/// Bytes that are read at once, at least.
constexpr std::size_t least_bytes = std::size_t{1} << 16;

}  // namespace

FileContents::FileContents(const std::filesystem::path& path, std::size_t size)
    : path_(path), size_(size) {
  if (size == 0) return;
  void* const start =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED)
    throw OutOfMemoryError("a file of " + std::to_string(size) +
                           " bytes needs memory that the system did not give");
  memory_ = static_cast<std::uint8_t*>(start);
#ifdef MADV_HUGEPAGE
  ::madvise(start, size, MADV_HUGEPAGE);  // a hint: fewer faults
#endif
}

FileContents::~FileContents() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (memory_ != nullptr) ::munmap(memory_, size_);
}

std::shared_ptr<FileContents> FileContents::open(const std::filesystem::path& path,
                                                 std::size_t start, const Measure& measure,
                                                 Readers readers) {
  struct stat status;
  Descriptor file{open_regular(path, status)};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::vector<std::uint8_t> first(static_cast<std::size_t>(std::min<std::uint64_t>(start, size)));
  first.resize(read_into(file.number, path, first, 0));
  const std::uint64_t wanted = measure(first);
  if (readers == Readers::owner_only) check_private(path, status.st_mode);
  if (size > wanted)
    throw OversizedError(path.string() + ": " + std::to_string(size - wanted) +
                         " bytes follow its end");
  const std::shared_ptr<FileContents> contents(
      new FileContents(path, static_cast<std::size_t>(size)));
  std::ranges::copy(first, contents->memory_);
  contents->filled_ = first.size();
  contents->descriptor_ = std::exchange(file.number, -1);
  return contents;
}

std::size_t FileContents::read(std::span<std::uint8_t> out, std::size_t offset) const {
  const std::size_t got = read_into(descriptor_, path_, out, offset);
  if (got < out.size())
    throw TruncatedError(path_.string() + ": of its " + std::to_string(size_) + " bytes only " +
                         std::to_string(offset + got) + " were left to read");
  return got;
}

void FileContents::fill_to(const std::uint8_t* end) {
  const auto wanted = static_cast<std::size_t>(end - memory_);
  if (wanted <= filled_) return;
  const std::size_t until = std::min(size_, std::max(wanted, filled_ + least_bytes));
  filled_ += read({memory_ + filled_, until - filled_}, filled_);
  if (filled_ < size_) return;
  ::close(descriptor_);
  descriptor_ = -1;
}

void FileContents::fill(const Interrupt& interrupt) {
  in_pieces(size_, 1, interrupt,
            [this](std::size_t first, std::size_t some) { fill_to(memory_ + first + some); });
}

void FileContents::pass_over(const std::function<void(ByteSpan)>& look,
                             const Interrupt& interrupt) {
  in_pieces(ByteSpan(memory_, filled_), interrupt, look);
  std::vector<std::uint8_t> piece;
  in_pieces(size_ - filled_, 1, interrupt, [&](std::size_t first, std::size_t some) {
    piece.resize(some);
    read(piece, filled_ + first);
    look(piece);
  });
}

std::vector<std::uint8_t> read_start(const std::filesystem::path& path, std::size_t limit) {
  struct stat status;
  const Descriptor descriptor{open_regular(path, status)};
  std::vector<std::uint8_t> bytes(limit);
  bytes.resize(read_into(descriptor.number, path, bytes, 0));
  return bytes;
}

}  // namespace whorl::io
