// Launches for one kind of key and one of steps. The file of each pair includes this.
#pragma once

#include "backend/cuda/dispatch/rotation/launch_rotation.cuh"
#include "backend/cuda/dispatch/rotation/rotation_fft_walk_launch.h"
#include "backend/cuda/kernels/rotate_fft_walk.cuh"
#include "backend/cuda/tuning/walk_rotation.h"

namespace whorl::backend::cuda {

template <FftWords words, WalkSteps steps, class Word>
void launch_rotate_fft_walk(const Stream& stream, const FftKeyArrays& key, const WalkTables& tables,
                            const RotationBatch<Word>& batch) {
  with_fft_shape(key.N, [&]<class Shape, class ClusterShape>() {
    using Memory = FftWalkMemory<Shape, words, steps>;
    constexpr unsigned threads = 2 * Shape::threads;
    FftWalkKeyView<words> view{reinterpret_cast<const FftKeyValue<words>*>(key.values.data()),
                               key.inverse_scale.data(),
                               key.tables.data(),
                               key.ranges.data(),
                               key.slots,
                               key.Q,
                               key.large,
                               nullptr,
                               {}};
    const std::size_t slots = Memory::slot_bytes(key.slots),
                      others = Memory::other_bytes(key.slots);
    const auto launch = [&](std::uint32_t most_at_once, const auto& body) {
      for_walks(stream, tables, key.N, batch, most_at_once,
                [&](const Walks& walks, const RotationBatch<Word>& piece) {
                  view.walks = walks;
                  body(piece);
                });
    };
    if (slots + others <= stream.gpu().shared_per_block) {
      const auto kernel =
          rotate_fft_walk<Shape, words, steps, FftWalkTuning<Shape, words>::blocks, Slots::shared>;
      // AP's steps go through the coefficients in the same order. Ciphertexts that begin together
      // find each other's keys in the second-level cache; so a launch is one wave. (Other queues
      // have waves of their own.)
      const std::uint32_t at_once = steps == WalkSteps::automorphisms
                                        ? ~0u
                                        : wave_of(stream, kernel, threads, slots + others);
      return launch(at_once, [&](const RotationBatch<Word>& piece) {
        launch_rotation(stream, kernel, view, piece, 1, threads, slots + others);
      });
    }
    // As many at once as go through device memory at once: they keep their numbers.
    launch(spilling_at_once(stream), [&](const RotationBatch<Word>& piece) {
      launch_spilling_rotation(stream, rotate_fft_walk<Shape, words, steps, 1, Slots::device>, view,
                               piece, threads, others, slots, key.N);
    });
  });
}

}  // namespace whorl::backend::cuda
