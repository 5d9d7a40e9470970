#include "io/text.h"

#include <bit>

namespace whorl::io {

namespace {

/// Whether text is well-formed UTF-8 (RFC 3629, section 4) without control characters, which
/// could command the terminal that prints it.
bool is_printable_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<std::uint8_t>(text[i]);
    const unsigned ones = static_cast<unsigned>(std::countl_one(lead));
    if (ones == 1 || ones > 4 || text.size() - i < std::max(ones, 1U)) return false;
    if (ones == 0) {
      if (lead < 0x20 || lead == 0x7f) return false;
      ++i;
      continue;
    }
    std::uint32_t code = lead & (0x7fU >> ones);
    for (unsigned k = 1; k < ones; ++k) {
      const auto next = static_cast<std::uint8_t>(text[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      code = code << 6 | (next & 0x3fU);
    }
    constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    const bool control = code >= 0x80 && code < 0xa0;
    if (code < least[ones] || code > 0x10ffff || surrogate || control) return false;
    i += ones;
  }
  return true;
}

template <class Exception>
void check_text(std::string_view text, std::size_t limit, const std::string& field) {
  if (text.size() > limit)
    throw Exception(field + ": " + std::to_string(text.size()) + " bytes, at most " +
                    std::to_string(limit));
  if (!is_printable_utf8(text)) throw Exception(field + ": not printable UTF-8");
}

}  // namespace

void encode_text(std::string_view text, std::size_t limit, const std::string& field,
                 ByteWriter& out) {
  check_text<ParameterError>(text, limit, field);
  out.value(static_cast<std::uint16_t>(text.size()));
  out.bytes({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

std::string decode_text(ByteReader& in, std::size_t limit, const std::string& field) {
  const auto length = in.value<std::uint16_t>(field);
  const ByteSpan bytes = in.take(length, field);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  check_text<FormatError>(text, limit, field);
  return std::string(text);
}

}  // namespace whorl::io
