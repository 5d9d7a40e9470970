// Sums over RNS bases: how they are cut into launches.
#include <algorithm>
#include <bit>
#include <vector>

#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/rns/convert.h"
#include "backend/cuda/dispatch/rns/rns.h"
#include "backend/cuda/kernels/rns_sums.cuh"

namespace whorl::backend::cuda {

namespace {

std::uint32_t log2_of(std::uint32_t N) { return static_cast<std::uint32_t>(std::bit_width(N) - 1); }

/// Terms of some sums that follow each other: an x, and what it is multiplied by in each.
template <class Word>
struct SharedTerm {
  const CheckedProduct<Word>* factor[sums_together] = {};  ///< null: of a sum that has no such term
  const CheckedProduct<Word>& any() const {
    return **std::find_if(factor, factor + sums_together, [](auto* f) { return f != nullptr; });
  }
};
template <class Word>
std::vector<SharedTerm<Word>> shared_terms(std::span<const CheckedProduct<Word>> terms,
                                           std::size_t first, std::size_t sums) {
  std::vector<SharedTerm<Word>> out;
  for (const CheckedProduct<Word>& term : terms) {
    if (term.sum < first || term.sum >= first + sums) continue;
    const std::size_t s = term.sum - first;
    auto to = std::find_if(out.begin(), out.end(), [&](const SharedTerm<Word>& has) {
      return has.factor[s] == nullptr && has.any().x == term.x && has.any().g == term.g &&
             has.any().one_x == term.one_x;
    });
    if (sums == 1 || to == out.end()) to = out.insert(out.end(), SharedTerm<Word>());
    to->factor[s] = &term;
  }
  return out;
}

/// `parts` parts from number `part` on, of `count` sums from number `first_sum` on.
template <class Word, unsigned parts, unsigned sums>
void launch_products(const Stream& stream, const CudaRnsTables<Word>& tables,
                     const ring::Basis& basis, std::size_t batch, const SumLayout& layout,
                     std::size_t first_sum, std::size_t count, std::size_t part,
                     std::span<const SharedTerm<Word>> terms, bool onto, Word* out) {
  ProductSumArguments<Word, sums> a = {};
  a.moduli = tables.moduli.data();
  a.part = basis.size() * batch * tables.plan().N();
  a.sum_count = static_cast<std::uint32_t>(count);
  a.log_N = log2_of(tables.plan().N());
  a.batch = static_cast<std::uint32_t>(batch);
  for (std::size_t s = 0; s < count; ++s)
    a.to[s] = place_of(layout, first_sum + s, part, basis.size(), batch, tables.plan().N(), out);
  std::size_t row = 0;
  basis.for_each([&](unsigned i) { a.prime[row++] = static_cast<std::uint8_t>(i); });
  const dim3 grid(pieces(tables.plan().N(), rns_width<Word>) * a.batch,
                  static_cast<unsigned>(basis.size()));
  constexpr std::size_t most = product_terms_a_launch<sums>;
  for (std::size_t first = 0; first == 0 || first < terms.size(); first += most) {
    const auto some = terms.subspan(first, std::min(most, terms.size() - first));
    a.count = static_cast<std::uint32_t>(some.size());
    a.onto = onto || first > 0;
    bool mixed = false;
    for (std::size_t i = 0; i < some.size(); ++i) {
      const CheckedProduct<Word>& any = some[i].any();
      const std::size_t of_x = any.one_x ? a.part / batch : a.part;  // a part of x
      auto& term = a.terms[i] = {any.x + part * of_x, any.g, any.one_x, {}};
      for (unsigned s = 0; s < sums; ++s)
        if (const CheckedProduct<Word>* const by = some[i].factor[s]) {
          term.factor[s] = {by->m, prime_set(by->over), by->one ? 1 : a.batch, by->log_repeats};
          mixed = mixed || by->log_repeats != 0;
        }
      mixed = mixed || any.g != 1 || any.one_x;
    }
    launch_chained(stream, "sum_products",
                   mixed ? sum_products<Word, parts, sums, Terms::mixed>
                         : sum_products<Word, parts, sums, Terms::alike>,
                   {grid, rns_threads}, a);
  }
}

}  // namespace

template <class Word>
void sums_of_products(const Stream& stream, const CudaRnsTables<Word>& tables,
                      const ring::Basis& basis, const SumLayout& layout, std::size_t batch,
                      std::span<const CheckedProduct<Word>> terms, bool onto, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const std::size_t sums = layout.sums, parts = layout.parts;
  // There is a kernel for several sums of two parts, without automorphisms.
  const bool together = sums > 1 && parts == 2 &&
                        std::all_of(terms.begin(), terms.end(), [](auto& t) { return t.g == 1; });
  const std::size_t at_once = together ? sums_together : 1;
  for (std::size_t first = 0; first < sums; first += at_once) {
    const std::size_t count = std::min(at_once, sums - first);
    const auto shared = shared_terms(terms, first, count);
    if (shared.empty() && onto) continue;
    const auto launch = [&]<unsigned its_parts, unsigned its_sums>(std::size_t part) {
      launch_products<Word, its_parts, its_sums>(stream, tables, basis, batch, layout, first, count,
                                                 part, shared, onto, out);
    };
    if (count > 1) {
      launch.template operator()<2, sums_together>(0);
      continue;
    }
    // Two parts at a time, then perhaps one.
    for (std::size_t part = 0; part < parts; part += 2)
      part + 1 < parts ? launch.template operator()<2, 1>(part)
                       : launch.template operator()<1, 1>(part);
  }
}

template <class Word>
void combine(const Stream& stream, const CudaRnsTables<Word>& tables, const ring::Basis& basis,
             std::size_t parts, std::size_t batch, std::span<const CheckedScaling<Word>> terms,
             std::span<const Word> constant, bool onto, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const std::vector<unsigned> primes = basis.indices();
  const auto& moduli = tables.plan().moduli();
  CombinationArguments<Word> a = {};
  a.moduli = tables.moduli.data();
  a.row = batch * tables.plan().N();
  a.part = primes.size() * a.row;
  a.log_N = log2_of(tables.plan().N());
  for (std::size_t first = 0; first < terms.size(); first += sum_terms_a_launch) {
    const auto some =
        terms.subspan(first, std::min<std::size_t>(sum_terms_a_launch, terms.size() - first));
    a.count = static_cast<std::uint32_t>(some.size());
    a.onto = onto || first > 0;
    a.with_constant = first == 0 && !constant.empty();
    bool mixed = false;
    for (std::size_t i = 0; i < some.size(); ++i) {
      mixed = mixed || some[i].g != 1 || some[i].one || !some[i].over.includes(basis);
      a.terms[i] = {some[i].x, prime_set(some[i].over), some[i].over.size(), some[i].g,
                    some[i].one};
    }
    const std::size_t of_row = some.size() + a.with_constant,
                      at_once = std::min<std::size_t>(sum_weights_a_launch<Word> / of_row,
                                                      ring::Basis::most);
    for (std::size_t begin = 0; begin < primes.size(); begin += at_once) {
      const std::size_t rows = std::min(at_once, primes.size() - begin);
      for (std::size_t r = 0; r < rows; ++r) {
        const unsigned prime = primes[begin + r];
        a.prime[r] = static_cast<std::uint8_t>(prime);
        for (std::size_t i = 0; i < some.size(); ++i)  // R·w mod q
          a.weights[r * of_row + i] = moduli[prime].reduce_wide(
              math::Wide<Word>{some[i].weights[begin + r]} << math::word_bits<Word>);
        if (a.with_constant) a.weights[r * of_row + some.size()] = constant[begin + r];
      }
      a.out = out + begin * a.row;
      const dim3 grid(pieces(a.row, rns_width<Word>), static_cast<unsigned>(rows),
                      static_cast<unsigned>(parts));
      launch_chained(stream, "combine_rows",
                     mixed ? combine_rows<Word, Terms::mixed> : combine_rows<Word, Terms::alike>,
                     {grid, rns_threads}, a);
    }
  }
}

#define WHORL_INSTANTIATE(Word)                                                                 \
  template void sums_of_products(const Stream&, const CudaRnsTables<Word>&, const ring::Basis&, \
                                 const SumLayout&, std::size_t,                                 \
                                 std::span<const CheckedProduct<Word>>, bool, Word*);           \
  template void combine(const Stream&, const CudaRnsTables<Word>&, const ring::Basis&,          \
                        std::size_t, std::size_t, std::span<const CheckedScaling<Word>>,        \
                        std::span<const Word>, bool, Word*);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)
#undef WHORL_INSTANTIATE

}  // namespace whorl::backend::cuda
