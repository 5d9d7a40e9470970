#include "backend/cuda/dispatch/rns/rns.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/rns/convert.h"
#include "backend/cuda/dispatch/rns/rns_sets.h"
#include "backend/cuda/kernels/ntt_ends.cuh"
#include "backend/cuda/kernels/rns.cuh"

namespace whorl::backend::cuda {

namespace {

/// The first `limbs` primes of a plan's chain, and perhaps its special ones.
struct Chain {
  unsigned limbs;
  bool with_special;
};
template <class Word>
std::optional<Chain> chain_of(const ring::RnsPlan<Word>& plan, const ring::Basis& basis) {
  const ring::Basis chain = basis & plan.level(plan.limbs()), others = basis - chain;
  if (chain.empty() || !chain.is_prefix()) return std::nullopt;
  if (others.empty()) return Chain{chain.size(), false};
  if (others == plan.special_basis()) return Chain{chain.size(), true};
  return std::nullopt;
}

/// Whether the transforms that follow a conversion make it themselves. From more limbs than one it
/// is slower there (docs/performance/base-conversion.md): few threads do it.
template <class Word>
bool in_transforms(const Stream& stream, const Conversions<Word>& conversions, std::uint32_t N,
                   std::size_t transforms) {
  return conversions.size == 1 && may_convert<Word>(stream, N, transforms);
}
/// Returns what such transforms read of conversions from number `table` on.
template <class Word>
NttConversion<Word> conversion_of(const Conversions<Word>& conversions, std::size_t table,
                                  RnsRows rows, const Word* own) {
  return {conversions.sources.data() + table,
          conversions.factors.data() + table * conversions.targets * factor_stride<Word>(1), own,
          conversions.targets, rows};
}

/// A division in which the rows that stay are the first `kept` of each part, and no row comes: the
/// last transform divides. The others, whose inverse transforms are those of `limbs` from number
/// `dropped` on, are what `table` of the conversions converts from; the first of `limbs` and
/// `factors` are those of the kept rows.
template <class Word>
void divide_head(const Stream& stream, const NttLimbs<Word>& limbs,
                 const Conversions<Word>& conversions, std::size_t table, unsigned kept,
                 unsigned dropped, std::size_t parts, std::size_t batch,
                 const Twiddle<Word>* factors, const Word* in, std::span<const Word> added,
                 std::uint32_t g, Word* out) {
  const std::size_t many = conversions.size, rows = kept + many, row = batch * limbs.N;
  const auto coefficients = stream.allocate<Word>(parts * many * row);
  ntt_rows<Word>(stream, limbs, false, {.parts = parts, .rows = many, .first_limb = dropped}, batch,
                 {in, rows, kept}, {coefficients.data(), many, 0});
  finish_division(
      stream, limbs, conversions, table, kept, parts, batch, coefficients.data(),
      {in, added.data(), static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(kept),
       static_cast<std::uint32_t>(added.size() / (kept * row)), g, factors, nullptr},
      out);
}

}  // namespace

template <class Word>
bool is_usual(const ring::RnsPlan<Word>& plan, const Extension& extension) {
  const auto chain = chain_of(plan, extension.from);
  if (!chain || chain->with_special || plan.special() == 0 || extension.lift != ring::Lift::exact ||
      extension.to != (extension.from | plan.special_basis()) ||
      extension.digits.size() != plan.digits(chain->limbs))
    return false;
  for (std::size_t d = 0; d < extension.digits.size(); ++d)
    if (extension.digits[d] != (plan.key_layout().digits[d] & extension.from)) return false;
  return true;
}

template <class Word>
void finish_division(const Stream& stream, const NttLimbs<Word>& limbs,
                     const Conversions<Word>& conversions, std::size_t table, std::size_t rows,
                     std::size_t parts, std::size_t batch, Word* coefficients,
                     const NttDivision<Word>& division, Word* out) {
  const std::size_t many = conversions.size, row = batch * limbs.N;
  const NttSelection selection = {.parts = parts, .rows = rows};
  if (in_transforms(stream, conversions, limbs.N, parts * rows * batch)) {
    const NttConversion<Word> conversion =
        conversion_of<Word>(conversions, table, {static_cast<std::uint32_t>(rows), 0}, nullptr);
    return ntt_rows_with<Word>(stream, limbs, selection, batch, {coefficients, many, 0},
                               {out, rows, 0}, &conversion, &division);
  }
  const auto delta = stream.allocate<Word>(parts * rows * row);
  convert_parts(stream, conversions, table, static_cast<unsigned>(rows), parts, row, coefficients,
                delta.data());
  ntt_rows_with<Word>(stream, limbs, selection, batch, {delta.data(), rows, 0}, {out, rows, 0},
                      nullptr, &division);
}

template <class Word>
void rns_transform(const Stream& stream, const CudaRnsTables<Word>& tables,
                   const ring::Basis& basis, bool forward, std::size_t parts, std::size_t batch,
                   const Word* in, Word* out) {
  const std::size_t rows = basis.size();
  NttSelection selection = {.parts = parts, .rows = rows};
  const auto chain = chain_of(tables.plan(), basis);
  if (chain) {
    selection.chain = chain->limbs;
    selection.special_limb = tables.plan().limbs();
  }
  ntt_rows<Word>(stream, chain ? tables.ntt : tables.of(stream, basis).ntt, forward, selection,
                 batch, {in, rows, 0}, {out, rows, 0});
}

template <class Word>
void base_convert(const Stream& stream, const CudaConversion<Word>& conversion, std::uint32_t N,
                  std::size_t batch, const Word* in, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  convert_parts(stream, conversion.tables, 0, conversion.tables.targets, 1, batch * N, in, out);
}

template <class Word>
void convert_up(const Stream& stream, const CudaRnsTables<Word>& tables, unsigned limbs,
                std::size_t batch, const Word* in, const Word* own, Word* out, Products products) {
  const CurrentGpu current(stream.gpu().ordinal);
  const ring::RnsPlan<Word>& plan = tables.plan();
  ConvertArguments<Word> a = {};
  a.in = in;
  a.out = out;
  a.own = own;
  a.row = batch * plan.N();
  a.in_stride = plan.digit_limbs();
  a.targets = limbs + plan.special();
  a.digit_limbs = plan.digit_limbs();
  a.rows = {limbs, plan.limbs()};
  convert(stream, tables.up, 0, plan.digits(limbs), a, products);
}

template <class Word>
void convert_down(const Stream& stream, const CudaRnsTables<Word>& tables, std::uint64_t t,
                  unsigned limbs, std::size_t parts, std::size_t batch, const Word* in, Word* out,
                  Products products) {
  const CurrentGpu current(stream.gpu().ordinal);
  convert_parts(stream, tables.chain_division(stream, t).down, 0, limbs, parts,
                batch * tables.plan().N(), in, out, products);
}

template <class Word>
void extend_chain_coefficients(const Stream& stream, const CudaRnsTables<Word>& tables,
                               unsigned limbs, std::size_t batch, Word* coefficients,
                               const Word* own, Word* out) {
  const ring::RnsPlan<Word>& plan = tables.plan();
  const std::size_t rows = limbs + plan.special();
  const unsigned digits = plan.digits(limbs), alpha = plan.digit_limbs();
  const NttSelection selection = {.parts = digits,
                                  .rows = rows,
                                  .chain = limbs,
                                  .special_limb = plan.limbs(),
                                  .digit_limbs = alpha,
                                  .own_below = limbs};
  if (in_transforms(stream, tables.up, plan.N(), digits * rows * batch)) {
    const NttConversion<Word> conversion =
        conversion_of<Word>(tables.up, 0, {limbs, plan.limbs()}, own);
    return ntt_rows_with<Word>(stream, tables.ntt, selection, batch, {coefficients, alpha, 0},
                               {out, rows, 0}, &conversion, nullptr);
  }
  convert_up<Word>(stream, tables, limbs, batch, coefficients, own, out);
  ntt_rows<Word>(stream, tables.ntt, true, selection, batch, {out, rows, 0}, {out, rows, 0});
}

namespace {

template <class Word>
void extend_chain(const Stream& stream, const CudaRnsTables<Word>& tables, unsigned limbs,
                  std::size_t batch, const Word* in, Word* out) {
  const auto coefficients = stream.allocate<Word>(limbs * batch * tables.plan().N());
  ntt_rows<Word>(stream, tables.ntt, false, {.rows = limbs}, batch, {in, limbs, 0},
                 {coefficients.data(), limbs, 0});
  extend_chain_coefficients<Word>(stream, tables, limbs, batch, coefficients.data(), in, out);
}

template <class Word, Turn turn>
void launch_inner_product(const Stream& stream, InnerArguments<Word> a) {
  // A key's values are read for four ciphertexts, or as many as there are.
  const unsigned group = a.batch >= 3 ? 4 : a.batch;
  a.batch_groups = (a.batch + group - 1) / group;
  const dim3 grid(pieces(std::size_t{1} << a.log_N, rns_width<Word>) * a.batch_groups, a.row_count);
  const auto kernel = group == 4   ? sum_digit_products<Word, 4, turn>
                      : group == 2 ? sum_digit_products<Word, 2, turn>
                                   : sum_digit_products<Word, 1, turn>;
  launch_chained(stream, "sum_digit_products", kernel, {grid, rns_threads}, a);
}

}  // namespace

template <class Word>
void extend(const Stream& stream, const CudaRnsTables<Word>& tables, const Extension& extension,
            std::size_t batch, const Word* in, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  if (is_usual(tables.plan(), extension))
    extend_chain(stream, tables, extension.from.size(), batch, in, out);
  else
    extend_sets(stream, tables, extension, batch, in, out);
}

template <class Word>
void inner_product(const Stream& stream, const CudaRnsTables<Word>& tables,
                   const CudaRnsSwitchKey<Word>& key, const InnerProduct& product,
                   std::size_t batch, const Word* digits, std::size_t added_parts,
                   const CheckedScaling<Word>* added, bool onto, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const ring::RnsPlan<Word>& plan = tables.plan();
  const InnerAddend<Word> addend = inner_addend(plan, product, added_parts, added, onto);
  const auto chain = chain_of(plan, product.rows);
  if (!key.usual || !chain || !chain->with_special)
    return inner_product_sets(stream, tables, key, product, batch, digits, addend, out);
  const unsigned limbs = chain->limbs;
  const std::uint32_t g = product.g;
  InnerArguments<Word> a = {};
  a.digits = digits;
  a.key = key.values.data();
  a.out = out;
  a.moduli = tables.moduli.data();
  a.count = plan.digits(limbs);
  a.row_count = limbs + plan.special();
  a.key_limbs = plan.limbs() + plan.special();
  a.log_N = static_cast<std::uint32_t>(std::bit_width(plan.N()) - 1);
  a.batch = static_cast<std::uint32_t>(batch);
  a.g = g;
  a.rows = {limbs, plan.limbs()};
  a.added = addend;
  g == 1 ? launch_inner_product<Word, Turn::none>(stream, a)
         : launch_inner_product<Word, Turn::by_g>(stream, a);
}

template <class Word>
void divide(const Stream& stream, const CudaRnsTables<Word>& tables, const Division& division,
            std::size_t parts, std::size_t batch, const Word* in, std::span<const Word> added,
            std::uint32_t g, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const ring::RnsPlan<Word>& plan = tables.plan();
  const auto to = chain_of(plan, division.to);
  const auto by = [&](const NttLimbs<Word>& limbs, const Conversions<Word>& conversions,
                      std::size_t table, unsigned dropped, const Twiddle<Word>* factors) {
    divide_head(stream, limbs, conversions, table, division.to.size(), dropped, parts, batch,
                factors, in, added, g, out);
  };
  if (to && !to->with_special && plan.special() > 0 &&
      division.from == (division.to | plan.special_basis()))
    return by(tables.ntt, tables.chain_division(stream, division.t).down, 0, plan.limbs(),
              tables.inverse_P.data());
  if (to && !to->with_special && to->limbs < plan.limbs() &&
      division.from == plan.level(to->limbs + 1))
    return by(tables.ntt, tables.chain_division(stream, division.t).last, to->limbs, to->limbs,
              tables.inverse_last.data() + std::size_t{to->limbs} * plan.limbs());
  if (division.keeps_head()) {
    const SetDivision<Word>& set = tables.division(stream, division);
    return by(tables.of(stream, division.from).ntt, set.conversion, 0, division.to.size(),
              set.factors.data());
  }
  divide_sets(stream, tables, division, parts, batch, in, added, g, out);
}

template <class Word>
void tensor(const Stream& stream, const CudaRnsTables<Word>& tables, const ring::Basis& basis,
            std::size_t a_parts, std::size_t b_parts, std::size_t batch, bool one_b, const Word* a,
            const Word* b, const TensorEnd<Word>& end, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const unsigned limbs = basis.size();
  const std::size_t N = tables.plan().N(), row = batch * N, b_row = one_b ? N : row;
  const auto& moduli = basis.is_prefix() ? tables.moduli : tables.of(stream, basis).moduli;
  TensorArguments<Word> t = {a,
                             b,
                             out,
                             row,
                             limbs * row,
                             b_row,
                             limbs * b_row,
                             one_b ? N - 1 : ~std::size_t{0},
                             static_cast<std::uint32_t>(a_parts),
                             static_cast<std::uint32_t>(b_parts),
                             moduli.data(),
                             end.added.data,
                             static_cast<std::uint32_t>(end.added_parts),
                             end.doubled,
                             {}};
  std::ranges::copy(end.constant, t.constant);
  const dim3 grid(pieces(row, rns_width<Word>), limbs);
  const auto kernel = a_parts != 2 || b_parts > 2 ? multiply_parts<Word>
                      : b_parts == 2              ? multiply_pairs<Word, 2>
                                                  : multiply_pairs<Word, 1>;
  launch_chained(stream, "multiply_parts", kernel, {grid, rns_threads}, t);
}

#define WHORL_INSTANTIATE(Word)                                                                    \
  template void rns_transform(const Stream&, const CudaRnsTables<Word>&, const ring::Basis&, bool, \
                              std::size_t, std::size_t, const Word*, Word*);                       \
  template void base_convert(const Stream&, const CudaConversion<Word>&, std::uint32_t,            \
                             std::size_t, const Word*, Word*);                                     \
  template void convert_up(const Stream&, const CudaRnsTables<Word>&, unsigned, std::size_t,       \
                           const Word*, const Word*, Word*, Products);                             \
  template void convert_down(const Stream&, const CudaRnsTables<Word>&, std::uint64_t, unsigned,   \
                             std::size_t, std::size_t, const Word*, Word*, Products);              \
  template bool is_usual(const ring::RnsPlan<Word>&, const Extension&);                            \
  template void extend_chain_coefficients(const Stream&, const CudaRnsTables<Word>&, unsigned,     \
                                          std::size_t, Word*, const Word*, Word*);                 \
  template void extend(const Stream&, const CudaRnsTables<Word>&, const Extension&, std::size_t,   \
                       const Word*, Word*);                                                        \
  template void inner_product(const Stream&, const CudaRnsTables<Word>&,                           \
                              const CudaRnsSwitchKey<Word>&, const InnerProduct&, std::size_t,     \
                              const Word*, std::size_t, const CheckedScaling<Word>*, bool, Word*); \
  template void finish_division(const Stream&, const NttLimbs<Word>&, const Conversions<Word>&,    \
                                std::size_t, std::size_t, std::size_t, std::size_t, Word*,         \
                                const NttDivision<Word>&, Word*);                                  \
  template void divide(const Stream&, const CudaRnsTables<Word>&, const Division&, std::size_t,    \
                       std::size_t, const Word*, std::span<const Word>, std::uint32_t, Word*);     \
  template void tensor(const Stream&, const CudaRnsTables<Word>&, const ring::Basis&, std::size_t, \
                       std::size_t, std::size_t, bool, const Word*, const Word*,                   \
                       const TensorEnd<Word>&, Word*);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)

}  // namespace whorl::backend::cuda
