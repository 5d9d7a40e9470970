// Refusals of the operating system, as exceptions.
#pragma once

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "whorl/error.h"

namespace whorl::io {

/// What to do about a refusal, where that is known.
inline std::string remedy(int code) {
  if (code == ENOSPC || code == EDQUOT) return "; make room there, or save to another place";
  if (code == EFBIG)
    return "; save to another place, or allow larger files where a limit is set (ulimit -f)";
  return "";
}

/// "path cannot be <action>: <the system's words for `code`>".
[[noreturn]] inline void throw_io_error(const std::filesystem::path& path, std::string_view action,
                                        int code = errno) {
  // Two threads may call message() at once, but not strerror().
  throw IoError(path.string() + " cannot be " + std::string(action) + ": " +
                std::generic_category().message(code) + remedy(code));
}

}  // namespace whorl::io
