// The kinds of keys that the kernels of the FFT blind rotation are compiled for.
#pragma once

#include <vector_types.h>

#include <cstdint>
#include <type_traits>

namespace whorl::backend::cuda {

/// Words of a key and of what it rotates.
enum class FftWords : std::uint8_t {
  narrow,    ///< words of 32 bits, Q below 2^31
  wide,      ///< words of 64 bits
  one_digit  ///< words of 64 bits, and keys with one digit a step
};

template <FftWords words>
inline constexpr bool is_wide = words != FftWords::narrow;

/// A value of a key's spectrum, and 16 bytes of an unrolled key's: one wide value, or the narrow
/// values of both rows of a digit.
template <FftWords words>
using FftKeyValue = std::conditional_t<is_wide<words>, double2, int2>;
template <FftWords words>
using FftKeyPair = std::conditional_t<is_wide<words>, double2, int4>;

template <FftWords words>
using FftWord = std::conditional_t<is_wide<words>, std::uint64_t, std::uint32_t>;

/// The kind of keys of a word, for what does not depend on the number of digits.
template <class Word>
inline constexpr FftWords fft_words = sizeof(Word) == 8 ? FftWords::wide : FftWords::narrow;

}  // namespace whorl::backend::cuda
