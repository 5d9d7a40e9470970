// Frames of which single bytes are others, with a right digest.
#pragma once

#include "support/test.h"
#include "unit/io/samples.h"

namespace whorl::io::samples {

/// Expects that loading a T of a frame with any byte behind `head` altered throws Whorl's errors,
/// or gives what writes the same frame.
template <class T, class Random>
void expect_refused_or_back(const Bytes& frame, std::size_t head, Random& random) {
  for (int k = 0; k < 2000; ++k) {
    Bytes bad = frame;
    const std::size_t at = head + random() % (frame.size() - trailer_bytes - head);
    bad[at] = static_cast<std::uint8_t>(random() % 2 == 0 ? random() : random() % 8);
    reseal(bad);
    Bytes again;
    try {
      again = dump(load<T>(bad, insecure()));
    } catch (const Error&) {
      continue;
    }
    EXPECT_EQ(again, bad) << at;
  }
}

}  // namespace whorl::io::samples
