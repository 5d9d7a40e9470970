#include "lattice/lwe/rotation_method.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lattice/lwe/noise.h"
#include "whorl/error.h"

namespace whorl::lattice::lwe {

RotationMethod::RotationMethod(Kind kind, unsigned group, std::uint64_t raised_by)
    : kind_(kind), group_(group), raised_by_(raised_by) {
  const auto need = [&](unsigned least, unsigned most, const char* what) {
    if (group_ < least || group_ > most)
      throw ParameterError(std::string(what) + " = " + std::to_string(group_) + " is not in " +
                           std::to_string(least) + " … " + std::to_string(most));
  };
  switch (kind_) {
    case Kind::ginx:
      need(1, 1, "rotation: group of GINX");
      break;
    case Kind::unrolled:
      need(1, 8, "rotation: group of an unrolled one");
      break;
    case Kind::ap:
      need(2, 1u << 12, "rotation: base of AP");
      break;
    case Kind::automorphism:
      need(1, 256, "rotation: window of automorphisms");
      break;
    default:
      throw ParameterError("rotation: kind " + std::to_string(static_cast<int>(kind_)) +
                           " is not in 0 … 3");
  }
  if (raised_by_ == 0 || raised_by_ >= (1ULL << 60))
    throw ParameterError("rotation: the factor P = " + std::to_string(raised_by_) +
                         " of the modulus is not in 1 … 2^60 - 1");
}

std::string RotationMethod::describe() const {
  const std::string number = std::to_string(group_);
  std::string out;
  switch (kind_) {
    case Kind::ginx:
      out = "GINX";
      break;
    case Kind::unrolled:
      out = "unrolled (groups of " + number + ")";
      break;
    case Kind::ap:
      out = "AP (base " + number + ")";
      break;
    case Kind::automorphism:
      out = "automorphisms (window " + number + ")";
      break;
  }
  return raised() ? out + ", modulus raised by " + std::to_string(raised_by_) : out;
}

void RotationMethod::check_secret(SecretKind lwe) const {
  const bool fits = kind_ == Kind::ginx       ? lwe != SecretKind::gaussian
                    : kind_ == Kind::unrolled ? lwe == SecretKind::binary
                                              : true;
  if (!fits)
    throw ParameterError("lwe_secret is " + std::to_string(static_cast<int>(lwe)) +
                         "; it must be " +
                         (kind_ == Kind::ginx ? "binary (0) or ternary (1): " : "binary (0): ") +
                         describe() + " encrypts indicators of its values");
}

unsigned RotationMethod::places(std::uint32_t N) const {
  unsigned places = 0;
  for (std::uint64_t reach = 1; reach < 2ULL * N; reach *= group_) ++places;
  return places;
}

unsigned RotationMethod::keys(std::uint32_t N, SecretKind lwe) const {
  switch (kind_) {
    case Kind::ginx:
      return lwe == SecretKind::binary ? 1 : 2;
    case Kind::unrolled:
      return (1u << group_) - 1;
    case Kind::ap: {
      std::uint64_t top = 1;  // the weight of the top place
      for (unsigned j = 0; j + 1 < places(N); ++j) top *= group_;
      return (places(N) - 1) * (group_ - 1) + static_cast<unsigned>((2ULL * N - 1) / top);
    }
    case Kind::automorphism:
      break;
  }
  return 1;
}

backend::RotationShape RotationMethod::shape(std::uint32_t N, std::uint64_t Q, SecretKind lwe,
                                             std::vector<ring::Gadget> gadgets,
                                             backend::Arithmetic arithmetic) const {
  check_secret(lwe);
  backend::RotationShape out;
  out.n = static_cast<std::uint32_t>(gadgets.size());
  out.N = N;
  out.Q = Q;
  out.keys = keys(N, lwe);
  out.gadgets = std::move(gadgets);
  out.arithmetic = arithmetic;
  out.kind = kind_;
  out.group = group_;
  out.raised_by = raised_by_;
  out.first_row.push_back(0);
  for (std::uint32_t i = 0; i < out.n; ++i) {
    const unsigned digits = out.gadgets[i].digits();
    if (raised() && digits != 1)
      throw ParameterError("gadget digits = " + std::to_string(digits) +
                           " must be 1 where the modulus is raised");
    unsigned in_step = out.keys;
    if (kind_ == Kind::unrolled)
      in_step = i % group_ != 0 ? 0 : (1u << std::min<std::uint32_t>(group_, out.n - i)) - 1;
    out.step_keys.push_back(in_step);
    out.first_row.push_back(out.first_row.back() + std::size_t{2} * in_step * digits);
  }
  out.row_count = out.first_row.back();
  if (kind_ == Kind::automorphism && out.n != 0) {
    out.automorphisms = group_ + 1;
    out.row_count += std::size_t{out.automorphisms} * out.gadgets[0].digits();
  }
  return out;
}

std::size_t RotationMethod::bytes(const backend::RotationShape& shape) {
  const bool narrow = ring_word_bytes(shape.Q) == 4 && shape.arithmetic == backend::Arithmetic::ntt;
  return shape.row_count * 2 * shape.row_words() * (narrow ? 4 : 8);
}

double RotationMethod::products(std::uint32_t N) const {
  if (kind_ == Kind::unrolled) return 1.0 / group_;
  if (kind_ != Kind::ap) return 1;
  // A digit v of d values is 0 once in d.
  double sum = 0;
  std::uint64_t left = 2ULL * N;
  for (; left > group_; left = (left + group_ - 1) / group_) sum += 1 - 1.0 / group_;
  return sum + 1 - 1.0 / static_cast<double>(left);
}

double RotationMethod::automorphisms(std::uint32_t n, std::uint32_t N) const {
  // The n exponents fall into N classes ±5^k, each used with probability p. The walk goes through
  // them in order, w at a time: a gap of g classes takes ceil(g/w) automorphisms, and for geometric
  // gaps E[ceil(g/w)] = 1/(1 - (1 - p)^w). One more changes the sign.
  const double p = -std::expm1(n * std::log1p(-1.0 / N));
  return N * p / -std::expm1(group_ * std::log1p(-p)) + 1;
}

double RotationMethod::variance(const Noise& noise, const ring::Gadget& gadget,
                                std::uint32_t count) const {
  if (raised()) {
    // Shi et al., §4.2: a digit is a whole coefficient, of mean square Q^2/12; what it multiplies
    // is divided by P, whose rounding the secret multiplies. X^±a - 1 doubles what a key of GINX
    // adds.
    const double Q = static_cast<double>(noise.Q), P = static_cast<double>(raised_by_);
    const double doubled = kind_ == Kind::ginx || kind_ == Kind::unrolled ? 2 : 1;
    const double keys = kind_ == Kind::ginx || kind_ == Kind::unrolled ? noise.keys : 1;
    const double step = doubled * keys * 2 * noise.N * (Q * Q / 12) * noise.row_variance / (P * P) +
                        (1 + noise.N * noise.ring_mean_square) / 12;
    return count * products(noise.N) * step;
  }
  const auto product = [&](unsigned keys, double message_mean_square) {
    double out = external_product_variance(gadget, noise.N, keys, noise.row_variance,
                                           message_mean_square, noise.ring_mean_square);
    if (noise.fft)
      out += fft_rounding_variance(gadget, noise.Q, noise.N, keys, noise.ring_mean_square);
    return out;
  };
  // A step whose exponent is 0 (1 in 2N) changes nothing.
  const double moved = count * (1 - 1 / (2.0 * noise.N));
  switch (kind_) {
    case Kind::ginx:
      return moved * product(noise.keys, noise.lwe_mean_square);
    case Kind::unrolled: {
      // The bundle sum_S (X^a_S - 1)·K_S has twice the variance of each key's rows, and multiplies
      // what the gadget drops of ACC itself by X^a_S - 1, of mean square 2 unless no s_i is 1.
      const double any = 1 - std::ldexp(1.0, -static_cast<int>(group_));
      return count * products(noise.N) * product(2 * ((1u << group_) - 1), 2 * any);
    }
    case Kind::ap:
      // Ducas and Micciancio 2015, §5: a product with an encryption of a monomial for each digit.
      return count * products(noise.N) * product(1, 1);
    case Kind::automorphism:
      break;
  }
  // Lee et al. 2023, §4.3: products with encryptions of monomials; an automorphism's key switching
  // decomposes a alone: half the rows, and the dropped bits of a only.
  const double b_alone = external_product_variance(gadget, noise.N, 0, 0, 1, 0);
  const double half =
      (product(1, 1) - b_alone) / 2 +
      (external_product_variance(gadget, noise.N, 0, 0, 1, noise.ring_mean_square) - b_alone) / 2;
  return count * product(1, 1) + count * automorphisms(noise.n, noise.N) / noise.n * half;
}

double RotationMethod::transforms(const ring::Gadget& gadget, std::uint32_t n, std::uint32_t N,
                                  std::uint32_t count) const {
  const double digits = raised() ? 1 : gadget.digits();
  double out = count * products(N) * (2 * digits + 2);
  // An automorphism decomposes a only; ACC's b is permuted.
  if (kind_ == Kind::automorphism) out += count * automorphisms(n, N) / n * (digits + 2);
  return out;
}

template <class Word>
void RotationMethod::expand(const backend::RotationShape& shape, const math::Seed& seed,
                            std::size_t row, std::span<Word> a) {
  if (shape.raised_by == 1) return math::expand_uniform<Word>(seed, row, shape.Q, a);
  math::expand_uniform<Word>(seed, 2 * row, shape.Q, a.first(shape.N));
  math::expand_uniform<Word>(seed, 2 * row + 1, shape.raised_by, a.subspan(shape.N));
}
template void RotationMethod::expand(const backend::RotationShape&, const math::Seed&, std::size_t,
                                     std::span<std::uint32_t>);
template void RotationMethod::expand(const backend::RotationShape&, const math::Seed&, std::size_t,
                                     std::span<std::uint64_t>);

}  // namespace whorl::lattice::lwe
