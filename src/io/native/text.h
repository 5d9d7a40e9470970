// Texts in frames: printable UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "whorl/error.h"

namespace whorl::io {

inline constexpr std::size_t max_name_bytes = 64;
inline constexpr std::size_t max_source_bytes = 1024;

/// Whether text is well-formed UTF-8 (RFC 3629, section 4) without control characters, which
/// could command the terminal that prints it.
bool is_printable_utf8(std::string_view text);

/// Exception naming the field if the text has more than `limit` bytes, or is not printable UTF-8.
template <class Exception>
void check_text(std::string_view text, std::uint64_t limit, const std::string& field) {
  if (text.size() > limit)
    throw Exception(field + " has " + std::to_string(text.size()) + " bytes; it may have at most " +
                    std::to_string(limit));
  if (!is_printable_utf8(text)) throw Exception(field + " is not printable UTF-8");
}

}  // namespace whorl::io
