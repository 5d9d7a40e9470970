#include "io/file_contents.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string>

#include "io/system_error.h"

namespace whorl::io {

namespace {

/// Closes at the end of a scope.
struct Descriptor {
  int number;
  ~Descriptor() { ::close(number); }
};

int open_regular(const std::filesystem::path& path, struct stat& status) {
  // O_NONBLOCK: opening a pipe nobody writes to would hang; it changes nothing for regular files.
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (number < 0) throw_io_error(path, "open");
  if (::fstat(number, &status) != 0) {
    const int code = errno;
    ::close(number);
    throw_io_error(path, "examine", code);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(number);
    throw IoError(path.string() + ": cannot read: not a regular file");
  }
  return number;
}

/// Fills `out` from the start of a file, or what there is of it; returns how much that is.
std::size_t read_into(const Descriptor& file, const std::filesystem::path& path,
                      std::span<std::uint8_t> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t got =
        ::pread(file.number, out.data() + filled, out.size() - filled, static_cast<off_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_io_error(path, "read");
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

}  // namespace

FileContents::FileContents(std::size_t bytes) : reserved_(bytes) {
  if (bytes == 0) return;
  void* const start =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED)
    throw OutOfMemoryError("a file of " + std::to_string(bytes) +
                           " bytes: the system gave no memory for it");
  memory_ = static_cast<std::uint8_t*>(start);
#ifdef MADV_HUGEPAGE
  ::madvise(start, bytes, MADV_HUGEPAGE);  // a hint: fewer faults
#endif
}

FileContents::~FileContents() {
  if (memory_ != nullptr) ::munmap(memory_, reserved_);
}

std::shared_ptr<const FileContents> FileContents::read(const std::filesystem::path& path,
                                                       std::size_t start, const Measure& measure) {
  struct stat status;
  const Descriptor file{open_regular(path, status)};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::vector<std::uint8_t> first(static_cast<std::size_t>(std::min<std::uint64_t>(start, size)));
  first.resize(read_into(file, path, first));
  const std::uint64_t wanted = measure(first);
  if (size > wanted)
    throw OversizedError(path.string() + ": " + std::to_string(size - wanted) +
                         " bytes after its end");
  const std::shared_ptr<FileContents> contents(new FileContents(static_cast<std::size_t>(size)));
  contents->filled_ = read_into(file, path, {contents->memory_, contents->reserved_});
  return contents;
}

std::vector<std::uint8_t> read_start(const std::filesystem::path& path, std::size_t limit) {
  struct stat status;
  const Descriptor descriptor{open_regular(path, status)};
  std::vector<std::uint8_t> bytes(limit);
  bytes.resize(read_into(descriptor, path, bytes));
  return bytes;
}

}  // namespace whorl::io
