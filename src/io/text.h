// Texts in frames: printable UTF-8 behind its length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "io/bytes.h"

namespace whorl::io {

inline constexpr std::size_t max_name_bytes = 64;

/// ParameterError if the text has more than `limit` bytes, control characters, or is not UTF-8.
void encode_text(std::string_view text, std::size_t limit, const std::string& field,
                 ByteWriter& out);
/// TruncatedError; FormatError for what encode_text refuses.
std::string decode_text(ByteReader& in, std::size_t limit, const std::string& field);

}  // namespace whorl::io
