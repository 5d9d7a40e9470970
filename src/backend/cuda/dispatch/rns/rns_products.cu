// Products of two ciphertexts whose last part is switched, without the product in memory.
#include <optional>

#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/rns/convert.h"
#include "backend/cuda/dispatch/rns/rns_sets.h"
#include "backend/cuda/kernels/ntt_ends.cuh"
#include "backend/cuda/kernels/rns_inner.cuh"
#include "math/modulus.h"

namespace whorl::backend::cuda {

namespace {

/// Sets what is added to an inner product.
template <class Word>
void set_factors(const ring::RnsPlan<Word>& plan, const ring::Basis& over,
                 const InnerProduct& product, const CheckedFactors<Word>& factors,
                 FactorsInnerArguments<Word>& arguments) {
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

}  // namespace

template <class Word>
std::optional<DigitSequence> products_of(const CudaRnsTables<Word>& tables,
                                         const Extension& extension) {
  if (is_usual(tables.plan(), extension))
    return DigitSequence{tables.plan().digit_limbs(), 0, true};
  return sequence_of(extension);
}

template <class Word>
void switched_product(const Stream& stream, const CudaRnsTables<Word>& tables,
                      const CudaRnsSwitchKey<Word>& key, const Extension& extension,
                      const DigitSequence& sequence, const InnerProduct& product, std::size_t batch,
                      const CheckedFactors<Word>& factors, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const ring::RnsPlan<Word>& plan = tables.plan();
  const unsigned limbs = extension.from.size();
  const std::size_t N = plan.N(), row = batch * N, rows = product.rows.size();
  const auto digits = stream.allocate<Word>(extension.digits.size() * rows * row);
  const auto coefficients = stream.allocate<Word>(limbs * row);

  // The rows of digits that are c_2 itself come with its transform.
  const BasisTables<Word>* const of =
      extension.from.is_prefix() ? nullptr : &tables.of(stream, extension.from);
  intt_rows_of_products<Word>(
      stream, of ? of->ntt : tables.ntt, {.rows = limbs}, batch,
      {factors.a + limbs * row, factors.b + limbs * (factors.one ? N : row), digits.data(),
       (of ? of->moduli : tables.moduli).data(), factors.one, factors.doubled, sequence.digit_limbs,
       sequence.missing, static_cast<std::uint32_t>(rows), 0},
      {coefficients.data(), limbs, 0});
  if (sequence.usual)
    extend_chain_coefficients<Word>(stream, tables, limbs, batch, coefficients.data(), nullptr,
                                    digits.data());
  else
    extend_sequence_coefficients<Word>(stream, tables, extension, sequence, batch,
                                       coefficients.data(), nullptr, digits.data());

  FactorsInnerArguments<Word> a = {};
  const unsigned group = set_places(tables, key.layout().rows(), product, batch, a);
  a.digits = digits.data();
  a.key = key.values.data();
  a.out = out;
  a.g = 1;
  set_factors(plan, extension.from, product, factors, a);
  const dim3 grid(pieces(N, rns_width<Word>) * a.batch_groups, a.row_count);
  launch_chained(stream, "sum_digit_products of factors",
                 group == 4   ? sum_digit_products_of_factors<Word, 4>
                 : group == 2 ? sum_digit_products_of_factors<Word, 2>
                              : sum_digit_products_of_factors<Word, 1>,
                 {grid, rns_threads}, a);
}

#define WHORL_INSTANTIATE(Word)                                                                    \
  template std::optional<DigitSequence> products_of(const CudaRnsTables<Word>&, const Extension&); \
  template void switched_product(                                                                  \
      const Stream&, const CudaRnsTables<Word>&, const CudaRnsSwitchKey<Word>&, const Extension&,  \
      const DigitSequence&, const InnerProduct&, std::size_t, const CheckedFactors<Word>&, Word*);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)
#undef WHORL_INSTANTIATE

}  // namespace whorl::backend::cuda
