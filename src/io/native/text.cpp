#include "io/native/text.h"

#include <algorithm>
#include <bit>

namespace whorl::io {

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

}  // namespace whorl::io
