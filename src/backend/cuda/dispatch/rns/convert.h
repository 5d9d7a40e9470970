// Launches of base conversions.
#pragma once

#include <cstddef>

#include "backend/cuda/dispatch/rns/rns.h"
#include "backend/cuda/kernels/rns.cuh"

namespace whorl::backend::cuda {

/// `groups` conversions of rows of a.row words. The first one uses the tables of conversion number
/// `table`, the next one those of the next number. The function sets a's tables and its members for
/// blocks.
template <class Word>
void convert(const Stream& stream, const Conversions<Word>& conversions, std::size_t table,
             std::size_t groups, ConvertArguments<Word> a, Products wanted = Products::automatic);

/// `table` of the conversions, of all its limbs to the first `kept` targets, for each part.
template <class Word>
void convert_parts(const Stream& stream, const Conversions<Word>& conversions, std::size_t table,
                   unsigned kept, std::size_t parts, std::size_t row, const Word* in, Word* out,
                   Products products = Products::automatic) {
  ConvertArguments<Word> a = {};
  a.in = in;
  a.out = out;
  a.row = row;
  a.in_stride = conversions.size;
  a.targets = kept;
  a.rows = {kept, 0};
  convert(stream, conversions, table, parts, a, products);
}

/// Blocks for a row of words, `width` a thread.
inline unsigned pieces(std::size_t row, std::size_t width) {
  return static_cast<unsigned>((row + rns_threads * width - 1) / (rns_threads * width));
}

}  // namespace whorl::backend::cuda
