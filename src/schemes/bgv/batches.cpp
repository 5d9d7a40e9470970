// Batches in the host's memory: some of one, and several as one.
#include "schemes/ring/batches.h"

#include <cstring>
#include <string>
#include <vector>

#include "schemes/bgv/account.h"
#include "schemes/bgv/derived.h"

namespace whorl::bgv {

namespace {

template <class Value>
void check_same(const char* field, const Value& one, const Value& other) {
  if (one == other) return;
  throw ShapeError("concatenate: " + std::string(field) + " = " + std::to_string(one) +
                   " of a batch is not " + std::to_string(other) + ", as of the first batch");
}

const char* name(Packing packing) { return packing == Packing::slots ? "slots" : "coefficients"; }

/// Checks sums, which have one ciphertext each, among vectors of `each`: each sum must come as
/// often in sequence.
void check_repeats(const Ciphertexts& c, std::size_t each) {
  const std::size_t count = c.info.count;
  if (c.info.each(c.parameters.N()) == each) return;
  const Layout layout = batch_layout(c);
  const std::size_t bytes = layout.inner * c.data.word_bytes();
  const auto* words = static_cast<const std::byte*>(c.data.data());
  bool repeated = count % each == 0;
  for (std::size_t row = 0; repeated && row < layout.outer * count; ++row)
    if (row % each != 0)
      repeated = std::memcmp(words + row * bytes, words + (row - 1) * bytes, bytes) == 0;
  if (!repeated)
    throw ShapeError("concatenate: a batch of " + std::to_string(count) +
                     " sums of values is joined with vectors of " + std::to_string(each) +
                     " ciphertexts each: take each sum " + std::to_string(each) +
                     " times in sequence first");
}

}  // namespace

CiphertextInfo joined_info(std::span<const Ciphertexts* const> batches) {
  const Ciphertexts& first = *batches.front();
  std::vector<CiphertextInfo> all;
  for (const Ciphertexts* batch : batches) {
    const CiphertextInfo& info = batch->info;
    if (info.packing != first.info.packing)
      throw ShapeError(std::string("concatenate: packing = ") + name(info.packing) +
                       " of a batch is not " + name(first.info.packing) +
                       ", as of the first batch");
    check_same("parts", info.parts, first.info.parts);
    check_same("limbs", info.limbs, first.info.limbs);
    check_same("factor", info.factor, first.info.factor);
    all.push_back(info);
  }
  const CiphertextInfo info = Account::join_batches(all, first.parameters.N());
  for (const Ciphertexts* batch : batches) check_repeats(*batch, info.each(first.parameters.N()));
  return info;
}

}  // namespace whorl::bgv

namespace whorl {

template bgv::Ciphertexts take(const bgv::Ciphertexts&, std::span<const std::uint32_t>);
template bgv::Ciphertexts concatenate(std::span<const bgv::Ciphertexts* const>);

}  // namespace whorl
