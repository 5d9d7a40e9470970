#include "cuda_rotations/candidates.cuh"

namespace whorl::bench {

template <int m>
std::vector<Candidate> candidates(const Stream& stream, const RotationBench<std::uint32_t>& bench) {
  using Shape = backend::cuda::GroupFft<9, 4>;
  std::vector<Candidate> all;
  add_fft<Shape, m, 2, 1, false, false, 4>(all, stream, bench);
  add_fft<Shape, m, 2, 1, false, false, 3>(all, stream, bench);
  add_fft<Shape, m, 1, 2, false, false, 4>(all, stream, bench);
  add_fft<Shape, m, 2, 2, false, false, 2>(all, stream, bench);
  add_fft<Shape, m, 1, 4, false, false, 2>(all, stream, bench);
  return all;
}

std::vector<Candidate> narrow_candidates(const Stream& stream,
                                         const RotationBench<std::uint32_t>& bench,
                                         unsigned group) {
  return group == 2 ? candidates<2>(stream, bench) : candidates<3>(stream, bench);
}

}  // namespace whorl::bench
