#include "io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

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

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  struct stat status;
  const Descriptor descriptor{open_regular(path, status)};
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile({}));
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.number, 0);
  if (start == MAP_FAILED) throw_io_error(path, "map");
  return std::shared_ptr<const MappedFile>(
      new MappedFile({static_cast<const std::uint8_t*>(start), size}));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

void MappedFile::release(ByteSpan part) const {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
  const auto last = reinterpret_cast<std::uintptr_t>(part.data() + part.size()) / page * page;
  // A hint: were it refused, the pages would merely stay. Nothing was written to them, so nothing
  // is lost.
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

std::vector<std::uint8_t> read_start(const std::filesystem::path& path, std::size_t limit) {
  struct stat status;
  const Descriptor descriptor{open_regular(path, status)};
  std::vector<std::uint8_t> bytes(limit);
  std::size_t filled = 0;
  while (filled < limit) {
    const ssize_t got = ::read(descriptor.number, bytes.data() + filled, limit - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_io_error(path, "read");
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace whorl::io
