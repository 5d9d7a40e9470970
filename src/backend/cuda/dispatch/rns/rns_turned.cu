// Sums of a ciphertext's images times plaintexts: how they are cut into launches.
#include <algorithm>
#include <vector>

#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/rns/rns_sets.h"
#include "backend/cuda/kernels/rns_turned.cuh"

namespace whorl::backend::cuda {

static_assert(turned_sums_a_launch == sums_together);

namespace {

template <class Word>
void launch_turned(const Stream& stream, TurnedSumArguments<Word>& a) {
  bool periodic = false;
  for (const auto& term : std::span(a.terms).first(a.term_count))
    for (const std::uint8_t log_repeats : term.log_repeats) periodic = periodic || log_repeats != 0;
  const auto launch = [&]<unsigned group, unsigned sums>() {
    a.batch_groups = (a.batch + group - 1) / group;
    const auto pieces_of_N = (1u << a.log_N) / turned_words<Word, group>;
    const dim3 grid(pieces_of_N * a.batch_groups, a.row_count);
    const std::size_t shared =
        tuning::turned_stages * turned_stage<Word, group, sums> * sizeof(Word);
    launch_chained(stream, "sum_turned_products",
                   periodic ? sum_turned_products<Word, group, sums, Storage::periodic>
                            : sum_turned_products<Word, group, sums, Storage::whole>,
                   {grid, turned_threads<group>, shared}, a);
  };
  const auto launch_group = [&]<unsigned group>() {
    a.sum_count <= 2 ? launch.template operator()<group, 2>()
                     : launch.template operator()<group, sums_together>();
  };
  // For few ciphertexts a block takes more words, at most as many as a ring has. Up to four that
  // are left over would leave half of a group of eight without work.
  const std::uint32_t N = 1u << a.log_N;
  const auto fits = [&]<unsigned group>() { return turned_words<Word, group> <= N; };
  if ((a.batch > 4 && (a.batch - 1) % 8 >= 4) || !fits.template operator()<4>())
    launch_group.template operator()<8>();
  else if (a.batch > 2 || !fits.template operator()<2>())
    launch_group.template operator()<4>();
  else if (a.batch == 2 || !fits.template operator()<1>())
    launch_group.template operator()<2>();
  else
    launch_group.template operator()<1>();
}

/// The bases that plaintexts have: mostly one.
template <class Word>
std::vector<ring::Basis> bases_of(std::span<const TurnedProduct<Word>> terms) {
  std::vector<ring::Basis> out;
  for (const TurnedProduct<Word>& term : terms)
    for (const auto& factor : term.factors)
      if (std::ranges::find(out, factor.over) == out.end()) out.push_back(factor.over);
  if (out.empty()) out.emplace_back();
  return out;
}

}  // namespace

template <class Word>
void sums_of_turned_products(const Stream& stream, const CudaRnsTables<Word>& tables,
                             std::span<const TurnedProduct<Word>> terms,
                             const InnerProduct& product, const SumLayout& layout,
                             std::size_t batch, const Word* digits,
                             const CheckedScaling<Word>& added, bool onto, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const ring::RnsPlan<Word>& plan = tables.plan();
  const std::size_t N = plan.N(), rows = product.rows.size();
  TurnedSumArguments<Word> a = {};
  const auto keyed = std::ranges::find_if(terms, [](auto& term) { return term.key != nullptr; });
  set_places(tables, keyed == terms.end() ? product.rows : keyed->key->layout().rows(), product,
             batch, a);
  a.digits = digits;
  a.x = added.x;
  a.over = prime_set(added.over);
  a.x_rows = added.over.size();
  std::size_t row = 0;
  Word largest = 0;
  product.rows.for_each([&](unsigned i) {  // R·w mod q
    a.weights[row] =
        plan.moduli()[i].reduce_wide(math::Wide<Word>{added.weights[row]} << math::word_bits<Word>);
    largest = std::max(largest, plan.moduli()[i].value());
    ++row;
  });
  a.uncorrected = ProductSum<Word>::terms_below(largest);
  a.first_digit = product.digits.empty() ? 0 : product.digits.front();
  const std::vector<ring::Basis> bases = bases_of(terms);
  for (std::size_t sum = 0; sum < layout.sums; sum += sums_together) {
    const std::size_t sums = std::min<std::size_t>(sums_together, layout.sums - sum);
    a.sum_count = static_cast<std::uint32_t>(sums);
    for (std::size_t s = 0; s < sums; ++s)
      a.to[s] = place_of(layout, sum + s, 0, rows, batch, N, out);
    bool begun = onto;
    a.term_count = 0;
    const auto flush = [&] {
      a.onto = begun;
      launch_turned(stream, a);
      begun = true;
      a.term_count = 0;
    };
    for (const ring::Basis& over : bases) {
      row = 0;
      product.rows.for_each([&](unsigned i) {
        a.plain_row[row++] = static_cast<std::uint8_t>(over.contains(i) ? over.rank(i) : 0);
      });
      for (const TurnedProduct<Word>& each : terms) {
        auto& term = a.terms[a.term_count];
        term = {};
        term.g = each.g;
        if (each.key)
          term.key = static_cast<const CudaRnsSwitchKey<Word>*>(each.key)->values.data();
        bool used = false;
        for (const auto& factor : each.factors) {
          if (factor.sum < sum || factor.sum >= sum + sums || factor.over != over) continue;
          used = true;
          term.m[factor.sum - sum] = factor.m.data;
          term.log_repeats[factor.sum - sum] = static_cast<std::uint8_t>(factor.log_repeats);
          if (!factor.is_one(N)) term.each |= 1u << (factor.sum - sum);
        }
        if (used && ++a.term_count == tuning::turned_terms_a_launch) flush();
      }
      if (a.term_count > 0) flush();
    }
    if (!begun) flush();
  }
}

#define WHORL_INSTANTIATE(Word)                                                                    \
  template void sums_of_turned_products(const Stream&, const CudaRnsTables<Word>&,                 \
                                        std::span<const TurnedProduct<Word>>, const InnerProduct&, \
                                        const SumLayout&, std::size_t, const Word*,                \
                                        const CheckedScaling<Word>&, bool, Word*);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)
#undef WHORL_INSTANTIATE

}  // namespace whorl::backend::cuda
