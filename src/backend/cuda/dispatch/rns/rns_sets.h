// The RNS operations of rns.h for any bases. They take more launches.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "backend/cuda/dispatch/rns/rns.h"
#include "backend/cuda/kernels/rns_inner.cuh"

namespace whorl::backend::cuda {

/// `added`: what is added to the first `parts` parts, or null; then all, `onto` what is there.
template <class Word>
InnerAddend<Word> inner_addend(const ring::RnsPlan<Word>& plan, const InnerProduct& product,
                               std::size_t parts, const CheckedScaling<Word>* added, bool onto) {
  InnerAddend<Word> out = {};
  out.onto = onto;
  if (!added) return out;
  out.x = added->x;
  out.over = prime_set(added->over);
  out.parts = static_cast<std::uint32_t>(parts);
  out.rows = added->over.size();
  std::size_t row = 0;
  product.rows.for_each([&](unsigned i) {
    const Word w = added->weights[row];
    out.weights[row++] = {w, plan.moduli()[i].shoup(w)};
  });
  return out;
}

/// Sets sizes of inner products, and which rows and digits of a key they use; returns the
/// ciphertexts for which a block reads the key's values.
template <class Word, class Arguments>
unsigned set_places(const CudaRnsTables<Word>& tables, const ring::Basis& key_rows,
                    const InnerProduct& product, std::size_t batch, Arguments& a) {
  const unsigned group = batch >= 3 ? 4 : static_cast<unsigned>(batch);
  a.moduli = tables.moduli.data();
  a.count = static_cast<std::uint32_t>(product.digits.size());
  a.row_count = product.rows.size();
  a.key_limbs = key_rows.size();
  a.log_N = static_cast<std::uint32_t>(std::bit_width(tables.plan().N()) - 1);
  a.batch = static_cast<std::uint32_t>(batch);
  a.batch_groups = (a.batch + group - 1) / group;
  std::size_t row = 0;
  for (const unsigned i : product.rows.indices()) {
    a.limb[row] = static_cast<std::uint8_t>(i);
    a.key_row[row++] = static_cast<std::uint8_t>(key_rows.rank(i));
  }
  if constexpr (requires { a.digit; })
    for (std::size_t d = 0; d < product.digits.size(); ++d)
      a.digit[d] = static_cast<std::uint8_t>(product.digits[d]);
  return group;
}

/// Nothing for other digits, or if there is no row to convert to.
std::optional<DigitSequence> sequence_of(const Extension& extension);
/// Whether it is that of the usual key's digits to its rows.
template <class Word>
bool is_usual(const ring::RnsPlan<Word>& plan, const Extension& extension);

/// The rest of an extension whose input (from, B, N) is in coefficient form in `coefficients`. A
/// digit's own rows are copied from `own`, or they are there already where it is null. Of the usual
/// digits:
template <class Word>
void extend_chain_coefficients(const Stream& stream, const CudaRnsTables<Word>& tables,
                               unsigned limbs, std::size_t batch, Word* coefficients,
                               const Word* own, Word* out);
/// The same is done for a sequence of other digits.
template <class Word>
void extend_sequence_coefficients(const Stream& stream, const CudaRnsTables<Word>& tables,
                                  const Extension& extension, const DigitSequence& sequence,
                                  std::size_t batch, const Word* coefficients, const Word* own,
                                  Word* out);

template <class Word>
void extend_sets(const Stream& stream, const CudaRnsTables<Word>& tables,
                 const Extension& extension, std::size_t batch, const Word* in, Word* out);
template <class Word>
void inner_product_sets(const Stream& stream, const CudaRnsTables<Word>& tables,
                        const CudaRnsSwitchKey<Word>& key, const InnerProduct& product,
                        std::size_t batch, const Word* digits, const InnerAddend<Word>& added,
                        Word* out);
/// The end of a division: rows `limbs` from 0 on of each part, which `table` of the conversions
/// converts from `coefficients`.
template <class Word>
void finish_division(const Stream& stream, const NttLimbs<Word>& limbs,
                     const Conversions<Word>& conversions, std::size_t table, std::size_t rows,
                     std::size_t parts, std::size_t batch, Word* coefficients,
                     const NttDivision<Word>& division, Word* out);
template <class Word>
void divide_sets(const Stream& stream, const CudaRnsTables<Word>& tables, const Division& division,
                 std::size_t parts, std::size_t batch, const Word* in, std::span<const Word> added,
                 std::uint32_t g, Word* out);

}  // namespace whorl::backend::cuda
