// Candidates of the blind rotation with the NTT, for one word size; included by the file of each.
#pragma once

#include <cstdio>

#include "backend/cuda/dispatch/rotation/rotation_ntt.h"
#include "backend/cuda/dispatch/rotation/rotation_ntt_launch.cuh"
#include "rotation.cuh"

namespace whorl::tune {

/// Measures 1, 2 and 4 ciphertexts a block with `keys` keys; adds to those of `all`, by their
/// logarithm. A candidate that does not fit has no line afterwards: 1,024 threads leave 64
/// registers each, which several ciphertexts do not do with.
template <class Shape, int keys, class Word = typename Shape::Word>
void measure_ntt_rotations(Tuner& tuner, const backend::RotationShape& shape,
                           std::vector<Rotation>& all) {
  using Memory = backend::cuda::NttBlockMemory<Shape>;
  using Batch = backend::cuda::RotationBatch<Word>;
  RotationProblem<Word> problem(tuner, shape);
  const auto prepared = backend::cuda::prepare_ntt_key<Word>(
      tuner.stream(), shape, rotation_rows<Word>(shape), {backend::available_cores(), {}});
  const auto& key = static_cast<const backend::cuda::NttRotationKey<Word>&>(*prepared).arrays;
  backend::cuda::NttKeyView<Word> view = {};
  view.values = key.values.data();
  view.plan = {key.roots.data(), key.inverse_roots.data(), static_cast<Word>(shape.Q)};
  view.monomials = key.monomials.data();
  view.ranges = key.ranges.data();
  view.range_count = key.range_count;
  view.slots = key.slots;
  view.montgomery = key.montgomery;

  const auto measure = [&]<int C>(Rotation& result) {
    constexpr int threads = 2 * C * Shape::threads;
    const std::size_t bytes = Memory::slot_bytes(C, key.slots) + Memory::other_bytes(C);
    if constexpr (C == 1 || threads <= 512) {
      if (bytes <= tuner.gpu().shared_per_block) {
        const auto kernel =
            backend::cuda::rotate_ntt<Shape, keys, C, 1, backend::cuda::Slots::shared>;
        const auto launch = [&](const Batch& batch) {
          backend::cuda::launch_rotation(tuner.stream(), kernel, view, batch, C, threads, bytes);
        };
        const KernelFacts facts = prepare_kernel(kernel, threads, bytes);
        result.ciphertexts = C;
        result.line = "shared = " + std::to_string(C) + ";";
        result.used = C == backend::cuda::NttRotationTuning<Shape>::shared;
        result.right = problem.right(launch, true) && result.right;
        const float ms = problem.ms(launch, problem.count());
        result.ms += ms;
        char text[128];
        std::snprintf(text, sizeof(text), "%s %7.1f ns a step  %-15s  ", ms_text(ms).c_str(),
                      problem.step_ns(ms), facts_text({facts}).c_str());
        result.text += text;
      }
    }
  };
  measure.template operator()<1>(all[0]);
  measure.template operator()<2>(all[1]);
  measure.template operator()<4>(all[2]);
}

/// `log_base`: of the two digits of a modulus of so many bits.
template <class Word>
void tune_rotation_ntt(Tuner& tuner, unsigned bits, unsigned log_base) {
  for (std::uint32_t N = 512; N <= 8192; N *= 2)
    backend::cuda::with_ntt_shape<Word>(N, [&]<class Shape, class ClusterShape>() {
      if constexpr (Shape::N >= 512) {
        std::vector<Rotation> all(3);
        measure_ntt_rotations<Shape, 1>(tuner, rotation_shape(N, bits, 1, log_base, 2), all);
        measure_ntt_rotations<Shape, 2>(tuner, rotation_shape(N, bits, 2, log_base, 2), all);
        const auto left_out = std::erase_if(all, [](const auto& one) { return one.line.empty(); });
        const std::string title =
            "N = " + std::to_string(N) + ", NTT of " + std::to_string(8 * sizeof(Word)) + " bits";
        tuner.rank(title +
                       ": a batch with binary keys and one with ternary ones, each: time, "
                       "registers/warps",
                   all, static_cast<int>(left_out));
        if (all.empty() || !all.front().right) return;
        float used_ms = 0;
        for (const Rotation& one : all)
          if (one.used) used_ms = one.ms;
        tuner.add_winner("rotation.h",
                         "// " + title + "; in use: " + slower_text(used_ms, all.front().ms) +
                             "\ntemplate <>\nstruct NttRotationTuning<GroupNtt<std::uint" +
                             std::to_string(8 * sizeof(Word)) + "_t, " +
                             std::to_string(Shape::log_n) + ", " + std::to_string(Shape::log_e) +
                             ">> {\n  static constexpr int shared = " +
                             std::to_string(all.front().ciphertexts) + ";\n};\n");
      }
    });
}

}  // namespace whorl::tune
