#include "backend/cuda/dispatch/rns_sets.h"

#include <bit>
#include <vector>

#include "backend/cuda/dispatch/convert.h"
#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/kernels/rns_sets.cuh"

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

std::uint32_t log2_of(std::uint32_t N) { return static_cast<std::uint32_t>(std::bit_width(N) - 1); }

}  // namespace

template <class Word>
void extend_sets(const Stream& stream, const CudaRnsTables<Word>& tables,
                 const Extension& extension, std::size_t batch, const Word* in, Word* out) {
  const std::size_t row = batch * tables.plan().N(), from = extension.from.size(),
                    to = extension.to.size();
  const auto coefficients = stream.allocate<Word>(from * row);
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

template <class Word, bool permuted>
void launch_inner_product_sets(const Stream& stream, IndexedInnerArguments<Word> a) {
  const bool one = a.batch == 1;
  const unsigned group = one ? 1 : 4;
  a.batch_groups = (a.batch + group - 1) / group;
  const dim3 grid(pieces(std::size_t{1} << a.log_N, rns_width<Word>) * a.batch_groups, a.row_count);
  launch_chained(stream, "sum_digit_products by index",
                 one ? sum_digit_products<Word, 1, permuted, true>
                     : sum_digit_products<Word, 4, permuted, true>,
                 {grid, rns_threads}, a);
}

}  // namespace

template <class Word>
void inner_product_sets(const Stream& stream, const CudaRnsTables<Word>& tables,
                        const CudaRnsSwitchKey<Word>& key, const InnerProduct& product,
                        std::size_t batch, const Word* digits, const InnerAddend<Word>& added,
                        Word* out) {
  const ring::Basis key_rows = key.layout().rows();
  IndexedInnerArguments<Word> a = {};
  a.digits = digits;
  a.key = key.values.data();
  a.out = out;
  a.moduli = tables.moduli.data();
  a.count = static_cast<std::uint32_t>(product.digits.size());
  a.row_count = product.rows.size();
  a.key_limbs = key_rows.size();
  a.log_N = log2_of(tables.plan().N());
  a.batch = static_cast<std::uint32_t>(batch);
  a.g = product.g;
  a.added = added;
  std::size_t row = 0;
  for (const unsigned i : product.rows.indices()) {
    a.limb[row] = static_cast<std::uint8_t>(i);
    a.key_row[row++] = static_cast<std::uint8_t>(key_rows.rank(i));
  }
  for (std::size_t d = 0; d < product.digits.size(); ++d)
    a.digit[d] = static_cast<std::uint8_t>(product.digits[d]);
  product.g == 1 ? launch_inner_product_sets<Word, false>(stream, a)
                 : launch_inner_product_sets<Word, true>(stream, a);
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
  const auto delta = stream.allocate<Word>(parts * to * row);
  convert_parts(stream, by.conversion, 0, static_cast<unsigned>(to), parts, row,
                coefficients.data(), delta.data());
  ntt_rows<Word>(stream, tables.of(stream, division.to).ntt, true, {.parts = parts, .rows = to},
                 batch, {delta.data(), to, 0}, {delta.data(), to, 0});
  const SetDivisionArguments<Word> a = {in,
                                        delta.data(),
                                        added.data(),
                                        out,
                                        by.rows.data(),
                                        row,
                                        division.from.size(),
                                        static_cast<std::uint32_t>(to),
                                        static_cast<std::uint32_t>(added.size() / (to * row)),
                                        log2_of(tables.plan().N()),
                                        g};
  const dim3 grid(pieces(row, rns_width<Word>), static_cast<unsigned>(parts * to));
  launch_chained(stream, "divide_rows", divide_rows<Word>, {grid, rns_threads}, a);
}

#define WHORL_INSTANTIATE(Word)                                                                \
  template void extend_sets(const Stream&, const CudaRnsTables<Word>&, const Extension&,       \
                            std::size_t, const Word*, Word*);                                  \
  template void inner_product_sets(const Stream&, const CudaRnsTables<Word>&,                  \
                                   const CudaRnsSwitchKey<Word>&, const InnerProduct&,         \
                                   std::size_t, const Word*, const InnerAddend<Word>&, Word*); \
  template void divide_sets(const Stream&, const CudaRnsTables<Word>&, const Division&,        \
                            std::size_t, std::size_t, const Word*, std::span<const Word>,      \
                            std::uint32_t, Word*);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)
#undef WHORL_INSTANTIATE

}  // namespace whorl::backend::cuda
