// Launches for one word and one kind of steps. The file of each pair includes this.
#pragma once

#include "backend/cuda/dispatch/rotation/launch_rotation.cuh"
#include "backend/cuda/dispatch/rotation/rotation_ntt_walk_launch.h"
#include "backend/cuda/kernels/rotate_ntt_walk.cuh"
#include "backend/cuda/tuning/walk_rotation.h"

namespace whorl::backend::cuda {

template <int limbs, class Word>
NttWalkKeyView<Word, limbs> walk_view_of(const NttWalkArrays<Word>& key) {
  NttWalkKeyView<Word, limbs> view{};
  view.values = key.values.data();
  for (int l = 0; l < limbs; ++l) {
    const NttLimbArrays<Word>& limb = key.limbs[l];
    view.plan[l] = {limb.roots.data(), limb.inverse_roots.data(), limb.q};
    view.montgomery[l] = limb.montgomery;
    view.one_shoup[l] = limb.one_shoup;
    view.monomials[l] = limb.monomials.data();
  }
  view.ranges = key.ranges.data();
  view.slots = key.slots;
  view.division = {key.covered, key.inverse_P, key.inverse_P_shoup};
  return view;
}

template <class Shape, int limbs, NttSteps steps, Reduction reduction, class Word>
void launch_ntt_steps_by(const Stream& stream, const NttWalkArrays<Word>& key,
                         const RotationBatch<Word>& batch) {
  using Memory = NttWalkMemory<Shape, limbs, steps>;
  constexpr unsigned threads = 2 * Shape::threads;
  constexpr int blocks = NttWalkTuning<Shape, limbs>::blocks;
  NttWalkKeyView<Word, limbs> view = walk_view_of<limbs>(key);
  const std::size_t slots = Memory::slot_bytes(key.slots), others = Memory::other_bytes;
  const bool fits = slots + others <= stream.gpu().shared_per_block;
  const auto launch = [&](const RotationBatch<Word>& piece) {
    if (fits)
      return launch_rotation(stream,
                             rotate_ntt_walk<Shape, limbs, steps, reduction, blocks, Slots::shared>,
                             view, piece, 1, threads, slots + others);
    launch_spilling_rotation(stream,
                             rotate_ntt_walk<Shape, limbs, steps, reduction, 1, Slots::device>,
                             view, piece, threads, others, slots, Shape::N);
  };
  if constexpr (Memory::ginx) {
    launch(batch);
  } else {
    // As many at once as go through device memory at once: they keep their numbers.
    for_walks(stream, key.walks, key.N, batch, fits ? ~0u : spilling_at_once(stream),
              [&](const Walks& walks, const RotationBatch<Word>& piece) {
                view.walks = walks;
                launch(piece);
              });
  }
}

template <class Shape, int limbs, NttSteps steps, class Word>
void launch_ntt_steps(const Stream& stream, const NttWalkArrays<Word>& key,
                      const RotationBatch<Word>& batch) {
  if constexpr (sizeof(Word) == 4) {
    bool roomy = 2 * key.slots <= roomy_ntt::most_rows;
    for (int l = 0; l < limbs; ++l) roomy = roomy && key.limbs[l].q <= ~Word{0} / roomy_ntt::most;
    if (roomy) return launch_ntt_steps_by<Shape, limbs, steps, Reduction::late>(stream, key, batch);
  }
  launch_ntt_steps_by<Shape, limbs, steps, Reduction::each_level>(stream, key, batch);
}

template <int limbs, WalkSteps walk, class Word>
void launch_rotate_ntt_walk(const Stream& stream, const NttWalkArrays<Word>& key,
                            const RotationBatch<Word>& batch) {
  constexpr NttSteps steps =
      walk == WalkSteps::automorphisms ? NttSteps::automorphisms : NttSteps::digits;
  with_ntt_shape<Word>(key.N, [&]<class Shape, class ClusterShape>() {
    launch_ntt_steps<Shape, limbs, steps>(stream, key, batch);
  });
}

template <class Word>
void launch_rotate_ntt_raised(const Stream& stream, const NttWalkArrays<Word>& key,
                              const RotationBatch<Word>& batch) {
  with_ntt_shape<Word>(key.N, [&]<class Shape, class ClusterShape>() {
    key.keys == 1 ? launch_ntt_steps<Shape, 2, NttSteps::ginx_1>(stream, key, batch)
                  : launch_ntt_steps<Shape, 2, NttSteps::ginx_2>(stream, key, batch);
  });
}

}  // namespace whorl::backend::cuda
