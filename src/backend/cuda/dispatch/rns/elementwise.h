// Element-wise arithmetic of residues, limb-major (L, B, N), on a GPU: meanings as in
// backend/contract/ring.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/contract/ring.h"
#include "backend/cuda/runtime/stream.h"

namespace whorl::backend::cuda {

/// `size` values in moduli.size() limbs of equal length; `b` is not read by neg; `out` may be `a`.
template <class Word>
void elementwise(const Stream& stream, Elementwise op, Moduli<Word> moduli, std::size_t size,
                 const Word* a, const Word* b, Word* out);
template <class Word>
void multiply_scalar(const Stream& stream, Moduli<Word> moduli, std::span<const Word> scalars,
                     std::size_t size, const Word* a, Word* out);
template <class Word>
void automorphism(const Stream& stream, Moduli<Word> moduli, std::uint32_t N, std::uint32_t g,
                  bool evaluation_form, std::size_t size, const Word* a, Word* out);
/// Waits for the answer.
template <class Word>
bool all_below(const Stream& stream, Moduli<Word> moduli, std::size_t size, const Word* a);

/// Copies by a kernel, which can be launched together with the kernels before and after it. (The
/// copy of Stream::copy_within is not a kernel.)
void copy(const Stream& stream, std::size_t bytes, const void* in, void* out);
/// `count` words of one value.
template <class Word>
void fill(const Stream& stream, std::size_t count, Word value, Word* out);

/// out[r][i] = in[r][index[i]]: polynomials of N words in rows of `in_batch` and `out_batch`.
template <class Word>
void take(const Stream& stream, std::size_t rows, std::uint32_t N,
          std::span<const std::uint32_t> index, std::size_t in_batch, const Word* in,
          std::size_t out_batch, Word* out);

}  // namespace whorl::backend::cuda
