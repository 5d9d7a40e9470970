// Polynomials on the CPU: batches of transforms, and what is done value by value.
#include <algorithm>
#include <atomic>
#include <map>
#include <vector>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/rns_kernels.h"
#include "ring/automorphism.h"

namespace whorl::backend::cpu {

namespace {

template <class Word>
class CpuRing final : public RingOps<Word> {
 public:
  CpuRing(const Queue& queue, const Host& host) : RingOps<Word>(queue), host_(host) {}

 protected:
  void transform(NttPlans<Word> plans, bool forward, std::size_t batch, Word* data) const override {
    const std::size_t N = plans[0]->N();
    for (std::size_t l = 0; l < plans.size(); ++l) {
      const NttTables<Word> tables(*plans[l], simd_words(sizeof(Word)));
      Word* const limb = data + l * batch * N;
      host_.each(batch, N, [&](std::size_t b) {
        Word* const values = limb + b * N;
        forward ? ntt_polynomial(tables, values, values) : intt_polynomial(tables, values, values);
      });
    }
  }

  void elementwise(Elementwise op, Moduli<Word> q, std::size_t size, const Word* a, const Word* b,
                   Word* out) const override {
    pieces(q.size(), size / q.size(), [&](std::size_t l, std::size_t at, std::size_t count) {
      cpu::elementwise(op, q[l], a + at, b + at, out + at, count);
    });
  }
  void multiply_scalar(Moduli<Word> q, std::span<const Word> scalars, std::size_t size,
                       const Word* a, Word* out) const override {
    pieces(q.size(), size / q.size(), [&](std::size_t l, std::size_t at, std::size_t count) {
      cpu::multiply_scalar(q[l], a + at, q[l].reduce(scalars[l]), out + at, count);
    });
  }
  bool below(Moduli<Word> q, std::size_t size, const Word* a) const override {
    std::atomic<bool> all{true};
    pieces(q.size(), size / q.size(), [&](std::size_t l, std::size_t at, std::size_t count) {
      Word largest = 0;
      for (const Word x : std::span(a + at, count)) largest = std::max(largest, x);
      if (largest >= q[l].value()) all = false;
    });
    return all;
  }

  void permute(Moduli<Word> q, std::uint32_t N, std::uint32_t g, bool evaluation_form,
               std::size_t size, const Word* a, Word* out) const override {
    const std::size_t polynomials = size / N, batch = polynomials / q.size();
    if (evaluation_form) {
      const EvaluationPermutation<Word> permutation(N, g);
      const std::size_t stretch = std::min<std::size_t>(N, Host::least_piece), count = N / stretch;
      return host_.each(polynomials * count, stretch, [&](std::size_t i) {
        const std::size_t first = i / count * N;
        rns_kernels<Word>().permute(permutation, a + first, out + first, i % count * stretch,
                                    stretch);
      });
    }
    const std::vector<std::uint32_t> to = ring::coefficient_permutation(N, g);
    host_.each(polynomials, N, [&](std::size_t i) {
      const math::Modulus<Word>& modulus = q[i / batch];
      const Word* const x = a + i * N;
      Word* const y = out + i * N;
      for (std::uint32_t j = 0; j < N; ++j) y[to[j] % N] = to[j] < N ? x[j] : modulus.neg(x[j]);
    });
  }
  void gather(std::size_t rows, std::uint32_t N, std::span<const std::uint32_t> index,
              std::size_t in_batch, const Word* in, std::size_t out_batch,
              Word* out) const override {
    host_.each(rows * index.size(), N, [&](std::size_t k) {
      const std::size_t row = k / index.size(), i = k % index.size();
      std::copy_n(in + (row * in_batch + index[i]) * N, N, out + (row * out_batch + i) * N);
    });
  }

 private:
  /// Calls body(limb, offset, count) for pieces of every limb of `size` values.
  template <class Body>
  void pieces(std::size_t limbs, std::size_t size, const Body& body) const {
    const std::size_t most = host_.piece(limbs * size), per_limb = (size + most - 1) / most;
    // Done at once: a quarter of the work that transforms and the like are of so many values.
    parallel_for(limbs * per_limb, host_.on().workers_for(limbs * size / 4), [&](std::size_t i) {
      const std::size_t begin = i % per_limb * most;
      body(i / per_limb, i / per_limb * size + begin, std::min(most, size - begin));
    });
  }

  Host host_;
};

class CpuFft final : public FftOps {
 public:
  CpuFft(const Queue& queue, const Host& host) : FftOps(queue), host_(host) {}

 protected:
  void forward(const ring::FftPlan& plan, std::size_t batch, const double* in,
               std::complex<double>* out) const override {
    const FftTables& tables = of(plan).transform;
    host_.each(batch, plan.N(), [&](std::size_t b) {
      fft_polynomial(tables, in + b * plan.N(), out + b * plan.M());
    });
  }
  void inverse(const ring::FftPlan& plan, std::size_t batch, const std::complex<double>* in,
               double* out) const override {
    const FftTables& tables = of(plan).transform;
    host_.each(batch, plan.N(), [&](std::size_t b) {
      ifft_polynomial(tables, in + b * plan.M(), out + b * plan.N());
    });
  }
  void inverse_of_powers(const ring::FftPlan& plan, std::size_t batch,
                         const std::complex<double>* in, double* out) const override {
    const Tables& tables = of(plan);
    host_.each(batch, plan.N(), [&](std::size_t b) {
      const std::complex<double>* const values = in + b * plan.M();
      const auto ordered =
          host_.memory->take_array<std::complex<double>>(plan.M(), "cpu: an intermediate result");
      for (std::size_t j = 0; j < plan.M(); ++j) ordered[tables.powers[j]] = values[j];
      ifft_polynomial(tables.transform, ordered.get(), out + b * plan.N());
    });
  }

 private:
  struct Tables {
    explicit Tables(const ring::FftPlan& plan)
        : transform(plan, simd_doubles()), powers(plan.results_at_powers_of_5()) {}
    FftTables transform;
    std::vector<std::uint32_t> powers;
  };
  /// Made once for each N: that takes longer than a transform.
  const Tables& of(const ring::FftPlan& plan) const {
    return tables_.try_emplace(plan.N(), plan).first->second;
  }

  Host host_;
  mutable std::map<std::uint32_t, Tables> tables_;
};

}  // namespace

template <class Word>
std::shared_ptr<const RingOps<Word>> make_ring(const Queue& queue, const Host& host) {
  return std::make_shared<CpuRing<Word>>(queue, host);
}
template std::shared_ptr<const RingOps<std::uint32_t>> make_ring(const Queue&, const Host&);
template std::shared_ptr<const RingOps<std::uint64_t>> make_ring(const Queue&, const Host&);

std::shared_ptr<const FftOps> make_fft(const Queue& queue, const Host& host) {
  return std::make_shared<CpuFft>(queue, host);
}

}  // namespace whorl::backend::cpu
