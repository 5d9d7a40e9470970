// Candidates of the NTT of 64-bit words.
#include "ntt_candidates.cuh"

namespace whorl::tune {
namespace {

using backend::cuda::rows64;

// clang-format off: a line a candidate, written as in tuning/transforms.h.
struct Table {
  static constexpr TransformShape shapes[] = {
      one_kernel({8, 4, 2, {4, 4}}, 8, 0, 4, rows64()),
      one_kernel({9, 4, 3, {3, 3, 3}}, 4, 0, 4, rows64()),
      one_kernel({10, 4, 3, {3, 3, 4}}, 1, 0, 8, rows64()),
      one_kernel({10, 5, 2, {5, 5}}, 4, 0, 4, rows64()),
      one_kernel({11, 4, 3, {4, 3, 4}}, 1, 0, 5, rows64()),
      one_kernel({12, 4, 3, {4, 4, 4}}, 1, 0, 2, rows64()),
      one_kernel({12, 3, 4, {3, 3, 3, 3}}, 1, 0, 3, rows64()),
      one_kernel({13, 4, 4, {3, 3, 3, 4}}, 1, 0, 2, rows64()),
      one_kernel({14, 4, 4, {4, 3, 3, 4}}, 1, 1, 2, rows64()),
      two_kernels({14, 4, 4, {4, 3, 3, 4}}, 8, 3, 6, rows64()),
      one_kernel({15, 4, 4, {4, 4, 3, 4}}, 1, 2, 2, rows64()),
      two_kernels({15, 4, 4, {4, 4, 3, 4}}, 8, 3, 3, rows64()),
      one_kernel({16, 4, 4, {4, 4, 4, 4}}, 1, 3, 2, rows64()),
      with_cyclic(two_kernels({16, 4, 4, {4, 4, 4, 4}}, 8, 2, 2, rows64()), 8),
      two_kernels({17, 4, 5, {4, 3, 3, 3, 4}}, 8, 2, 1, rows64()),
  };
};
// clang-format on

}  // namespace

void tune_ntt_64(Tuner& tuner) { tune_ntt<std::uint64_t, 8, Table>(tuner, 61); }

}  // namespace whorl::tune
