// Batches in the host's memory: some of one, and several as one.
#include <string>
#include <vector>

#include "math/text.h"
#include "schemes/ckks/account.h"
#include "schemes/ckks/derived.h"

namespace whorl::ckks {

Ciphertexts take(const Ciphertexts& c, std::span<const std::uint32_t> indices) {
  return take_ciphertexts(c, indices, Account::take(c.info, indices.size()));
}

Ciphertexts concatenate(std::span<const Ciphertexts* const> batches) {
  const CiphertextInfo& info = first_of(batches).info;
  std::vector<CiphertextInfo> all;
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
    all.push_back(i);
  }
  return join_ciphertexts(batches, Account::join_batches(all));
}

}  // namespace whorl::ckks
