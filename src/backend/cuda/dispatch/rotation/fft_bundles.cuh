// Launches that make bundles. The file of each form and word includes this.
#pragma once

#include <type_traits>
#include <utility>

#include "backend/cuda/dispatch/rotation/rotation_fft_launch.h"
#include "backend/cuda/kernels/fft_bundles.cuh"
#include "backend/cuda/runtime/stream.h"
#include "backend/cuda/tuning/unrolled_rotation.h"

namespace whorl::backend::cuda {

/// C ciphertexts share what a thread reads of the key.
template <BundleForm form, FftWords words, int C>
void launch_make_fft_bundles_by(const Stream& stream, const FftKeyArrays& key,
                                const std::uint32_t* lwe, std::uint32_t n, std::uint32_t count,
                                double2* bundles) {
  const FftBundleView<words> view{reinterpret_cast<const FftKeyPair<words>*>(key.values.data()),
                                  key.inverse_scale.data(), key.roots.data(), key.steps.data(),
                                  key.bundle_size};
  with_fft_shape(key.N, [&]<class KeyShape, class ClusterShape>() {
    using Shape = LinkedShape<KeyShape>;
    constexpr unsigned threads = bundle_threads<KeyShape, C>;
    // A digit takes 2·M/threads blocks for each of one or two rows.
    const dim3 grid((count + C - 1) / C,
                    key.most_digits * (is_wide<words> ? 4 : 2) * (KeyShape::M / threads),
                    static_cast<unsigned>(key.steps.size()));
    const dim3 block(threads);
    constexpr BundleSizes sizes = bundle_sizes(form);
    const auto launch = [&]<int m>(std::integral_constant<int, m>) {
      if (key.group != m) return;
      auto* kernel = make_fft_bundles<KeyShape, Shape, form, m, C, words, KeyPlaces::unrolled>;
      if constexpr (!is_wide<words> && has_tensor_kernel<KeyShape>(form, m))
        if (key.tensor)
          kernel = make_fft_bundles<KeyShape, Shape, form, m, C, words, KeyPlaces::tensor>;
      stream.launch("make_fft_bundles", kernel, {grid, block}, view, lwe, n, count, bundles);
    };
    [&]<int... i>(std::integer_sequence<int, i...>) {
      (launch(std::integral_constant<int, static_cast<int>(sizes.least) + i>{}), ...);
    }
    (std::make_integer_sequence<int, sizes.most - sizes.least + 1>());
  });
}

template <BundleForm form, FftWords words>
void launch_make_fft_bundles(const Stream& stream, const FftKeyArrays& key,
                             const std::uint32_t* lwe, std::uint32_t n, std::uint32_t count,
                             double2* bundles) {
  if (count <= BundleTuning::of_few)
    return launch_make_fft_bundles_by<form, words, BundleTuning::of_few>(stream, key, lwe, n, count,
                                                                         bundles);
  launch_make_fft_bundles_by<form, words, BundleTuning::of_many>(stream, key, lwe, n, count,
                                                                 bundles);
}

}  // namespace whorl::backend::cuda
