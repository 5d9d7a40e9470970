#include "cuda_rotations/candidates.cuh"

namespace whorl::bench {

template <int m>
std::vector<Candidate> candidates(const Stream& stream, const RotationBench<std::uint64_t>& bench) {
  using Shape = backend::cuda::GroupFft<10, 4>;
  std::vector<Candidate> all;
  add_fft<Shape, m, 1, 2, true, true, 2>(all, stream, bench);
  add_fft<Shape, m, 2, 1, true, true, 1>(all, stream, bench);
  add_fft<Shape, m, 1, 4, true, true, 1>(all, stream, bench);
  add_fft<Shape, m, 2, 2, true, true, 1>(all, stream, bench);
  return all;
}

std::vector<Candidate> coarse_candidates(const Stream& stream,
                                         const RotationBench<std::uint64_t>& bench,
                                         unsigned group) {
  return group == 2 ? candidates<2>(stream, bench) : candidates<3>(stream, bench);
}

}  // namespace whorl::bench
