// Launches with bundles ahead of the loop or beside it. The file of each kind includes this.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/contract/blind_rotation.h"
#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/rotation/launch_rotation.cuh"
#include "backend/cuda/dispatch/rotation/rotation_fft_launch.h"
#include "backend/cuda/kernels/copy.cuh"
#include "backend/cuda/kernels/rotate_fft_linked.cuh"
#include "backend/cuda/tuning/unrolled_rotation.h"

namespace whorl::backend::cuda {

inline LinkedFftView linked_view_of(const FftKeyArrays& key, const double2* bundles,
                                    const BundleProgress& progress) {
  return {bundles,
          key.bundle_size,
          key.linked_tables.data(),
          key.ranges.data(),
          key.range_count,
          key.Q,
          key.group,
          key.form == BundleForm::all ? 0 : ~0u,
          key.large,
          progress};
}

template <class Shape, int K, int D, FftWords words>
bool linked_fits_in(const Stream& stream) {
  return (K == 1 || stream.gpu().has_clusters()) &&
         LinkedFftMemory<Shape, K, D, words>::bytes + linked_counter_bytes <=
             stream.gpu().shared_per_block;
}

/// 2·D workers a ciphertext, in K blocks.
template <class Shape, int K, int D, FftWords words, class Word>
void launch_linked(const Stream& stream, const LinkedFftView& view,
                   const RotationBatch<Word>& batch) {
  using Memory = LinkedFftMemory<Shape, K, D, words>;
  const auto kernel = rotate_fft_linked<Shape, K, D, words>;
  constexpr unsigned threads = Memory::workers * Shape::threads;
  allow_shared(stream, kernel, Memory::bytes);
  if (view.progress.made != nullptr) prefer_shared(kernel, BundleTuning::shared_percent);
  stream.launch("blind rotation by linked workers", kernel,
                {.grid = dim3(batch.count * K),
                 .block = dim3(threads),
                 .shared_bytes = Memory::bytes,
                 .cluster = K,
                 .overlaps = view.progress.made != nullptr},
                view, batch);
}

/// Rotates with as many blocks a ciphertext as still run all at once, or as `spread` says; one, or
/// else two, always serve where linked_fits says so.
template <class Shape, FftWords words, class Word>
void launch_any_linked(const Stream& stream, const LinkedFftView& view, unsigned most_digits,
                       BlindRotation spread, const RotationBatch<Word>& batch) {
  const auto takes = [&](unsigned blocks, unsigned most) {
    return spread == BlindRotation::automatic ? batch.count * blocks <= most
                                              : spread == BlindRotation::cluster;
  };
  if constexpr (words != FftWords::one_digit)
    if (most_digits > 1 && takes(4, LinkedTuning::most_of_four) &&
        linked_fits_in<Shape, 4, 2, words>(stream))
      return launch_linked<Shape, 4, 2, words>(stream, view, batch);
  const bool two = linked_fits_in<Shape, 2, 1, words>(stream);
  if (two && (takes(2, LinkedTuning::most_of_two) || !linked_fits_in<Shape, 1, 1, words>(stream)))
    return launch_linked<Shape, 2, 1, words>(stream, view, batch);
  launch_linked<Shape, 1, 1, words>(stream, view, batch);
}

/// `words`: narrow or wide.
template <FftWords words, class... Rest>
void make_fft_bundles_of(const Stream& stream, const FftKeyArrays& key, bool by_matrices,
                         const Rest&... rest) {
  switch (key.form) {
    case BundleForm::differences:
      return by_matrices
                 ? launch_make_matrix_bundles<BundleForm::differences, words>(stream, key, rest...)
                 : launch_make_fft_bundles<BundleForm::differences, words>(stream, key, rest...);
    case BundleForm::all:
      return by_matrices ? launch_make_matrix_bundles<BundleForm::all, words>(stream, key, rest...)
                         : launch_make_fft_bundles<BundleForm::all, words>(stream, key, rest...);
    case BundleForm::block:
      return launch_make_fft_bundles<BundleForm::block, words>(stream, key, rest...);
  }
}

template <FftWords words>
bool linked_fits(const Stream& stream, const FftKeyArrays& key) {
  bool fits = false;
  with_fft_shape(key.N, [&]<class KeyShape, class ClusterShape>() {
    using Shape = LinkedShape<KeyShape>;
    if constexpr (Shape::M <= 2048)
      fits =
          linked_fits_in<Shape, 1, 1, words>(stream) || linked_fits_in<Shape, 2, 1, words>(stream);
  });
  return fits;
}

/// Blocks that run at once where each ciphertext has one.
template <FftWords words>
std::uint32_t linked_at_once(const Stream& stream, const FftKeyArrays& key) {
  std::uint32_t wave = stream.gpu().multiprocessors;
  with_fft_shape(key.N, [&]<class KeyShape, class ClusterShape>() {
    using Shape = LinkedShape<KeyShape>;
    if constexpr (Shape::M <= 2048) {
      using Memory = LinkedFftMemory<Shape, 1, 1, words>;
      if (linked_fits_in<Shape, 1, 1, words>(stream))
        wave = wave_of(stream, rotate_fft_linked<Shape, 1, 1, words>,
                       Memory::workers * Shape::threads, Memory::bytes);
    }
  });
  return wave;
}

template <FftWords words, class Word>
void launch_rotate_fft_linked(const Stream& stream, const FftKeyArrays& key, BlindRotation spread,
                              const RotationBatch<Word>& all) {
  // A wave of blocks at once, and at most so many bytes of bundles; fewer where memory is short.
  constexpr std::size_t most_bytes = std::size_t{4} << 30;
  const std::uint32_t most = all.count <= stream.gpu().multiprocessors
                                 ? all.count
                                 : std::min(all.count, linked_at_once<words>(stream, key));
  auto at_once = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(most_bytes / (key.bundle_size * sizeof(double2)), 1, most));
  DeviceArray<double2> bundles;
  while (!bundles.data()) try {
      bundles = stream.allocate<double2>(at_once * key.bundle_size);
    } catch (const OutOfMemoryError&) {
      if (at_once == 1) throw;
      at_once /= 2;
    }
  const auto steps = static_cast<unsigned>(key.steps.size()),
             chunks = BundleProgress::chunks(steps);
  const auto made = stream.allocate<unsigned>(chunks);
  for (RotationBatch<Word> left = all; left.count > 0;) {
    RotationBatch<Word> batch = left;
    batch.count = std::min(at_once, left.count);
    left.skip(batch.count, key.N);
    // The loop begins with the first bundles where a multiprocessor has room for both kernels.
    const bool beside = stream.gpu().has_clusters() && batch.count <= stream.gpu().multiprocessors;
    const bool by_matrices = makes_matrix_bundles(stream, key, spread, batch.count);
    const BundleProgress progress{
        beside ? made.data() : nullptr, steps,
        by_matrices
            ? key.N / 2 / matrix_bundle_frequencies(key.group)
            : bundle_groups(batch.count, bundle_warps(batch.count)) * (key.N / 2 / bundle_nodes)};
    if (beside)
      launch_chained(stream, "clear progress", fill_words<unsigned>, {dim3(1), dim3(copy_threads)},
                     chunks, 0u, made.data());
    make_fft_bundles_of<fft_words<Word>>(stream, key, by_matrices, batch.lwe, batch.n, batch.count,
                                         bundles.data(), progress);
    const LinkedFftView view = linked_view_of(key, bundles.data(), progress);
    with_fft_shape(key.N, [&]<class KeyShape, class ClusterShape>() {
      using Shape = LinkedShape<KeyShape>;
      if constexpr (Shape::M <= 2048)
        launch_any_linked<Shape, words>(stream, view, key.most_digits, spread, batch);
    });
  }
}

}  // namespace whorl::backend::cuda
