// Batches in the host's memory: some of one, and several as one.
#include "schemes/ring/batches.h"

#include <string>
#include <vector>

#include "math/text.h"
#include "schemes/ckks/account.h"
#include "schemes/ckks/derived.h"

namespace whorl::ckks {

CiphertextInfo joined_info(std::span<const Ciphertexts* const> batches) {
  const CiphertextInfo& info = batches.front()->info;
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
  return Account::join_batches(all);
}

}  // namespace whorl::ckks

namespace whorl {

template ckks::Ciphertexts take(const ckks::Ciphertexts&, std::span<const std::uint32_t>);
template ckks::Ciphertexts concatenate(std::span<const ckks::Ciphertexts* const>);

}  // namespace whorl
