#include "backend/cuda/dispatch/transforms/transforms.h"

#include <algorithm>
#include <bit>
#include <string>
#include <tuple>
#include <utility>

#include "backend/cuda/dispatch/transforms/ntt_launches.cuh"
#include "backend/cuda/dispatch/transforms/ntt_rows.h"
#include "backend/cuda/dispatch/transforms/twiddles.h"
#include "backend/cuda/runtime/error.h"

namespace whorl::backend::cuda {

struct TransformTables::State {
  std::mutex mutex;
  // Word bytes (0: FFT), N, q, psi, forward.
  std::map<std::tuple<int, std::uint32_t, std::uint64_t, std::uint64_t, bool>,
           std::shared_ptr<void>>
      tables;

  /// The table under `key`, made by `make` where there is none. A new one is waited for, so that
  /// other streams may use it: the first transform of a plan synchronises, no other does.
  template <class Make>
  std::shared_ptr<void> get(const Stream& stream, const decltype(tables)::key_type& key,
                            const Make& make) {
    using Entry = typename decltype(make())::value_type;
    const std::lock_guard lock(mutex);
    std::shared_ptr<void>& table = tables[key];
    if (!table) {
      const auto host = make();
      std::shared_ptr<void> made = stream.allocate_bytes(host.size() * sizeof(Entry));
      stream.copy_in(host.data(), made.get(), host.size() * sizeof(Entry));
      stream.wait();
      table = std::move(made);
    }
    return table;
  }
};

TransformTables::TransformTables() : state_(std::make_unique<State>()) {}
TransformTables::~TransformTables() = default;

namespace {

template <class Tuning, Direction direction>
Launches<FftArguments> fft_launches() {
  using L = Launch<FftArguments>;
  constexpr TransformShape shape = Tuning::shape;
  Launches<FftArguments> out{shape.kernels, {}};
  [&]<int... i>(std::integer_sequence<int, i...>) {
    if constexpr (direction == Direction::forward)
      ((out.launch[i] =
            L::of<shape.kernel[i], FftValue>(fft_kernel<TunedKernel<Tuning, i>>, "fft_kernel")),
       ...);
    else
      ((out.launch[shape.kernels - 1 - i] =
            L::of<shape.kernel[i], FftValue>(ifft_kernel<TunedKernel<Tuning, i>>, "ifft_kernel")),
       ...);
  }
  (std::make_integer_sequence<int, shape.kernels>());
  return out;
}

template <class Word>
Split ntt_split(bool clusters, std::uint32_t N) {
  const int log_n = std::bit_width(N) - 1;
  return (clusters ? ntt_shape<sizeof(Word), Clusters::present>(log_n)
                   : ntt_shape<sizeof(Word), Clusters::none>(log_n))
      .kernel[0]
      .split;
}

template <class Word>
std::shared_ptr<void> ntt_table_of(const Stream& stream, const TransformTables& tables,
                                   const ring::NttPlan<Word>& plan, bool forward) {
  return tables.state().get(
      stream,
      {static_cast<int>(sizeof(Word)), plan.N(), plan.modulus().value(), plan.psi(), forward}, [&] {
        return ntt_table(ntt_split<Word>(stream.gpu().has_clusters(), plan.N()), plan, forward);
      });
}
template <class Word>
NttLimb<Word> limb_with(const ring::NttPlan<Word>& plan, const std::shared_ptr<void>& table) {
  return ntt_limb(plan, static_cast<const Twiddle<Word>*>(table.get()));
}

}  // namespace

template <class Word>
void ntt(const Stream& stream, const TransformTables& tables, NttPlans<Word> plans,
         std::size_t batch, Word* data, bool forward) {
  if (plans.empty() || batch == 0) return;
  const CurrentGpu current(stream.gpu().ordinal);
  const std::uint32_t N = plans[0]->N();
  Word largest = 0;
  for (const auto* plan : plans) largest = std::max(largest, plan->modulus().value());
  const auto launches = choose_ntt<Word>(Many(stream, plans.size() * batch), N, forward, largest);
  for (std::size_t first = 0; first < plans.size(); first += ntt_limbs_a_launch) {
    const std::size_t limbs = std::min<std::size_t>(ntt_limbs_a_launch, plans.size() - first);
    NttArguments<Word> arguments = {};
    arguments.in = arguments.out = data + first * batch * N;
    arguments.batch = static_cast<std::uint32_t>(batch);
    for (std::size_t l = 0; l < limbs; ++l) {
      const ring::NttPlan<Word>& plan = *plans[first + l];
      arguments.limbs[l] = limb_with(plan, ntt_table_of(stream, tables, plan, forward));
    }
    launch_all(stream, launches, batch, limbs, 1, arguments);
  }
}

template <class Word>
NttLimbs<Word> ntt_limbs(const Stream& stream, const TransformTables& tables,
                         NttPlans<Word> plans) {
  const CurrentGpu current(stream.gpu().ordinal);
  NttLimbs<Word> out;
  for (const auto* plan : plans) {
    out.N = plan->N();
    for (const bool forward : {true, false}) {
      out.memory.push_back(ntt_table_of(stream, tables, *plan, forward));
      (forward ? out.forward : out.inverse).push_back(limb_with(*plan, out.memory.back()));
    }
  }
  return out;
}

template <class Word>
void ntt_rows(const Stream& stream, const NttLimbs<Word>& limbs, bool forward,
              const NttSelection& selection, std::size_t batch, RowsOf<const Word> in,
              RowsOf<Word> out) {
  if (batch == 0) return;
  const CurrentGpu current(stream.gpu().ordinal);
  const std::vector<NttLimb<Word>>& of = forward ? limbs.forward : limbs.inverse;
  const auto launches = choose_ntt<Word>(Many(stream, selection.parts * selection.rows * batch),
                                         limbs.N, forward, largest_modulus(of, selection));
  for_row_launches(of, selection, batch, in, out,
                   [&](NttArguments<Word>& arguments, std::size_t rows) {
                     launch_all(stream, launches, batch, rows, selection.parts, arguments);
                   });
}

#define WHORL_INSTANTIATE(Word)                                                                \
  template void ntt(const Stream&, const TransformTables&, NttPlans<Word>, std::size_t, Word*, \
                    bool);                                                                     \
  template NttLimbs<Word> ntt_limbs(const Stream&, const TransformTables&, NttPlans<Word>);    \
  template void ntt_rows(const Stream&, const NttLimbs<Word>&, bool, const NttSelection&,      \
                         std::size_t, RowsOf<const Word>, RowsOf<Word>);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)
#undef WHORL_INSTANTIATE

namespace {

template <Direction direction>
Launches<FftArguments> choose_fft(bool clusters, std::uint32_t N) {
  return for_size(N, [&]<int log_n>() {
    using With = typename FftTuning<log_n - 1, Clusters::present>::Canonical;
    using Without = typename FftTuning<log_n - 1, Clusters::none>::Canonical;
    return clusters ? fft_launches<With, direction>() : fft_launches<Without, direction>();
  });
}

const FftValue* fft_table(const Stream& stream, const TransformTables& tables,
                          const ring::FftPlan& plan) {
  const auto table = tables.state().get(stream, {0, plan.N(), 0, 0, true}, [&] {
    const int log_m = std::bit_width(plan.M()) - 1;
    const TransformShape shape = stream.gpu().has_clusters() ? fft_shape<Clusters::present>(log_m)
                                                             : fft_shape<Clusters::none>(log_m);
    return fft_table(shape.kernel[0].split, plan);
  });
  return static_cast<const FftValue*>(table.get());
}

}  // namespace

void fft(const Stream& stream, const TransformTables& tables, const ring::FftPlan& plan,
         std::size_t batch, const double* in, std::complex<double>* out) {
  if (batch == 0) return;
  const CurrentGpu current(stream.gpu().ordinal);
  FftArguments arguments = {};
  arguments.reals_in = in;
  arguments.to = reinterpret_cast<FftValue*>(out);
  arguments.from = arguments.to;
  arguments.table = fft_table(stream, tables, plan);
  arguments.batch = static_cast<std::uint32_t>(batch);
  const auto launches = choose_fft<Direction::forward>(stream.gpu().has_clusters(), plan.N());
  for (int i = 0; i < launches.count; ++i) launches.launch[i](stream, batch, arguments);
}

void ifft(const Stream& stream, const TransformTables& tables, const ring::FftPlan& plan,
          std::size_t batch, const std::complex<double>* in, double* out) {
  if (batch == 0) return;
  const CurrentGpu current(stream.gpu().ordinal);
  FftArguments arguments = {};
  arguments.reals_out = out;
  arguments.from = reinterpret_cast<const FftValue*>(in);
  arguments.table = fft_table(stream, tables, plan);
  arguments.batch = static_cast<std::uint32_t>(batch);
  const auto launches = choose_fft<Direction::inverse>(stream.gpu().has_clusters(), plan.N());
  DeviceArray<FftValue> between;  // real and complex values lie differently: not in place
  if (launches.count > 1) between = stream.allocate<FftValue>(batch * plan.M());
  arguments.to = between.data();
  for (int i = 0; i < launches.count; ++i) {
    launches.launch[i](stream, batch, arguments);
    arguments.from = between.data();
  }
}

}  // namespace whorl::backend::cuda
