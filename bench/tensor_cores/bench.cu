#include "tensor_cores/bench.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "common/cuda_timer.h"
#include "common/differences.cuh"
#include "common/residues.cuh"

namespace whorl::bench {
namespace {

using backend::cuda::check;
using backend::cuda::Stream;
using Word = TensorBench::Word;

/// Calls as one graph, so that the host's launches do not count.
class Runs {
 public:
  Runs(const Stream& stream, const std::function<void()>& call) : stream_(stream), timer_(stream) {
    record(call, 2);
    const double once = time();
    check(cudaGraphExecDestroy(graph_), "cudaGraphExecDestroy");
    record(call, std::clamp(static_cast<int>(0.7e-3 / once), 1, 400));
    for (int i = 0; i < 5; ++i) time();
  }
  ~Runs() {
    if (graph_) cudaGraphExecDestroy(graph_);
  }
  Runs(Runs&& other) noexcept
      : stream_(other.stream_),
        timer_(std::move(other.timer_)),
        calls_(other.calls_),
        graph_(std::exchange(other.graph_, nullptr)) {}
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  /// The second of two runs: while the first goes on, the host queues what is timed.
  double time() const {
    const auto launch = [&] {
      check(cudaGraphLaunch(graph_, stream_.handle()), "cudaGraphLaunch");
    };
    launch();
    return timer_.seconds(launch) / calls_;
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
  CudaTimer timer_;
  int calls_ = 1;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace

TensorBench::TensorBench(int device, std::uint64_t seed, int runs, const Common& options)
    : seed_(seed),
      runs_(runs),
      stream_(backend::cuda::describe_gpu(device)),
      current_(device),
      records_("tensor_cores", options, {record_name(stream_.gpu().model)},
               Records::To::file_and_stdout) {}

TensorBench::DeviceArray<Word> TensorBench::residues(const std::vector<Word>& moduli,
                                                     std::size_t rows, std::size_t row) {
  const auto q = stream_.upload(moduli.data(), moduli.size());
  auto out = stream_.allocate<Word>(rows * row);
  fill_with_residues(stream_, q.data(), moduli.size(), row, rows * row, seed_++, out.data());
  return out;
}

void TensorBench::compare(const std::string& what, const std::function<void()>& run,
                          const DeviceArray<Word>& out, const DeviceArray<Word>& want) {
  stream_.fill(out.data(), 0xee, out.size() * sizeof(Word));
  run();
  const auto differences = count_differences<Word>(stream_, out.data(), want.data(), out.size());
  std::fprintf(stderr, "%-5s %s", differences == 0 ? "same" : "WRONG", what.c_str());
  if (differences != 0)
    std::fprintf(stderr, ": %llu of %zu words", static_cast<unsigned long long>(differences),
                 out.size());
  std::fprintf(stderr, "\n");
  failed_ |= differences != 0;
}

void TensorBench::time(const std::string& op, const std::string& params, std::size_t batch,
                       double bytes, const std::vector<Variant>& variants) const {
  std::vector<Runs> all;
  for (const Variant& v : variants) all.emplace_back(stream_, v.run);
  for (const bool turns : {false, true}) {
    std::vector<std::vector<double>> times(variants.size());
    if (turns) {
      for (int run = 0; run < runs_; ++run)
        for (std::size_t v = 0; v < all.size(); ++v) times[v].push_back(all[v].time());
    } else {
      for (std::size_t v = 0; v < all.size(); ++v)
        for (int run = 0; run < runs_; ++run) times[v].push_back(all[v].time());
    }
    for (std::size_t v = 0; v < all.size(); ++v)
      report({.op = op, .params = params, .batch = batch}, bytes, variants[v], turns,
             Times(std::move(times[v])));
  }
}

void TensorBench::report(Record record, double bytes, const Variant& variant, bool turns,
                         const Times& times) const {
  std::fprintf(stderr, "%-17s %-46s %6zu %-26s %-5s %10.2f us (%.2f ... %.2f)  floor %8.2f us\n",
               record.op.c_str(), record.params.c_str(), record.batch, variant.name.c_str(),
               turns ? "turns" : "alone", 1e6 * times.median(), 1e6 * times.least(),
               1e6 * times.most(), 1e6 * variant.floor);
  record.set(times);
  record.more = {{"variant", variant.name},
                 {"waited", false},
                 {"turns", turns},
                 {"bytes_per_second", bytes / times.median()},
                 {"h200_floor", variant.floor}};
  records_.add(record);
}

}  // namespace whorl::bench
