#include "backend/cuda/dispatch/transforms.h"

#include <algorithm>
#include <bit>
#include <string>
#include <tuple>
#include <utility>

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
  const auto* get(const Stream& stream, const decltype(tables)::key_type& key, const Make& make) {
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
    return static_cast<const Entry*>(table.get());
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
    if (shared_bytes > (48u << 10))
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(shared_bytes)),
            std::string("cudaFuncSetAttribute of ") + name + ": " + std::to_string(shared_bytes) +
                " bytes of shared memory");
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream.handle();
    cudaLaunchAttribute attribute = {};
    if (cluster > 1) {
      attribute.id = cudaLaunchAttributeClusterDimension;
      attribute.val.clusterDim = {cluster, 1, 1};
      config.attrs = &attribute;
      config.numAttrs = 1;
    }
    // The error, if any, is reported by check_launch, which names the sizes.
    (void)cudaLaunchKernelEx(&config, kernel, arguments);
    check_launch(name, grid, block, shared_bytes);
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

bool has_clusters(const Stream& stream) { return stream.gpu().major >= 9; }

template <class Word>
Split ntt_split(bool clusters, std::uint32_t N) {
  const int log_n = std::bit_width(N) - 1;
  return (clusters ? ntt_shape<sizeof(Word), true>(log_n) : ntt_shape<sizeof(Word), false>(log_n))
      .kernel[0]
      .split;
}

template <class Word, int headroom>
Launches<NttArguments<Word>> choose_ntt(bool clusters, std::uint32_t N, bool forward) {
  return for_size(N, [&]<int log_n>() {
    using With = typename NttTuning<sizeof(Word), log_n, true>::Canonical;
    using Without = typename NttTuning<sizeof(Word), log_n, false>::Canonical;
    if (clusters)
      return forward ? ntt_launches<Word, headroom, With, true>()
                     : ntt_launches<Word, headroom, With, false>();
    return forward ? ntt_launches<Word, headroom, Without, true>()
                   : ntt_launches<Word, headroom, Without, false>();
  });
}

/// The kernels for the largest modulus: how often it fits a word.
template <class Word>
Launches<NttArguments<Word>> choose_ntt(bool clusters, std::uint32_t N, bool forward, Word q) {
  if constexpr (sizeof(Word) == 8) {
    return choose_ntt<Word, 8>(clusters, N, forward);
  } else {
    if (q < (1u << 28)) return choose_ntt<Word, 16>(clusters, N, forward);
    if (q < (1u << 30)) return choose_ntt<Word, 4>(clusters, N, forward);
    return choose_ntt<Word, 2>(clusters, N, forward);
  }
}

}  // namespace

template <class Word>
void ntt(const Stream& stream, const TransformTables& tables, NttPlans<Word> plans,
         std::size_t batch, Word* data, bool forward) {
  if (plans.empty() || batch == 0) return;
  const CurrentGpu current(stream.gpu().ordinal);
  const std::uint32_t N = plans[0]->N();
  const bool clusters = has_clusters(stream);
  Word largest = 0;
  for (const auto* plan : plans) largest = std::max(largest, plan->modulus().value());
  const auto launches = choose_ntt<Word>(clusters, N, forward, largest);
  for (std::size_t first = 0; first < plans.size(); first += ntt_limbs_a_launch) {
    const std::size_t limbs = std::min<std::size_t>(ntt_limbs_a_launch, plans.size() - first);
    NttArguments<Word> arguments = {};
    arguments.data = data + first * batch * N;
    arguments.batch = static_cast<std::uint32_t>(batch);
    for (std::size_t l = 0; l < limbs; ++l) {
      const ring::NttPlan<Word>& plan = *plans[first + l];
      const auto* table = tables.state().get(
          stream, {static_cast<int>(sizeof(Word)), N, plan.modulus().value(), plan.psi(), forward},
          [&] { return ntt_table(ntt_split<Word>(clusters, N), plan, forward); });
      arguments.limbs[l] = ntt_limb(plan, table);
    }
    for (int i = 0; i < launches.count; ++i)
      launches.launch[i](stream, batch, static_cast<unsigned>(limbs), arguments);
  }
}

template void ntt(const Stream&, const TransformTables&, NttPlans<std::uint32_t>, std::size_t,
                  std::uint32_t*, bool);
template void ntt(const Stream&, const TransformTables&, NttPlans<std::uint64_t>, std::size_t,
                  std::uint64_t*, bool);

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
  return tables.state().get(stream, {0, plan.N(), 0, 0, true}, [&] {
    const int log_m = std::bit_width(plan.M()) - 1;
    const TransformShape shape =
        has_clusters(stream) ? fft_shape<true>(log_m) : fft_shape<false>(log_m);
    return fft_table(shape.kernel[0].split, plan);
  });
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
