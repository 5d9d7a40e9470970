// Batches of transforms on a GPU: checked against the CPU backend at every size, then timed.
//
// usage: bench_cuda_transforms [--device ORDINAL] [--seed SEED] [--time]
//                              [--record FILE --commit ID]
//
// NTTs must equal the CPU's bit for bit, FFTs within the bound of docs/fft-error.md. Times are of
// the GPU's clock for one call on a batch of 256 MB that stays on the GPU. Exits with 1 if anything
// is wrong.
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "backend/contract/ring.h"
#include "backend/cuda/dispatch/transforms/transforms.h"
#include "backend/cuda/runtime/error.h"
#include "common/command_line.h"
#include "common/cuda_timer.h"
#include "common/devices.h"
#include "common/rates.h"
#include "common/records.h"
#include "math/primes.h"

namespace whorl::bench {
namespace {

namespace cuda = backend::cuda;
using cuda::DeviceArray;
using cuda::Stream;
using cuda::TransformTables;

constexpr unsigned kSmallest = 8, kLargest = 17;  // log2 N
constexpr std::size_t kBatchBytes = std::size_t{256} << 20;
constexpr int kWarmUps = 5, kRuns = 30;

struct Bench {
  const Stream& stream;
  const TransformTables& tables;
  const Queue& cpu;
  const Records& records;
  std::mt19937_64 random;
  int failures = 0;

  void report(bool ok, const std::string& what) {
    std::printf("%-4s %s\n", ok ? "OK" : "FAIL", what.c_str());
    failures += !ok;
  }
};

template <class Word>
std::vector<ring::NttPlan<Word>> make_plans(std::uint32_t N, unsigned bits, std::size_t limbs) {
  std::vector<ring::NttPlan<Word>> plans;
  for (const std::uint64_t q : math::ntt_primes(bits, N, limbs))
    plans.emplace_back(N, static_cast<Word>(q));
  return plans;
}
template <class Word>
std::vector<const ring::NttPlan<Word>*> pointers(const std::vector<ring::NttPlan<Word>>& plans) {
  std::vector<const ring::NttPlan<Word>*> out;
  for (const auto& plan : plans) out.push_back(&plan);
  return out;
}

template <class Word>
std::vector<Word> ntt_on_cpu(const Queue& cpu, const std::vector<const ring::NttPlan<Word>*>& plans,
                             const std::vector<Word>& in) {
  Buffer<Word> data = upload(cpu, in);
  cpu.ring<Word>().ntt(plans, data.slice());
  return download(cpu, data);
}

template <class Word>
void check_ntt(Bench& b, unsigned log_n, unsigned bits, std::size_t limbs) {
  const std::uint32_t N = 1u << log_n;
  const auto plans = make_plans<Word>(N, bits, limbs);
  const auto plan_pointers = pointers(plans);
  // Odd, so that the last block of small transforms is not full.
  const std::size_t batch = 2 * (b.random() % (log_n < 13 ? 20 : 3)) + 1;
  std::vector<Word> data(limbs * batch * N);
  for (std::size_t i = 0; i < data.size(); ++i) {
    const Word q = plans[i / (batch * N)].modulus().value();
    data[i] = b.random() % 16 == 0 ? q - 1 : static_cast<Word>(b.random() % q);
  }
  const auto want = ntt_on_cpu(b.cpu, plan_pointers, data);
  const DeviceArray<Word> there = b.stream.upload(data.data(), data.size());
  std::vector<Word> forward(data.size()), back(data.size());
  cuda::ntt<Word>(b.stream, b.tables, plan_pointers, batch, there.data(), true);
  b.stream.copy_out(there.data(), forward.data(), data.size() * sizeof(Word));
  b.stream.copy_in(want.data(), there.data(), data.size() * sizeof(Word));
  cuda::ntt<Word>(b.stream, b.tables, plan_pointers, batch, there.data(), false);
  b.stream.copy_out(there.data(), back.data(), data.size() * sizeof(Word));
  b.report(forward == want && back == data,
           "ntt" + std::string(forward == want ? "" : " (wrong)") + " intt" +
               (back == data ? "" : " (wrong)") + " N=2^" + std::to_string(log_n) +
               " word=" + std::to_string(8 * sizeof(Word)) + " logq=" + std::to_string(bits) +
               " limbs=" + std::to_string(limbs) + " batch=" + std::to_string(batch));
}

/// ‖a - b‖ / ‖b‖
double distance(const double* a, const double* b, std::size_t size) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < size; ++i) {
    error += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(error / norm);
}

void check_fft(Bench& b, unsigned log_n) {
  const std::uint32_t N = 1u << log_n;
  const ring::FftPlan plan(N);
  const std::size_t batch = 2 * (b.random() % (log_n < 13 ? 20 : 3)) + 1, size = batch * N;
  std::vector<double> in(size), back(size);
  std::vector<std::complex<double>> got(size / 2);
  for (double& x : in) x = static_cast<double>(b.random() % 8191) - 4095;
  const Buffer<double> host_reals = upload(b.cpu, in);
  auto host_values = b.cpu.allocate<std::complex<double>>(size / 2);
  b.cpu.fft().fft(plan, host_reals.slice(), host_values.slice());
  const auto want = download(b.cpu, host_values);
  const DeviceArray<double> reals = b.stream.upload(in.data(), size);
  const auto values = b.stream.allocate<std::complex<double>>(size / 2);
  cuda::fft(b.stream, b.tables, plan, batch, reals.data(), values.data());
  b.stream.copy_out(values.data(), got.data(), size * sizeof(double));
  b.stream.copy_in(want.data(), values.data(), size * sizeof(double));
  b.stream.fill(reals.data(), 0, size * sizeof(double));
  cuda::ifft(b.stream, b.tables, plan, batch, values.data(), reals.data());
  b.stream.copy_out(reals.data(), back.data(), size * sizeof(double));
  // Both sides err by (t + 1)·eta at most (docs/fft-error.md, t = log2 M levels): a difference of
  // two transforms, and of a transform and its inverse.
  const double bound = 2 * log_n * 6.7 * 0x1p-53;
  const double forward = distance(reinterpret_cast<const double*>(got.data()),
                                  reinterpret_cast<const double*>(want.data()), size);
  const double inverse = distance(back.data(), in.data(), size);
  char text[160];
  std::snprintf(text, sizeof text, "fft ifft N=2^%u batch=%zu: %.3g and %.3g of a bound of %.3g",
                log_n, batch, forward, inverse, bound);
  b.report(forward <= bound && inverse <= bound, text);
}

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
void time_ntt(Bench& b, const DeviceArray<Word>& data, unsigned log_n, unsigned bits) {
  const std::uint32_t N = 1u << log_n;
  const auto plans = make_plans<Word>(N, bits, 1);
  const auto plan_pointers = pointers(plans);
  const std::size_t batch = data.size() / N;
  const std::string params = "N=" + std::to_string(N) +
                             " word=" + std::to_string(8 * sizeof(Word)) +
                             " logq=" + std::to_string(bits);
  // The last transform of the large batch is checked too, there and back.
  std::vector<Word> before(N), there(N), back(N);
  Word* last = data.data() + (batch - 1) * N;
  b.stream.copy_out(last, before.data(), N * sizeof(Word));
  const auto want = ntt_on_cpu(b.cpu, plan_pointers, before);
  cuda::ntt<Word>(b.stream, b.tables, plan_pointers, batch, data.data(), true);
  b.stream.copy_out(last, there.data(), N * sizeof(Word));
  cuda::ntt<Word>(b.stream, b.tables, plan_pointers, batch, data.data(), false);
  b.stream.copy_out(last, back.data(), N * sizeof(Word));
  if (there != want || back != before) b.report(false, "large batch, " + params);
  for (const bool forward : {true, false}) {
    time_transforms(
        b, forward ? "ntt" : "intt", params, batch, 2.0 * N * sizeof(Word),
        [&] { cuda::ntt<Word>(b.stream, b.tables, plan_pointers, batch, data.data(), forward); },
        forward && sizeof(Word) == 4 ? ntt_peer(N) : std::nullopt);
  }
}

void time_fft(Bench& b, const DeviceArray<double>& reals, const DeviceArray<double>& values,
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
DeviceArray<Word> random_batch(Bench& b, unsigned bits) {
  std::vector<Word> data(kBatchBytes / sizeof(Word));
  std::uint64_t state = b.random();
  for (Word& x : data) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x = static_cast<Word>(state >> (64 - bits));
  }
  return b.stream.upload(data.data(), data.size());
}

int run(CommandLine& line) {
  KernelOptions options;
  line.kernels(options).parse();
  const Stream stream(cuda::describe_gpu(options.gpu));
  const TransformTables tables;
  const auto cpu = open_queue("cpu");
  const Records records("cuda_transforms", options, {record_name(stream.gpu().model)});
  Bench b{stream, tables, *cpu, records, std::mt19937_64(options.seed)};
  std::printf("%s, %u multiprocessors; %s; seed %llu\n", stream.gpu().model.c_str(),
              stream.gpu().multiprocessors, cpu->name().c_str(),
              static_cast<unsigned long long>(options.seed));
  for (unsigned log_n = kSmallest; log_n <= kLargest; ++log_n) {
    for (const std::size_t limbs : {1, 3}) {
      for (const unsigned bits : {27, 30, 31}) check_ntt<std::uint32_t>(b, log_n, bits, limbs);
      for (const unsigned bits : {54, 61}) check_ntt<std::uint64_t>(b, log_n, bits, limbs);
    }
    check_fft(b, log_n);
  }
  if (options.time || !options.record.empty()) {
    std::printf("\n%-5s %-28s %9s %10s %10s %10s %9s %6s\n", "op", "params", "batch", "M/s median",
                "min", "max", "floor", "of it");
    {
      const auto words = random_batch<std::uint32_t>(b, 26);
      for (const unsigned bits : {27, 30, 31})
        for (unsigned log_n = 10; log_n <= kLargest; ++log_n)
          time_ntt<std::uint32_t>(b, words, log_n, bits);
    }
    {
      const auto words = random_batch<std::uint64_t>(b, 60);
      for (unsigned log_n = 10; log_n <= kLargest; ++log_n)
        time_ntt<std::uint64_t>(b, words, log_n, 61);
    }
    const auto reals = b.stream.allocate<double>(kBatchBytes / 8);
    const auto values = b.stream.allocate<double>(kBatchBytes / 8);
    b.stream.fill(reals.data(), 0, kBatchBytes);
    for (unsigned log_n = 10; log_n <= kLargest; ++log_n) time_fft(b, reals, values, log_n);
  }
  std::printf("%s\n", b.failures ? "FAILED" : "all right");
  return b.failures ? 1 : 0;
}

}  // namespace
}  // namespace whorl::bench

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "bench_cuda_transforms", whorl::bench::run);
}
