// Long work on bytes goes piece by piece; between pieces the caller is asked whether to stop.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "io/bytes.h"
#include "whorl/common.h"
#include "whorl/error.h"

namespace whorl::io {

/// Bytes of a piece: some milliseconds of work.
inline constexpr std::size_t piece_bytes = std::size_t{1} << 22;

/// Calls body(first, some) for pieces of `count` items, of `each` bytes each. InterruptedError.
template <class Body>
void in_pieces(std::size_t count, std::size_t each, const Interrupt& interrupt, const Body& body) {
  const std::size_t most = std::max<std::size_t>(1, piece_bytes / each);
  for (std::size_t first = 0; first < count; first += most) {
    if (interrupt && interrupt())
      throw InterruptedError("stopped while a file or a frame was read or written");
    body(first, std::min(most, count - first));
  }
}

/// The same, body(piece), for bytes.
template <class Body>
void in_pieces(ByteSpan bytes, const Interrupt& interrupt, const Body& body) {
  in_pieces(bytes.size(), 1, interrupt,
            [&](std::size_t first, std::size_t some) { body(bytes.subspan(first, some)); });
}

/// memcpy.
inline void copy_pieces(ByteSpan from, void* to, const Interrupt& interrupt) {
  auto* at = static_cast<std::uint8_t*>(to);
  in_pieces(from, interrupt, [&](ByteSpan piece) { at = std::ranges::copy(piece, at).out; });
}

}  // namespace whorl::io
