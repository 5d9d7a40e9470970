// Numbers of the kernels that bring LWE ciphertexts into polynomials, and of those that multiply
// them by matrices: not measured. Tiles are as wide as a warp, and as long as gives each thread
// some loads on their way at once.
#pragma once

namespace whorl::backend::cuda::tuning {

/// Columns of rows that a block reads together, and coefficients that it writes together.
inline constexpr unsigned polynomial_columns = 32, polynomial_coefficients = 64;
/// Blocks of 64 bytes of keystreams that a block of threads makes, one a thread.
inline constexpr unsigned keystream_blocks = 128;

/// Results of a matrix of few inputs from which on tensor cores make them.
inline constexpr unsigned least_results = 8;

}  // namespace whorl::backend::cuda::tuning
