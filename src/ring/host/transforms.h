// Transforms on the host: what encoders, secrets and key generation use, which have no device.
//
// They branch on no value and look nothing up by one, and they leave nothing behind but their
// results: secrets may go through them.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ring/host/fft_tables.h"
#include "ring/host/ntt_tables.h"
#include "ring/rns_plan.h"

namespace whorl::ring {

/// The NTT of one plan, in its order. Several threads may use one object.
template <class Word>
class HostNtt {
 public:
  /// OutOfMemoryError if there is no memory for the twiddles.
  explicit HostNtt(std::shared_ptr<const NttPlan<Word>> plan);

  const NttPlan<Word>& plan() const { return *plan_; }

  /// These go from N coefficients to N values and back, with residues below q in and out. `out` may
  /// be `in`, but not overlap it otherwise. ShapeError for another number of words.
  void forward(std::span<const Word> in, std::span<Word> out) const;
  void inverse(std::span<const Word> in, std::span<Word> out) const;
  void forward(std::span<Word> x) const { forward(x, x); }
  void inverse(std::span<Word> x) const { inverse(x, x); }

 private:
  std::shared_ptr<const NttPlan<Word>> plan_;
  NttTables<Word> tables_;  ///< refer to the plan
};

/// Makes the transforms of each prime of a plan: the chain's come first, then the special ones.
template <class Word>
std::vector<HostNtt<Word>> host_ntts(const std::shared_ptr<const RnsPlan<Word>>& plan);

/// The folded FFT, in the order of FftPlan. Several threads may use one object.
class HostFft {
 public:
  explicit HostFft(const FftPlan& plan);

  std::uint32_t N() const { return 2 * tables_.M; }

  /// These go from N coefficients to N/2 values and back. ShapeError for other numbers of them.
  void forward(std::span<const double> in, std::span<std::complex<double>> out) const;
  void inverse(std::span<const std::complex<double>> in, std::span<double> out) const;

 private:
  FftTables tables_;
};

}  // namespace whorl::ring
