// Batches in the host's memory: some of one, and several as one.
#include <algorithm>
#include <string>

#include "math/text.h"
#include "schemes/ckks/account.h"
#include "schemes/ckks/derived.h"

namespace whorl::ckks {

namespace {

Layout layout(const Ciphertexts& c) {
  return {words_of(c.parameters, c.info) / c.parameters.N(), c.parameters.N()};
}
void check(const Ciphertexts& c) {
  check_words(c.data, c.info.count, words_of(c.parameters, c.info), c.parameters.word_bytes());
}

}  // namespace

Ciphertexts take(const Ciphertexts& c, std::span<const std::uint32_t> indices) {
  if (indices.empty()) throw ShapeError("index: no index is given");
  check(c);
  Ciphertexts out{c.parameters, c.key_id, c.info,
                  take_words(c.data, layout(c), c.info.count, indices), c.seed};
  out.info = Account(c.parameters).take(c.info, indices.size());
  if (c.seed) out.numbers = take_numbers(c.numbers, indices);
  return out;
}

Ciphertexts concatenate(std::span<const Ciphertexts* const> batches) {
  if (batches.empty()) throw ShapeError("concatenate: no batch is given");
  const Ciphertexts& first = *batches.front();
  CiphertextInfo info = first.info;
  info.count = 0;
  for (const Ciphertexts* batch : batches) {
    check_origin(*batch, first);
    check(*batch);
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
    info.count += i.count;
  }
  Ciphertexts out{first.parameters, first.key_id, info, join_words(batches, layout(first)),
                  std::nullopt};
  join_seeds(
      batches, [](const Ciphertexts& c) { return c.info.count; }, out);
  return out;
}

}  // namespace whorl::ckks
