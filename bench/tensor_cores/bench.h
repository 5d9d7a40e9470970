// What the parts of bench_tensor_cores share: data, comparisons, times in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backend/cuda/dispatch/transforms.h"
#include "backend/cuda/runtime/error.h"
#include "backend/cuda/runtime/stream.h"
#include "common/records.h"

namespace whorl::bench {

/// One way to do it.
struct Variant {
  std::string name;
  std::function<void()> run;
  double floor;  ///< seconds
};

class TensorBench {
 public:
  using Word = std::uint32_t;
  template <class T>
  using DeviceArray = backend::cuda::DeviceArray<T>;

  TensorBench(int device, std::uint64_t seed, int runs, const Common& options);

  const backend::cuda::Stream& stream() const { return stream_; }
  bool failed() const { return failed_; }

  /// Random residues of `rows` rows, row r modulo moduli[r % size]; some are 0 or the largest.
  DeviceArray<Word> residues(const std::vector<Word>& moduli, std::size_t rows, std::size_t row);
  /// Runs it over bytes of its own and compares `out` with what is wanted, whose bytes were others:
  /// a word not written differs.
  void compare(const std::string& what, const std::function<void()>& run,
               const DeviceArray<Word>& out, const DeviceArray<Word>& want);
  /// Seconds of one call, in runs of 0.7 ms or more: each variant alone, then run by run in turn.
  void time(const std::string& op, const std::string& params, std::size_t batch, double bytes,
            const std::vector<Variant>& variants) const;

 private:
  void report(Record record, double bytes, const Variant& variant, bool turns,
              const Times& times) const;

  std::uint64_t seed_;
  int runs_;
  backend::cuda::Stream stream_;
  backend::cuda::CurrentGpu current_;
  Records records_;
  bool failed_ = false;
};

void bench_conversions(TensorBench& bench, const backend::cuda::TransformTables& transforms);
void bench_transforms(TensorBench& bench, const backend::cuda::TransformTables& tables);
/// Of 2^16 points.
void bench_long_transforms(TensorBench& bench, const backend::cuda::TransformTables& tables,
                           std::uint32_t count);

}  // namespace whorl::bench
