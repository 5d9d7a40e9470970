// Batches of transforms, measured: shapes of tuning/transforms.h, forward and inverse.
//
// A size's outputs, forward and inverse, are compared with those of its first candidate. A batch
// has 256 MB; the floor is a copy of as many bytes. The fastest in the sum of both directions wins;
// where it takes clusters (sm_90 on), so does the fastest without.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/cuda/tuning/transforms.h"
#include "tuner.h"

namespace whorl::tune {

using backend::cuda::KernelShape;
using backend::cuda::Padding;
using backend::cuda::Split;
using backend::cuda::TransformShape;

/// Bytes of a batch: several times the second-level cache.
inline constexpr std::size_t batch_bytes = std::size_t{256} << 20;

/// One direction of a candidate.
struct Run {
  std::vector<KernelFacts> kernels;
  std::function<void()> transform;  ///< enqueues one batch, from `input` or in place, to `output`
  /// Outputs count as equal within it; they are doubles. 0: they are integers, equal or not.
  double tolerance = 0;
};

class TransformTuner {
 public:
  explicit TransformTuner(Tuner& tuner);

  const backend::cuda::Stream& stream() const { return tuner_.stream(); }
  /// Arrays of batch_bytes: `output` holds a copy of `input` before a candidate's first run.
  void* input() const { return input_.get(); }
  void* output() const { return output_.get(); }
  void* between() const { return between_.get(); }

  /// A batch of integers below 2^25 in each 32-bit word, or of reals in [-1, 1).
  void fill_integers();
  void fill_reals();
  /// A copy of `input` to `output`.
  void fill_output() const { copy(output(), input()); }

  /// Candidates of one family ("ntt 32") and size follow, of which `in_use` are the lines that
  /// tuning/transforms.h has.
  void begin_size(const std::string& family, int log_n, std::vector<std::string> in_use);
  /// Whether the GPU can run the shape; where not, the candidate is counted as left out.
  bool can_run(const TransformShape& shape, std::size_t value_bytes);
  void measure(const TransformShape& shape, const Run& forward, const Run& inverse);
  /// Prints the candidates of the size, fastest first.
  void end_size();

 private:
  struct Result : Measured {
    bool clusters = false;
  };

  void copy(void* to, const void* from) const;
  /// Runs once and compares with `reference`, which the first candidate of a size fills.
  bool check_output(const Run& run, void* reference, bool& known) const;
  /// Measures one direction; clears `right` if its output is wrong.
  std::string measure(const Run& run, void* reference, bool& known, Result& result) const;
  void add_winner(const Result& result);

  Tuner& tuner_;
  std::shared_ptr<void> input_, output_, between_, forward_reference_, inverse_reference_;
  float copy_ms_ = 0;  ///< of a batch: the floor that bandwidth sets

  std::string family_;
  int log_n_ = 0;
  std::vector<std::string> in_use_;
  bool forward_known_ = false, inverse_known_ = false;
  std::vector<Result> results_;
  int left_out_ = 0;
};

/// The shape as tuning/transforms.h writes it.
std::string shape_line(const TransformShape& shape);

}  // namespace whorl::tune
