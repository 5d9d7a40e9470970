// Blind rotations alone, at the sizes of W128_P64 and W128_P128: GINX and unrolled keys, by FFT and
// NTT, data on the device; batches of 16,384 and of few ciphertexts.
//
// usage: bench_cuda_rotations [--device ORDINAL] [--batch B] [--only fft,ntt,meetings]
//                             [--methods unrolled:2,…] [--candidates] [--record FILE --commit ID]
//
// --candidates: kernels with other numbers than those in use, too. The exit status is 1 if a result
// is wrong.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/runtime/gpu.h"
#include "common/command_line.h"
#include "common/cuda_timer.h"
#include "common/records.h"
#include "cuda_rotations/bench.h"

namespace whorl::bench {
namespace {

using Kind = backend::RotationKind;

struct Method {
  const char* name;
  Kind kind;
  unsigned group;
  bool batches;  ///< there are kernels for batches by FFT
};
constexpr Method methods[] = {{"ginx", Kind::ginx, 1, true},
                              {"unrolled", Kind::unrolled, 2, true},
                              {"unrolled", Kind::unrolled, 3, true},
                              {"unrolled", Kind::unrolled, 5, false},
                              {"unrolled_all", Kind::unrolled_all, 2, true},
                              {"unrolled_all", Kind::unrolled_all, 3, true},
                              {"unrolled_all", Kind::unrolled_all, 4, false},
                              {"unrolled_all", Kind::unrolled_all, 5, false},
                              {"unrolled_all", Kind::unrolled_all, 6, false},
                              {"block", Kind::block, 3, true},
                              {"block", Kind::block, 4, true}};

struct Options : Common {
  std::uint64_t batch = 16384;
  int gpu = 0;
  bool candidates = false;
  std::vector<std::string> methods;
};

class Rotations {
 public:
  Rotations(const Options& options, const Stream& stream, const Records& records)
      : options_(options), stream_(stream), records_(records) {}
  int failed() const { return failed_; }

  template <class Word>
  void measure(const RotationSet& set, const Method& method, backend::Arithmetic arithmetic) {
    const bool fft = arithmetic == backend::Arithmetic::fft, ginx = method.kind == Kind::ginx;
    const auto shape = rotation_shape(set, method.kind, method.group, arithmetic);
    std::vector<std::uint32_t> counts = {1};
    if (!ginx && fft) counts.insert(counts.end(), {8, 32, 132});
    if (method.batches || (!fft && method.group <= 3))
      counts.push_back(static_cast<std::uint32_t>(options_.batch));
    RotationBench<Word> bench(stream_, shape, counts.back());
    for (const std::uint32_t count : counts) {
      bench.take(count);
      const std::string name =
          std::string(set.name) + (fft ? ", FFT, " : ", NTT, ") +
          (ginx ? method.name
                : method.name + std::string(", groups of ") + std::to_string(method.group)) +
          ", batch " + std::to_string(count);
      Record record{.op = "rotation", .params = set.name, .batch = count};
      record.unit = count == 1 ? "s" : "1/s";
      record.more = {{"transform", std::string(fft ? "fft" : "ntt")},
                     {"rotation", std::string(method.name)},
                     {"group", std::uint64_t{ginx ? 0 : method.group}},
                     {"key_bytes", std::uint64_t{bench.key().bytes()}}};
      time(
          name, bench, [&] { bench.rotate(); }, &record);
      if (!options_.candidates || ginx) continue;
      if (fft && count < options_.batch && (count == 1 || count == 32))
        for (const Candidate& candidate : few_candidates(stream_, bench))
          time("    " + candidate.name, bench, candidate.launch, nullptr);
      if (!method.batches || count != options_.batch) continue;
      for (const Candidate& candidate : candidates_of(bench, fft))
        time("    " + candidate.name, bench, candidate.launch, nullptr);
    }
  }

 private:
  static std::vector<Candidate> candidates_of(const Stream& stream,
                                              const RotationBench<std::uint32_t>& bench, bool fft) {
    return fft ? narrow_candidates(stream, bench) : ntt_candidates(stream, bench);
  }
  static std::vector<Candidate> candidates_of(const Stream& stream,
                                              const RotationBench<std::uint64_t>& bench, bool fft) {
    return fft ? coarse_candidates(stream, bench) : ntt_candidates(stream, bench);
  }
  static std::vector<Candidate> few_candidates(const Stream& stream,
                                               const RotationBench<std::uint32_t>& bench) {
    return few_narrow_candidates(stream, bench);
  }
  static std::vector<Candidate> few_candidates(const Stream& stream,
                                               const RotationBench<std::uint64_t>& bench) {
    return few_coarse_candidates(stream, bench);
  }
  template <class Word>
  std::vector<Candidate> candidates_of(const RotationBench<Word>& bench, bool fft) const {
    return candidates_of(stream_, bench, fft);
  }

  template <class Word>
  void time(const std::string& name, const RotationBench<Word>& bench,
            const std::function<void()>& work, Record* record) {
    try {
      const Times times = CudaTimer(stream_).measure(1, 3, work);
      const bool right = bench.right();
      failed_ += !right;
      std::printf("%-60s %10.3f ms %11.0f /s %s\n", name.c_str(), times.median() * 1e3,
                  bench.count() / times.median(), right ? "" : "WRONG");
      std::fflush(stdout);
      if (record != nullptr) {
        record->set(times, bench.count());
        records_.add(*record);
      }
    } catch (const std::exception& error) {
      ++failed_;
      std::printf("%-60s %s\n", name.c_str(), error.what());
    }
  }

  const Options& options_;
  const Stream& stream_;
  const Records& records_;
  int failed_ = 0;
};

int run(CommandLine& line) {
  Options options;
  line.gpu(options.gpu).record(options).only(options);
  line.add("--batch", options.batch, "ciphertexts")
      .flag("--candidates", options.candidates, "kernels with other numbers, too")
      .list("--methods", options.methods, "such as unrolled:2, with commas between; else all")
      .parse();
  const auto gpu = backend::cuda::describe_gpu(options.gpu);
  const Stream stream(gpu);
  const Records records("cuda_rotations", options, {record_name(gpu.model)});
  Rotations rotations(options, stream, records);
  for (const auto& [arithmetic, name] :
       {std::pair{backend::Arithmetic::fft, "fft"}, {backend::Arithmetic::ntt, "ntt"}}) {
    if (!options.wants(name)) continue;
    for (const Method& method : methods) {
      const std::string name_of = method.name + (":" + std::to_string(method.group));
      if (!options.methods.empty() &&
          std::ranges::find(options.methods, name_of) == options.methods.end())
        continue;
      rotations.measure<std::uint32_t>(rotation_sets[0], method, arithmetic);
      rotations.measure<std::uint64_t>(rotation_sets[1], method, arithmetic);
    }
  }
  if (options.wants("meetings")) time_meetings(stream);
  return rotations.failed() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace whorl::bench

int main(int count, char** arguments) {
  return whorl::bench::run_program(count, arguments, "bench_cuda_rotations", whorl::bench::run);
}
