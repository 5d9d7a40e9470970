// Candidates of the folded FFT.
#include <cmath>

#include "backend/cuda/dispatch/transforms/twiddles.h"
#include "candidates.cuh"

namespace whorl::tune {
namespace {

using backend::cuda::FftArguments;
using backend::cuda::FftValue;
using backend::cuda::one_kernel;
using backend::cuda::two_kernels;

constexpr Padding octets{3, 1, 31, 0}, sixteens{4, 1, 31, 0};

// clang-format off: a line a candidate, written as in tuning/transforms.h; log N is log M here.
struct Table {
  static constexpr TransformShape shapes[] = {
      one_kernel({7, 4, 2, {3, 4}}, 8, 0, 6, sixteens),
      one_kernel({8, 4, 2, {4, 4}}, 8, 0, 3, sixteens),
      one_kernel({9, 3, 3, {3, 3, 3}}, 1, 0, 8, octets),
      one_kernel({9, 3, 3, {3, 3, 3}}, 1, 0, 12, octets),
      one_kernel({9, 4, 3, {2, 3, 4}}, 4, 0, 4, sixteens),
      one_kernel({10, 4, 3, {3, 3, 4}}, 1, 0, 6, sixteens),
      one_kernel({11, 4, 3, {4, 3, 4}}, 1, 0, 3, sixteens),
      one_kernel({11, 3, 4, {3, 3, 3, 2}}, 1, 0, 3, octets),
      one_kernel({12, 4, 3, {4, 4, 4}}, 1, 0, 1, sixteens),
      one_kernel({13, 4, 4, {4, 3, 3, 3}}, 1, 1, 2, octets),
      two_kernels({13, 4, 4, {4, 3, 3, 3}}, 7, 6, 12, octets),
      one_kernel({14, 4, 4, {4, 4, 3, 3}}, 1, 2, 2, octets),
      two_kernels({14, 4, 4, {4, 3, 3, 4}}, 7, 6, 6, sixteens),
      one_kernel({15, 4, 4, {4, 4, 4, 3}}, 1, 3, 2, octets),
      two_kernels({15, 4, 4, {4, 4, 3, 4}}, 7, 6, 3, sixteens),
      two_kernels({16, 4, 4, {4, 4, 4, 4}}, 7, 6, 2, sixteens),
  };
};
// clang-format on

template <class Tuning>
void measure_fft(TransformTuner& tuner, const ring::FftPlan& plan) {
  constexpr TransformShape shape = Tuning::shape;
  if (!tuner.can_run(shape, sizeof(FftValue))) return;
  const auto forward = launches<Tuning, FftValue, FftArguments>(
      [](auto tuned) { return backend::cuda::fft_kernel<decltype(tuned)>; });
  const auto inverse = launches<Tuning, FftValue, FftArguments>(
      [](auto tuned) { return backend::cuda::ifft_kernel<decltype(tuned)>; });
  const auto host = backend::cuda::fft_table(shape.kernel[0].split, plan);
  const auto table = tuner.stream().upload(host.data(), host.size());

  // Of inputs below 1 a result is sqrt(N) large or so, and off by some 2^-53 log2(N) of that. The
  // inverse's is divided by M.
  const double tolerance = std::ldexp(std::sqrt(static_cast<double>(plan.N())), -44);
  FftArguments arguments = {};
  arguments.table = table.data();
  arguments.batch = static_cast<std::uint32_t>(batch_bytes / sizeof(FftValue) / plan.M());
  FftArguments forward_arguments = arguments;
  forward_arguments.reals_in = static_cast<const double*>(tuner.input());
  forward_arguments.to = static_cast<FftValue*>(tuner.output());
  forward_arguments.from = forward_arguments.to;
  const Run forward_run{prepare(forward),
                        [&, forward_arguments] {
                          for (const auto& launch : forward)
                            launch(tuner.stream(), forward_arguments);
                        },
                        tolerance};
  arguments.to = static_cast<FftValue*>(tuner.between());
  arguments.reals_out = static_cast<double*>(tuner.output());
  const Run inverse_run{prepare(inverse),
                        [&, arguments]() mutable {
                          arguments.from = static_cast<const FftValue*>(tuner.input());
                          for (auto launch = inverse.rbegin(); launch != inverse.rend(); ++launch) {
                            (*launch)(tuner.stream(), arguments);
                            arguments.from = arguments.to;
                          }
                        },
                        tolerance / plan.M()};
  tuner.measure(shape, forward_run, inverse_run);
}

}  // namespace

void tune_fft(Tuner& any) {
  TransformTuner tuner(any);
  tuner.fill_reals();
  for_sizes<7, 16>([&]<int log_m>() {
    using With =
        typename backend::cuda::FftTuning<log_m, backend::cuda::Clusters::present>::Canonical;
    using Without =
        typename backend::cuda::FftTuning<log_m, backend::cuda::Clusters::none>::Canonical;
    const ring::FftPlan plan(2u << log_m);
    tuner.begin_size("fft", log_m, {shape_line(With::shape), shape_line(Without::shape)});
    for_candidates<With, Without, Table>([&]<class Tuning>() { measure_fft<Tuning>(tuner, plan); });
    tuner.end_size();
  });
}

}  // namespace whorl::tune
