// Launches that make bundles by tensor cores. The file of each form and word includes this.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "backend/cuda/dispatch/rotation/fft_bundles.cuh"
#include "backend/cuda/kernels/matrix_bundles.cuh"

namespace whorl::backend::cuda {

template <BundleForm form, FftWords words>
void launch_make_matrix_bundles(const Stream& stream, const FftKeyArrays& key,
                                const std::uint32_t* lwe, std::uint32_t n, std::uint32_t count,
                                double2* bundles, const BundleProgress& progress) {
  const bool beside = progress.made != nullptr;
  constexpr unsigned warps = BundleTuning::matrix_warps;
  const unsigned blocks = beside ? 1 : BundleTuning::matrix_blocks_ahead;
  const dim3 block(32, warps),
      grid(std::min((progress.steps * progress.of_step + warps - 1) / warps,
                    blocks * stream.gpu().multiprocessors));
  with_fft_shape(key.N, [&]<class KeyShape, class ClusterShape>() {
    if constexpr (has_matrix_bundles<KeyShape>) {
      using Shape = LinkedShape<KeyShape>;
      const auto launch = [&]<int m>(std::integral_constant<int, m>) {
        if (key.group != m) return;
        constexpr std::size_t bytes =
            matrix_bundle_bytes<MatrixBundleItem<KeyShape, Shape, form, m, words>,
                                MatrixBundleExponents<m>, Shape>(warps);
        auto* const kernel = make_matrix_bundles<KeyShape, Shape, form, m, words>;
        if constexpr (bytes > (48u << 10)) allow_shared(stream, kernel, bytes);
        if (beside) prefer_shared(kernel, BundleTuning::shared_percent);
        stream.launch("make_matrix_bundles", kernel, {grid, block, bytes},
                      bundle_view_of<words>(key), lwe, n, count, bundles, progress);
      };
      [&]<int... i>(std::integer_sequence<int, i...>) {
        (launch(std::integral_constant<int, static_cast<int>(least_matrix_group) + i>{}), ...);
      }
      (std::make_integer_sequence<int, most_matrix_group - least_matrix_group + 1>());
    }
  });
}

}  // namespace whorl::backend::cuda
