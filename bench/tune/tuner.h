// What the tuning program does with any candidate: check it, time it, rank it, print it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/cuda/runtime/stream.h"
#include "backend/cuda/tuning/transforms.h"

namespace whorl::tune {

/// Bytes of a batch: several times the second-level cache.
inline constexpr std::size_t batch_bytes = std::size_t{256} << 20;

/// What the compiler made of a kernel, and how much of it a multiprocessor holds.
struct KernelFacts {
  int registers = 0;
  std::size_t spilled_bytes = 0;  ///< a thread
  int warps = 0;                  ///< a multiprocessor
};

/// One direction of a candidate.
struct Run {
  std::vector<KernelFacts> kernels;
  std::function<void()> transform;  ///< enqueues one batch, from `input` or in place, to `output`
  /// Outputs count as equal within it; they are doubles. 0: they are integers, equal or not.
  double tolerance = 0;
};

class Tuner {
 public:
  /// DeviceError if there is no such GPU.
  explicit Tuner(int device);
  ~Tuner();
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  const backend::cuda::Stream& stream() const { return stream_; }
  /// Arrays of batch_bytes: `output` holds a copy of `input` before a candidate's first run.
  void* input() const { return input_.get(); }
  void* output() const { return output_.get(); }
  void* between() const { return between_.get(); }

  /// A batch of integers below 2^25 in each 32-bit word, or of reals in [-1, 1).
  void fill_integers();
  void fill_reals();

  /// Candidates of one family ("ntt 32") and size follow, of which `in_use` are the lines that
  /// tuning/transforms.h has.
  void begin_size(const std::string& family, int log_n, std::vector<std::string> in_use);
  /// Whether the GPU can run the shape; where not, the candidate is counted as left out.
  bool can_run(const backend::cuda::TransformShape& shape, std::size_t value_bytes);
  void measure(const backend::cuda::TransformShape& shape, const Run& forward, const Run& inverse);
  /// Prints the candidates of the size, fastest first.
  void end_size();

  /// Prints the lines of the winners. The number of candidates with a wrong output.
  int finish() const;

 private:
  struct Result {
    std::string line;
    bool clusters = false, forward_right = false, inverse_right = false;
    float forward_ms = 0, inverse_ms = 0;
    std::vector<KernelFacts> forward_kernels, inverse_kernels;
    bool right() const { return forward_right && inverse_right; }
    float ms() const { return forward_ms + inverse_ms; }
  };

  float median_ms(const std::function<void()>& work) const;
  /// Runs once and compares with `reference`, which the first candidate of a size fills.
  bool check_output(const Run& run, void* reference, bool& known) const;
  void print(const Result& result) const;
  void add_winner(const Result& result);

  backend::cuda::Stream stream_;
  backend::cuda::CurrentGpu current_;
  std::shared_ptr<void> input_, output_, between_, forward_reference_, inverse_reference_;
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
  float copy_ms_ = 0;  ///< of a batch: the floor that bandwidth sets

  std::string family_;
  int log_n_ = 0;
  std::vector<std::string> in_use_;
  bool forward_known_ = false, inverse_known_ = false;
  std::vector<Result> results_;
  int left_out_ = 0, wrong_ = 0;
  std::string winners_;  ///< of sizes done
};

/// The shape as tuning/transforms.h writes it.
std::string shape_line(const backend::cuda::TransformShape& shape);

void tune_ntt_32(Tuner& tuner);
void tune_ntt_64(Tuner& tuner);
void tune_fft(Tuner& tuner);

}  // namespace whorl::tune
