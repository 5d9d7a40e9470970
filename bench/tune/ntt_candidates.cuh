// A table of NTT shapes, measured.
#pragma once

#include "backend/cuda/dispatch/twiddles.h"
#include "candidates.cuh"
#include "math/primes.h"

namespace whorl::tune {

using backend::cuda::one_kernel;
using backend::cuda::two_kernels;

/// Candidates work on data in place, with a table of their own.
template <class Word, int headroom, class Tuning>
void measure_ntt(TransformTuner& tuner, const ring::NttPlan<Word>& plan) {
  using Arguments = backend::cuda::NttArguments<Word>;
  constexpr TransformShape shape = Tuning::shape;
  if (!tuner.can_run(shape, sizeof(Word))) return;
  const auto forward = launches<Tuning, Word, Arguments>(
      [](auto tuned) { return backend::cuda::ntt_kernel<Word, headroom, decltype(tuned)>; });
  const auto inverse = launches<Tuning, Word, Arguments>(
      [](auto tuned) { return backend::cuda::intt_kernel<Word, headroom, decltype(tuned)>; });
  const auto table_of = [&](bool is_forward) {
    const auto host = backend::cuda::ntt_table(shape.kernel[0].split, plan, is_forward);
    return tuner.stream().upload(host.data(), host.size());
  };
  const auto forward_table = table_of(true), inverse_table = table_of(false);

  Arguments arguments = {};
  arguments.out = static_cast<Word*>(tuner.output());
  arguments.in = arguments.out;
  arguments.batch = static_cast<std::uint32_t>(batch_bytes / sizeof(Word) / plan.N());
  const Run forward_run{prepare(forward),
                        [&, arguments]() mutable {
                          arguments.limbs[0] = ntt_limb(plan, forward_table.data());
                          for (const auto& launch : forward) launch(tuner.stream(), arguments);
                        },
                        0};
  const Run inverse_run{prepare(inverse),
                        [&, arguments]() mutable {
                          arguments.limbs[0] = ntt_limb(plan, inverse_table.data());
                          for (auto launch = inverse.rbegin(); launch != inverse.rend(); ++launch)
                            (*launch)(tuner.stream(), arguments);
                        },
                        0};
  tuner.measure(shape, forward_run, inverse_run);
}

/// `bits`: of the modulus, which fits a word `headroom` times.
template <class Word, int headroom, class Table>
void tune_ntt(Tuner& any, unsigned bits) {
  TransformTuner tuner(any);
  tuner.fill_integers();
  for_sizes<8, 17>([&]<int log_n>() {
    using With = typename backend::cuda::NttTuning<sizeof(Word), log_n, true>::Canonical;
    using Without = typename backend::cuda::NttTuning<sizeof(Word), log_n, false>::Canonical;
    const std::uint32_t N = 1u << log_n;
    const ring::NttPlan<Word> plan(N, static_cast<Word>(math::ntt_primes(bits, N, 1)[0]));
    tuner.begin_size("ntt " + std::to_string(8 * sizeof(Word)), log_n,
                     {shape_line(With::shape), shape_line(Without::shape)});
    for_candidates<With, Without, Table>(
        [&]<class Tuning>() { measure_ntt<Word, headroom, Tuning>(tuner, plan); });
    tuner.end_size();
  });
}

}  // namespace whorl::tune
