// INT8 tensor cores against the kernels of the library: base conversion, and NTTs of 2^8 and 2^16
// points as a trial. Each result is compared with the library's, bit by bit, on the GPU; then both
// are timed, each alone and run by run in turn.
//
// usage: bench_tensor_cores [--device ORDINAL] [--seed SEED] [--runs COUNT] [--commit ID]
//
// One JSON object a line on stdout, as bench_rns --record writes, with the "variant" and whether
// runs took "turns" with the others'; a table on stderr. Times are of the GPU's clock, one call of
// several in a graph, data staying on the GPU. "h200_floor" is the larger of compulsory memory
// traffic and arithmetic at an H200's rates. Exits with 1, "WRONG", if any result differs.
#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/dispatch/rns.h"
#include "backend/cuda/dispatch/transforms.h"
#include "backend/cuda/kernels/convert_int8.cuh"
#include "backend/cuda/runtime/error.h"
#include "backend/cuda/tuning/rns.h"
#include "backend/cuda/tuning/transforms.h"
#include "math/primes.h"
#include "ring/rns_plan.h"
#include "tensor_ntt.cuh"
#include "whorl/error.h"

namespace whorl::backend::cuda {
namespace {

using Word = std::uint32_t;

/// Rates of one H200, a second: bytes, wide multiply-adds, Shoup products; multiply-adds of bytes
/// by mma.sync, expected.
constexpr double memory_rate = 4.3e12, wide_rate = 6.4e12, shoup_rate = 4.08e12, byte_rate = 6e14;

struct Options {
  int device = 0;
  std::uint64_t seed = 1;
  int runs = 60;
  std::string commit = "unknown";
};

/// Random residues of `rows` rows, row r modulo q[r % count]; one in eight is q - 1, one is 0.
__global__ void fill_residues(const Word* q, unsigned count, std::size_t row, std::size_t words,
                              std::uint64_t seed, Word* out) {
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words;
       i += std::size_t{gridDim.x} * blockDim.x) {
    std::uint64_t x = seed + i * 0x9e3779b97f4a7c15;  // splitmix64 (Steele, Lea, Flood 2014)
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
    const Word modulus = q[i / row % count];
    const auto kind = static_cast<unsigned>(x % 8);
    out[i] = kind == 0 ? modulus - 1 : kind == 1 ? 0 : static_cast<Word>((x >> 3) % modulus);
  }
}
__global__ void count_differences(const Word* a, const Word* b, std::size_t words,
                                  unsigned long long* count) {
  unsigned long long mine = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words;
       i += std::size_t{gridDim.x} * blockDim.x)
    mine += a[i] != b[i];
  if (mine != 0) atomicAdd(count, mine);
}

struct Variant {
  std::string name;
  std::function<void()> run;
  double floor;  ///< seconds
};

class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options), stream_(describe_gpu(options.device)), current_(options.device) {
    for (const char c : stream_.gpu().model)
      device_ += c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (device_.starts_with("nvidia_")) device_.erase(0, 7);
    const std::time_t now = std::time(nullptr);
    char text[32];
    std::strftime(text, sizeof(text), "%Y-%m-%d", std::gmtime(&now));
    date_ = text;
  }

  const Stream& stream() const { return stream_; }
  bool failed() const { return failed_; }

  DeviceArray<Word> residues(const std::vector<Word>& moduli, std::size_t rows, std::size_t row) {
    const auto q = stream_.upload(moduli.data(), moduli.size());
    auto out = stream_.allocate<Word>(rows * row);
    fill_residues<<<1024, 256, 0, stream_.handle()>>>(
        q.data(), static_cast<unsigned>(moduli.size()), row, rows * row, options_.seed++ << 32,
        out.data());
    check_launch("fill_residues", 1024, 256, 0);
    return out;
  }
  /// Both hold what runs over different bytes left: a word not written differs.
  void compare(const std::string& what, const DeviceArray<Word>& a, const DeviceArray<Word>& b) {
    const unsigned long long none = 0;
    const auto count = stream_.upload(&none, 1);
    count_differences<<<1024, 256, 0, stream_.handle()>>>(a.data(), b.data(), a.size(),
                                                          count.data());
    check_launch("count_differences", 1024, 256, 0);
    unsigned long long differences = 0;
    stream_.copy_out(count.data(), &differences, sizeof(differences));
    std::fprintf(stderr, "%-5s %s", differences == 0 ? "same" : "WRONG", what.c_str());
    if (differences != 0) std::fprintf(stderr, ": %llu of %zu words", differences, a.size());
    std::fprintf(stderr, "\n");
    failed_ |= differences != 0;
  }
  /// Seconds of one call, in runs of 0.7 ms or more.
  void time(const char* op, const std::string& params, std::size_t batch, double bytes,
            const std::vector<Variant>& variants) {
    std::vector<Runs> all;
    for (const Variant& v : variants) all.emplace_back(*this, v.run);
    for (const bool turns : {false, true}) {
      std::vector<std::vector<double>> times(variants.size());
      if (turns) {
        for (int run = 0; run < options_.runs; ++run)
          for (std::size_t v = 0; v < all.size(); ++v) times[v].push_back(all[v].time());
      } else {
        for (std::size_t v = 0; v < all.size(); ++v)
          for (int run = 0; run < options_.runs; ++run) times[v].push_back(all[v].time());
      }
      for (std::size_t v = 0; v < all.size(); ++v)
        report(op, params, batch, bytes, variants[v], turns, times[v]);
    }
  }

 private:
  /// Calls as one graph, so that the host's launches do not count.
  class Runs {
   public:
    Runs(const Bench& bench, const std::function<void()>& call) : stream_(bench.stream_) {
      check(cudaEventCreate(&start_), "cudaEventCreate");
      check(cudaEventCreate(&end_), "cudaEventCreate");
      record(call, 2);
      const double once = time();
      check(cudaGraphExecDestroy(graph_), "cudaGraphExecDestroy");
      record(call, std::clamp(static_cast<int>(0.7e-3 / once), 1, 400));
      for (int i = 0; i < 5; ++i) time();
    }
    ~Runs() {
      if (graph_) cudaGraphExecDestroy(graph_);
      if (start_) cudaEventDestroy(start_);
      if (end_) cudaEventDestroy(end_);
    }
    Runs(Runs&& other) noexcept
        : stream_(other.stream_),
          calls_(other.calls_),
          graph_(std::exchange(other.graph_, nullptr)),
          start_(std::exchange(other.start_, nullptr)),
          end_(std::exchange(other.end_, nullptr)) {}
    Runs(const Runs&) = delete;
    Runs& operator=(const Runs&) = delete;

    /// The second of two runs: while the first goes on, the host queues what is timed.
    double time() const {
      check(cudaGraphLaunch(graph_, stream_.handle()), "cudaGraphLaunch");
      check(cudaEventRecord(start_, stream_.handle()), "cudaEventRecord");
      check(cudaGraphLaunch(graph_, stream_.handle()), "cudaGraphLaunch");
      check(cudaEventRecord(end_, stream_.handle()), "cudaEventRecord");
      check(cudaEventSynchronize(end_), "cudaEventSynchronize");
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, start_, end_), "cudaEventElapsedTime");
      return 1e-3 * static_cast<double>(milliseconds) / calls_;
    }

   private:
    void record(const std::function<void()>& call, int calls) {
      calls_ = calls;
      check(cudaStreamBeginCapture(stream_.handle(), cudaStreamCaptureModeThreadLocal),
            "cudaStreamBeginCapture");
      for (int i = 0; i < calls; ++i) call();
      cudaGraph_t graph = nullptr;
      check(cudaStreamEndCapture(stream_.handle(), &graph), "cudaStreamEndCapture");
      const cudaError_t code = cudaGraphInstantiate(&graph_, graph, 0);
      cudaGraphDestroy(graph);
      check(code, "cudaGraphInstantiate");
    }

    const Stream& stream_;
    int calls_ = 1;
    cudaGraphExec_t graph_ = nullptr;
    cudaEvent_t start_ = nullptr, end_ = nullptr;
  };

  void report(const char* op, const std::string& params, std::size_t batch, double bytes,
              const Variant& variant, bool turns, std::vector<double> times) const {
    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2];
    std::fprintf(stderr, "%-17s %-46s %6zu %-26s %-5s %10.2f us (%.2f ... %.2f)  floor %8.2f us\n",
                 op, params.c_str(), batch, variant.name.c_str(), turns ? "turns" : "alone",
                 1e6 * median, 1e6 * times.front(), 1e6 * times.back(), 1e6 * variant.floor);
    std::printf(
        "{\"bench\": \"tensor_cores\", \"op\": \"%s\", \"variant\": \"%s\", \"scheme\": null, "
        "\"params\": \"%s\", \"device\": \"%s\", \"device_count\": 1, \"threads\": 1, \"batch\": "
        "%zu, \"transfers\": \"excluded\", \"unit\": \"s\", \"median\": %.6g, \"min\": %.6g, "
        "\"max\": %.6g, \"runs\": %zu, \"waited\": false, \"turns\": %s, \"bytes_per_second\": "
        "%.6g, \"h200_floor\": %.6g, \"commit\": \"%s\", \"date\": \"%s\"}\n",
        op, variant.name.c_str(), params.c_str(), device_.c_str(), batch, median, times.front(),
        times.back(), times.size(), turns ? "true" : "false", bytes / median, variant.floor,
        options_.commit.c_str(), date_.c_str());
    std::fflush(stdout);
  }

  Options options_;
  Stream stream_;
  CurrentGpu current_;
  std::string device_, date_;
  bool failed_ = false;
};

// Base conversion.

struct Shape {
  std::uint32_t N;
  unsigned limbs, special, digit_limbs;
};

class ConversionBench {
 public:
  ConversionBench(Bench& bench, const TransformTables& transforms, const Shape& shape,
                  unsigned bits)
      : bench_(bench) {
    for (const auto q : math::ntt_primes(bits, shape.N, shape.limbs + shape.special))
      primes_.push_back(static_cast<Word>(q));
    const std::span<const Word> all = primes_;
    plan_ = std::make_shared<ring::RnsPlan<Word>>(shape.N, all.first(shape.limbs),
                                                  all.subspan(shape.limbs), shape.digit_limbs);
    tables_ = std::make_unique<CudaRnsTables<Word>>(bench.stream(), transforms, plan_, 65537);
    const unsigned L = shape.limbs;
    params_ = "N=2^" + std::to_string(std::bit_width(shape.N) - 1) + ", " + std::to_string(L) +
              "+" + std::to_string(shape.special) + " limbs of " + std::to_string(bits) +
              " bits, dnum " + std::to_string(plan_->digits());
  }

  /// Of `limbs` limbs; timed if that is asked for.
  void run(unsigned limbs, std::size_t batch, bool timed) {
    raise(limbs, batch, timed);
    lower(limbs, 2, batch, timed);
  }

 private:
  void raise(unsigned limbs, std::size_t batch, bool timed) {
    const Stream& stream = bench_.stream();
    const std::size_t row = batch * plan_->N(), rows = limbs + plan_->special();
    const unsigned digits = plan_->digits(limbs), alpha = plan_->digit_limbs();
    const std::vector<Word> chain(primes_.begin(), primes_.begin() + limbs);
    const auto in = bench_.residues(chain, limbs, row), own = bench_.residues(chain, limbs, row);
    double products = 0, targets = 0;
    for (unsigned first = 0; first < limbs; first += alpha) {
      const unsigned own_limbs = std::min(alpha, limbs - first);
      products += static_cast<double>((rows - own_limbs) * (own_limbs + 1));
      targets += static_cast<double>((rows - own_limbs + 7) / 8 * 8);
    }
    const double words = static_cast<double>(row);
    measure("base_convert_up", limbs, alpha, batch, timed, digits * rows * row,
            4 * words * static_cast<double>(2 * limbs + digits * rows), words * products,
            words * targets, [=, this, &stream, &in, &own](Word* out, Products by) {
              convert_up<Word>(stream, *tables_, limbs, batch, in.data(), own.data(), out, by);
            });
  }
  void lower(unsigned limbs, std::size_t parts, std::size_t batch, bool timed) {
    const Stream& stream = bench_.stream();
    const std::size_t row = batch * plan_->N();
    const unsigned special = plan_->special();
    const std::vector<Word> from(primes_.begin() + plan_->limbs(), primes_.end());
    const auto in = bench_.residues(from, parts * special, row);
    const double words = static_cast<double>(row * parts);
    measure("base_convert_down", limbs, special, batch, timed, parts * limbs * row,
            4 * words * static_cast<double>(special + limbs),
            words * static_cast<double>(limbs * (special + 1)),
            words * static_cast<double>((limbs + 7) / 8 * 8),
            [=, this, &stream, &in](Word* out, Products by) {
              convert_down<Word>(stream, *tables_, limbs, parts, batch, in.data(), out, by);
            });
  }

  /// From `size` limbs. `products`: wide ones; `results`: of tensor cores, those of absent targets
  /// too.
  void measure(const char* op, unsigned limbs, unsigned size, std::size_t batch, bool timed,
               std::size_t results_words, double bytes, double products, double results,
               const std::function<void(Word*, Products)>& convert) {
    const Stream& stream = bench_.stream();
    const std::string params =
        params_ + (limbs < plan_->limbs() ? ", " + std::to_string(limbs) + " limbs left" : "");
    const auto out = stream.allocate<Word>(results_words),
               want = stream.allocate<Word>(results_words);
    // 16 byte products for each word of a step's eight, present or not.
    const double byte_products = results * 16 * 8 * ((int8_slots(size) + 1) / 2);
    const double memory = bytes / memory_rate,
                 int8_floor = std::max(memory, byte_products / byte_rate);
    std::vector<Variant> variants;
    const auto variant = [&](const char* name, Products by, double floor) {
      variants.push_back({name, [&convert, &out, by] { convert(out.data(), by); }, floor});
    };
    variant("wide", Products::words, std::max(memory, products / wide_rate));
    // There are no bytes to multiply for fewer limbs: the dispatcher takes words.
    if (size >= tuning::least_small_byte_limbs) {
      variant("int8", Products::bytes, int8_floor);
      variant("int8, 64 columns a warp", Products::bytes_by_more, int8_floor);
    }
    variant("automatic", Products::automatic, int8_floor);
    stream.fill(want.data(), 0xff, want.size() * sizeof(Word));
    convert(want.data(), Products::words);
    for (const Variant& v : variants) {
      stream.fill(out.data(), 0xee, out.size() * sizeof(Word));
      v.run();
      bench_.compare(
          std::string(op) + ", " + params + ", batch " + std::to_string(batch) + ", " + v.name, out,
          want);
    }
    if (timed) bench_.time(op, params, batch, bytes, variants);
  }

  Bench& bench_;
  std::vector<Word> primes_;
  std::shared_ptr<const ring::RnsPlan<Word>> plan_;
  std::unique_ptr<CudaRnsTables<Word>> tables_;
  std::string params_;
};

// Transforms.

struct Tuned256 {
  static constexpr KernelShape shape = ntt_shape<4, true>(8).kernel[0];
};

void bench_transforms(Bench& bench, const TransformTables& tables) {
  constexpr std::uint32_t N = 256;
  constexpr std::size_t count = std::size_t{1} << 17;  // 128 MB: more than caches hold
  constexpr std::uint32_t repeats = 16;
  const Stream& stream = bench.stream();
  const ring::NttPlan<Word> plan(N, static_cast<Word>(math::ntt_primes(30, N, 1)[0]));
  const Word p = plan.modulus().value();
  const ring::NttPlan<Word>* const plans[] = {&plan};
  const NttLimbs<Word> limbs = ntt_limbs<Word>(stream, tables, plans);
  const auto in = bench.residues({p}, count, N);
  const auto out = stream.allocate<Word>(count * N), want = stream.allocate<Word>(count * N);
  const uint2 reduction = make_uint2(0u - p, static_cast<Word>((std::uint64_t{1} << 48) / p));

  const auto fragments = radix16_matrices(plan);
  const auto matrices = stream.upload(fragments.data(), fragments.size());
  const auto host_twiddles = radix16_twiddles(plan);
  const auto twiddles = stream.upload(host_twiddles.data(), host_twiddles.size());
  const auto large_fragments = radix256_matrix(plan);
  const auto large = stream.upload(large_fragments.data(), large_fragments.size());
  check(cudaFuncSetAttribute(ntt_256_radix256, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(matrix256_shared)),
        "cudaFuncSetAttribute of ntt_256_radix256");

  const auto radix16 = [&](std::uint32_t times) {
    const Radix16Arguments a = {in.data(),       out.data(),      count, times,
                                matrices.data(), twiddles.data(), p,     reduction};
    const unsigned blocks = 2 * stream.gpu().multiprocessors;
    ntt_256_radix16<<<blocks, tensor_threads, 0, stream.handle()>>>(a);
    check_launch("ntt_256_radix16", blocks, tensor_threads, 0);
  };
  const auto radix256 = [&] {
    const Radix256Arguments a = {in.data(), out.data(), count, large.data(), reduction};
    constexpr unsigned blocks = count / matrix256_columns;
    ntt_256_radix256<<<blocks, tensor_threads, matrix256_shared, stream.handle()>>>(a);
    check_launch("ntt_256_radix256", blocks, tensor_threads, matrix256_shared);
  };
  const auto butterflies = [&](std::uint32_t times) {
    constexpr KernelShape shape = Tuned256::shape;
    const ButterflyArguments a = {in.data(), out.data(), count, times, limbs.forward[0]};
    const unsigned blocks = static_cast<unsigned>((count + shape.units - 1) / shape.units);
    const std::size_t shared = shape.shared_elements() * sizeof(Word);
    ntt_256_butterflies<4, Tuned256><<<blocks, shape.threads(), shared, stream.handle()>>>(a);
    check_launch("ntt_256_butterflies", blocks, shape.threads(), shared);
  };
  const auto library = [&] {
    ntt_rows<Word>(stream, limbs, true, {.rows = 1}, count, {in.data(), 1, 0}, {want.data(), 1, 0});
  };

  const auto verify = [&](const std::string& what, const std::function<void()>& run) {
    stream.fill(out.data(), 0xee, out.size() * sizeof(Word));
    run();
    bench.compare("ntt_256, " + what, out, want);
  };
  stream.fill(want.data(), 0xff, want.size() * sizeof(Word));
  library();
  verify("int8, two passes of radix 16", [&] { radix16(1); });
  verify("int8, one of radix 256", [&] { radix256(); });
  verify("butterflies", [&] { butterflies(1); });
  for (std::uint32_t i = 1; i < repeats; ++i)
    ntt_rows<Word>(stream, limbs, true, {.rows = 1}, count, {want.data(), 1, 0},
                   {want.data(), 1, 0});
  verify("int8, two passes of radix 16, repeated", [&] { radix16(repeats); });
  verify("butterflies, repeated", [&] { butterflies(repeats); });

  const double values = static_cast<double>(count * N), memory = 8 * values / memory_rate;
  const double once = std::max(memory, values * 2 * 256 / byte_rate);
  bench.time("ntt_256", "N=2^8, 1 limb of 30 bits", count, 8 * values,
             {{"wide", library, std::max(memory, values * 4 / shoup_rate)},
              {"int8", [&] { radix16(1); }, once},
              {"int8, radix 256", radix256, std::max(memory, values * 4096 / byte_rate)}});
  bench.time("ntt_256_repeated", "N=2^8, 1 limb of 30 bits, 16 times in registers", count,
             8 * values,
             {{"wide", [&] { butterflies(repeats); }, values * repeats * 4 / shoup_rate},
              {"int8", [&] { radix16(repeats); }, values * repeats * 2 * 256 / byte_rate}});
}

template <unsigned cluster>
void launch_long(const Stream& stream, const Ntt65536Arguments& a) {
  constexpr auto kernel = ntt_65536_radix16<cluster>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(long_shared(cluster))),
        "cudaFuncSetAttribute of ntt_65536_radix16");
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(cluster);
  config.blockDim = dim3(tensor_threads);
  config.dynamicSmemBytes = long_shared(cluster);
  config.stream = stream.handle();
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  check(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config),
        "cudaOccupancyMaxActiveClusters of ntt_65536_radix16");
  const unsigned rounds = (a.count + static_cast<unsigned>(clusters) - 1) /
                          static_cast<unsigned>(std::max(clusters, 1));
  config.gridDim = dim3((a.count + rounds - 1) / rounds * cluster);
  check(cudaLaunchKernelEx(&config, kernel, a), "cudaLaunchKernelEx of ntt_65536_radix16");
  check_launch("ntt_65536_radix16", config.gridDim, config.blockDim, config.dynamicSmemBytes);
}

void bench_long_transforms(Bench& bench, const TransformTables& tables, std::uint32_t count) {
  constexpr std::uint32_t N = 1 << 16;
  const Stream& stream = bench.stream();
  const ring::NttPlan<Word> plan(N, static_cast<Word>(math::ntt_primes(30, N, 1)[0]));
  const Word p = plan.modulus().value();
  const ring::NttPlan<Word>* const plans[] = {&plan};
  const NttLimbs<Word> limbs = ntt_limbs<Word>(stream, tables, plans);
  const auto in = bench.residues({p}, count, N);
  const auto out = stream.allocate<Word>(in.size()), want = stream.allocate<Word>(in.size());
  const auto upload = [&](const auto& host) { return stream.upload(host.data(), host.size()); };
  const auto matrices = upload(radix16_matrices(plan)), twiddles = upload(long_twiddles(plan));
  const auto powers = upload(long_powers(plan));
  const Ntt65536Arguments a = {in.data(),
                               out.data(),
                               count,
                               matrices.data(),
                               twiddles.data(),
                               powers.data(),
                               p,
                               math::Montgomery<Word>(plan.modulus()).inverse(),
                               make_uint2(0u - p, static_cast<Word>((std::uint64_t{1} << 48) / p))};
  const std::function<void()> library = [&] {
    ntt_rows<Word>(stream, limbs, true, {.rows = 1}, count, {in.data(), 1, 0}, {want.data(), 1, 0});
  };
  const std::function<void()> int8[2] = {[&] { launch_long<8>(stream, a); },
                                         [&] { launch_long<4>(stream, a); }};
  stream.fill(want.data(), 0xff, want.size() * sizeof(Word));
  library();
  for (unsigned i = 0; i < 2; ++i) {
    stream.fill(out.data(), 0xee, out.size() * sizeof(Word));
    int8[i]();
    bench.compare("ntt_65536, int8, clusters of " + std::string(i == 0 ? "8" : "4"), out, want);
  }
  const double values = static_cast<double>(in.size()), memory = 8 * values / memory_rate;
  const double bytes = std::max(memory, values * 4 * 256 / byte_rate);
  bench.time("ntt", "N=2^16, 1 limb of 30 bits", count, 8 * values,
             {{"wide", library, std::max(memory, values * 8 / shoup_rate)},
              {"int8, clusters of 8", int8[0], bytes},
              {"int8, clusters of 4", int8[1], bytes}});
}

int run(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; i += 2) {
    const std::string option = arguments[i];
    if (i + 1 == count) throw ParameterError(option + " takes a value");
    const std::string value = arguments[i + 1];
    if (option == "--device") {
      options.device = std::stoi(value);
    } else if (option == "--seed") {
      options.seed = std::stoull(value);
    } else if (option == "--runs") {
      options.runs = std::max(1, std::stoi(value));
    } else if (option == "--commit") {
      options.commit = value;
    } else {
      throw ParameterError("unknown option " + option);
    }
  }
  Bench bench(options);
  const TransformTables transforms;
  // Every number of limbs, and last digits that are shorter.
  for (unsigned size = 1; size <= int8_limbs; ++size)
    for (const unsigned bits : {30u, 31u}) {
      ConversionBench conversion(bench, transforms, {1 << 10, 2 * size + 1, size, size}, bits);
      conversion.run(2 * size + 1, 1, false);
      conversion.run(2 * size, 3, false);
    }
  for (const Shape& shape : {Shape{1 << 13, 3, 1, 1}, Shape{1 << 14, 9, 3, 3},
                             Shape{1 << 15, 18, 6, 6}, Shape{1 << 16, 38, 13, 13}}) {
    ConversionBench conversion(bench, transforms, shape, 30);
    for (const std::size_t batch : {1, 64}) conversion.run(shape.limbs, batch, true);
  }
  bench_transforms(bench, transforms);
  for (const std::uint32_t batch : {48, 1024}) bench_long_transforms(bench, transforms, batch);
  if (bench.failed()) {
    std::printf("WRONG\n");
    std::fprintf(stderr, "WRONG\n");
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace whorl::backend::cuda

int main(int count, char** arguments) {
  try {
    return whorl::backend::cuda::run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_tensor_cores: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
