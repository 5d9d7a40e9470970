// Candidates of the blind rotation with the FFT, for one kind of key; included by the file of each.
#pragma once

#include <algorithm>
#include <cstdio>

#include "backend/cuda/dispatch/rotation/rotation_fft.h"
#include "backend/cuda/dispatch/rotation/rotation_fft_launch.cuh"
#include "rotation.cuh"

namespace whorl::tune {

using backend::cuda::FftWords;

/// What the compiler may give a thread: of 65,536 registers a multiprocessor, in eights, at most
/// 255 (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
constexpr int register_limit(int threads, int blocks) {
  return std::min(255, 65536 / (threads * blocks) / 8 * 8);
}

/// Whether C ciphertexts a block, registers for `blocks`, are worth a kernel. Numbers of blocks
/// that leave the same registers are the same kernel: the first of those that leave 255, and
/// resident threads in steps of 128 beyond. The sums of the products of a node come on top of some
/// 64 registers, 32 where all is one digit; with less, kernels spill.
template <class Shape, int keys, FftWords words>
constexpr bool fft_candidate(int C, int blocks) {
  const int threads = 2 * C * Shape::threads, resident = threads * blocks;
  const int limit = resident <= 65536 ? register_limit(threads, blocks) : 0;
  const int sums = 4 * C * 2 * keys * Shape::F;
  return threads <= 1024 && blocks <= 32 && (limit == 255 ? blocks == 1 : resident % 128 == 0) &&
         limit >= sums + (words == FftWords::one_digit ? 32 : 64) && limit >= 96;
}

/// Calls f<C, blocks>() for the candidates.
template <class Shape, int keys, FftWords words, class F>
void for_fft_candidates(const F& f) {
  const auto with = [&]<int C, int... i>(std::integer_sequence<int, i...>) {
    (
        [&] {
          if constexpr (fft_candidate<Shape, keys, words>(C, i + 1))
            f.template operator()<C, i + 1>();
        }(),
        ...);
  };
  constexpr std::make_integer_sequence<int, 32> blocks;
  with.template operator()<1>(blocks);
  with.template operator()<2>(blocks);
  with.template operator()<4>(blocks);
}

template <class Shape, int keys, FftWords words>
void tune_fft_shape(Tuner& tuner, const std::string& kind, const backend::RotationShape& shape) {
  using Word = backend::cuda::FftWord<words>;
  using Tuning = backend::cuda::FftRotationTuning<Shape, keys, words>;
  using Loop = backend::cuda::GinxShape<Shape>;
  using Memory = backend::cuda::FftPolynomialMemory<Loop, words>;
  using Batch = backend::cuda::RotationBatch<Word>;
  RotationProblem<Word> problem(tuner, shape);
  const auto prepared = backend::cuda::prepare_fft_key<Word>(
      tuner.stream(), shape, rotation_rows<Word>(shape), {backend::available_cores(), {}});
  const auto& key = static_cast<const backend::cuda::FftRotationKey&>(*prepared).arrays;

  std::vector<Rotation> all;
  int left_out = 0;
  for_fft_candidates<Shape, keys, words>([&]<int C, int blocks>() {
    constexpr int threads = 2 * C * Shape::threads;
    const std::size_t bytes =
        2 * C * (Memory::slot_bytes(key.slots) + Memory::other_bytes(key.slots));
    if (bytes > tuner.gpu().shared_per_block) {
      ++left_out;
      return;
    }
    const auto kernel =
        backend::cuda::rotate_fft<Loop, keys, C, words, blocks, backend::cuda::Slots::shared>;
    const auto launch = [&](const Batch& batch) {
      auto view = backend::cuda::view_of<words>(key);
      view.fetches = batch.count < tuner.gpu().multiprocessors;
      backend::cuda::launch_rotation(tuner.stream(), kernel, view, batch, C, threads, bytes);
    };
    const KernelFacts facts = prepare_kernel(kernel, threads, bytes);
    Rotation result;
    result.ciphertexts = C;
    result.blocks = blocks;
    result.line =
        "shared = " + std::to_string(C) + ", shared_blocks = " + std::to_string(blocks) + ";";
    const auto is = [&](int ciphertexts, int limited) {
      return C == ciphertexts &&
             register_limit(threads, blocks) == register_limit(threads, limited);
    };
    result.used = is(Tuning::shared, Tuning::shared_blocks);
    result.used_single = is(1, Tuning::single_blocks);
    result.right = problem.right(launch, false);
    result.ms = problem.ms(launch, problem.count());
    char text[128];
    std::snprintf(text, sizeof(text), "%s %7.1f ns a step  %-15s", ms_text(result.ms).c_str(),
                  problem.step_ns(result.ms), facts_text({facts}).c_str());
    result.text = text;
    if (C == 1) {
      result.few_ms = problem.ms(launch, problem.few());
      result.text += "  few: " + ms_text(result.few_ms) + (result.used_single ? " *" : "");
    }
    all.push_back(std::move(result));
  });
  const std::string title =
      "N = " + std::to_string(shape.N) + ", " + (keys == 1 ? "binary" : "ternary") + ", " + kind;
  tuner.rank(title + ": batch of " + std::to_string(problem.count()) +
                 ", registers/warps; `few`: one block of one ciphertext on each of " +
                 std::to_string(problem.few()) + " multiprocessors",
             all, left_out);

  const Rotation *single = nullptr, *used = nullptr, *used_single = nullptr;
  for (const Rotation& one : all) {
    if (one.used) used = &one;
    if (one.used_single) used_single = &one;
    if (one.right && one.ciphertexts == 1 && (single == nullptr || one.few_ms < single->few_ms))
      single = &one;
  }
  if (single == nullptr) return;
  // Sorted: the first is the fastest, and right.
  const Rotation& best = all.front();
  std::string lines = "// " + title + "; in use: batch " +
                      slower_text(used ? used->ms : 0, best.ms) + ", few " +
                      slower_text(used_single ? used_single->few_ms : 0, single->few_ms) + "\n";
  lines += "template <>\nstruct FftRotationTuning<GroupFft<" + std::to_string(Shape::log_m) + ", " +
           std::to_string(Shape::log_e) + ">, " + std::to_string(keys) + ", FftWords::" +
           (words == FftWords::narrow ? "narrow"
            : words == FftWords::wide ? "wide"
                                      : "one_digit") +
           "> {\n";
  lines += "  static constexpr int shared = " + std::to_string(best.ciphertexts) +
           ", shared_blocks = " + std::to_string(best.blocks) +
           ", single_blocks = " + std::to_string(single->blocks) + ";\n};\n";
  tuner.add_winner("rotation.h", lines);
}

/// `digits` of `log_base` bits, with one key and with two, below moduli of so many bits.
template <FftWords words>
void tune_rotation_fft(Tuner& tuner, const std::string& kind, unsigned bits,
                       const unsigned (&log_base)[2], const unsigned (&digits)[2]) {
  for (std::uint32_t N = 512; N <= 8192; N *= 2)
    backend::cuda::with_fft_shape(N, [&]<class Shape, class ClusterShape>() {
      if constexpr (Shape::M >= 256) {
        tune_fft_shape<Shape, 1, words>(tuner, kind,
                                        rotation_shape(N, bits, 1, log_base[0], digits[0]));
        tune_fft_shape<Shape, 2, words>(tuner, kind,
                                        rotation_shape(N, bits, 2, log_base[1], digits[1]));
      }
    });
}

}  // namespace whorl::tune
