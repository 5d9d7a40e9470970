// Candidates of NTTs that are few: so few that a launch takes as long as one transform does.
//
// Times are of one of several launches in a row, each on other data, chained as the library chains
// them.
#include <array>
#include <cstdio>

#include "backend/cuda/dispatch/launch.cuh"
#include "ntt_candidates.cuh"

namespace whorl::tune {
namespace {

using backend::cuda::NttArguments;
using backend::cuda::rows32;
using backend::cuda::Twiddle;
using Word = std::uint32_t;

// clang-format off: a line a candidate, written as in tuning/transforms.h.
struct Table {
  static constexpr TransformShape shapes[] = {
      one_kernel({16, 5, 4, {4, 4, 4, 4}}, 1, 3, 3, rows32(8, 16)),
      one_kernel({16, 5, 4, {4, 4, 4, 4}}, 1, 3, 4, rows32(8, 16)),
      one_kernel({16, 5, 4, {5, 3, 3, 5}}, 1, 3, 3, rows32()),
      with_cyclic(one_kernel({16, 5, 4, {4, 4, 4, 4}}, 1, 3, 3, rows32(8, 16)), 8),
      with_cyclic(one_kernel({16, 5, 4, {5, 3, 3, 5}}, 1, 3, 3, rows32()), 8),
      one_kernel({16, 4, 4, {4, 4, 4, 4}}, 1, 3, 2, rows32(8, 16)),
      one_kernel({16, 4, 4, {4, 4, 4, 4}}, 1, 3, 1, rows32(8, 16)),
      with_cyclic(one_kernel({16, 4, 4, {4, 4, 4, 4}}, 1, 3, 2, rows32(8, 16)), 8),
      with_cyclic(one_kernel({16, 4, 4, {4, 4, 4, 4}}, 1, 3, 2, rows32(8, 16)), 12),
      one_kernel({15, 5, 3, {5, 5, 5}}, 1, 3, 4, rows32()),
      one_kernel({15, 4, 4, {4, 4, 3, 4}}, 1, 3, 2, rows32()),
  };
};
// clang-format on

/// Rows of a launch, each modulo another prime, and transforms of each.
struct Count {
  unsigned rows, batch;
};
constexpr std::array<Count, 7> counts{
    {{6, 1}, {12, 1}, {24, 1}, {48, 1}, {60, 1}, {47, 2}, {64, 2}}};
constexpr unsigned launches_a_run = 16;

class FewTuner {
 public:
  FewTuner(Tuner& tuner, TransformTuner& data, int log_n) : tuner_(tuner), data_(data) {
    for (const std::uint64_t q : math::ntt_primes(30, 1u << log_n, 64))
      plans_.emplace_back(1u << log_n, static_cast<Word>(q));
  }

  template <class Tuning>
  void measure() {
    constexpr KernelShape shape = Tuning::shape.kernel[0];
    static_assert(Tuning::shape.kernels == 1);
    if (!data_.can_run(Tuning::shape, sizeof(Word))) return;
    const std::size_t N = plans_[0].N(), all = batch_bytes / sizeof(Word);
    Measured result;
    result.line = shape_line(Tuning::shape);
    result.used = results_.empty();
    for (const bool forward : {true, false}) {
      const auto launch = launches<Tuning, Word, NttArguments<Word>>([&](auto tuned) {
        return forward ? backend::cuda::ntt_kernel<Word, 4, decltype(tuned)>
                       : backend::cuda::intt_kernel<Word, 4, decltype(tuned)>;
      })[0];
      std::vector<backend::cuda::DeviceArray<Twiddle<Word>>> tables;
      NttArguments<Word> arguments = {};
      for (std::size_t i = 0; i < plans_.size(); ++i) {
        const auto host = backend::cuda::ntt_table(shape.split, plans_[i], forward);
        tables.push_back(data_.stream().upload(host.data(), host.size()));
        arguments.limbs[i] = ntt_limb(plans_[i], tables.back().data());
      }
      result.text += facts_text({launch.prepare()}) + ":";
      for (const Count& count : counts) {
        arguments.batch = count.batch;
        const std::size_t words = count.rows * count.batch * N;
        const auto run = [&](unsigned times) {
          for (unsigned i = 0; i < times; ++i) {
            arguments.out = static_cast<Word*>(data_.output()) + i * words % (all - words);
            arguments.in = arguments.out;
            const std::size_t units = std::size_t{count.batch} << shape.log_parts();
            backend::cuda::launch_chained(
                data_.stream(), "candidate", launch.kernel,
                {dim3(static_cast<unsigned>(units / shape.units), count.rows),
                 static_cast<unsigned>(shape.threads()), launch.shared_bytes,
                 1u << shape.log_cluster},
                arguments);
          }
        };
        if (&count == &counts.back()) result.right &= agrees(forward, run, words);
        const float ms = tuner_.median_ms([&] { run(launches_a_run); }, 20) / launches_a_run;
        result.ms += ms;
        char text[32];
        std::snprintf(text, sizeof(text), " %5.1f", 1e3 * ms);
        result.text += text;
      }
      result.text += forward ? "; " : "";
    }
    results_.push_back(std::move(result));
  }

  void rank(const std::string& title) { tuner_.rank(title, results_); }

 private:
  /// Whether a launch gives what it gave with the first candidate.
  template <class RunOf>
  bool agrees(bool forward, const RunOf& run, std::size_t words) {
    data_.fill_output();
    run(1);
    auto& wanted = wanted_[forward];
    if (wanted.size() == 0) {
      wanted = data_.stream().allocate<Word>(words);
      backend::cuda::check(cudaMemcpyAsync(wanted.data(), data_.output(), words * sizeof(Word),
                                           cudaMemcpyDeviceToDevice, data_.stream().handle()),
                           "cudaMemcpyAsync of results");
      return true;
    }
    return tuner_.equal(static_cast<const std::uint64_t*>(data_.output()),
                        reinterpret_cast<const std::uint64_t*>(wanted.data()), words / 2);
  }

  Tuner& tuner_;
  TransformTuner& data_;
  std::vector<ring::NttPlan<Word>> plans_;
  backend::cuda::DeviceArray<Word> wanted_[2];
  std::vector<Measured> results_;
};

template <int log_n>
void tune_size(Tuner& tuner, TransformTuner& data) {
  using Many = typename backend::cuda::NttTuning<sizeof(Word), log_n,
                                                 backend::cuda::Clusters::present>::Canonical;
  FewTuner few(tuner, data, log_n);
  for_candidates<Many, Many, Table>([&]<class Tuning>() { few.template measure<Tuning>(); });
  few.rank("few ntt 32, 2^" + std::to_string(log_n) +
           " points: forward and inverse, each: registers/warps, µs of a launch of 6, 12, 24, 48, "
           "60, 94 and 128 transforms; * is the shape for many");
}

}  // namespace

void tune_ntt_few(Tuner& tuner) {
  TransformTuner data(tuner);
  data.fill_integers();
  tune_size<15>(tuner, data);
  tune_size<16>(tuner, data);
}

}  // namespace whorl::tune
