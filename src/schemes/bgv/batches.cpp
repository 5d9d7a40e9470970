// Batches in the host's memory: some of one, and several as one.
#include <algorithm>

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
  throw ShapeError(std::string(field) + ": " + std::to_string(one) + " beside " +
                   std::to_string(other));
}

const char* name(Packing packing) { return packing == Packing::slots ? "slots" : "coefficients"; }

}  // namespace

void check_whole(std::span<const std::uint32_t> indices, std::size_t each) {
  if (indices.empty()) throw ShapeError("index: none");
  for (std::size_t i = 0; i < indices.size(); ++i)
    if (indices.size() % each != 0 || indices[i] % each != i % each ||
        indices[i] / each != indices[i - i % each] / each)
      throw ShapeError("index: " + std::to_string(indices[i]) + " at " + std::to_string(i) +
                       " takes a vector apart, which goes on over " + std::to_string(each) +
                       " ciphertexts");
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

Ciphertexts concatenate(std::span<const Ciphertexts* const> batches) {
  if (batches.empty()) throw ShapeError("batches: none");
  const Ciphertexts& first = *batches.front();
  CiphertextInfo info = first.info;
  const std::uint64_t N = first.parameters.N();
  for (const Ciphertexts* batch : batches) {
    check_origin(*batch, first);
    if (batch->info.packing != info.packing)
      throw ShapeError(std::string("packing: ") + name(batch->info.packing) + " beside " +
                       name(info.packing));
    check_same("parts", batch->info.parts, info.parts);
    check_same("limbs", batch->info.limbs, info.limbs);
    check_same("factor", batch->info.factor, info.factor);
    check_words(*batch, layout(*batch).outer * layout(*batch).inner);
    if (batch == &first) continue;
    info.noise = std::max(info.noise, batch->info.noise);
    const std::uint64_t one = info.length == 0 ? N : info.length,
                        other = batch->info.length == 0 ? N : batch->info.length;
    if (one != other) {
      if (std::max(one, other) > N) check_same("length of vectors", other, one);
      info.length = std::max(one, other) == N ? 0 : std::max(one, other);
    }
    if (info.rest != batch->info.rest) info.rest = Rest::anything;
  }
  Ciphertexts out{first.parameters, first.key_id, info, join_words(batches, layout(first)),
                  std::nullopt};
  out.info.count = out.data.size() / (layout(first).outer * layout(first).inner);
  join_seeds(
      batches, [](const Ciphertexts& c) { return c.info.count; }, out);
  return out;
}

}  // namespace whorl::bgv
