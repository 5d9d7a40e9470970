#include "backend/cuda/dispatch/rns/rns_sets.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/rns/convert.h"
#include "backend/cuda/kernels/ntt_ends.cuh"

namespace whorl::backend::cuda {

namespace {

/// Rows of `of`, which has them, in coefficient form to `out`: (parts, of, row) to (parts, rows,
/// row), a launch for each run of them.
template <class Word>
void coefficients_of(const Stream& stream, const CudaRnsTables<Word>& tables,
                     const ring::Basis& rows, const ring::Basis& of, std::size_t parts,
                     std::size_t batch, const Word* in, RowsOf<Word> out) {
  const NttLimbs<Word>& limbs = tables.of(stream, of).ntt;
  const std::vector<unsigned> all = rows.indices();
  for (std::size_t first = 0, next = 0; first < all.size(); first = next) {
    const unsigned from = of.rank(all[first]);
    for (next = first + 1; next < all.size() && of.rank(all[next]) == from + next - first;) ++next;
    ntt_rows<Word>(stream, limbs, false, {.parts = parts, .rows = next - first, .first_limb = from},
                   batch, {in, of.size(), from}, {out.data, out.stride, out.first + first});
  }
}

}  // namespace

std::optional<DigitSequence> sequence_of(const Extension& extension) {
  const std::vector<ring::Basis>& digits = extension.digits;
  const std::vector<unsigned> all = extension.from.indices();
  if (digits.size() == 1 && digits[0] == extension.to) return std::nullopt;
  unsigned largest = 0;
  for (const ring::Basis& digit : digits) largest = std::max(largest, digit.size());
  std::size_t next = 0;
  for (std::size_t d = 0; d < digits.size(); ++d) {
    if (d > 0 && d + 1 < digits.size() && digits[d].size() != largest) return std::nullopt;
    for (const unsigned i : digits[d].indices())
      if (next == all.size() || all[next++] != i) return std::nullopt;
  }
  if (next != all.size() || extension.to.rank(all.back()) + 1 != all.size()) return std::nullopt;
  return DigitSequence{largest, digits.size() == 1 ? 0 : largest - digits[0].size()};
}

// A launch for each step, and no digit's own rows are transformed.
template <class Word>
void extend_sequence_coefficients(const Stream& stream, const CudaRnsTables<Word>& tables,
                                  const Extension& extension, const DigitSequence& sequence,
                                  std::size_t batch, const Word* coefficients, const Word* own,
                                  Word* out) {
  const std::size_t to = extension.to.size();
  const unsigned from = extension.from.size();
  const Conversions<Word>& conversions = tables.conversions(stream, extension);
  ConvertArguments<Word> a = {};
  a.in = coefficients;
  a.out = out;
  a.own = own;
  a.row = batch * tables.plan().N();
  a.targets = static_cast<std::uint32_t>(to);
  a.digit_limbs = sequence.digit_limbs;
  a.missing = sequence.missing;
  a.numbered = 1;
  a.rows = {from, from};
  convert(stream, conversions, 0, extension.digits.size(), a);
  ntt_rows<Word>(stream, tables.of(stream, extension.to).ntt, true,
                 {.parts = extension.digits.size(),
                  .rows = to,
                  .digit_limbs = sequence.digit_limbs,
                  .own_below = from,
                  .missing = sequence.missing},
                 batch, {out, to, 0}, {out, to, 0});
}

template <class Word>
void extend_sets(const Stream& stream, const CudaRnsTables<Word>& tables,
                 const Extension& extension, std::size_t batch, const Word* in, Word* out) {
  const std::size_t row = batch * tables.plan().N(), from = extension.from.size(),
                    to = extension.to.size();
  const auto coefficients = stream.allocate<Word>(from * row);
  if (const auto sequence = sequence_of(extension)) {
    ntt_rows<Word>(stream, tables.of(stream, extension.from).ntt, false, {.rows = from}, batch,
                   {in, from, 0}, {coefficients.data(), from, 0});
    return extend_sequence_coefficients(stream, tables, extension, *sequence, batch,
                                        coefficients.data(), in, out);
  }
  std::size_t first = 0;
  for (std::size_t d = 0; d < extension.digits.size(); ++d) {
    const ring::Basis& digit = extension.digits[d];
    coefficients_of<Word>(stream, tables, digit, extension.from, 1, batch, in,
                          {coefficients.data(), from, first});
    // A digit's own residues come out as they were.
    convert_parts(stream, tables.conversion(stream, digit, extension.to, extension.lift), 0,
                  static_cast<unsigned>(to), 1, row, coefficients.data() + first * row,
                  out + d * to * row);
    first += digit.size();
  }
  ntt_rows<Word>(stream, tables.of(stream, extension.to).ntt, true,
                 {.parts = extension.digits.size(), .rows = to}, batch, {out, to, 0}, {out, to, 0});
}

namespace {

/// Sets what an inner product has apart from its key and its g.
template <class Word>
unsigned set_inner_product(const CudaRnsTables<Word>& tables, const ring::Basis& key_rows,
                           const InnerProduct& product, std::size_t batch, const Word* digits,
                           const InnerAddend<Word>& added, Word* out,
                           IndexedInnerArguments<Word>& a) {
  a.digits = digits;
  a.out = out;
  a.added = added;
  return set_places(tables, key_rows, product, batch, a);
}

template <class Word, Turn turn>
void launch_inner_product_sets(const Stream& stream, unsigned group,
                               const IndexedInnerArguments<Word>& a) {
  const dim3 grid(pieces(std::size_t{1} << a.log_N, rns_width<Word>) * a.batch_groups, a.row_count);
  launch_chained(stream, "sum_digit_products by index",
                 group == 4   ? sum_digit_products<Word, 4, turn, KeyParts::indexed>
                 : group == 2 ? sum_digit_products<Word, 2, turn, KeyParts::indexed>
                              : sum_digit_products<Word, 1, turn, KeyParts::indexed>,
                 {grid, rns_threads}, a);
}

/// g^-1 modulo 2^32, and so modulo 2N: every step doubles the bits that are right.
std::uint32_t inverse_of(std::uint32_t g) {
  std::uint32_t inverse = g;  // right modulo 8
  for (unsigned bits = 3; bits < 32; bits *= 2) inverse *= 2 - g * inverse;
  return inverse;
}

}  // namespace

template <class Word>
void inner_product_sets(const Stream& stream, const CudaRnsTables<Word>& tables,
                        const CudaRnsSwitchKey<Word>& key, const InnerProduct& product,
                        std::size_t batch, const Word* digits, const InnerAddend<Word>& added,
                        Word* out) {
  IndexedInnerArguments<Word> a = {};
  const unsigned group =
      set_inner_product(tables, key.layout().rows(), product, batch, digits, added, out, a);
  a.key = key.values.data();
  a.g = product.g;
  product.g == 1 ? launch_inner_product_sets<Word, Turn::none>(stream, group, a)
                 : launch_inner_product_sets<Word, Turn::by_g>(stream, group, a);
}

template <class Word>
void inner_products(const Stream& stream, const CudaRnsTables<Word>& tables,
                    std::span<const TurnedKey<Word>> terms, const InnerProduct& product,
                    std::size_t batch, const Word* digits, std::size_t added_parts,
                    const CheckedScaling<Word>* added, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const std::uint32_t N = tables.plan().N();
  ManyInnerArguments<Word> a = {};
  const unsigned group =
      set_inner_product(tables, terms[0].key->layout().rows(), product, batch, digits,
                        inner_addend(tables.plan(), product, added_parts, added, false), out, a);
  constexpr std::size_t most = tuning::keys_a_launch;
  for (std::size_t first = 0; first < terms.size(); first += most) {
    const auto some = terms.subspan(first, std::min(most, terms.size() - first));
    a.key_count = static_cast<std::uint32_t>(some.size());
    a.out = out + first * 2 * a.row_count * batch * N;
    for (std::size_t i = 0; i < some.size(); ++i)
      a.terms[i] = {static_cast<const CudaRnsSwitchKey<Word>*>(some[i].key)->values.data(),
                    some[i].g, inverse_of(some[i].g)};
    const dim3 grid(pieces(N, rns_width<Word>) * a.batch_groups * a.key_count, a.row_count);
    launch_chained(stream, "sum_digit_products by keys",
                   group == 4   ? sum_digit_products_by_keys<Word, 4>
                   : group == 2 ? sum_digit_products_by_keys<Word, 2>
                                : sum_digit_products_by_keys<Word, 1>,
                   {grid, rns_threads}, a);
  }
}

template <class Word>
void sum_of_inner_products(const Stream& stream, const CudaRnsTables<Word>& tables,
                           std::span<const TurnedKey<Word>> terms, const InnerProduct& product,
                           std::size_t batch, std::size_t of, std::size_t first, const Word* digits,
                           const Word* added, bool onto, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  InnerSumArguments<Word> a = {};
  const unsigned group = set_places(tables, terms[0].key->layout().rows(), product, batch, a);
  const std::size_t array = batch * tables.plan().N();
  a.out = out;
  a.arrays = static_cast<std::uint32_t>(of);
  constexpr std::size_t most = tuning::keys_a_launch;
  for (std::size_t begin = 0; begin < terms.size(); begin += most) {
    const auto some = terms.subspan(begin, std::min(most, terms.size() - begin));
    a.digits = digits + (first + begin) * array;
    a.added = added ? added + (first + begin) * array : nullptr;
    a.onto = onto || begin > 0;
    a.term_count = static_cast<std::uint32_t>(some.size());
    for (std::size_t i = 0; i < some.size(); ++i)
      a.terms[i] = {static_cast<const CudaRnsSwitchKey<Word>*>(some[i].key)->values.data(),
                    some[i].g};
    const dim3 grid(pieces(tables.plan().N(), rns_width<Word>) * a.batch_groups, a.row_count);
    launch_chained(stream, "sum_digit_products of terms",
                   group == 4   ? sum_digit_products_of_terms<Word, 4>
                   : group == 2 ? sum_digit_products_of_terms<Word, 2>
                                : sum_digit_products_of_terms<Word, 1>,
                   {grid, rns_threads}, a);
  }
}

template <class Word>
void divide_sets(const Stream& stream, const CudaRnsTables<Word>& tables, const Division& division,
                 std::size_t parts, std::size_t batch, const Word* in, std::span<const Word> added,
                 std::uint32_t g, Word* out) {
  const ring::Basis dropped = division.dropped();
  const std::size_t row = batch * tables.plan().N(), going = dropped.size(),
                    to = division.to.size();
  const SetDivision<Word>& by = tables.division(stream, division);
  const auto coefficients = stream.allocate<Word>(parts * going * row);
  coefficients_of<Word>(stream, tables, dropped, division.from, parts, batch, in,
                        {coefficients.data(), going, 0});
  finish_division(
      stream, tables.of(stream, division.to).ntt, by.conversion, 0, to, parts, batch,
      coefficients.data(),
      {in, added.data(), division.from.size(), static_cast<std::uint32_t>(to),
       static_cast<std::uint32_t>(added.size() / (to * row)), g, by.factors.data(), by.from.data()},
      out);
}

#define WHORL_INSTANTIATE(Word)                                                                    \
  template void extend_sequence_coefficients(const Stream&, const CudaRnsTables<Word>&,            \
                                             const Extension&, const DigitSequence&, std::size_t,  \
                                             const Word*, const Word*, Word*);                     \
  template void extend_sets(const Stream&, const CudaRnsTables<Word>&, const Extension&,           \
                            std::size_t, const Word*, Word*);                                      \
  template void inner_product_sets(const Stream&, const CudaRnsTables<Word>&,                      \
                                   const CudaRnsSwitchKey<Word>&, const InnerProduct&,             \
                                   std::size_t, const Word*, const InnerAddend<Word>&, Word*);     \
  template void inner_products(const Stream&, const CudaRnsTables<Word>&,                          \
                               std::span<const TurnedKey<Word>>, const InnerProduct&, std::size_t, \
                               const Word*, std::size_t, const CheckedScaling<Word>*, Word*);      \
  template void sum_of_inner_products(const Stream&, const CudaRnsTables<Word>&,                   \
                                      std::span<const TurnedKey<Word>>, const InnerProduct&,       \
                                      std::size_t, std::size_t, std::size_t, const Word*,          \
                                      const Word*, bool, Word*);                                   \
  template void divide_sets(const Stream&, const CudaRnsTables<Word>&, const Division&,            \
                            std::size_t, std::size_t, const Word*, std::span<const Word>,          \
                            std::uint32_t, Word*);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)
#undef WHORL_INSTANTIATE

}  // namespace whorl::backend::cuda
