// The client's half of integers: their digits, encrypted and decrypted. No step depends on what
// integers are, but that those are refused which their kind does not have.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "circuits/binfhe/integer_digits.h"
#include "whorl/binfhe/client.h"
#include "whorl/error.h"

namespace whorl::integers {

namespace {

using Words = decltype(Integer::words);

/// The words of 2^bits - 1.
Words below(std::uint32_t bits) {
  Words mask{};
  for (std::uint32_t k = 0; k < mask.size(); ++k) {
    const std::uint32_t first = 64 * k;
    mask[k] = bits >= first + 64 ? ~std::uint64_t{0}
              : bits > first     ? (std::uint64_t{1} << (bits - first)) - 1
                                 : 0;
  }
  return mask;
}

/// The integer of the kind that is equal modulo 2^bits.
Words wrapped(const Words& words, const Kind& kind) {
  const Words mask = below(kind.bits);
  const std::uint64_t top = words[(kind.bits - 1) / 64] >> ((kind.bits - 1) % 64) & 1;
  const std::uint64_t sign = std::uint64_t{0} - (top & std::uint64_t{kind.is_signed});
  Words out;
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = (words[k] & mask[k]) | (sign & ~mask[k]);
  return out;
}

/// Digit i as a message: the last one has what is left of the bits, and the sign.
std::uint32_t digit_of(const Words& words, const Kind& kind, std::size_t i) {
  const auto digit = static_cast<std::uint32_t>(words[i / 32] >> (2 * (i % 32)) & 3);
  if (i + 1 < kind.digits()) return digit;
  const std::uint32_t most = kind.bits % 2 == 0 ? 3 : 1;
  const std::uint32_t low = kind.is_signed ? (most + 1) / 2 : 0;  // it is -low … most - low
  return (((digit + low) & most) + encoding.p - low) % encoding.p;
}

/// 4·words + digit, modulo 2^256.
Words moved_up(const Words& words, std::int64_t digit) {
  Words out;
  std::uint64_t below = 0, carry = 0;
  for (std::size_t k = 0; k < out.size(); ++k) {
    const std::uint64_t added = static_cast<std::uint64_t>(k == 0 ? digit : digit >> 63);
    const unsigned __int128 sum =
        static_cast<unsigned __int128>(words[k] << 2 | below) + added + carry;
    below = words[k] >> 62;
    out[k] = static_cast<std::uint64_t>(sum);
    carry = static_cast<std::uint64_t>(sum >> 64);
  }
  return out;
}

}  // namespace

Ciphertexts encrypt(const binfhe::Client& client, std::span<const Integer> values, Kind kind,
                    const Shape& shape) {
  check_kind(kind);
  if (shape_size(shape, 1) != values.size())
    throw ShapeError("encrypt: " + std::to_string(values.size()) +
                     " integers do not have the shape that is given");
  for (std::size_t j = 0; j < values.size(); ++j)
    if (wrapped(values[j].words, kind) != values[j].words)
      throw EncodingError("value at index " + std::to_string(j) + " is not an integer of " +
                          std::to_string(kind.bits) + (kind.is_signed ? " signed" : "") + " bits");
  std::vector<std::uint32_t> messages;
  messages.reserve(static_cast<std::size_t>(shape_size(shape, kind.digits())));
  for (std::size_t i = 0; i < kind.digits(); ++i)
    for (const Integer& value : values) messages.push_back(digit_of(value.words, kind, i));
  binfhe::Ciphertexts digits =
      client.encrypt(messages, encoding, binfhe::allowed_failure, binfhe::Under::ring);
  digits.shape = Shape{kind.digits()};
  digits.shape->insert(digits.shape->end(), shape.begin(), shape.end());
  return {std::move(digits), kind};
}

Ciphertexts encrypt(const binfhe::Client& client, std::span<const Integer> values, Kind kind) {
  return encrypt(client, values, kind, {values.size()});
}

std::vector<Integer> decrypt(const binfhe::Client& client, const Ciphertexts& ciphertexts) {
  const binfhe::Ciphertexts& digits = *ciphertexts.digits();
  const Kind kind = ciphertexts.kind();
  std::vector<std::uint32_t> messages = client.decrypt(digits);
  // Flags count 8.
  const bool flags =
      digits.range && digits.range->low == flag_range.low && digits.range->high == flag_range.high;
  const std::uint32_t shift = flags ? 3 : 0;
  constexpr std::uint32_t half = encoding.p / 2;
  const std::size_t count = ciphertexts.count();
  std::vector<Integer> out(count);
  for (std::size_t i = kind.digits(); i-- > 0;)
    for (std::size_t j = 0; j < count; ++j) {
      // A digit is the one of -16 … 15.
      const std::uint32_t digit = ((messages[i * count + j] >> shift) + half) % encoding.p;
      out[j].words = moved_up(out[j].words, std::int64_t{digit} - std::int64_t{half});
    }
  for (Integer& each : out) each.words = wrapped(each.words, kind);
  return out;
}

}  // namespace whorl::integers
