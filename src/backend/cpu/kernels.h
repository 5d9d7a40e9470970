// Kernels of the CPU, one polynomial, stretch or row at a time, that are not blind rotation.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "backend/contract/lwe.h"
#include "backend/contract/ring.h"
#include "backend/cpu/fft_tables.h"
#include "backend/cpu/ntt_tables.h"
#include "backend/parallel.h"

namespace whorl::backend::cpu {

/// Doubles and words in a vector of the SIMD width in use.
unsigned simd_doubles();
unsigned simd_words(std::size_t word_bytes);
/// "AVX3" (AVX-512), "AVX2" or "SCALAR".
std::string simd_name();

/// One polynomial, in the order of ring::NttPlan, residues below q in and out; `out` may be `in`.
template <class Word>
void ntt_polynomial(const NttTables<Word>& tables, const Word* in, Word* out);
/// The same in place, for several threads: what comes first, then each of so many blocks, unless it
/// is one.
template <class Word>
std::size_t ntt_block_count(const NttTables<Word>& tables);
template <class Word>
void ntt_above_blocks(const NttTables<Word>& tables, Word* data);
template <class Word>
void ntt_block_of(const NttTables<Word>& tables, std::size_t block, Word* data);
template <class Word>
void intt_polynomial(const NttTables<Word>& tables, const Word* in, Word* out);
/// With results times scale·N: N^-1 is where that is the transform itself. `shoup`: of `scale`.
template <class Word>
void intt_scaled(const NttTables<Word>& tables, Word scale, Word shoup, const Word* in, Word* out);
void fft_polynomial(const FftTables& tables, const double* in, std::complex<double>* out);
void ifft_polynomial(const FftTables& tables, const std::complex<double>* in, double* out);

/// `count` values modulo one modulus; for neg, b is a.
template <class Word>
void elementwise(Elementwise op, const math::Modulus<Word>& q, const Word* a, const Word* b,
                 Word* out, std::size_t count);
template <class Word>
void multiply_scalar(const math::Modulus<Word>& q, const Word* a, Word scalar, Word* out,
                     std::size_t count);

template <class In, class Out>
void switch_modulus_row(std::uint64_t from, std::uint64_t to, bool centre, std::span<const In> in,
                        std::span<Out> out);

template <class Word>
std::unique_ptr<SwitchKey> prepare_switch_key(const SwitchShape& shape,
                                              const SwitchRows<Word>& rows, const Workers& workers);
void key_switch(const SwitchKey& key, ConstWords in, Words out, std::size_t count,
                const Workers& workers);

}  // namespace whorl::backend::cpu
