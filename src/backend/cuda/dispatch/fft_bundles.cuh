// Launches that make bundles. The file of each word includes this.
#pragma once

#include "backend/cuda/dispatch/rotation_fft_launch.h"
#include "backend/cuda/kernels/fft_bundles.cuh"
#include "backend/cuda/runtime/error.h"

namespace whorl::backend::cuda {

template <bool wide>
void launch_make_fft_bundles(const Stream& stream, const FftKeyArrays& key,
                             const std::uint32_t* lwe, std::uint32_t n, std::uint32_t count,
                             double2* bundles) {
  constexpr int C = 2;  // ciphertexts that share what is read of the key
  const FftBundleView<wide> view{
      reinterpret_cast<const std::conditional_t<wide, double2, int4>*>(key.values.data()),
      key.inverse_scale.data(), key.roots.data(), key.steps.data(), key.bundle_size};
  with_fft_shape(key.N, [&]<class KeyShape, class Shape>() {
    constexpr unsigned threads = bundle_threads<KeyShape>;
    // Of a digit: 2·M/threads blocks for each of one or two rows.
    const dim3 grid(static_cast<unsigned>(key.steps.size()),
                    key.most_digits * (wide ? 4 : 2) * (KeyShape::M / threads),
                    (count + C - 1) / C);
    const dim3 block(threads);
    const auto launch = [&]<int m>() {
      make_fft_bundles<KeyShape, Shape, m, C, wide>
          <<<grid, block, 0, stream.handle()>>>(view, lwe, n, count, bundles);
    };
    switch (key.group) {
      case 2:
        launch.template operator()<2>();
        break;
      case 3:
        launch.template operator()<3>();
        break;
      case 4:
        launch.template operator()<4>();
        break;
      case 5:
        launch.template operator()<5>();
        break;
      default:
        launch.template operator()<6>();
    }
    check_launch("make_fft_bundles", grid, block, 0);
  });
}

}  // namespace whorl::backend::cuda
