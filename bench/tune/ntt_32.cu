// Candidates of the NTT of 32-bit words.
#include "ntt_candidates.cuh"

namespace whorl::tune {
namespace {

using backend::cuda::rows32;

// clang-format off: a line a candidate, written as in tuning/transforms.h.
struct Table {
  static constexpr TransformShape shapes[] = {
      one_kernel({8, 4, 2, {4, 4}}, 8, 0, 6, rows32(), 16),
      one_kernel({9, 5, 2, {4, 5}}, 8, 0, 4, rows32()),
      one_kernel({10, 5, 2, {5, 5}}, 4, 0, 4, rows32()),
      one_kernel({10, 5, 2, {5, 5}}, 4, 0, 6, rows32()),
      one_kernel({10, 5, 2, {5, 5}}, 4, 0, 8, rows32()),
      one_kernel({10, 5, 2, {5, 5}}, 2, 0, 12, rows32()),
      one_kernel({10, 5, 2, {5, 5}}, 1, 0, 24, rows32()),
      with_cyclic(one_kernel({10, 5, 2, {5, 5}}, 4, 0, 6, rows32()), 2),
      one_kernel({10, 4, 3, {3, 3, 4}}, 1, 0, 16, rows32()),
      one_kernel({10, 4, 3, {3, 3, 4}}, 1, 0, 24, rows32()),
      one_kernel({11, 4, 3, {4, 3, 4}}, 1, 0, 8, rows32()),
      one_kernel({11, 4, 3, {4, 3, 4}}, 1, 0, 10, rows32()),
      one_kernel({11, 5, 3, {3, 3, 5}}, 1, 0, 12, rows32()),
      one_kernel({11, 6, 2, {5, 6}}, 4, 0, 4, rows32()),
      one_kernel({12, 4, 3, {4, 4, 4}}, 1, 0, 4, rows32(8, 16)),
      one_kernel({12, 4, 3, {4, 4, 4}}, 1, 0, 5, rows32(8, 16)),
      one_kernel({12, 4, 3, {4, 4, 4}}, 1, 0, 6, rows32(8, 16)),
      with_cyclic(one_kernel({12, 4, 3, {4, 4, 4}}, 1, 0, 5, rows32(8, 16)), 4),
      one_kernel({12, 5, 3, {4, 3, 5}}, 1, 0, 6, rows32()),
      one_kernel({12, 5, 3, {4, 4, 4}}, 1, 0, 8, rows32(8, 16)),
      one_kernel({12, 6, 2, {6, 6}}, 1, 0, 8, rows32()),
      one_kernel({12, 6, 2, {6, 6}}, 1, 0, 10, rows32()),
      one_kernel({13, 5, 3, {4, 4, 5}}, 1, 0, 3, rows32()),
      one_kernel({13, 5, 3, {4, 4, 5}}, 1, 0, 4, rows32()),
      with_cyclic(one_kernel({13, 5, 3, {4, 4, 5}}, 1, 0, 3, rows32()), 4),
      one_kernel({13, 4, 4, {3, 3, 3, 4}}, 1, 0, 3, rows32()),
      one_kernel({14, 5, 3, {5, 4, 5}}, 1, 0, 1, rows32()),
      one_kernel({14, 5, 3, {5, 4, 5}}, 1, 0, 2, rows32()),
      with_cyclic(one_kernel({14, 5, 3, {5, 4, 5}}, 1, 0, 2, rows32()), 4),
      one_kernel({14, 6, 3, {4, 4, 6}}, 1, 0, 2, rows32()),
      one_kernel({14, 5, 3, {5, 4, 5}}, 1, 1, 4, rows32()),
      one_kernel({15, 5, 3, {5, 5, 5}}, 1, 1, 2, rows32()),
      one_kernel({15, 5, 3, {5, 5, 5}}, 1, 2, 3, rows32()),
      one_kernel({15, 5, 3, {5, 5, 5}}, 1, 2, 4, rows32()),
      with_cyclic(one_kernel({15, 5, 3, {5, 5, 5}}, 1, 1, 2, rows32()), 4),
      two_kernels({15, 4, 4, {4, 4, 3, 4}}, 8, 5, 8, rows32()),
      one_kernel({16, 5, 4, {4, 4, 4, 4}}, 1, 2, 2, rows32(8, 16)),
      one_kernel({16, 5, 4, {4, 4, 4, 4}}, 1, 3, 4, rows32(8, 16)),
      one_kernel({16, 5, 4, {5, 3, 3, 5}}, 1, 2, 2, rows32()),
      with_cyclic(one_kernel({16, 5, 4, {4, 4, 4, 4}}, 1, 2, 2, rows32(8, 16)), 8),
      with_cyclic(one_kernel({16, 5, 4, {5, 3, 3, 5}}, 1, 2, 2, rows32()), 8),
      one_kernel({16, 6, 3, {5, 5, 6}}, 1, 2, 2, rows32()),
      one_kernel({16, 6, 3, {5, 5, 6}}, 1, 3, 4, rows32()),
      with_cyclic(one_kernel({16, 6, 3, {5, 5, 6}}, 1, 2, 2, rows32()), 4),
      two_kernels({16, 4, 4, {4, 4, 4, 4}}, 8, 5, 5, rows32(8, 16)),
      with_cyclic(two_kernels({16, 4, 4, {4, 4, 4, 4}}, 8, 5, 5, rows32(8, 16)), 8),
      two_kernels({16, 5, 4, {5, 4, 3, 4}}, 8, 4, 6, rows32()),
      with_cyclic(one_kernel({16, 6, 3, {5, 5, 6}}, 1, 3, 4, rows32()), 4),
      with_cyclic(one_kernel({16, 6, 3, {5, 5, 6}}, 1, 3, 4, rows32()), 6),
      with_cyclic(one_kernel({16, 6, 3, {6, 5, 5}}, 1, 3, 4, rows32()), 4),
      one_kernel({16, 6, 3, {4, 6, 6}}, 1, 3, 4, rows32()),
      one_kernel({16, 6, 3, {6, 4, 6}}, 1, 3, 4, rows32()),
      with_cyclic(one_kernel({16, 6, 3, {5, 5, 6}}, 1, 2, 2, rows32()), 4),
      with_cyclic(one_kernel({16, 5, 4, {4, 4, 4, 4}}, 1, 3, 4, rows32(8, 16)), 8),
      with_cyclic(one_kernel({16, 5, 4, {4, 4, 4, 4}}, 1, 3, 4, rows32(8, 16)), 12),
      with_cyclic(one_kernel({16, 5, 4, {5, 3, 3, 5}}, 1, 3, 4, rows32()), 8),
      with_cyclic(one_kernel({16, 5, 4, {5, 3, 3, 5}}, 1, 3, 5, rows32()), 8),
      with_cyclic(one_kernel({16, 5, 4, {4, 4, 4, 4}}, 1, 3, 5, rows32(8, 16)), 8),
      one_kernel({17, 5, 4, {5, 4, 4, 4}}, 1, 3, 2, rows32(8, 16)),
      one_kernel({17, 6, 3, {5, 6, 6}}, 1, 3, 2, rows32()),
      two_kernels({17, 5, 4, {5, 4, 3, 5}}, 8, 4, 4, rows32()),
  };
};
// clang-format on

}  // namespace

// The kernels of moduli below 2^30, those of CKKS and BGV; the others share the shapes.
void tune_ntt_32(Tuner& tuner) { tune_ntt<std::uint32_t, 4, Table>(tuner, 30); }

}  // namespace whorl::tune
