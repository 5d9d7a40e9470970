#include "backend/contract/ring.h"

#include <string>

#include "ring/automorphism.h"

namespace whorl::backend {

namespace {

template <class Word>
void check_limbs(const char* what, Moduli<Word> q, std::size_t size) {
  if (q.empty()) throw ShapeError(std::string(what) + ": there is no limb");
  if (size % q.size() != 0)
    throw ShapeError(std::string(what) + ": " + std::to_string(size) +
                     " elements are not a whole number of rows of " + std::to_string(q.size()));
}

}  // namespace

template <class Word>
void RingOps<Word>::transform_checked(NttPlans<Word> plans, bool forward, Output data) const {
  this->check(data);
  if (plans.empty()) throw ShapeError("ntt: there is no limb");
  const std::uint32_t N = plans[0]->N();
  for (std::size_t l = 0; l < plans.size(); ++l)
    if (plans[l]->N() != N)
      throw ShapeError("ntt: limb " + std::to_string(l) + " has N = " +
                       std::to_string(plans[l]->N()) + ", but limb 0 has " + std::to_string(N));
  const std::size_t batch = this->rows_of("ntt", data.size, plans.size() * N);
  if (batch) transform(plans, forward, batch, data.data);
}

template <class Word>
void RingOps<Word>::elementwise_checked(Elementwise op, Moduli<Word> q, Input a, Input b,
                                        Output out) const {
  this->check(a, b, out);
  this->check_size("element-wise: b", b.size, a.size);
  this->check_size("element-wise: output", out.size, a.size);
  check_limbs("element-wise", q, a.size);
  check_same_or_apart("element-wise: a", a, out);
  check_same_or_apart("element-wise: b", b, out);
  if (a.size) elementwise(op, q, a.size, a.data, b.data, out.data);
}

template <class Word>
void RingOps<Word>::mul_scalar(Moduli<Word> q, Input a, std::span<const Word> scalars,
                               Output out) const {
  this->check(a, out);
  this->check_size("mul_scalar: scalars", scalars.size(), q.size());
  this->check_size("mul_scalar: output", out.size, a.size);
  check_limbs("mul_scalar", q, a.size);
  check_same_or_apart("mul_scalar: input", a, out);
  if (a.size) multiply_scalar(q, scalars, a.size, a.data, out.data);
}

template <class Word>
void RingOps<Word>::automorphism(Moduli<Word> q, std::uint32_t N, std::uint32_t g,
                                 bool evaluation_form, Input a, Output out) const {
  this->check(a, out);
  ring::check_exponent(N, g);
  this->check_size("automorphism: output", out.size, a.size);
  check_limbs("automorphism", q, a.size);
  this->rows_of("automorphism", a.size, q.size() * N);
  check_apart("automorphism: input", a, out);
  if (a.size) permute(q, N, g, evaluation_form, a.size, a.data, out.data);
}

template <class Word>
bool RingOps<Word>::all_below(Moduli<Word> q, Input a) const {
  this->check(a);
  check_limbs("all_below", q, a.size);
  return a.size == 0 || below(q, a.size, a.data);
}

template <class Word>
void RingOps<Word>::take(std::size_t rows, std::uint32_t N, std::span<const std::uint32_t> index,
                         Input in, std::size_t first, Output out) const {
  this->check(in, out);
  if (rows == 0) throw ShapeError("take: there is no row");
  const std::size_t in_batch = this->rows_of("take", in.size, rows * N),
                    out_batch = this->rows_of("take: output", out.size, rows * N);
  if (first > out_batch || index.size() > out_batch - first)
    throw ShapeError("take: " + std::to_string(index.size()) + " indices from place " +
                     std::to_string(first) + " on do not fit an output of " +
                     std::to_string(out_batch));
  for (std::size_t i = 0; i < index.size(); ++i)
    if (index[i] >= in_batch)
      throw ShapeError("take: index " + std::to_string(index[i]) + " at place " +
                       std::to_string(i) + " is out of range for a batch of " +
                       std::to_string(in_batch));
  check_apart("take: input", in, out);
  if (!index.empty()) gather(rows, N, index, in_batch, in.data, out_batch, out.data + first * N);
}

template class RingOps<std::uint32_t>;
template class RingOps<std::uint64_t>;

void FftOps::fft(const ring::FftPlan& plan, Slice<const double> in,
                 Slice<std::complex<double>> out) const {
  check(in);
  check(out);
  const std::size_t batch = rows_of("fft", in.size, plan.N());
  check_size("fft: output", out.size, batch * plan.M());
  check_apart("fft: input", in, out);
  if (batch) forward(plan, batch, in.data, out.data);
}

void FftOps::ifft(const ring::FftPlan& plan, Slice<const std::complex<double>> in,
                  Slice<double> out) const {
  if (const std::size_t batch = checked_inverse("ifft", plan, in, out))
    inverse(plan, batch, in.data, out.data);
}

void FftOps::interpolate(const ring::FftPlan& plan, Slice<const std::complex<double>> in,
                         Slice<double> out) const {
  if (const std::size_t batch = checked_inverse("interpolate", plan, in, out))
    inverse_of_powers(plan, batch, in.data, out.data);
}

std::size_t FftOps::checked_inverse(const char* what, const ring::FftPlan& plan,
                                    const Slice<const std::complex<double>>& in,
                                    const Slice<double>& out) const {
  check(in);
  check(out);
  const std::size_t batch = rows_of(what, out.size, plan.N());
  const std::string input = std::string(what) + ": input";
  check_size(input.c_str(), in.size, batch * plan.M());
  check_apart(input.c_str(), in, out);
  return batch;
}

}  // namespace whorl::backend
