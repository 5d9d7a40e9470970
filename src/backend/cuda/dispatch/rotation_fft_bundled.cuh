// Launches with bundles ahead of the loop. The file of each kind includes this.
#pragma once

#include <algorithm>
#include <utility>

#include "backend/cuda/dispatch/launch_rotation.cuh"
#include "backend/cuda/dispatch/rotation_fft_launch.h"
#include "backend/cuda/kernels/rotate_fft_bundled.cuh"

namespace whorl::backend::cuda {

template <class Shape, bool wide, bool coarse, bool staged, class Word>
bool launch_bundled(const Stream& stream, const BundledFftView& view,
                    const RotationBatch<Word>& batch) {
  // Two groups of threads a component where there are digits for both and at most 1,024 threads.
  constexpr int groups = coarse || Shape::threads > 256 ? 1 : 2;
  const std::size_t bytes = BundledFftMemory<Shape, wide, coarse, staged>::bytes(view.slots);
  if (bytes > stream.gpu().shared_per_block) return false;
  if (groups == 1 || view.slots == 1)
    launch_rotation(stream, rotate_fft_bundled<Shape, 1, wide, coarse, staged>, view, batch, 1,
                    2 * Shape::threads, bytes);
  else
    launch_rotation(stream, rotate_fft_bundled<Shape, groups, wide, coarse, staged>, view, batch, 1,
                    2 * groups * Shape::threads, bytes);
  return true;
}

template <bool wide, bool coarse, class Word>
void launch_rotate_fft_bundled(const Stream& stream, const FftKeyArrays& key,
                               const RotationBatch<Word>& all) {
  // A wave of blocks at once, and at most so many bytes of bundles.
  constexpr std::size_t most_bytes = std::size_t{2} << 30;
  const auto at_once = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(most_bytes / (key.bundle_size * sizeof(double2)), 1,
                              std::min(all.count, stream.gpu().multiprocessors)));
  const auto bundles = stream.allocate<double2>(at_once * key.bundle_size);
  const BundledFftView view{bundles.data(),
                            key.bundle_size,
                            key.cluster_tables.data(),
                            key.ranges.data(),
                            key.range_count,
                            key.most_digits,
                            key.Q,
                            key.group,
                            key.large};
  const std::size_t row = all.extract ? key.N + 1 : 2 * key.N;
  for (std::uint32_t begin = 0; begin < all.count; begin += at_once) {
    RotationBatch<Word> batch = all;
    batch.lwe += std::size_t{begin} * (batch.n + 1);
    batch.index += begin;
    batch.out += begin * row;
    batch.count = std::min(at_once, all.count - begin);
    launch_make_fft_bundles<wide>(stream, key, batch.lwe, batch.n, batch.count, bundles.data());
    with_fft_shape(key.N, [&]<class KeyShape, class Shape>() {
      if (!launch_bundled<Shape, wide, coarse, true>(stream, view, batch) &&
          !launch_bundled<Shape, wide, coarse, false>(stream, view, batch))
        throw ParameterError("blind rotation with unrolled keys, N = " + std::to_string(key.N) +
                             " and " + std::to_string(key.most_digits) +
                             " digits does not fit the shared memory of " + stream.gpu().name());
    });
  }
}

}  // namespace whorl::backend::cuda
