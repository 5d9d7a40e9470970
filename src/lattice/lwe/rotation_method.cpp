#include "lattice/lwe/rotation_method.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include "lattice/lwe/noise.h"
#include "whorl/error.h"

namespace whorl::lattice::lwe {

RotationMethod::RotationMethod(Kind kind, unsigned group, std::uint64_t raised_by,
                               std::uint32_t unit)
    : kind_(kind), group_(group), raised_by_(raised_by), unit_(unit) {
  struct Bounds {
    const char* what;
    unsigned least, most;
  };
  constexpr Bounds bounds[] = {
      {"group of GINX", 1, 1},
      {"group of an unrolled one", 1, 8},
      {"base of AP", 2, 1u << 12},
      {"window of automorphisms", 1, 256},
      {"group of an unrolled one", 1, 8},
      {"length of blocks", 2, backend::RotationShape::most_unrolled},
  };
  static_assert(std::size(bounds) == static_cast<std::size_t>(Kind::block) + 1);
  const auto number = static_cast<std::size_t>(kind_);
  if (number >= std::size(bounds))
    throw ParameterError("rotation: kind " + std::to_string(number) + " is not in 0 … 5");
  const auto [what, least, most] = bounds[number];
  if (group_ < least || group_ > most)
    throw ParameterError("rotation: " + std::string(what) + " = " + std::to_string(group_) +
                         " is not in " + std::to_string(least) + " … " + std::to_string(most));
  if (raised_by_ == 0 || raised_by_ >= (1ULL << 60))
    throw ParameterError("rotation: the factor P = " + std::to_string(raised_by_) +
                         " of the modulus is not in 1 … 2^60 - 1");
  if (!std::has_single_bit(unit_) || (kind_ != Kind::ap && unit_ != 1))
    throw ParameterError("rotation: the unit " + std::to_string(unit_) +
                         " of exponents must be a power of two, and 1 unless for AP");
}

std::string RotationMethod::describe() const {
  const std::string number = std::to_string(group_);
  const std::string names[] = {"GINX",
                               "unrolled (groups of " + number + ")",
                               "AP (base " + number + ")",
                               "automorphisms (window " + number + ")",
                               "unrolled (groups of " + number + ", all keys)",
                               "blocks of " + number};
  const std::string& name = names[static_cast<std::size_t>(kind_)];
  return raised() ? name + ", modulus raised by " + std::to_string(raised_by_) : name;
}

void RotationMethod::check_secret(SecretKind lwe) const {
  const bool blocks = kind_ == Kind::block;
  if ((lwe == SecretKind::block_binary) != blocks)
    throw ParameterError("lwe_secret is " + std::to_string(static_cast<int>(lwe)) + "; it must " +
                         (blocks ? "" : "not ") + "be block-binary (3) for a rotation by " +
                         describe());
  const bool fits = kind_ == Kind::ginx ? lwe != SecretKind::gaussian
                    : unrolled()        ? lwe == SecretKind::binary
                                        : true;
  if (!fits)
    throw ParameterError("lwe_secret is " + std::to_string(static_cast<int>(lwe)) +
                         "; it must be " +
                         (kind_ == Kind::ginx ? "binary (0) or ternary (1): " : "binary (0): ") +
                         describe() + " encrypts indicators of its values");
}

unsigned RotationMethod::places(std::uint32_t N) const {
  unsigned places = 0;
  for (std::uint64_t reach = unit_; reach < 2ULL * N; reach *= group_) ++places;
  return places;
}

unsigned RotationMethod::keys_of_group(unsigned size) const {
  if (kind_ == Kind::block) return size;
  return (1u << size) - (kind_ == Kind::unrolled ? 1 : 0);
}

double RotationMethod::none_of_group(unsigned size) const {
  return kind_ == Kind::block ? 1.0 / (size + 1) : std::ldexp(1.0, -static_cast<int>(size));
}

unsigned RotationMethod::keys(std::uint32_t N, SecretKind lwe) const {
  switch (kind_) {
    case Kind::ginx:
      return lwe == SecretKind::binary ? 1 : 2;
    case Kind::unrolled:
    case Kind::unrolled_all:
    case Kind::block:
      return keys_of_group(group_);
    case Kind::ap: {
      std::uint64_t top = 1;  // the weight of the top place
      for (unsigned j = 0; j + 1 < places(N); ++j) top *= group_;
      return (places(N) - 1) * (group_ - 1) + static_cast<unsigned>((2ULL * N / unit_ - 1) / top);
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
  if (kind_ == Kind::block && gadgets.size() % group_ != 0)
    throw ParameterError("n = " + std::to_string(gadgets.size()) + " is not a multiple of " +
                         std::to_string(group_) + ", the length of blocks");
  backend::RotationShape out;
  out.n = static_cast<std::uint32_t>(gadgets.size());
  out.N = N;
  out.Q = Q;
  out.keys = keys(N, lwe);
  out.gadgets = std::move(gadgets);
  out.arithmetic = arithmetic;
  out.kind = kind_;
  out.group = group_;
  out.unit = unit_;
  out.raised_by = raised_by_;
  out.first_row.push_back(0);
  for (std::uint32_t i = 0; i < out.n; ++i) {
    const unsigned digits = out.gadgets[i].digits();
    if (raised() && digits != 1)
      throw ParameterError("gadget digits = " + std::to_string(digits) +
                           " must be 1 where the modulus is raised");
    unsigned in_step = out.keys;
    if (grouped())
      in_step = i % group_ != 0 ? 0 : keys_of_group(std::min<std::uint32_t>(group_, out.n - i));
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
  // Spectra modulo Q below 2^31 are 32-bit integers; modulo P·Q they are doubles.
  const bool ntt = shape.arithmetic == backend::Arithmetic::ntt;
  const bool narrow = ring_word_bytes(shape.Q) == 4 && (ntt || !shape.raised());
  return shape.row_count * 2 * (ntt ? shape.row_words() : shape.N) * (narrow ? 4 : 8);
}

double RotationMethod::products(std::uint32_t N, std::uint32_t count) const {
  if (grouped()) return std::ceil(count / static_cast<double>(group_));
  if (kind_ != Kind::ap) return count;
  // A digit v of d values is 0 once in d.
  double sum = 0;
  std::uint64_t left = 2ULL * N / unit_;
  for (; left > group_; left = (left + group_ - 1) / group_) sum += 1 - 1.0 / group_;
  return count * (sum + 1 - 1.0 / static_cast<double>(left));
}

double RotationMethod::automorphisms(std::uint32_t n, std::uint32_t N) const {
  // The n exponents fall into N classes ±5^k, each used with probability p. The walk goes through
  // them in order, w at a time: a gap of g classes takes ceil(g/w) automorphisms, and for geometric
  // gaps E[ceil(g/w)] = 1/(1 - (1 - p)^w). One more changes the sign.
  const double p = -std::expm1(n * std::log1p(-1.0 / N));
  return N * p / -std::expm1(group_ * std::log1p(-p)) + 1;
}

double RotationMethod::product_variance(const Noise& noise, const ring::Gadget& gadget,
                                        double weight, double message, double rounded) const {
  const double ring = noise.ring_mean_square;
  if (!raised())
    return external_product_variance(gadget, noise.N, weight, noise.row_variance, message, ring) +
           (noise.fft ? fft_rounding_variance(gadget, noise.Q, noise.N, rounded, ring) : 0);
  // Shen et al., §4.2: a digit is a whole coefficient, of mean square Q^2/12; the product is
  // divided by P, whose rounding the secret multiplies.
  const double Q = static_cast<double>(noise.Q), P = static_cast<double>(raised_by_);
  return weight * 2 * noise.N * (Q * Q / 12) * noise.row_variance / (P * P) +
         (1 + noise.N * ring) / 12 +
         (noise.fft ? fft_rounding_variance(Q * Q / 12, noise.Q, noise.N, rounded, ring) : 0);
}

double RotationMethod::automorphism_variance(const Noise& noise, const ring::Gadget& gadget) const {
  // Its key switching decomposes a alone: half the rows, and the dropped bits of a only.
  const double of_a = noise.N * noise.ring_mean_square;
  return automorphisms(noise.n, noise.N) *
         product_variance(noise, gadget, 0.5, of_a / (1 + of_a), 0.5);
}

double RotationMethod::steps_variance(const Noise& noise, const Range& range) const {
  const std::uint32_t count = range.count;
  const auto product = [&](double weight, double message) {
    return product_variance(noise, range.gadget, weight, message, weight);
  };
  // A step whose exponent is 0 (1 in 2N) changes nothing.
  const double moved = count * (1 - 1 / (2.0 * noise.N));
  switch (kind_) {
    case Kind::ginx:
      // With a raised modulus, ACC itself is decomposed: X^±a - 1 doubles the errors of keys.
      return raised() ? moved * product(2 * noise.keys, 0)
                      : moved * product(noise.keys, noise.lwe_mean_square);
    case Kind::unrolled:
    case Kind::unrolled_all:
    case Kind::block: {
      double out = 0;
      for (std::uint32_t left = count; left > 0;) {
        const std::uint32_t size = std::min<std::uint32_t>(group_, left);
        const double keys = keys_of_group(size), steps = size < group_ ? 1 : left / group_;
        // The bundle sum_S (X^a_S - 1)·K_S has twice the variance of each key's rows, and
        // multiplies what the gadget drops of ACC itself by X^a_S - 1, of mean square 2 unless no
        // s_i is 1; sum_S X^a_S·K_S has it once, and multiplies by X^a_S. Blocks: the same with
        // sets of one.
        const double any = 1 - none_of_group(size);
        // Some devices add up keys of sets, and multiply them by products of X^a_i - 1, whose mean
        // squares are 3^size - 1 together: they round most.
        const double rounded = kind_ == Kind::block ? 2 * keys : std::pow(3.0, size) - 1;
        out += steps * (by_differences()
                            ? product_variance(noise, range.gadget, 2 * keys, 2 * any, rounded)
                            : product(keys, 1));
        left -= static_cast<std::uint32_t>(steps) * size;
      }
      return out;
    }
    case Kind::ap:
      // Ducas and Micciancio 2015, §5: a product with an encryption of a monomial for each digit.
      return products(noise.N, count) * product(1, 1);
    case Kind::automorphism:
      break;
  }
  // Lee et al. 2023, §4.3: products with encryptions of monomials.
  return count * product(1, 1);
}

double RotationMethod::variance(const Noise& noise, Ranges ranges) const {
  double sum = 0;
  for (const Range& range : ranges) sum += steps_variance(noise, range);
  if (kind_ == Kind::automorphism) sum += automorphism_variance(noise, ranges[0].gadget);
  return sum;
}

double RotationMethod::steps_constant(const Noise& noise, const Range& range) const {
  const auto of = [&](double row_variance, double message) {
    return external_product_constant(range.gadget, products(noise.N, range.count), noise.N,
                                     row_variance, message, noise.ring_mean_square);
  };
  const double none = none_of_group(group_);
  switch (kind_) {
    case Kind::unrolled:
    case Kind::block:  // the -1 of X^a_S - 1, for all keys, and for all sets but the empty one
      return of(keys_of_group(group_) * noise.row_variance, 1 - none);
    case Kind::unrolled_all:  // what the empty set multiplies by 1
      return of(noise.row_variance, none);
    case Kind::ap:  // the mean of a place's keys, of which each is taken once in `group` times
      return of(noise.row_variance / group_, 1);
    default:
      return of(noise.row_variance, noise.lwe_mean_square);
  }
}

double RotationMethod::constant(const Noise& noise, Ranges ranges) const {
  // P and Q are odd: neither digits nor roundings have a mean. With automorphisms each ciphertext
  // has an order of its own.
  if (raised() || kind_ == Kind::automorphism) return 0;
  double sum = 0;
  for (const Range& range : ranges) sum += steps_constant(noise, range);
  return sum;
}

double RotationMethod::transforms(std::uint32_t n, std::uint32_t N, Ranges ranges) const {
  const auto digits = [&](const Range& range) {
    return raised() ? 1.0 : static_cast<double>(range.gadget.digits());
  };
  double sum = 0;
  for (const Range& range : ranges) sum += products(N, range.count) * (2 * digits(range) + 2);
  // An automorphism decomposes a only; ACC's b is permuted.
  if (kind_ == Kind::automorphism) sum += automorphisms(n, N) * (digits(ranges[0]) + 2);
  return sum;
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
