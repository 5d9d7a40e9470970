#include "io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "io/system_error.h"
#include "math/random.h"

namespace whorl::io {

namespace {

std::filesystem::path resolve(const std::filesystem::path& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) {
    // Absent is the usual case; anything else will come back when the file is opened.
    return path;
  }
  if (!S_ISREG(status.st_mode))
    throw IoError(path.string() + ": cannot write: there is something other than a regular file");
  std::error_code error;
  auto resolved = std::filesystem::canonical(path, error);
  if (error) throw_io_error(path, "resolve", error.value());
  return resolved;
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

/// Unpredictable, so that nobody who may write to the folder can put a file in the way.
std::string random_suffix() {
  std::array<std::uint8_t, 8> bytes;
  math::random_bytes(bytes);
  std::string suffix;
  for (const std::uint8_t byte : bytes) {
    suffix += "0123456789abcdef"[byte >> 4];
    suffix += "0123456789abcdef"[byte & 15];
  }
  return suffix;
}

void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw_io_error(folder, "open");
  const int result = ::fsync(descriptor);
  const int code = errno;
  ::close(descriptor);
  // Some file systems cannot sync a folder and say EINVAL; there is nothing more to be done there.
  if (result != 0 && code != EINVAL) throw_io_error(folder, "sync", code);
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path, unsigned mode) : path_(resolve(path)) {
  // Not derived from the file's own name, which may already be as long as the system permits.
  temporary_ = folder_of(path_) / (".whorl-" + random_suffix() + ".tmp");
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (descriptor_ < 0) throw_io_error(path_, "write");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      throw_io_error(path_, "write");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) throw_io_error(path_, "sync");
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0 && errno != EINTR) throw_io_error(path_, "close");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw_io_error(path_, "replace");
  temporary_.clear();
  sync_folder(folder_of(path_));
}

}  // namespace whorl::io
