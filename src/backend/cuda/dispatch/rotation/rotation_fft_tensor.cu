#include "backend/cuda/dispatch/rotation/rotation_fft_tensor.cuh"

namespace whorl::backend::cuda {

namespace {

/// Calls body.operator()<Shape, form, m>() for a key that there are such kernels for.
template <class Body>
void with_tensor_kernel(std::uint32_t N, BundleForm form, unsigned group, const Body& body) {
  with_fft_shape(N, [&]<class Shape, class ClusterShape>() {
    const auto of = [&]<BundleForm f>() {
      constexpr BundleSizes sizes = bundle_sizes(f);
      static_assert(sizes.most_in_loop == sizes.least_in_loop + 1);
      if constexpr (has_tensor_kernel<Shape>(f, sizes.least_in_loop)) {
        if (group == sizes.least_in_loop)
          body.template operator()<Shape, f, sizes.least_in_loop>();
        else if (group == sizes.most_in_loop)
          body.template operator()<Shape, f, sizes.most_in_loop>();
      }
    };
    if (form == BundleForm::all) of.template operator()<BundleForm::all>();
    if (form == BundleForm::block) of.template operator()<BundleForm::block>();
  });
}

}  // namespace

bool tensor_fits(const Stream& stream, std::uint32_t N, BundleForm form, unsigned group) {
  bool fits = false;
  with_tensor_kernel(N, form, group, [&]<class Shape, BundleForm, int>() {
    fits = stream.gpu().has_clusters() &&  // chips and code from compute capability 9.0 on
           TensorFftMemory<TensorShape<Shape>>::bytes <= stream.gpu().shared_per_block;
  });
  return fits;
}

std::uint32_t tensor_at_once(const Stream& stream) {
  return TensorFftMemory<GroupFft<9, 4>>::C * stream.gpu().multiprocessors;
}

void launch_rotate_fft_tensor(const Stream& stream, const FftKeyArrays& key,
                              const RotationBatch<std::uint32_t>& batch) {
  with_tensor_kernel(key.N, key.form, key.group, [&]<class Shape, BundleForm form, int m>() {
    launch_tensor<Shape, form, m>(stream, key, batch);
  });
}

}  // namespace whorl::backend::cuda
