// Refusals of the operating system, as exceptions.
#pragma once

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "whorl/error.h"

namespace whorl::io {

/// "path: cannot <action>: <the system's words for `code`>".
[[noreturn]] inline void throw_io_error(const std::filesystem::path& path, std::string_view action,
                                        int code = errno) {
  // Not strerror, which two threads may not call at once.
  throw IoError(path.string() + " cannot be " + std::string(action) + ": " +
                std::generic_category().message(code));
}

}  // namespace whorl::io
