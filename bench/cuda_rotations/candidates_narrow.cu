#include "cuda_rotations/candidates.cuh"

namespace whorl::bench {

std::vector<Candidate> narrow_candidates(const Stream& stream,
                                         const RotationBench<std::uint32_t>& bench) {
  using Shape = backend::cuda::GroupFft<9, 4>;
  return for_form(bench.key().shape(), [&]<BundleForm form, int m>() {
    std::vector<Candidate> all;
    const auto& key = static_cast<const backend::cuda::FftRotationKey&>(bench.key()).arrays;
    if constexpr (backend::cuda::has_tensor_kernel<Shape>(form, m)) {
      if (key.tensor) {
        add_tensor<Shape, form, m>(all, stream, bench);
        return all;
      }
    }
    add_fft<Shape, form, m, 2, 1, false, false, 4>(all, stream, bench);
    add_fft<Shape, form, m, 2, 1, false, false, 3>(all, stream, bench);
    add_fft<Shape, form, m, 1, 2, false, false, 4>(all, stream, bench);
    add_fft<Shape, form, m, 2, 2, false, false, 2>(all, stream, bench);
    return all;
  });
}

std::vector<Candidate> few_narrow_candidates(const Stream& stream,
                                             const RotationBench<std::uint32_t>& bench) {
  using Shape = backend::cuda::LinkedShape<backend::cuda::GroupFft<9, 4>>;
  std::vector<Candidate> all;
  const auto bundles = add_bundles<false>(all, stream, bench);
  add_linked<Shape, 4, 2, false, false>(all, stream, bench, bundles);
  add_linked<Shape, 2, 1, false, false>(all, stream, bench, bundles);
  add_linked<Shape, 1, 1, false, false>(all, stream, bench, bundles);
  return all;
}

}  // namespace whorl::bench
