// Batches of BGV and CKKS in the host's memory: some of one, and several as one. A scheme says by
// joined_info(batches) what is known of several as one, or throws ShapeError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "schemes/ring/account.h"
#include "schemes/ring/derived.h"
#include "whorl/error.h"
#include "whorl/ring_keys.h"
#include "whorl/rows.h"

namespace whorl {

template <class Parameters, class Info>
RingCiphertexts<Parameters, Info> take(const RingCiphertexts<Parameters, Info>& c,
                                       std::span<const std::uint32_t> indices) {
  check_whole(indices, c.info.each(c.parameters.N()));
  check_words(c);
  RingCiphertexts<Parameters, Info> out{c.parameters, c.key_id, taken(c.info, indices.size()),
                                        take_words(c.data, batch_layout(c), c.info.count, indices),
                                        c.seed};
  if (c.seed) out.numbers = take_numbers(c.numbers, indices);
  return out;
}

template <class Parameters, class Info>
RingCiphertexts<Parameters, Info> concatenate(
    std::span<const RingCiphertexts<Parameters, Info>* const> batches) {
  if (batches.empty()) throw ShapeError("concatenate: no batch is given");
  const auto& first = *batches.front();
  for (const auto* batch : batches) {
    check_origin(*batch, first);
    check_words(*batch);
  }
  RingCiphertexts<Parameters, Info> out{first.parameters, first.key_id, joined_info(batches),
                                        join_words(batches, batch_layout(first)), std::nullopt};
  join_seeds(
      batches, [](const auto& c) { return c.info.count; }, out);
  return out;
}

}  // namespace whorl
