// Batches in the host's memory: some of one, and several as one.
#include <algorithm>
#include <string>

#include "math/text.h"
#include "schemes/ckks/derived.h"

namespace whorl::ckks {

Ciphertexts take(const Ciphertexts& c, std::span<const std::uint32_t> indices) {
  return take_ciphertexts(c, indices);
}

Ciphertexts concatenate(std::span<const Ciphertexts* const> batches) {
  CiphertextInfo info = first_of(batches).info;
  for (const Ciphertexts* batch : batches) {
    const CiphertextInfo& i = batch->info;
    if (i.packing != info.packing || i.parts != info.parts || i.level != info.level ||
        i.scale != info.scale || i.length != info.length || i.vector != info.vector)
      throw ShapeError(
          "concatenate: packing, parts, level, scale and length of the batches must "
          "be equal; level " +
          std::to_string(i.level) + ", scale " + math::exact_text_of(i.scale) + " and length " +
          std::to_string(i.length) + " meet " + std::to_string(info.level) + ", " +
          math::exact_text_of(info.scale) + " and " + std::to_string(info.length));
    const Bounds a = info.bounds(), b = i.bounds();
    info.bound = std::max(info.bound, i.bound);
    info.low = std::min(a.low, b.low);
    info.high = std::max(a.high, b.high);
    info.rest = std::min(info.rest, i.rest);
    info.error = std::max(info.error, i.error);
  }
  return join_ciphertexts(batches, info);
}

}  // namespace whorl::ckks
