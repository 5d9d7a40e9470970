// Polynomials on a GPU.
#include "backend/cuda/aligned.h"
#include "backend/cuda/dispatch/rns/elementwise.h"
#include "backend/cuda/dispatch/transforms/encoding.h"
#include "backend/cuda/dispatch/transforms/transforms.h"
#include "backend/cuda/queue.h"

namespace whorl::backend::cuda {

namespace {

template <class Word>
class CudaRing final : public RingOps<Word> {
 public:
  explicit CudaRing(const CudaQueue& queue)
      : RingOps<Word>(queue), stream_(queue.stream()), tables_(queue.gpu().tables()) {}

 protected:
  void transform(NttPlans<Word> plans, bool forward, std::size_t batch, Word* data) const override {
    const Aligned<Word> values(stream_, data, plans.size() * batch * plans[0]->N());
    cuda::ntt(stream_, tables_, plans, batch, values.data(), forward);
    values.write_back();
  }
  void elementwise(Elementwise op, Moduli<Word> q, std::size_t size, const Word* a, const Word* b,
                   Word* out) const override {
    cuda::elementwise(stream_, op, q, size, a, b, out);
  }
  void multiply_scalar(Moduli<Word> q, std::span<const Word> scalars, std::size_t size,
                       const Word* a, Word* out) const override {
    cuda::multiply_scalar(stream_, q, scalars, size, a, out);
  }
  void permute(Moduli<Word> q, std::uint32_t N, std::uint32_t g, bool evaluation_form,
               std::size_t size, const Word* a, Word* out) const override {
    cuda::automorphism(stream_, q, N, g, evaluation_form, size, a, out);
  }
  bool below(Moduli<Word> q, std::size_t size, const Word* a) const override {
    return cuda::all_below(stream_, q, size, a);
  }
  void gather(std::size_t rows, std::uint32_t N, std::span<const std::uint32_t> index,
              std::size_t in_batch, const Word* in, std::size_t out_batch,
              Word* out) const override {
    cuda::take(stream_, rows, N, index, in_batch, in, out_batch, out);
  }

 private:
  const Stream& stream_;
  const TransformTables& tables_;
};

class CudaFft final : public FftOps {
 public:
  explicit CudaFft(const CudaQueue& queue)
      : FftOps(queue), stream_(queue.stream()), tables_(queue.gpu().tables()) {}

 protected:
  void forward(const ring::FftPlan& plan, std::size_t batch, const double* in,
               std::complex<double>* out) const override {
    const Aligned<const double> from(stream_, in, batch * plan.N());
    const Aligned<std::complex<double>> to(stream_, out, batch * plan.M());
    cuda::fft(stream_, tables_, plan, batch, from.data(), to.data());
    to.write_back();
  }
  void inverse(const ring::FftPlan& plan, std::size_t batch, const std::complex<double>* in,
               double* out) const override {
    const Aligned<const std::complex<double>> from(stream_, in, batch * plan.M());
    const Aligned<double> to(stream_, out, batch * plan.N());
    cuda::ifft(stream_, tables_, plan, batch, from.data(), to.data());
    to.write_back();
  }
  void inverse_of_powers(const ring::FftPlan& plan, std::size_t batch,
                         const std::complex<double>* in, double* out) const override {
    const Aligned<const std::complex<double>> from(stream_, in, batch * plan.M());
    const auto ordered = stream_.allocate<std::complex<double>>(batch * plan.M());
    cuda::order_powers_of_5(stream_, plan.M(), batch, from.data(), ordered.data());
    inverse(plan, batch, ordered.data(), out);
  }

 private:
  const Stream& stream_;
  const TransformTables& tables_;
};

}  // namespace

void CudaQueue::offer_ring() {
  offer<RingOps<std::uint32_t>>(std::make_shared<CudaRing<std::uint32_t>>(*this));
  offer<RingOps<std::uint64_t>>(std::make_shared<CudaRing<std::uint64_t>>(*this));
  offer<FftOps>(std::make_shared<CudaFft>(*this));
}

}  // namespace whorl::backend::cuda
