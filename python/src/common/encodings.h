// Encodings of FHEW/TFHE's messages, which Python has as pairs (p, padding), and the keys that
// ciphertexts are under.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>
#include <utility>

#include "calls.h"
#include "whorl/binfhe/ciphertexts.h"
#include "whorl/binfhe/parameters.h"

namespace whorl::python {

template <>
inline constexpr Choice<binfhe::Under, 2> choice<binfhe::Under>{
    "under", {{{"lwe", binfhe::Under::lwe}, {"ring", binfhe::Under::ring}}}};

using EncodingPair = std::pair<std::uint32_t, bool>;

template <>
inline auto as_python(const binfhe::Encoding& encoding) {
  return EncodingPair(encoding.p, encoding.padding);
}

using RangePair = std::pair<std::int64_t, std::int64_t>;

template <>
inline auto as_python(const std::optional<binfhe::MessageRange>& range) {
  std::optional<RangePair> pair;
  if (range) pair.emplace(range->low, range->high);
  return pair;
}

template <>
struct Handed<binfhe::MessageRange> {
  using Type = RangePair;
  static binfhe::MessageRange open(Type pair) { return {pair.first, pair.second}; }
};
template <>
struct Handed<binfhe::Encoding> {
  using Type = EncodingPair;
  static binfhe::Encoding open(Type pair) { return {pair.first, pair.second}; }
};
template <>
struct Handed<std::optional<binfhe::Encoding>> {
  using Type = std::optional<EncodingPair>;
  static std::optional<binfhe::Encoding> open(Type pair) {
    if (!pair) return std::nullopt;
    return binfhe::Encoding{pair->first, pair->second};
  }
};

}  // namespace whorl::python
