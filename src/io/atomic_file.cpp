#include "io/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>
#include <string>

#include "io/system_error.h"
#include "math/digest.h"
#include "math/random.h"
#include "math/text.h"

namespace whorl::io {

namespace {

std::filesystem::path resolve(const std::filesystem::path& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) {
    // Absent is the usual case; anything else will come back when the file is opened.
    return path;
  }
  if (!S_ISREG(status.st_mode))
    throw IoError(path.string() + " cannot be written: it is not a regular file");
  std::error_code error;
  auto resolved = std::filesystem::canonical(path, error);
  if (error) throw_io_error(path, "resolved", error.value());
  return resolved;
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

constexpr const char* suffix = ".tmp";

/// What the names of temporary files for `path` begin with: a digest, since the file's own name may
/// already be as long as the system permits.
std::string prefix_of(const std::filesystem::path& path) {
  const Digest digest = math::digest_of(path.filename().string());
  return ".whorl-" + math::hexadecimal(std::span(digest).first(8)) + "-";
}

/// Unpredictable, so that nobody who may write to the folder can put a file in the way.
std::string random_digits() {
  std::array<std::uint8_t, 8> bytes;
  math::random_bytes(bytes);
  return math::hexadecimal(bytes);
}

/// Whether an open file is locked for it now. Whoever writes a temporary file holds its lock as
/// long, and the system lets go of it when the process dies.
bool lock(int descriptor, bool wait) {
  int result = 0;
  do {
    result = ::flock(descriptor, wait ? LOCK_EX : LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

/// Removes what saves to a path have left that were killed: temporary files of this user's that
/// nobody has locked. What cannot be looked at or removed stays.
void remove_leftovers(const std::filesystem::path& folder, const std::string& prefix) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) continue;
    const int descriptor =
        ::open(at->path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) continue;
    struct stat status;
    if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_uid == ::geteuid() && lock(descriptor, false))
      ::unlink(at->path().c_str());
    ::close(descriptor);
  }
}

void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw_io_error(folder, "opened");
  const int result = ::fsync(descriptor);
  const int code = errno;
  ::close(descriptor);
  // Some file systems cannot sync a folder and say EINVAL; there is nothing more to be done there.
  if (result != 0 && code != EINVAL) throw_io_error(folder, "synced", code);
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path, unsigned mode)
    : path_(path), target_(resolve(path)) {
  const std::filesystem::path folder = folder_of(target_);
  const std::string prefix = prefix_of(target_);
  remove_leftovers(folder, prefix);
  while (true) {
    temporary_ = folder / (prefix + random_digits() + suffix);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor_ < 0) throw_io_error(path_, "written");
    // Where there are no locks nothing is removed by others either.
    struct stat status;
    if (!lock(descriptor_, true) || ::fstat(descriptor_, &status) != 0 || status.st_nlink > 0)
      return;
    ::close(descriptor_);  // another save took it for a leftover before it was locked
  }
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
      throw_io_error(path_, "written");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) throw_io_error(path_, "synced");
  // Closing lets go of the lock: not before it is no temporary file any more.
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) throw_io_error(path_, "replaced");
  temporary_.clear();
  ::close(descriptor_);
  descriptor_ = -1;
  sync_folder(folder_of(target_));
}

}  // namespace whorl::io
