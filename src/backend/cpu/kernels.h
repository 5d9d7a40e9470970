// Kernels of the CPU, one polynomial, stretch or row at a time, that are not blind rotation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "backend/contract/lwe.h"
#include "backend/contract/ring.h"
#include "backend/parallel.h"
#include "ring/host/kernels.h"

namespace whorl::backend::cpu {

// The host's transforms, which a CPU device carries out its own with.
using ring::fft_polynomial;
using ring::FftTables;
using ring::ifft_polynomial;
using ring::intt_polynomial;
using ring::intt_scaled;
using ring::ntt_above_blocks;
using ring::ntt_block_count;
using ring::ntt_block_of;
using ring::ntt_polynomial;
using ring::NttTables;
using ring::simd_doubles;
using ring::simd_name;
using ring::simd_words;

/// `count` values modulo one modulus; for neg, b is a.
template <class Word>
void elementwise(Elementwise op, const math::Modulus<Word>& q, const Word* a, const Word* b,
                 Word* out, std::size_t count);
template <class Word>
void multiply_scalar(const math::Modulus<Word>& q, const Word* a, Word scalar, Word* out,
                     std::size_t count);

template <class In, class Out>
void switch_modulus_row(std::uint64_t from, std::uint64_t to, unsigned centre,
                        std::span<const In> in, std::span<Out> out);

/// Coefficients begin … begin + count - 1 of the 2L of each polynomial, polynomial after
/// polynomial, as LweOps::to_polynomials has them: columns `first` … of rows of `vectors` vectors.
template <class In, class Out>
void write_coefficients(const LwePolynomials& rule, std::size_t first, std::size_t columns,
                        std::size_t vectors, std::size_t batch, std::size_t begin,
                        std::size_t count, const In* in, Out* out);

template <class Word>
std::unique_ptr<SwitchKey> prepare_switch_key(const SwitchShape& shape,
                                              const SwitchRows<Word>& rows, const Workers& workers);
void key_switch(const SwitchKey& key, ConstWords in, Words out, std::size_t count,
                const Workers& workers);

}  // namespace whorl::backend::cpu
