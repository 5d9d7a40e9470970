// Blind rotations of the sizes of sets, method by method.
//
// Keys encrypt bits of a fixed secret under the ring key 1 (rows (r, r) with r uniform, and the
// message on top), without noise: after all steps b - a is the look-up table times a power of X,
// but for what the gadget drops and the FFT rounds. That is checked for some of the ciphertexts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/contract/rotation.h"
#include "backend/cuda/dispatch/rotation.h"
#include "backend/cuda/runtime/stream.h"

namespace whorl::bench {

using backend::cuda::Stream;

/// A set's numbers for its rotations.
struct RotationSet {
  const char* name;
  std::uint32_t n, N;
  unsigned bits, log_base, digits;
};
inline constexpr RotationSet rotation_sets[] = {{"W128_P64", 644, 1024, 26, 8, 2},
                                                {"W128_P128", 843, 2048, 48, 23, 1}};

/// `kind`: GINX, or one whose steps take `group` coefficients.
backend::RotationShape rotation_shape(const RotationSet& set, backend::RotationKind kind,
                                      unsigned group, backend::Arithmetic arithmetic);
template <class Word>
backend::RowSource<Word> rotation_rows(const backend::RotationShape& shape);

template <class Word>
class RotationBench {
 public:
  /// For batches of up to `most` ciphertexts.
  RotationBench(const Stream& stream, const backend::RotationShape& shape, std::uint32_t most);
  void take(std::uint32_t count) { count_ = count; }

  const backend::RotationKey& key() const { return *key_; }
  std::uint32_t count() const { return count_; }
  const std::uint32_t* lwe() const { return lwe_.data(); }
  const Word* luts() const { return luts_.data(); }
  const std::uint32_t* index() const { return index_.data(); }
  Word* out() const { return out_.data(); }
  /// The backend's own choice of a kernel.
  void rotate() const;
  /// Whether the batch that was last rotated came out as it must.
  bool right() const;

 private:
  const Stream& stream_;
  backend::RotationShape shape_;
  std::uint32_t count_;
  std::unique_ptr<backend::RotationKey> key_;
  std::vector<std::uint32_t> host_lwe_, host_index_;
  std::vector<Word> host_luts_;
  backend::cuda::DeviceArray<std::uint32_t> lwe_, index_;
  backend::cuda::DeviceArray<Word> luts_, out_;
};

/// A kernel with other numbers than those in use.
struct Candidate {
  std::string name;
  std::function<void()> launch;
};
std::vector<Candidate> narrow_candidates(const Stream& stream,
                                         const RotationBench<std::uint32_t>& bench);
std::vector<Candidate> coarse_candidates(const Stream& stream,
                                         const RotationBench<std::uint64_t>& bench);
/// For few ciphertexts: bundles and loops apart.
std::vector<Candidate> few_narrow_candidates(const Stream& stream,
                                             const RotationBench<std::uint32_t>& bench);
std::vector<Candidate> few_coarse_candidates(const Stream& stream,
                                             const RotationBench<std::uint64_t>& bench);
template <class Word>
std::vector<Candidate> ntt_candidates(const Stream& stream, const RotationBench<Word>& bench);

/// Prints times of exchanges between the blocks of a cluster.
void time_meetings(const Stream& stream);

}  // namespace whorl::bench
