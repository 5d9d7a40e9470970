#include "backend/cuda/dispatch/transforms.h"

#include <algorithm>
#include <bit>
#include <string>
#include <tuple>
#include <utility>

#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/ntt_rows.h"
#include "backend/cuda/dispatch/twiddles.h"
#include "backend/cuda/kernels/transforms.cuh"
#include "backend/cuda/runtime/error.h"
#include "backend/cuda/tuning/transforms.h"

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

constexpr int smallest_log_n = 8, largest_log_n = 17;

/// A kernel and how it is launched, for any arguments.
template <class Arguments>
struct Launch {
  void (*kernel)(Arguments) = nullptr;
  const char* name = "";
  unsigned units = 1, threads = 0, log_parts = 0, cluster = 1;
  std::size_t shared_bytes = 0;

  template <KernelShape shape, class T>
  static Launch of(void (*kernel)(Arguments), const char* name) {
    return {kernel,
            name,
            static_cast<unsigned>(shape.units),
            static_cast<unsigned>(shape.threads()),
            static_cast<unsigned>(shape.log_parts()),
            1u << shape.log_cluster,
            shape.shared_elements() * sizeof(T)};
  }

  void operator()(const Stream& stream, std::size_t batch, unsigned limbs,
                  const Arguments& arguments) const {
    const std::size_t all_units = batch << log_parts;
    const dim3 grid(static_cast<unsigned>((all_units + units - 1) / units), limbs), block(threads);
    launch_chained(stream, name, kernel, grid, block, shared_bytes, arguments, cluster);
  }
};

/// The launches of one direction of one size, in their order.
template <class Arguments>
struct Launches {
  int count = 0;
  Launch<Arguments> launch[2];
};

template <class Word, int headroom, class Tuning, bool forward>
Launches<NttArguments<Word>> ntt_launches() {
  using L = Launch<NttArguments<Word>>;
  constexpr TransformShape shape = Tuning::shape;
  Launches<NttArguments<Word>> out{shape.kernels, {}};
  [&]<int... i>(std::integer_sequence<int, i...>) {
    if constexpr (forward)
      ((out.launch[i] = L::template of<shape.kernel[i], Word>(
            ntt_kernel<Word, headroom, TunedKernel<Tuning, i>>, "ntt_kernel")),
       ...);
    else
      ((out.launch[shape.kernels - 1 - i] = L::template of<shape.kernel[i], Word>(
            intt_kernel<Word, headroom, TunedKernel<Tuning, i>>, "intt_kernel")),
       ...);
  }
  (std::make_integer_sequence<int, shape.kernels>());
  return out;
}
template <class Tuning, bool forward>
Launches<FftArguments> fft_launches() {
  using L = Launch<FftArguments>;
  constexpr TransformShape shape = Tuning::shape;
  Launches<FftArguments> out{shape.kernels, {}};
  [&]<int... i>(std::integer_sequence<int, i...>) {
    if constexpr (forward)
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

/// Calls f.template operator()<log_n>() for a size known at run time; plans allow no others.
template <int log_n = smallest_log_n, class F>
auto for_size(std::uint32_t N, const F& f) {
  if constexpr (log_n < largest_log_n)
    if (N != 1u << log_n) return for_size<log_n + 1>(N, f);
  return f.template operator()<log_n>();
}

bool has_clusters(const Stream& stream) { return stream.gpu().has_clusters(); }

template <class Word>
Split ntt_split(bool clusters, std::uint32_t N) {
  const int log_n = std::bit_width(N) - 1;
  return (clusters ? ntt_shape<sizeof(Word), true>(log_n) : ntt_shape<sizeof(Word), false>(log_n))
      .kernel[0]
      .split;
}

/// How many transforms are launched together, and whether by clusters of blocks.
struct Many {
  bool clusters, few;
  Many(const Stream& stream, std::size_t transforms)
      : clusters(has_clusters(stream)), few(transforms <= stream.gpu().multiprocessors) {}
};

template <class Word, int headroom>
Launches<NttArguments<Word>> choose_ntt(Many many, std::uint32_t N, bool forward) {
  return for_size(N, [&]<int log_n>() {
    if constexpr (few_ntt_cluster<sizeof(Word)>(log_n) > 0) {
      using Few = FewNttTuning<sizeof(Word), log_n>;
      if (many.clusters && many.few)
        return forward ? ntt_launches<Word, headroom, Few, true>()
                       : ntt_launches<Word, headroom, Few, false>();
    }
    using With = typename NttTuning<sizeof(Word), log_n, true>::Canonical;
    using Without = typename NttTuning<sizeof(Word), log_n, false>::Canonical;
    if (many.clusters)
      return forward ? ntt_launches<Word, headroom, With, true>()
                     : ntt_launches<Word, headroom, With, false>();
    return forward ? ntt_launches<Word, headroom, Without, true>()
                   : ntt_launches<Word, headroom, Without, false>();
  });
}

/// The kernels for the largest modulus: how often it fits a word.
template <class Word>
Launches<NttArguments<Word>> choose_ntt(Many many, std::uint32_t N, bool forward, Word q) {
  if constexpr (sizeof(Word) == 8) {
    return choose_ntt<Word, 8>(many, N, forward);
  } else {
    if (q < (1u << 28)) return choose_ntt<Word, 16>(many, N, forward);
    if (q < (1u << 30)) return choose_ntt<Word, 4>(many, N, forward);
    return choose_ntt<Word, 2>(many, N, forward);
  }
}

/// All launches for `grid_rows` rows as `arguments` places them: the first from `in` to `out`, a
/// second in place.
template <class Word>
void launch_all(const Stream& stream, const Launches<NttArguments<Word>>& launches,
                std::size_t batch, std::size_t grid_rows, NttArguments<Word>& arguments) {
  for (int i = 0; i < launches.count; ++i) {
    launches.launch[i](stream, batch, static_cast<unsigned>(grid_rows), arguments);
    arguments.in = arguments.out;
    arguments.places.in_first = arguments.places.out_first;
    arguments.places.in_stride = arguments.places.out_stride;
  }
}

template <class Word>
std::shared_ptr<void> ntt_table_of(const Stream& stream, const TransformTables& tables,
                                   const ring::NttPlan<Word>& plan, bool forward) {
  return tables.state().get(
      stream,
      {static_cast<int>(sizeof(Word)), plan.N(), plan.modulus().value(), plan.psi(), forward},
      [&] { return ntt_table(ntt_split<Word>(has_clusters(stream), plan.N()), plan, forward); });
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
    launch_all(stream, launches, batch, limbs, arguments);
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
  const auto limb_of = [&](std::size_t row) -> const NttLimb<Word>& {
    return (forward ? limbs.forward
                    : limbs.inverse)[row < selection.chain
                                         ? selection.first_limb + row
                                         : selection.special_limb + row - selection.chain];
  };
  Word largest = 0;
  for (std::size_t row = 0; row < selection.rows; ++row)
    largest = std::max(largest, limb_of(row).q);
  const auto launches = choose_ntt<Word>(Many(stream, selection.parts * selection.rows * batch),
                                         limbs.N, forward, largest);
  for (std::size_t first = 0; first < selection.rows; first += ntt_limbs_a_launch) {
    const std::size_t rows = std::min<std::size_t>(ntt_limbs_a_launch, selection.rows - first);
    NttArguments<Word> arguments = {};
    arguments.in = in.data;
    arguments.out = out.data;
    arguments.batch = static_cast<std::uint32_t>(batch);
    arguments.places = {static_cast<std::uint32_t>(rows),
                        static_cast<std::uint32_t>(in.first + first),
                        static_cast<std::uint32_t>(in.stride),
                        static_cast<std::uint32_t>(out.first + first),
                        static_cast<std::uint32_t>(out.stride),
                        selection.digit_limbs,
                        selection.chain,
                        static_cast<std::uint32_t>(first)};
    for (std::size_t row = 0; row < rows; ++row) arguments.limbs[row] = limb_of(first + row);
    launch_all(stream, launches, batch, selection.parts * rows, arguments);
  }
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

template <bool forward>
Launches<FftArguments> choose_fft(bool clusters, std::uint32_t N) {
  return for_size(N, [&]<int log_n>() {
    using With = typename FftTuning<log_n - 1, true>::Canonical;
    using Without = typename FftTuning<log_n - 1, false>::Canonical;
    return clusters ? fft_launches<With, forward>() : fft_launches<Without, forward>();
  });
}

const FftValue* fft_table(const Stream& stream, const TransformTables& tables,
                          const ring::FftPlan& plan) {
  const auto table = tables.state().get(stream, {0, plan.N(), 0, 0, true}, [&] {
    const int log_m = std::bit_width(plan.M()) - 1;
    const TransformShape shape =
        has_clusters(stream) ? fft_shape<true>(log_m) : fft_shape<false>(log_m);
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
  const auto launches = choose_fft<true>(has_clusters(stream), plan.N());
  for (int i = 0; i < launches.count; ++i) launches.launch[i](stream, batch, 1, arguments);
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
  const auto launches = choose_fft<false>(has_clusters(stream), plan.N());
  DeviceArray<FftValue> between;  // real and complex values lie differently: not in place
  if (launches.count > 1) between = stream.allocate<FftValue>(batch * plan.M());
  arguments.to = between.data();
  for (int i = 0; i < launches.count; ++i) {
    launches.launch[i](stream, batch, 1, arguments);
    arguments.from = between.data();
  }
}

}  // namespace whorl::backend::cuda
