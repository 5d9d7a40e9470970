// Sums over RNS bases: how they are cut into launches.
#include <algorithm>
#include <bit>
#include <vector>

#include "backend/cuda/dispatch/convert.h"
#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/rns.h"
#include "backend/cuda/kernels/rns_sums.cuh"

namespace whorl::backend::cuda {

namespace {

std::uint32_t log2_of(std::uint32_t N) { return static_cast<std::uint32_t>(std::bit_width(N) - 1); }

template <class Word, unsigned parts>
void launch_products(const Stream& stream, std::size_t rows, const ProductSumArguments<Word>& a) {
  const bool permuted =
      std::any_of(a.terms, a.terms + a.count, [](const auto& term) { return term.g != 1; });
  const dim3 grid(pieces(std::size_t{1} << a.log_N, rns_width<Word>) * a.batch,
                  static_cast<unsigned>(rows));
  launch_chained(stream, "sum_products",
                 permuted ? sum_products<Word, parts, true> : sum_products<Word, parts, false>,
                 {grid, rns_threads}, a);
}

}  // namespace

template <class Word>
void sum_of_products(const Stream& stream, const CudaRnsTables<Word>& tables,
                     const ring::Basis& basis, std::size_t parts, std::size_t batch,
                     std::span<const CheckedProduct<Word>> terms, bool onto, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const std::size_t rows = basis.size();
  ProductSumArguments<Word> a = {};
  a.moduli = tables.moduli.data();
  a.part = rows * batch * tables.plan().N();
  a.log_N = log2_of(tables.plan().N());
  a.batch = static_cast<std::uint32_t>(batch);
  std::size_t row = 0;
  basis.for_each([&](unsigned i) { a.prime[row++] = static_cast<std::uint8_t>(i); });
  for (std::size_t first = 0; first < terms.size(); first += sum_terms_a_launch) {
    const auto some =
        terms.subspan(first, std::min<std::size_t>(sum_terms_a_launch, terms.size() - first));
    a.count = static_cast<std::uint32_t>(some.size());
    a.onto = onto || first > 0;
    // Two parts at a time, then perhaps one.
    for (std::size_t part = 0; part < parts; part += 2) {
      for (std::size_t i = 0; i < some.size(); ++i)
        a.terms[i] = {some[i].x + part * a.part, some[i].m, prime_set(some[i].over), some[i].g,
                      some[i].one ? 1 : a.batch};
      a.out = out + part * a.part;
      part + 1 < parts ? launch_products<Word, 2>(stream, rows, a)
                       : launch_products<Word, 1>(stream, rows, a);
    }
  }
}

template <class Word>
void combine(const Stream& stream, const CudaRnsTables<Word>& tables, const ring::Basis& basis,
             std::size_t parts, std::size_t batch, std::span<const CheckedScaling<Word>> terms,
             bool onto, Word* out) {
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
    bool mixed = false;
    for (std::size_t i = 0; i < some.size(); ++i) {
      mixed = mixed || some[i].g != 1 || !some[i].over.includes(basis);
      a.terms[i] = {some[i].x, prime_set(some[i].over), some[i].over.size(), some[i].g};
    }
    const std::size_t at_once =
        std::min<std::size_t>(sum_weights_a_launch<Word> / some.size(), ring::Basis::most);
    for (std::size_t begin = 0; begin < primes.size(); begin += at_once) {
      const std::size_t rows = std::min(at_once, primes.size() - begin);
      for (std::size_t r = 0; r < rows; ++r) {
        const unsigned prime = primes[begin + r];
        a.prime[r] = static_cast<std::uint8_t>(prime);
        for (std::size_t i = 0; i < some.size(); ++i)  // R·w mod q
          a.weights[r * some.size() + i] = moduli[prime].reduce_wide(
              math::Wide<Word>{some[i].weights[begin + r]} << math::word_bits<Word>);
      }
      a.out = out + begin * a.row;
      const dim3 grid(pieces(a.row, rns_width<Word>), static_cast<unsigned>(rows),
                      static_cast<unsigned>(parts));
      launch_chained(stream, "combine_rows",
                     mixed ? combine_rows<Word, true> : combine_rows<Word, false>,
                     {grid, rns_threads}, a);
    }
  }
}

#define WHORL_INSTANTIATE(Word)                                                                  \
  template void sum_of_products(const Stream&, const CudaRnsTables<Word>&, const ring::Basis&,   \
                                std::size_t, std::size_t, std::span<const CheckedProduct<Word>>, \
                                bool, Word*);                                                    \
  template void combine(const Stream&, const CudaRnsTables<Word>&, const ring::Basis&,           \
                        std::size_t, std::size_t, std::span<const CheckedScaling<Word>>, bool,   \
                        Word*);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)
#undef WHORL_INSTANTIATE

}  // namespace whorl::backend::cuda
