// The payloads of public keys of FHEW/TFHE, and of messages in coefficients; docs/file-format.md
// has the bytes.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "io/native/binfhe_literal.h"
#include "io/native/binfhe_ring_rows.h"
#include "io/native/files.h"
#include "schemes/binfhe/packed.h"

namespace whorl::io {

namespace {

using binfhe::PackedCiphertexts;
using binfhe::Parameters;
using binfhe::PublicKey;

/// Words of `bits` bits, the lowest bit first, and zeros up to a whole byte.
std::vector<std::uint8_t> as_bits(std::span<const std::uint64_t> words, unsigned bits) {
  std::vector<std::uint8_t> out;
  out.reserve((words.size() * bits + 7) / 8);
  unsigned __int128 waiting = 0;
  unsigned have = 0;
  for (const std::uint64_t word : words) {
    waiting |= static_cast<unsigned __int128>(word) << have;
    for (have += bits; have >= 8; have -= 8, waiting >>= 8)
      out.push_back(static_cast<std::uint8_t>(waiting));
  }
  if (have != 0) out.push_back(static_cast<std::uint8_t>(waiting));
  return out;
}

/// FormatError for bits behind the last word that are not 0.
std::vector<std::uint64_t> from_bits(ByteSpan bytes, unsigned bits, std::size_t count) {
  std::vector<std::uint64_t> out;
  reserve(out, count, "packed ciphertexts");
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  unsigned __int128 waiting = 0;
  unsigned have = 0;
  std::size_t at = 0;
  while (out.size() < count) {
    for (; have < bits; have += 8) waiting |= static_cast<unsigned __int128>(bytes[at++]) << have;
    out.push_back(static_cast<std::uint64_t>(waiting) & mask);
    waiting >>= bits;
    have -= bits;
  }
  if (waiting != 0) throw FormatError("packed ciphertexts: bits behind the last word are not 0");
  return out;
}

}  // namespace

template <>
struct Codec<PublicKey>
    : RingRowsCodec<PublicKey, FrameType::binfhe_public_key, [](const Parameters&) { return 1U; }> {
};

template <>
struct Codec<PackedCiphertexts> {
  static constexpr FrameKind kind{.type = FrameType::binfhe_packed_ciphertexts};

  static void write(const PackedCiphertexts& value, PayloadWriter& out) {
    binfhe::check_packed(value);
    out.fields().value(value.encoding.p);
    out.fields().value(static_cast<std::uint8_t>(value.encoding.padding));
    out.fields().value(static_cast<std::uint8_t>(value.log2_modulus));
    out.fields().zeros(2);
    out.fields().value(static_cast<std::uint64_t>(value.count));
    ArrayFields fields{.shape = out.shape_of(value.shape), .largest = value.largest};
    if (value.range) {
      fields.low = static_cast<double>(value.range->low);
      fields.high = static_cast<double>(value.range->high);
    }
    out.array(std::move(fields), value.count);
    const auto bytes =
        std::make_shared<const std::vector<std::uint8_t>>(as_bits(value.data, value.word_bits()));
    out.stream(bytes->size(), [bytes](FrameWriter& frame) { frame.write(*bytes); });
  }

  static PackedCiphertexts read(PayloadReader& in, const Parameters& parameters) {
    PackedCiphertexts value{parameters, in.header().key_id, {}};
    value.encoding.p = in.fields().value<std::uint32_t>("encoding");
    const auto padding = in.fields().value<std::uint8_t>("encoding");
    if (padding > 1)
      throw FormatError("encoding: padding is " + std::to_string(padding) +
                        "; it must be at most 1");
    value.encoding.padding = padding != 0;
    value.log2_modulus = in.fields().value<std::uint8_t>("log2_modulus");
    in.fields().zeros(2, "log2_modulus");
    const auto count = in.fields().value<std::uint64_t>("count");
    value.count = static_cast<std::size_t>(count);
    binfhe::check_packed_modulus(value);
    const ArrayFields fields = in.array(count);
    if (fields.length != 0 || fields.rest != 0 || fields.noise != 1 || fields.sum ||
        fields.as_bits || fields.ring_key)
      throw FormatError(
          "packed ciphertexts have fields of others: length, rest, noise, sum, "
          "as_bits or ring_key");
    value.shape = fields.shape;
    value.largest = fields.largest;
    if (fields.of_reals()) value.range = {end(fields.low, "low"), end(fields.high, "high")};
    // Each ring has N words for up to N messages, so that count and its multiples are known to fit.
    checked_product(checked_product(count, 2, "count"), parameters.N(), "count");
    const std::uint64_t words = value.words();
    const ByteSpan bytes = in.fields().skip(
        (checked_product(words, value.word_bits(), "count") + 7) / 8, "packed ciphertexts");
    in.finish(count, checked_product(words, sizeof(std::uint64_t), "count"), false);
    value.data = from_bits(bytes, value.word_bits(), static_cast<std::size_t>(words));
    binfhe::check_packed(value);
    return value;
  }

 private:
  static std::int64_t end(const std::optional<double>& of, const char* field) {
    constexpr auto most = static_cast<double>(binfhe::MessageRange::most);
    if (!of || !(std::abs(*of) <= most) || *of != std::floor(*of))
      throw FormatError(std::string(field) + ": low and high must be there together, as integers " +
                        "above -2^31 and below 2^31");
    return static_cast<std::int64_t>(*of);
  }
};

WHORL_INSTANTIATE_FILES(PublicKey);
WHORL_INSTANTIATE_FILES(PackedCiphertexts);

}  // namespace whorl::io
