// Batches in the host's memory: some of one, and several as one.
#include <utility>

#include "schemes/binfhe/account.h"
#include "schemes/binfhe/origin.h"
#include "whorl/binfhe/ciphertexts.h"
#include "whorl/rows.h"

namespace whorl::binfhe {

namespace {

/// The same but for rows.
Ciphertexts with(const Ciphertexts& batch, std::vector<std::uint32_t> data) {
  const std::size_t count = data.size() / batch.row();
  return {batch.parameters,
          batch.key_id,
          batch.encoding,
          count,
          std::move(data),
          {},
          {},
          batch.noise,
          {},
          batch.sum,
          {},
          batch.largest,
          batch.as_bits,
          batch.range};
}

}  // namespace

std::uint32_t largest_message(const Ciphertexts& ciphertexts) {
  return largest_of(ciphertexts).any;
}

Ciphertexts take(const Ciphertexts& batch, std::span<const std::uint32_t> indices) {
  check_words(batch);
  Ciphertexts out =
      with(batch, take_rows<std::uint32_t>(batch.data, {1, batch.row()}, batch.count, indices));
  out.seed = batch.seed;
  if (batch.seed) out.numbers = take_numbers(batch.numbers, indices);
  set_taken(out, batch, indices);
  return out;
}

Ciphertexts concatenate(std::span<const Ciphertexts* const> batches) {
  if (batches.empty()) throw ShapeError("batches: at least one is needed");
  const Ciphertexts& first = *batches.front();
  std::vector<std::span<const std::uint32_t>> parts;
  for (const Ciphertexts* batch : batches) {
    check_origin(*batch, first);
    check_words(*batch);
    if (batch->encoding != first.encoding)
      throw EncodingError("p, padding: " + std::to_string(batch->encoding.p) + ", " +
                          std::to_string(batch->encoding.padding) + " beside " +
                          std::to_string(first.encoding.p) + ", " +
                          std::to_string(first.encoding.padding));
    parts.emplace_back(batch->data);
  }
  Ciphertexts out = with(first, join_rows(parts, {1, first.row()}));
  set_joined(out, batches, fresh_noise(first.parameters));
  join_seeds(
      batches, [](const Ciphertexts& c) { return c.count; }, out);
  return out;
}

}  // namespace whorl::binfhe
