// Batches in the host's memory: some of one, and several as one.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "schemes/bgv/account.h"
#include "schemes/bgv/derived.h"
#include "schemes/bgv/encoder.h"
#include "whorl/rows.h"

namespace whorl::bgv {

namespace {

Layout layout(const Ciphertexts& c) {
  return {std::size_t{c.info.parts} * c.info.limbs, c.parameters.N()};
}

template <class Value>
void check_same(const char* field, const Value& one, const Value& other) {
  if (one == other) return;
  throw ShapeError("concatenate: " + std::string(field) + " = " + std::to_string(one) +
                   " of a batch is not " + std::to_string(other) + ", as of the first batch");
}

const char* name(Packing packing) { return packing == Packing::slots ? "slots" : "coefficients"; }

}  // namespace

void check_whole(std::span<const std::uint32_t> indices, std::size_t each) {
  if (indices.empty()) throw ShapeError("index: no index is given");
  for (std::size_t i = 0; i < indices.size(); ++i)
    if (indices.size() % each != 0 || indices[i] % each != i % each ||
        indices[i] / each != indices[i - i % each] / each)
      throw ShapeError("index: " + std::to_string(indices[i]) + " at position " +
                       std::to_string(i) + " takes a part of a vector, which must keep all its " +
                       std::to_string(each) + " ciphertexts in order");
}

Ciphertexts take(const Ciphertexts& c, std::span<const std::uint32_t> indices) {
  check_whole(indices, c.info.each(c.parameters.N()));
  check_words(c, layout(c).outer * layout(c).inner);
  Ciphertexts out{c.parameters, c.key_id, c.info,
                  take_words(c.data, layout(c), c.info.count, indices), c.seed};
  out.info.count = indices.size();
  if (c.seed) out.numbers = take_numbers(c.numbers, indices);
  return out;
}

namespace {

/// Sums, which have one ciphertext each, among vectors of `each`: each comes as often in sequence.
void check_repeats(const Ciphertexts& c, std::size_t each) {
  const std::size_t count = c.info.count;
  if (c.info.each(c.parameters.N()) == each) return;
  const std::size_t bytes = layout(c).inner * c.data.word_bytes();
  const auto* words = static_cast<const std::byte*>(c.data.data());
  bool repeated = count % each == 0;
  for (std::size_t row = 0; repeated && row < layout(c).outer * count; ++row)
    if (row % each != 0)
      repeated = std::memcmp(words + row * bytes, words + (row - 1) * bytes, bytes) == 0;
  if (!repeated)
    throw ShapeError("concatenate: a batch of " + std::to_string(count) +
                     " sums of values is joined with vectors of " + std::to_string(each) +
                     " ciphertexts each: take each sum " + std::to_string(each) +
                     " times in sequence first");
}

}  // namespace

Ciphertexts concatenate(std::span<const Ciphertexts* const> batches) {
  if (batches.empty()) throw ShapeError("concatenate: no batch is given");
  const Ciphertexts& first = *batches.front();
  CiphertextInfo info = first.info;
  std::vector<CiphertextInfo> all;
  for (const Ciphertexts* batch : batches) {
    check_origin(*batch, first);
    if (batch->info.packing != info.packing)
      throw ShapeError(std::string("concatenate: packing = ") + name(batch->info.packing) +
                       " of a batch is not " + name(info.packing) + ", as of the first batch");
    check_same("parts", batch->info.parts, info.parts);
    check_same("limbs", batch->info.limbs, info.limbs);
    check_same("factor", batch->info.factor, info.factor);
    check_words(*batch, layout(*batch).outer * layout(*batch).inner);
    info.noise = std::max(info.noise, batch->info.noise);
    all.push_back(batch->info);
  }
  Account::join_vectors(info, all, first.parameters.N());
  for (const Ciphertexts* batch : batches) check_repeats(*batch, info.each(first.parameters.N()));
  Ciphertexts out{first.parameters, first.key_id, info, join_words(batches, layout(first)),
                  std::nullopt};
  out.info.count = out.data.size() / (layout(first).outer * layout(first).inner);
  join_seeds(
      batches, [](const Ciphertexts& c) { return c.info.count; }, out);
  return out;
}

}  // namespace whorl::bgv
