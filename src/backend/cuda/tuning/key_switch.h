// Numbers of key switching, measured on an H200 (sm_90): 132 multiprocessors, 227 KB of shared
// memory a block, INT8 tensor cores. `make tune-gpu` measures them again
// (bench/tune/key_switch*.cu) and prints the lines below, all but expanded_bytes, which is a bound
// on memory and no matter of speed. What the kernels' layouts fix stands in kernels/key_switch.cuh:
// 64 rows of the key a stage (k_block), 2 x 4 warps of the product, 32 ciphertexts a warp of the
// staged look-up (its lanes find one ciphertext's digits each), 256 bytes of a row.
#pragma once

#include <cstddef>

namespace whorl::backend::cuda::tuning {

/// Columns of the key that a warp of the matrix product owns, by byte planes of a residue: its
/// accumulators, 2·planes·columns registers with 64 ciphertexts, must leave room for operands. Two
/// planes: the tuner, at n = 512 and 2,048 ciphertexts, finds 40 faster by 30 %; at n = 644 and
/// 8,192 it is 4 % slower.
inline constexpr unsigned warp_columns[] = {0, 40, 32, 24, 8, 16, 8, 8, 8};

/// Shared-memory stages of the matrix product, 64 bytes of every row each.
inline constexpr unsigned product_stages = 8;
/// Batches up to this size go through tiles of 32 ciphertexts, larger ones through tiles of 128.
inline constexpr std::size_t small_product_batch = 96;
/// Memory for the ciphertexts' digits, which are expanded for so many ciphertexts at a time.
inline constexpr std::size_t expanded_bytes = std::size_t{256} << 20;

/// A table of at most so many values a digit is multiplied as a matrix of ones: the tensor cores
/// add 16 rows of zeros faster than shared memory looks one up.
inline constexpr unsigned largest_multiplied_table = 8;

/// Ciphertexts from which on a coefficient's rows are read once for a tile of ciphertexts.
inline constexpr std::size_t least_staged_batch = 128;
/// Warps of a block of the staged look-up, 32 ciphertexts each.
inline constexpr unsigned staged_warps = 8;
/// Threads of a block of the direct look-up, 16 bytes of a row each.
inline constexpr unsigned direct_threads = 128;
/// Coefficients below which it does not pay to split a ciphertext further.
inline constexpr unsigned direct_least_coefficients = 8;

}  // namespace whorl::backend::cuda::tuning
