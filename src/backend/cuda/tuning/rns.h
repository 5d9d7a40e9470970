// Numbers of RNS kernels, measured on an H200 (sm_90): docs/performance/base-conversion.md.
#pragma once

#include <cstddef>

namespace whorl::backend::cuda::tuning {

/// Source limbs from which on base conversion goes to the INT8 tensor cores, and those from which
/// on it does in rows of up to `small_row` words: there it is latency that they save.
inline constexpr unsigned least_byte_limbs = 8, least_small_byte_limbs = 5;
inline constexpr std::size_t small_row = std::size_t{1} << 17;
/// Rows of so many words are converted 64 coefficients a warp, smaller ones 32: of digits, and of
/// parts.
inline constexpr std::size_t least_wide_digit_row = std::size_t{1} << 18,
                             least_wide_part_row = std::size_t{1} << 16;

/// Words of a part from which on a product is made within its key switch. Smaller ones have too few
/// threads to multiply where they transform.
inline constexpr std::size_t least_switched_product = std::size_t{1} << 16;

/// Keys of one launch of inner products, whose blocks share what they read of the digits.
inline constexpr unsigned keys_a_launch = 16;
/// Terms of one launch that sums products of images with plaintexts.
inline constexpr unsigned turned_terms_a_launch = 32;
/// Its stages of digits and keys in shared memory: one is used, the others are on their way.
inline constexpr unsigned turned_stages = 5;

/// Outputs of a matrix that a thread makes of a vector of columns: not measured, but as many as
/// leave room for two blocks a multiprocessor. Matrices of few outputs have smaller tiles.
template <class Word>
inline constexpr unsigned outputs_a_thread = sizeof(Word) == 4 ? 8 : 4;
inline constexpr unsigned few_outputs_a_thread = 2, most_few_outputs = 16;

/// Threads of a block that multiplies sums which masks choose, of a coefficient each: not measured,
/// but six blocks of 32 KB of shared memory are resident, and rows are multiples of them.
template <class Word>
inline constexpr unsigned masked_threads = sizeof(Word) == 4 ? 64 : 32;

}  // namespace whorl::backend::cuda::tuning
