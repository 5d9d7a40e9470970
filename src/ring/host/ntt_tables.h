// Twiddles of the NTT in the order in which a SIMD width uses them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hwy/aligned_allocator.h"
#include "ring/ntt_plan.h"

namespace whorl::ring {

/// The transform runs as with FftTables: vertical levels go down to nodes of one vector, then
/// groups of `lanes` nodes are transposed and finished with one node a lane. The vertical levels
/// read the plan's own tables.
template <class Word>
struct NttTables {
  /// `memory`, if given, has words(plan) words aligned for every SIMD width and outlives this.
  NttTables(const NttPlan<Word>& plan, unsigned lane_count, Word* memory = nullptr);
  static std::size_t words(const NttPlan<Word>& plan) { return std::size_t{4} * plan.N(); }

  unsigned lanes, log_lanes;
  std::uint32_t N, vectors;
  Word q;
  const Word *roots, *roots_shoup, *inverse_roots, *inverse_roots_shoup;  ///< the plan's
  Word inverse_N, inverse_N_shoup;
  /// Each group of `lanes` nodes has lanes - 1 pairs of vectors (w, its Shoup companion), level by
  /// level and node by node, as roots()[m + i] is indexed.
  const Word *forward_lanes, *inverse_lanes;

 private:
  hwy::AlignedFreeUniquePtr<Word[]> own_;
};

/// Memory that is needed after a transform, so many bytes of each: it may be brought nearer while
/// the transform computes.
inline constexpr unsigned kMostAhead = 4;
struct Ahead {
  const void* from[kMostAhead] = {};
  unsigned count = 0;
  std::size_t bytes = 0;
};

}  // namespace whorl::ring
