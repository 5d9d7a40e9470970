// Twiddles of the folded FFT in the order in which a SIMD width uses them.
#pragma once

#include <cstdint>
#include <vector>

#include "hwy/aligned_allocator.h"
#include "ring/fft_plan.h"

namespace whorl::ring {

/// The transform runs as passes over whole vectors ("vertical"), each doing `log_radix` levels in
/// registers, down to nodes of one vector of `lanes` values. The last pass has a radix of `lanes`:
/// its nodes of one vector are transposed in registers and finished with one node a lane. Results
/// stay transposed ("internal order"): vector g·lanes + s, lane k, holds result (g·lanes + k)·lanes
/// + s of FftPlan.
struct FftTables {
  FftTables(const FftPlan& plan, unsigned lane_count);

  struct Pass {
    unsigned log_radix;
    std::uint32_t len;       ///< values in a node before the pass
    std::uint32_t nodes;     ///< M / len
    const double* twiddles;  ///< per node twiddles_per_node(log_radix) complex values
  };
  /// Levels 1, 2 and 3 need w1; w1, w2; w1, w2, w3, w3·exp(i·pi/4): a node's other twiddles are i
  /// times these.
  static constexpr unsigned twiddles_per_node(unsigned log_radix) {
    return log_radix == 3 ? 4 : log_radix;
  }

  unsigned lanes, log_lanes;
  std::uint32_t M, vectors;
  std::vector<Pass> passes;  ///< at least two
  /// Each group of `lanes` nodes has twiddles_per_node(log_lanes) pairs of vectors (re, im).
  const double* lane_twiddles;
  /// Result exponents in internal order are vector_exponent[v] + lane_exponent[k] modulo 2N.
  std::vector<std::uint32_t> vector_exponent, lane_exponent;

 private:
  hwy::AlignedFreeUniquePtr<double[]> storage_;
};

}  // namespace whorl::ring
