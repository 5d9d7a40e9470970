// Products of two ciphertexts whose last part is switched, without the product in memory.
#include <optional>

#include "backend/cuda/dispatch/convert.h"
#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/rns_sets.h"
#include "backend/cuda/kernels/ntt_ends.cuh"
#include "backend/cuda/kernels/rns.cuh"
#include "math/modulus.h"

namespace whorl::backend::cuda {

namespace {

/// Sets what is added to an inner product.
template <class Word>
void set_factors(const ring::RnsPlan<Word>& plan, const ring::Basis& over,
                 const InnerProduct& product, const CheckedFactors<Word>& factors,
                 FactorsInnerArguments<Word, true>& arguments) {
  InnerFactors<Word>& out = arguments.factors;
  out.a = factors.a;
  out.b = factors.b;
  out.over = prime_set(over);
  out.rows = over.size();
  out.one_b = factors.one;
  std::size_t row = 0, constant = 0;
  product.rows.for_each([&](unsigned i) {
    const math::Modulus<Word>& q = plan.moduli()[i];
    const Word R = q.reduce(static_cast<Word>(Word{0} - q.value()));
    const Word weight = q.mul(factors.weights[row], R);
    const Word twice = factors.doubled ? q.add(weight, weight) : weight;
    arguments.added.weights[row] = {twice, q.shoup(twice)};
    if (!factors.constant.empty() && over.contains(i))
      out.constant[row] = q.mul(weight, factors.constant[constant++]);
    ++row;
  });
}

template <class Word, bool indexed>
void launch_with_factors(const Stream& stream, const FactorsInnerArguments<Word, indexed>& a,
                         unsigned group) {
  const dim3 grid(pieces(std::size_t{1} << a.log_N, rns_width<Word>) * a.batch_groups, a.row_count);
  launch_chained(stream, "sum_digit_products of factors",
                 group == 4   ? sum_digit_products_of_factors<Word, 4, indexed>
                 : group == 2 ? sum_digit_products_of_factors<Word, 2, indexed>
                              : sum_digit_products_of_factors<Word, 1, indexed>,
                 {grid, rns_threads}, a);
}

}  // namespace

template <class Word>
bool may_switch_products(const CudaRnsTables<Word>& tables, const Extension& extension) {
  return is_usual(tables.plan(), extension) || sequence_of(extension);
}

template <class Word>
void switched_product(const Stream& stream, const CudaRnsTables<Word>& tables,
                      const CudaRnsSwitchKey<Word>& key, const Extension& extension,
                      const InnerProduct& product, std::size_t batch,
                      const CheckedFactors<Word>& factors, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const ring::RnsPlan<Word>& plan = tables.plan();
  const unsigned limbs = extension.from.size();
  const std::size_t N = plan.N(), row = batch * N, rows = product.rows.size();
  const bool usual = is_usual(plan, extension);
  const DigitSequence sequence =
      usual ? DigitSequence{plan.digit_limbs(), 0} : sequence_of(extension).value();
  const auto digits = stream.allocate<Word>(extension.digits.size() * rows * row);
  const auto coefficients = stream.allocate<Word>(limbs * row);

  // The rows of digits that are c_2 itself come with its transform.
  const auto& moduli =
      extension.from.is_prefix() ? tables.moduli : tables.of(stream, extension.from).moduli;
  intt_rows_of_products<Word>(
      stream, usual ? tables.ntt : tables.of(stream, extension.from).ntt, {.rows = limbs}, batch,
      {factors.a + limbs * row, factors.b + limbs * (factors.one ? N : row), digits.data(),
       moduli.data(), factors.one, factors.doubled, sequence.digit_limbs, sequence.missing,
       static_cast<std::uint32_t>(rows)},
      {coefficients.data(), limbs, 0});
  if (usual)
    extend_chain_coefficients<Word>(stream, tables, limbs, batch, coefficients.data(), nullptr,
                                    digits.data());
  else
    extend_sequence_coefficients<Word>(stream, tables, extension, sequence, batch,
                                       coefficients.data(), nullptr, digits.data());

  FactorsInnerArguments<Word, true> a = {};
  const unsigned group = set_places(tables, key.layout().rows(), product, batch, a);
  a.digits = digits.data();
  a.key = key.values.data();
  a.out = out;
  a.g = 1;
  set_factors(plan, extension.from, product, factors, a);
  launch_with_factors<Word, true>(stream, a, group);
}

#define WHORL_INSTANTIATE(Word)                                                                   \
  template bool may_switch_products(const CudaRnsTables<Word>&, const Extension&);                \
  template void switched_product(                                                                 \
      const Stream&, const CudaRnsTables<Word>&, const CudaRnsSwitchKey<Word>&, const Extension&, \
      const InnerProduct&, std::size_t, const CheckedFactors<Word>&, Word*);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)
#undef WHORL_INSTANTIATE

}  // namespace whorl::backend::cuda
