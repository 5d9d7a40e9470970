// A table of NTT shapes, measured.
#pragma once

#include "backend/cuda/dispatch/transforms/twiddles.h"
#include "candidates.cuh"
#include "math/primes.h"

namespace whorl::tune {

using backend::cuda::one_kernel;
using backend::cuda::two_kernels;

/// Candidates work on data in place, with tables of their own: a batch for each modulus.
template <class Word, int headroom, class Tuning>
void measure_ntt(TransformTuner& tuner, const std::vector<ring::NttPlan<Word>>& plans) {
  using Arguments = backend::cuda::NttArguments<Word>;
  constexpr TransformShape shape = Tuning::shape;
  if (!tuner.can_run(shape, sizeof(Word))) return;
  const auto forward = launches<Tuning, Word, Arguments>(
      [](auto tuned) { return backend::cuda::ntt_kernel<Word, headroom, decltype(tuned)>; });
  const auto inverse = launches<Tuning, Word, Arguments>(
      [](auto tuned) { return backend::cuda::intt_kernel<Word, headroom, decltype(tuned)>; });
  Arguments both[2] = {};
  std::vector<backend::cuda::DeviceArray<backend::cuda::Twiddle<Word>>> tables;
  for (const bool is_forward : {true, false}) {
    Arguments& arguments = both[is_forward];
    arguments.out = static_cast<Word*>(tuner.output());
    arguments.in = arguments.out;
    arguments.batch =
        static_cast<std::uint32_t>(batch_bytes / sizeof(Word) / plans[0].N() / plans.size());
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const auto host = backend::cuda::ntt_table(shape.kernel[0].split, plans[i], is_forward);
      tables.push_back(tuner.stream().upload(host.data(), host.size()));
      arguments.limbs[i] = ntt_limb(plans[i], tables.back().data());
    }
  }
  const auto rows = static_cast<unsigned>(plans.size());
  const Run forward_run{prepare(forward),
                        [&] {
                          for (const auto& launch : forward)
                            launch(tuner.stream(), both[true], rows);
                        },
                        0};
  const Run inverse_run{prepare(inverse),
                        [&] {
                          for (auto launch = inverse.rbegin(); launch != inverse.rend(); ++launch)
                            (*launch)(tuner.stream(), both[false], rows);
                        },
                        0};
  tuner.measure(shape, forward_run, inverse_run);
}

/// `bits`: of the moduli, which fit a word `headroom` times. From 2^14 on there are as many as in
/// the launches of a scheme, so that tables come from the second-level cache.
template <class Word, int headroom, class Table>
void tune_ntt(Tuner& any, unsigned bits) {
  TransformTuner tuner(any);
  tuner.fill_integers();
  for_sizes<8, 17>([&]<int log_n>() {
    using With = typename backend::cuda::NttTuning<sizeof(Word), log_n,
                                                   backend::cuda::Clusters::present>::Canonical;
    using Without = typename backend::cuda::NttTuning<sizeof(Word), log_n,
                                                      backend::cuda::Clusters::none>::Canonical;
    const std::uint32_t N = 1u << log_n;
    std::vector<ring::NttPlan<Word>> plans;
    for (const std::uint64_t q : math::ntt_primes(bits, N, log_n < 14 ? 1 : 32))
      plans.emplace_back(N, static_cast<Word>(q));
    tuner.begin_size("ntt " + std::to_string(8 * sizeof(Word)), log_n,
                     {shape_line(With::shape), shape_line(Without::shape)});
    for_candidates<With, Without, Table>(
        [&]<class Tuning>() { measure_ntt<Word, headroom, Tuning>(tuner, plans); });
    tuner.end_size();
  });
}

}  // namespace whorl::tune
