// Twiddle tables in the order in which a split's passes read them.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "backend/cuda/kernels/fft.cuh"
#include "backend/cuda/kernels/ntt.cuh"
#include "ring/fft_plan.h"
#include "ring/ntt_plan.h"

namespace whorl::backend::cuda {

/// Calls set(slot of pass p counted from the table's start, c, index of the twiddle among the nodes
/// of all levels as in ring::NttPlan::roots) for each twiddle of a split.
template <class Set>
void for_each_twiddle(const Split& split, const Set& set) {
  for (int p = 0; p < split.passes; ++p) {
    const std::uint32_t nodes = 1u << split.start(p);
    for (std::uint32_t node = 0; node < nodes; ++node)
      for (int t = 0; t < split.levels[p]; ++t)
        for (std::uint32_t g = 0; g < 1u << t; ++g)
          set(p, node, (1u << t) + g, (nodes << t) + (node << t) + g);
  }
}

/// Unused slots hold N^-1 in an inverse transform's first pass, whose only twiddle of level 0 is
/// multiplied by it, and zeros elsewhere. One more twiddle at the end is root 1 without it.
template <class Word>
std::vector<Twiddle<Word>> ntt_table(const Split& split, const ring::NttPlan<Word>& plan,
                                     bool forward) {
  const auto& roots = forward ? plan.roots() : plan.inverse_roots();
  const auto& shoup = forward ? plan.roots_shoup() : plan.inverse_roots_shoup();
  std::vector<Twiddle<Word>> table(split.table_start(split.passes) + 1);
  for_each_twiddle(split, [&](int p, std::uint32_t node, std::uint32_t c, std::uint32_t root) {
    if (split.is_cyclic(p)) return;
    table[split.table_start(p) + twiddle_slot(1u << split.start(p), node, c)] = {roots[root],
                                                                                 shoup[root]};
  });
  const math::Modulus<Word>& q = plan.modulus();
  const math::Montgomery<Word> montgomery(q);
  for (int p = 0; p < split.passes; ++p) {
    if (!split.is_cyclic(p)) continue;
    // The node is modulo X^len - c^R, c = psi^((2·brv(node) + 1)·len/R), R = 2^levels: with x_k
    // times c^k it becomes cyclic. c is the twiddle of the last level's first node below it.
    const std::uint32_t nodes = 1u << split.start(p), R = 1u << split.levels[p];
    auto* powers = reinterpret_cast<Word*>(table.data() + split.table_start(p));
    for (std::uint32_t node = 0; node < nodes; ++node) {
      const Word c = montgomery.to_montgomery(roots[(nodes + node) * (R / 2)]);
      Word power = montgomery.r();
      for (std::uint32_t k = 0; k < R; ++k, power = montgomery.mul(power, c))
        powers[power_slot<Word>(nodes, node, k)] = power;
    }
  }
  table.back() = {roots[1], shoup[1]};
  if (!forward) {
    const Word both = q.mul(plan.inverse_N(), roots[1]);
    table[0] = {plan.inverse_N(), q.shoup(plan.inverse_N())};
    table[1] = {both, q.shoup(both)};
  }
  return table;
}

template <class Word>
NttLimb<Word> ntt_limb(const ring::NttPlan<Word>& plan, const Twiddle<Word>* table) {
  const Word q = plan.modulus().value();
  // q is odd: it does not divide 2^wordbits.
  return {table, q, 2 * q, static_cast<Word>(~Word{0} / q), DeviceModulus<Word>(q).montgomery};
}

/// A node of the level with 2^l nodes, i of which come before it, holds z modulo X^len -
/// zeta^(E·len), len = M / 2^l, E = 1 + 4·brv(i) of l bits; its twiddle is zeta^(E·len/2).
inline std::vector<FftValue> fft_table(const Split& split, const ring::FftPlan& plan) {
  std::vector<FftValue> table(split.table_start(split.passes) / 2);
  for_each_twiddle(split, [&](int p, std::uint32_t node, std::uint32_t c, std::uint32_t root) {
    if (c > 1 && c % 2 == 1) return;  // i times its even neighbour
    std::uint32_t level = 0;
    while (root >> (level + 1) != 0) ++level;
    const std::uint64_t exponent =
        1 + 4 * std::uint64_t{ring::bit_reverse(root - (1u << level), level)};
    const std::uint64_t half = plan.M() >> (level + 1);
    const std::complex<double> w = plan.roots()[exponent * half % (2 * plan.N())];
    table[fft_table_start(split, p) + fft_twiddle_slot(1u << split.start(p), node, c)] = {w.real(),
                                                                                          w.imag()};
  });
  return table;
}

}  // namespace whorl::backend::cuda
