// Batches in the host's memory: some of one, and several as one.
#include <utility>

#include "schemes/binfhe/account.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/origin.h"
#include "whorl/binfhe/ciphertexts.h"
#include "whorl/rows.h"

namespace whorl::binfhe {

namespace {

/// The same but for rows, which `rows` makes: vectors of words as its argument has them.
template <class Rows>
Ciphertexts with(const Ciphertexts& batch, std::size_t count, const Rows& rows) {
  Ciphertexts out{batch.parameters,
                  batch.key_id,
                  batch.encoding,
                  count,
                  {},
                  {},
                  {},
                  batch.noise,
                  {},
                  batch.sum,
                  {},
                  batch.largest,
                  batch.as_bits,
                  batch.range,
                  batch.under};
  out.off = batch.off;
  out.failure_log2 = batch.failure_log2;
  with_words(out, [&](auto& words) { words = rows(words); });
  return out;
}

}  // namespace

std::uint32_t largest_message(const Ciphertexts& ciphertexts) {
  return largest_of(ciphertexts).any;
}
std::uint32_t error_bound(const Ciphertexts& ciphertexts) {
  return decrypted(ciphertexts).error_bound;
}
double failure_log2(const Ciphertexts& ciphertexts) { return decrypted(ciphertexts).failure_log2; }

Ciphertexts take(const Ciphertexts& batch, std::span<const std::uint32_t> indices) {
  check_words(batch);
  Ciphertexts out = with(batch, indices.size(), [&]<class Word>(const std::vector<Word>&) {
    return take_rows<Word>(words_of<Word>(batch), {1, batch.row()}, batch.count, indices);
  });
  out.seed = batch.seed;
  if (batch.seed) out.numbers = take_numbers(batch.numbers, indices);
  set_taken(out, batch, indices);
  return out;
}

Ciphertexts concatenate(std::span<const Ciphertexts* const> batches) {
  if (batches.empty()) throw ShapeError("batches: at least one is needed");
  const Ciphertexts& first = *batches.front();
  std::size_t count = 0;
  for (const Ciphertexts* batch : batches) {
    check_origin(*batch, first);
    check_words(*batch);
    if (batch->encoding != first.encoding)
      throw EncodingError("p, padding: " + std::to_string(batch->encoding.p) + ", " +
                          std::to_string(batch->encoding.padding) + " beside " +
                          std::to_string(first.encoding.p) + ", " +
                          std::to_string(first.encoding.padding));
    if (batch->under != first.under)
      throw KeyMismatchError(std::string("under: ciphertexts ") + describe(batch->under) +
                             " beside others " + describe(first.under) +
                             ": a server's to_lwe_key brings all of them under the LWE key");
    count += batch->count;
  }
  Ciphertexts out = with(first, count, [&]<class Word>(const std::vector<Word>&) {
    std::vector<std::span<const Word>> parts;
    for (const Ciphertexts* batch : batches) parts.emplace_back(words_of<Word>(*batch));
    return join_rows(parts, {1, first.row()});
  });
  set_joined(out, batches, fresh_noise(first.parameters, first.under),
             encoding_offset(first.parameters, first.encoding, first.under));
  join_seeds(
      batches, [](const Ciphertexts& c) { return c.count; }, out);
  return out;
}

}  // namespace whorl::binfhe
