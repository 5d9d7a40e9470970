// Transforms of one polynomial on the host, with tables that the caller owns. HostNtt and HostFft
// (transforms.h) own their tables; these functions are for code that keeps tables in its own
// memory.
#pragma once

#include <complex>
#include <cstddef>
#include <string>

#include "ring/host/fft_tables.h"
#include "ring/host/ntt_tables.h"

namespace whorl::ring {

/// Doubles and words in a vector of the SIMD width in use.
unsigned simd_doubles();
unsigned simd_words(std::size_t word_bytes);
/// "AVX3" (AVX-512), "AVX2" or "SCALAR".
std::string simd_name();

/// One polynomial, in the order of NttPlan, residues below q in and out; `out` may be `in`.
template <class Word>
void ntt_polynomial(const NttTables<Word>& tables, const Word* in, Word* out);
/// The same in place, for several threads: what comes first, then each of so many blocks, unless it
/// is one.
template <class Word>
std::size_t ntt_block_count(const NttTables<Word>& tables);
template <class Word>
void ntt_above_blocks(const NttTables<Word>& tables, Word* data);
template <class Word>
void ntt_block_of(const NttTables<Word>& tables, std::size_t block, Word* data,
                  const Ahead& ahead = {});
template <class Word>
void intt_polynomial(const NttTables<Word>& tables, const Word* in, Word* out);
/// intt_polynomial, with results times scale·N: where `scale` is N^-1, that is the transform
/// itself. `shoup` is Shoup's companion of `scale`.
template <class Word>
void intt_scaled(const NttTables<Word>& tables, Word scale, Word shoup, const Word* in, Word* out);
/// These go from N coefficients to N/2 values and back, in the order of FftPlan. `work` has N
/// doubles aligned for every SIMD width, or is null for memory of its own.
void fft_polynomial(const FftTables& tables, const double* in, std::complex<double>* out,
                    double* work = nullptr);
void ifft_polynomial(const FftTables& tables, const std::complex<double>* in, double* out,
                     double* work = nullptr);

}  // namespace whorl::ring
