#include "cuda_rotations/candidates.cuh"

namespace whorl::bench {

std::vector<Candidate> coarse_candidates(const Stream& stream,
                                         const RotationBench<std::uint64_t>& bench) {
  using Shape = backend::cuda::GroupFft<10, 4>;
  return for_form(bench.key().shape(), [&]<BundleForm form, int m>() {
    std::vector<Candidate> all;
    add_fft<Shape, form, m, 1, 2, true, true, 2>(all, stream, bench);
    add_fft<Shape, form, m, 2, 1, true, true, 1>(all, stream, bench);
    add_fft<Shape, form, m, 1, 4, true, true, 1>(all, stream, bench);
    add_fft<Shape, form, m, 2, 2, true, true, 1>(all, stream, bench);
    return all;
  });
}

std::vector<Candidate> few_coarse_candidates(const Stream& stream,
                                             const RotationBench<std::uint64_t>& bench) {
  using Shape = backend::cuda::LinkedShape<backend::cuda::GroupFft<10, 4>>;
  std::vector<Candidate> all;
  const auto bundles = add_bundles<true>(all, stream, bench);
  add_linked<Shape, 2, 1, true, true>(all, stream, bench, bundles);
  add_linked<Shape, 1, 1, true, true>(all, stream, bench, bundles);
  return all;
}

}  // namespace whorl::bench
