// Transforms of some rows of RNS arrays, from one array into another: one launch for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/cuda/dispatch/transforms/transforms.h"
#include "backend/cuda/kernels/ntt.cuh"

namespace whorl::backend::cuda {

/// The tables of several moduli of one N, found once: transforms by them look nothing up.
template <class Word>
struct NttLimbs {
  std::uint32_t N = 0;
  std::vector<NttLimb<Word>> forward, inverse;
  std::vector<std::shared_ptr<void>> memory;
};
template <class Word>
NttLimbs<Word> ntt_limbs(const Stream& stream, const TransformTables& tables, NttPlans<Word> plans);

/// Rows of (batch, N) of an array of several parts: `first`, … of each part of `stride` rows.
template <class Word>
struct RowsOf {
  Word* data;
  std::size_t stride, first;
};

/// Which rows of each part are transformed, and modulo what: row r by limb first_limb + r, or, from
/// row `chain` on, by limb special_limb + r - chain. With digit_limbs, rows r < own_below of part
/// (r + missing) / digit_limbs are left alone: a digit's own limbs.
struct NttSelection {
  std::size_t parts = 1, rows = 0;
  unsigned first_limb = 0, chain = ~0u, special_limb = 0;
  unsigned digit_limbs = 0, own_below = 0, missing = 0;

  std::size_t limb(std::size_t row) const {
    return row < chain ? first_limb + row : special_limb + row - chain;
  }
};

/// `out` may be `in`.
template <class Word>
void ntt_rows(const Stream& stream, const NttLimbs<Word>& limbs, bool forward,
              const NttSelection& selection, std::size_t batch, RowsOf<const Word> in,
              RowsOf<Word> out);

template <class Word>
struct NttConversion;
template <class Word>
struct NttDivision;
template <class Word>
struct NttProduct;

/// Whether ntt_rows_with takes a conversion for so many transforms (parts × rows × batch): few of
/// them, of rings for which there are kernels for few.
template <class Word>
bool may_convert(const Stream& stream, std::uint32_t N, std::size_t transforms);

/// A forward transform that does more than transform (kernels/ntt_ends.cuh). With a conversion,
/// row in.first of each part of `in` is what the part's rows are converted from, and a digit's own
/// rows are copied, if it says from where; without, `in` may be overwritten. `out` must not be
/// `in`.
template <class Word>
void ntt_rows_with(const Stream& stream, const NttLimbs<Word>& limbs, const NttSelection& selection,
                   std::size_t batch, RowsOf<Word> in, RowsOf<Word> out,
                   const NttConversion<Word>* conversion, const NttDivision<Word>* division);

/// An inverse transform of products.
template <class Word>
void intt_rows_of_products(const Stream& stream, const NttLimbs<Word>& limbs,
                           const NttSelection& selection, std::size_t batch,
                           const NttProduct<Word>& product, RowsOf<Word> out);

}  // namespace whorl::backend::cuda
