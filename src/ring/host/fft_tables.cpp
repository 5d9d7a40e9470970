#include "ring/host/fft_tables.h"

#include <bit>

namespace whorl::ring {

namespace {

/// Exponents of the twiddles of a node of length `len` with root exponent E, in storage order.
void node_exponents(std::uint64_t E, std::uint32_t len, unsigned log_radix, std::uint32_t N,
                    std::vector<std::uint32_t>& out) {
  const std::uint64_t two_n = 2ULL * N;
  for (unsigned level = 1; level <= log_radix; ++level)
    out.push_back(static_cast<std::uint32_t>(E * (len >> level) % two_n));
  if (log_radix == 3) out.push_back(static_cast<std::uint32_t>((E * (len >> 3) + N / 4) % two_n));
}

}  // namespace

FftTables::FftTables(const FftPlan& plan, unsigned lane_count)
    : lanes(lane_count),
      log_lanes(static_cast<unsigned>(std::bit_width(lane_count) - 1)),
      M(plan.M()),
      vectors(plan.M() / lane_count) {
  const std::uint32_t N = plan.N();
  const unsigned max_radix = lanes >= 8 ? 3 : 2;  // what the registers of the width hold
  const unsigned last = lanes > 1 ? log_lanes : max_radix;
  const unsigned levels = static_cast<unsigned>(std::bit_width(vectors) - 1) - last;
  const unsigned count = (levels + max_radix - 1) / max_radix;

  std::vector<std::uint32_t> exponents;
  std::vector<std::size_t> starts;
  std::uint32_t len = M;
  for (unsigned p = 0; p <= count; ++p) {
    const unsigned log_radix = p == count ? last : levels / count + (p < levels % count ? 1 : 0);
    starts.push_back(exponents.size());
    passes.push_back({log_radix, len, M / len, nullptr});
    for (std::uint32_t node = 0; node < M / len; ++node)
      node_exponents(plan.exponent(node * len), len, log_radix, N, exponents);
    len >>= log_radix;
  }
  const unsigned per_node = twiddles_per_node(log_lanes);
  const std::size_t broadcast = exponents.size();
  storage_ = hwy::AllocateAligned<double>(2 * broadcast + 64 + 2ULL * vectors * per_node * lanes);
  double* out = storage_.get();
  for (std::size_t i = 0; i < broadcast; ++i) {
    out[2 * i] = plan.roots()[exponents[i]].real();
    out[2 * i + 1] = plan.roots()[exponents[i]].imag();
  }
  for (std::size_t p = 0; p < passes.size(); ++p) passes[p].twiddles = out + 2 * starts[p];

  double* lane_out = out + (2 * broadcast + 63) / 64 * 64;
  lane_twiddles = lane_out;
  std::vector<std::uint32_t> node;
  for (std::uint32_t group = 0; group < vectors / lanes; ++group)
    for (unsigned lane = 0; lane < lanes; ++lane) {
      node.clear();
      node_exponents(plan.exponent((group * lanes + lane) * lanes), lanes, log_lanes, N, node);
      for (unsigned t = 0; t < per_node; ++t) {
        double* vector = lane_out + (static_cast<std::size_t>(group) * per_node + t) * 2 * lanes;
        vector[lane] = plan.roots()[node[t]].real();
        vector[lanes + lane] = plan.roots()[node[t]].imag();
      }
    }

  vector_exponent.resize(vectors);
  for (std::uint32_t v = 0; v < vectors; ++v)
    vector_exponent[v] = plan.exponent(v / lanes * lanes * lanes + v % lanes);
  lane_exponent.resize(lanes);
  for (unsigned k = 0; k < lanes; ++k) lane_exponent[k] = plan.exponent(k * lanes) - 1;
}

}  // namespace whorl::ring
