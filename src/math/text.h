// Numbers and ids in error messages.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

namespace whorl::math {

/// A number in the digits that it needs, at most six: "3.2", "1e-09".
inline std::string text_of(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", x);
  return text;
}

/// A number in digits that tell it from every other one.
inline std::string exact_text_of(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}

/// "1 level", "2 levels".
inline std::string counted(std::uint64_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

/// Bits that are at least there, to a tenth below: "131.2".
inline std::string bits_below(double bits) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", std::floor(bits * 10 + 1e-9) / 10);
  return text;
}

/// A power of two that a probability is at most, to a tenth above: "2^-105.7".
inline std::string power_of_two_above(double exponent) {
  const auto tenths = static_cast<long>(std::ceil(exponent * 10 - 1e-9));
  std::string text =
      "2^" + std::string(tenths < 0 ? "-" : "") + std::to_string(std::labs(tenths) / 10);
  if (tenths % 10 != 0) text += "." + std::to_string(std::labs(tenths) % 10);
  return text;
}

inline std::string hexadecimal(std::span<const std::uint8_t> bytes) {
  std::string digits;
  for (const std::uint8_t byte : bytes) {
    digits += "0123456789abcdef"[byte >> 4];
    digits += "0123456789abcdef"[byte & 15];
  }
  return digits;
}

/// The first eight digits of a key's id or of a digest: "49a54d5a…".
inline std::string short_id(std::span<const std::uint8_t> id) {
  return hexadecimal(id.first(4)) + "…";
}

}  // namespace whorl::math
