// Rows of LWE ciphertexts as coefficients of polynomials.
#include <algorithm>
#include <bit>
#include <vector>

#include "backend/cpu/kernels.h"
#include "ring/ntt_plan.h"

namespace whorl::backend::cpu {

template <class In, class Out>
void write_coefficients(const LwePolynomials& rule, std::size_t first, std::size_t columns,
                        std::size_t vectors, std::size_t batch, std::size_t begin,
                        std::size_t count, const In* in, Out* out) {
  const std::size_t L = rule.length, M = rule.weights.size(), gap = rule.N / (2 * L),
                    slab = batch * rule.N;
  const auto log2_length = static_cast<unsigned>(std::countr_zero(L));
  const bool has_last = first + columns == rule.row;
  // 1. Sums wrap around in the word, which q divides.
  std::vector<In> sums(count * columns);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t u = (begin + i) / L,
                      place = ring::bit_reverse(static_cast<std::uint32_t>((begin + i) % L),
                                                log2_length);
    In* const sum = sums.data() + i * columns;
    for (std::size_t m = 0; m < M && u * M + m < vectors; ++m) {
      const In* const from = in + ((u * M + m) * L + place) * rule.row + first;
      const auto weight = static_cast<In>(rule.weights[m]);
      for (std::size_t c = 0; c < columns; ++c) sum[c] += from[c] * weight;
    }
    if (has_last) sum[columns - 1] += static_cast<In>(rule.constant);
  }
  // 2. Rounded, and centred modulo each prime.
  const std::uint64_t down = rule.q / rule.to;
  const auto shift = static_cast<unsigned>(std::countr_zero(down));
  const auto half_step = static_cast<In>(down / 2), mask = static_cast<In>(rule.to - 1),
             half = static_cast<In>(rule.to / 2);
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t l = 0; l < rule.primes.size(); ++l) {
      const auto negative = static_cast<Out>(rule.primes[l] - rule.to);
      Out* const to = out + (c * rule.primes.size() + l) * slab + begin * gap;
      for (std::size_t i = 0; i < count; ++i) {
        const In x = static_cast<In>(sums[i * columns + c] + half_step) >> shift & mask;
        to[i * gap] = static_cast<Out>(static_cast<Out>(x) + (x < half ? 0 : negative));
        std::fill_n(to + i * gap + 1, gap - 1, Out{0});
      }
    }
}

#define WHORL_INSTANTIATE(In, Out)                                                               \
  template void write_coefficients(const LwePolynomials&, std::size_t, std::size_t, std::size_t, \
                                   std::size_t, std::size_t, std::size_t, const In*, Out*);
WHORL_INSTANTIATE(std::uint32_t, std::uint32_t)
WHORL_INSTANTIATE(std::uint32_t, std::uint64_t)
WHORL_INSTANTIATE(std::uint64_t, std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t, std::uint64_t)
#undef WHORL_INSTANTIATE

}  // namespace whorl::backend::cpu
