// Batches of transforms on a GPU; tests/gpu/backend compares them with the CPU's at every size.
//
// usage: bench_cuda_transforms [--device ORDINAL] [--record FILE --commit ID]
//
// Times are of the GPU's clock for one call on a batch of 256 MB that stays on the GPU.
#include "backend/cuda/dispatch/transforms/transforms.h"
#include "backend/cuda/runtime/error.h"
#include "common/bench.h"
#include "common/cuda_timer.h"
#include "common/rates.h"
#include "math/primes.h"

namespace whorl::bench {
namespace {

namespace cuda = backend::cuda;
using cuda::DeviceArray;
using cuda::Stream;
using cuda::TransformTables;

constexpr unsigned kSmallest = 10, kLargest = 17;  // log2 N
constexpr std::size_t kBatchBytes = std::size_t{256} << 20;
constexpr int kWarmUps = 5, kRuns = 30;

struct Bench {
  const Stream& stream;
  const TransformTables& tables;
  const Records& records;
};

/// `work` enqueues `batch` transforms.
void time_transforms(const Bench& b, const std::string& op, const std::string& params,
                     std::size_t batch, double bytes_each, const std::function<void()>& work,
                     const std::optional<Peer>& peer = {}) {
  Record record{.op = op, .params = params, .batch = batch, .unit = "1/s"};
  if (peer) record.peer = *peer;
  const Times times = CudaTimer(b.stream).measure(kWarmUps, kRuns, work);
  record.set(times, static_cast<double>(batch));
  std::printf("%-5s %-28s %9zu %10.3f %10.3f %10.3f %9.3f %6.2f", op.c_str(), params.c_str(), batch,
              *record.median / 1e6, *record.least / 1e6, *record.most / 1e6,
              memory_rate / bytes_each / 1e6, *record.median * bytes_each / memory_rate);
  if (peer) std::printf("  %.2f x %s", record.ratio().value_or(0), peer->name.c_str());
  std::printf("\n");
  b.records.add(record);
}

template <class Word>
void time_ntt(const Bench& b, const DeviceArray<Word>& data, unsigned log_n, unsigned bits) {
  const std::uint32_t N = 1u << log_n;
  const ring::NttPlan<Word> plan(N, static_cast<Word>(math::ntt_primes(bits, N, 1)[0]));
  const std::vector<const ring::NttPlan<Word>*> plans{&plan};
  const std::size_t batch = data.size() / N;
  const std::string params = "N=" + std::to_string(N) +
                             " word=" + std::to_string(8 * sizeof(Word)) +
                             " logq=" + std::to_string(bits);
  for (const bool forward : {true, false}) {
    time_transforms(
        b, forward ? "ntt" : "intt", params, batch, 2.0 * N * sizeof(Word),
        [&] { cuda::ntt<Word>(b.stream, b.tables, plans, batch, data.data(), forward); },
        forward && sizeof(Word) == 4 ? ntt_peer(N) : std::nullopt);
  }
}

void time_fft(const Bench& b, const DeviceArray<double>& reals, const DeviceArray<double>& values,
              unsigned log_n) {
  const std::uint32_t N = 1u << log_n;
  const ring::FftPlan plan(N);
  const std::size_t batch = reals.size() / N;
  auto* complex = reinterpret_cast<std::complex<double>*>(values.data());
  const std::string params = "N=" + std::to_string(N) + " folded";
  time_transforms(b, "fft", params, batch, 16.0 * N,
                  [&] { cuda::fft(b.stream, b.tables, plan, batch, reals.data(), complex); });
  time_transforms(b, "ifft", params, batch, 16.0 * N,
                  [&] { cuda::ifft(b.stream, b.tables, plan, batch, complex, reals.data()); });
}

/// 256 MB of values below 2^bits, from a sequence that is quick to make.
template <class Word>
DeviceArray<Word> random_batch(const Stream& stream, unsigned bits) {
  std::vector<Word> data(kBatchBytes / sizeof(Word));
  std::uint64_t state = 1;
  for (Word& x : data) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x = static_cast<Word>(state >> (64 - bits));
  }
  return stream.upload(data.data(), data.size());
}

int run(CommandLine& line) {
  Common options;
  int gpu = 0;
  line.gpu(gpu).record(options).parse();
  const Stream stream(cuda::describe_gpu(gpu));
  const TransformTables tables;
  const Records records("cuda_transforms", options, {record_name(stream.gpu().model)});
  const Bench b{stream, tables, records};
  std::printf("%s, %u multiprocessors\n%-5s %-28s %9s %10s %10s %10s %9s %6s\n",
              stream.gpu().model.c_str(), stream.gpu().multiprocessors, "op", "params", "batch",
              "M/s median", "min", "max", "floor", "of it");
  {
    const auto words = random_batch<std::uint32_t>(stream, 26);
    for (const unsigned bits : {27, 30, 31})
      for (unsigned log_n = kSmallest; log_n <= kLargest; ++log_n)
        time_ntt<std::uint32_t>(b, words, log_n, bits);
  }
  {
    const auto words = random_batch<std::uint64_t>(stream, 60);
    for (unsigned log_n = kSmallest; log_n <= kLargest; ++log_n)
      time_ntt<std::uint64_t>(b, words, log_n, 61);
  }
  const auto reals = stream.allocate<double>(kBatchBytes / 8);
  const auto values = stream.allocate<double>(kBatchBytes / 8);
  stream.fill(reals.data(), 0, kBatchBytes);
  for (unsigned log_n = kSmallest; log_n <= kLargest; ++log_n) time_fft(b, reals, values, log_n);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace whorl::bench

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "bench_cuda_transforms", whorl::bench::run);
}
