// Launches that make bundles. The file of each form and word includes this.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "backend/cuda/dispatch/rotation/launch_rotation.cuh"
#include "backend/cuda/dispatch/rotation/rotation_fft_launch.h"
#include "backend/cuda/kernels/fft_bundles.cuh"
#include "backend/cuda/runtime/stream.h"
#include "backend/cuda/tuning/unrolled_rotation.h"

namespace whorl::backend::cuda {

template <FftWords words>
FftBundleView<words> bundle_view_of(const FftKeyArrays& key) {
  return {reinterpret_cast<const FftKeyPair<words>*>(key.values.data()), key.inverse_scale.data(),
          key.roots.data(), key.steps.data(), key.bundle_size};
}

template <BundleForm form, FftWords words>
void launch_make_fft_bundles(const Stream& stream, const FftKeyArrays& key,
                             const std::uint32_t* lwe, std::uint32_t n, std::uint32_t count,
                             double2* bundles, const BundleProgress& progress) {
  const bool beside = progress.made != nullptr;
  const unsigned warps = bundle_warps(count);
  const unsigned a_multiprocessor =
      beside ? std::clamp(BundleTuning::warps_beside / warps, 1u, BundleTuning::blocks_beside)
             : BundleTuning::warps_ahead / warps;
  const dim3 block(bundle_nodes, warps),
      grid(std::min(progress.steps * progress.of_step,
                    a_multiprocessor * stream.gpu().multiprocessors));
  with_fft_shape(key.N, [&]<class KeyShape, class ClusterShape>() {
    using Shape = LinkedShape<KeyShape>;
    constexpr BundleSizes sizes = bundle_sizes(form);
    const auto launch = [&]<int m>(std::integral_constant<int, m>) {
      if (key.group != m) return;
      const auto launch_of = [&]<KeyPlaces places>() {
        auto* const kernel = make_fft_bundles<KeyShape, Shape, form, m, words, places>;
        constexpr std::size_t bytes = BundleKeyRow<form, m, words, places>::bytes;
        if constexpr (bytes > (48u << 10)) allow_shared(stream, kernel, bytes);
        if (beside) prefer_shared(kernel, BundleTuning::shared_percent);
        stream.launch("make_fft_bundles", kernel, {grid, block, bytes}, bundle_view_of<words>(key),
                      lwe, n, count, bundles, progress);
      };
      if constexpr (!is_wide<words> && has_tensor_kernel<KeyShape>(form, m))
        if (key.tensor) return launch_of.template operator()<KeyPlaces::tensor>();
      launch_of.template operator()<KeyPlaces::unrolled>();
    };
    [&]<int... i>(std::integer_sequence<int, i...>) {
      (launch(std::integral_constant<int, static_cast<int>(sizes.least) + i>{}), ...);
    }
    (std::make_integer_sequence<int, sizes.most - sizes.least + 1>());
  });
}

}  // namespace whorl::backend::cuda
