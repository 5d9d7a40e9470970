#include "ring/host/transforms.h"

#include <string>

#include "math/secret.h"
#include "ring/host/kernels.h"
#include "whorl/error.h"

namespace whorl::ring {

namespace {

void check_sizes(const char* what, std::size_t in, std::size_t in_due, std::size_t out,
                 std::size_t out_due) {
  if (in != in_due || out != out_due)
    throw ShapeError(std::string(what) + ": the input has " + std::to_string(in) +
                     " values and the output " + std::to_string(out) + "; they must have " +
                     std::to_string(in_due) + " and " + std::to_string(out_due));
}

/// Aligned for every SIMD width, and wiped: a message may be in it.
class Work {
 public:
  explicit Work(std::size_t doubles)
      : doubles_(doubles), memory_(hwy::AllocateAligned<double>(doubles)) {
    if (!memory_) throw OutOfMemoryError("the system gave no memory for an FFT");
  }
  ~Work() { math::detail::wipe(memory_.get(), doubles_ * sizeof(double)); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  double* get() { return memory_.get(); }

 private:
  std::size_t doubles_;
  hwy::AlignedFreeUniquePtr<double[]> memory_;
};

}  // namespace

template <class Word>
HostNtt<Word>::HostNtt(std::shared_ptr<const NttPlan<Word>> plan)
    : plan_(std::move(plan)), tables_(*plan_, simd_words(sizeof(Word))) {}

template <class Word>
void HostNtt<Word>::forward(std::span<const Word> in, std::span<Word> out) const {
  check_sizes("NTT", in.size(), tables_.N, out.size(), tables_.N);
  ntt_polynomial(tables_, in.data(), out.data());
}

template <class Word>
void HostNtt<Word>::inverse(std::span<const Word> in, std::span<Word> out) const {
  check_sizes("inverse NTT", in.size(), tables_.N, out.size(), tables_.N);
  intt_polynomial(tables_, in.data(), out.data());
}

template <class Word>
std::vector<HostNtt<Word>> host_ntts(const std::shared_ptr<const RnsPlan<Word>>& plan) {
  std::vector<HostNtt<Word>> out;
  for (unsigned l = 0; l < plan->moduli().size(); ++l)
    out.emplace_back(std::shared_ptr<const NttPlan<Word>>(plan, &plan->ntt(l)));
  return out;
}

template class HostNtt<std::uint32_t>;
template class HostNtt<std::uint64_t>;
template std::vector<HostNtt<std::uint32_t>> host_ntts(
    const std::shared_ptr<const RnsPlan<std::uint32_t>>&);
template std::vector<HostNtt<std::uint64_t>> host_ntts(
    const std::shared_ptr<const RnsPlan<std::uint64_t>>&);

HostFft::HostFft(const FftPlan& plan) : tables_(plan, simd_doubles()) {}

void HostFft::forward(std::span<const double> in, std::span<std::complex<double>> out) const {
  check_sizes("FFT", in.size(), N(), out.size(), tables_.M);
  Work work(N());
  fft_polynomial(tables_, in.data(), out.data(), work.get());
}

void HostFft::inverse(std::span<const std::complex<double>> in, std::span<double> out) const {
  check_sizes("inverse FFT", in.size(), tables_.M, out.size(), N());
  Work work(N());
  ifft_polynomial(tables_, in.data(), out.data(), work.get());
}

}  // namespace whorl::ring
