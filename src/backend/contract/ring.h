// Polynomials modulo one prime or several: transforms, and operations value by value.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/contract/family.h"
#include "math/modulus.h"
#include "ring/fft_plan.h"
#include "ring/ntt_plan.h"

namespace whorl::backend {

/// Entries act on residues below their modulus, limb-major (L, B, N): limb l is reduced modulo
/// moduli[l], B·N = size / L values each.
template <class Word>
using Moduli = std::span<const math::Modulus<Word>>;
template <class Word>
using NttPlans = std::span<const ring::NttPlan<Word>* const>;

enum class Elementwise : std::uint8_t { add, sub, neg, mul, mul_add };

template <class Word>
class RingOps : public Family {
 public:
  using Family::Family;
  using Input = Slice<const Word>;
  using Output = Slice<Word>;

  /// x^(l)_b <- values at odd powers of psi_l, in the order of ring::NttPlan. data: (L, B, N).
  void ntt(NttPlans<Word> plans, Output data) const { transform_checked(plans, true, data); }
  /// Inverse of ntt.
  void intt(NttPlans<Word> plans, Output data) const { transform_checked(plans, false, data); }

  // Operations value by value; `out` may be an input, but must not overlap one otherwise.
  /// out = a + b mod q_l
  void add(Moduli<Word> q, Input a, Input b, Output out) const {
    elementwise_checked(Elementwise::add, q, a, b, out);
  }
  /// out = a - b mod q_l
  void sub(Moduli<Word> q, Input a, Input b, Output out) const {
    elementwise_checked(Elementwise::sub, q, a, b, out);
  }
  /// out = -a mod q_l
  void neg(Moduli<Word> q, Input a, Output out) const {
    elementwise_checked(Elementwise::neg, q, a, a, out);
  }
  /// out = a·b mod q_l
  void mul(Moduli<Word> q, Input a, Input b, Output out) const {
    elementwise_checked(Elementwise::mul, q, a, b, out);
  }
  /// out = out + a·b mod q_l
  void mul_add(Moduli<Word> q, Input a, Input b, Output out) const {
    elementwise_checked(Elementwise::mul_add, q, a, b, out);
  }
  /// out = a·scalars[l] mod q_l
  void mul_scalar(Moduli<Word> q, Input a, std::span<const Word> scalars, Output out) const;

  /// out = a(X^g), g odd, below 2N; coefficient form, or evaluation form in the order of NttPlan.
  /// `out` lies apart from `a`.
  void automorphism(Moduli<Word> q, std::uint32_t N, std::uint32_t g, bool evaluation_form, Input a,
                    Output out) const;
  /// Whether all residues are below their modulus, for data from outside. Waits for the answer.
  bool all_below(Moduli<Word> q, Input a) const;
  /// in (rows, B, N), out (rows, B', N): out[r][first + i] = in[r][index[i]]. The other places of
  /// `out` keep their contents. N may be any number, so that this serves rows of LWE ciphertexts
  /// too. ShapeError names an index that is not below B. `out` must not overlap `in`.
  void take(std::size_t rows, std::uint32_t N, std::span<const std::uint32_t> index, Input in,
            std::size_t first, Output out) const;

 protected:
  /// (plans.size(), batch, N), in place.
  virtual void transform(NttPlans<Word> plans, bool forward, std::size_t batch,
                         Word* data) const = 0;
  /// `size` is the number of all values. For neg, b is a.
  virtual void elementwise(Elementwise op, Moduli<Word> q, std::size_t size, const Word* a,
                           const Word* b, Word* out) const = 0;
  virtual void multiply_scalar(Moduli<Word> q, std::span<const Word> scalars, std::size_t size,
                               const Word* a, Word* out) const = 0;
  virtual void permute(Moduli<Word> q, std::uint32_t N, std::uint32_t g, bool evaluation_form,
                       std::size_t size, const Word* a, Word* out) const = 0;
  virtual bool below(Moduli<Word> q, std::size_t size, const Word* a) const = 0;
  /// out[r·out_batch + i] = in[r·in_batch + index[i]], polynomials of N words.
  virtual void gather(std::size_t rows, std::uint32_t N, std::span<const std::uint32_t> index,
                      std::size_t in_batch, const Word* in, std::size_t out_batch,
                      Word* out) const = 0;

 private:
  template <class>
  friend class RelayRing;
  void transform_checked(NttPlans<Word> plans, bool forward, Output data) const;
  void elementwise_checked(Elementwise op, Moduli<Word> q, Input a, Input b, Output out) const;
};

/// Negacyclic transforms folded to N/2 complex doubles. Outputs lie apart from inputs.
class FftOps : public Family {
 public:
  using Family::Family;
  /// in: (B, N) reals; out: (B, N/2) values in the order of ring::FftPlan.
  void fft(const ring::FftPlan& plan, Slice<const double> in,
           Slice<std::complex<double>> out) const;
  /// Inverse of fft.
  void ifft(const ring::FftPlan& plan, Slice<const std::complex<double>> in,
            Slice<double> out) const;
  /// in: (B, N/2) values; out: (B, N) reals, the polynomials whose value at zeta^(5^j) is in_j:
  /// ifft of these in another order. Exact coefficients are at most max |in_j|; computed ones
  /// differ from them by less than 2^-50·log2(N) times that (Higham, Accuracy and Stability, 2002,
  /// thm. 24.2).
  /// Bits are the same on all devices that have fused multiply-adds: from the last level of nodes
  /// to the root, (u, v) <- (u + v, conj(w)·d), d = u - v, w the twiddle by FftPlan, where
  /// conj(w)·d is (d_im·w_im + [d_re·w_re], [d_im·w_re] - d_re·w_im), and what is in brackets is
  /// rounded alone. On a CPU without them, one before AVX2, the last bits are others.
  void interpolate(const ring::FftPlan& plan, Slice<const std::complex<double>> in,
                   Slice<double> out) const;

 protected:
  virtual void forward(const ring::FftPlan& plan, std::size_t batch, const double* in,
                       std::complex<double>* out) const = 0;
  virtual void inverse(const ring::FftPlan& plan, std::size_t batch, const std::complex<double>* in,
                       double* out) const = 0;
  virtual void inverse_of_powers(const ring::FftPlan& plan, std::size_t batch,
                                 const std::complex<double>* in, double* out) const = 0;

 private:
  friend class RelayFft;
  /// The batch of an inverse transform.
  std::size_t checked_inverse(const char* what, const ring::FftPlan& plan,
                              const Slice<const std::complex<double>>& in,
                              const Slice<double>& out) const;
};

}  // namespace whorl::backend
