#include "lattice/rlwe/phase.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/secret.h"

namespace whorl::lattice::rlwe {
namespace {

/// Converts a word below 2^63. Compilers convert unsigned words of 64 bits with a branch on the top
/// bit.
template <class Word>
static double to_double(Word word) {
  return static_cast<double>(static_cast<std::int64_t>(word));
}

}  // namespace

template <class Word>
PhaseReader<Word>::PhaseReader(std::vector<math::Modulus<Word>> primes)
    : primes_(std::move(primes)) {
  for (std::size_t l = 0; l < primes_.size(); ++l) {
    const math::Modulus<Word>& q = primes_[l];
    Word others = 1;
    std::vector<Word> earlier(l + 1, 1);  // product of the first k primes, modulo q
    for (std::size_t m = 0; m < primes_.size(); ++m) {
      if (m == l) continue;
      const Word factor = q.reduce(primes_[m].value());
      others = q.mul(others, factor);
      if (m < l) earlier[m + 1] = q.mul(earlier[m], factor);
    }
    inverse_.push_back(q.inverse(others));
    inverse_shoup_.push_back(q.shoup(inverse_.back()));
    ratio_.push_back(static_cast<std::uint64_t>(
        (static_cast<unsigned __int128>(1) << (63 + q.bits())) / q.value()));
    earlier.push_back(q.inverse(earlier[l]));
    garner_.push_back(std::move(earlier));
  }
}

template <class Word>
typename PhaseReader<Word>::Reduction PhaseReader<Word>::reduction(std::uint64_t m) const {
  Reduction out{math::Modulus<std::uint64_t>(m), {}, 0};
  const auto product = [&](std::size_t without) {
    std::uint64_t all = 1;
    for (std::size_t l = 0; l < primes_.size(); ++l)
      if (l != without) all = out.m.mul(all, out.m.reduce(primes_[l].value()));
    return all;
  };
  for (std::size_t l = 0; l < primes_.size(); ++l) out.quotient.push_back(product(l));
  out.minus_Q = out.m.neg(product(primes_.size()));
  return out;
}

// v = sum_l y_l·Q/q_l - u·Q, y_l = [v_l·(Q/q_l)^-1]_{q_l}, u = round(sum_l y_l/q_l) (Halevi,
// Polyakov, Shoup 2019, §2.2). What is added for y_l/q_l is short of it by less than 2^-62.
template <class Word>
void PhaseReader<Word>::modulo(const Reduction& reduction, std::span<const Word> residues,
                               std::uint64_t scale, std::span<std::uint64_t> out) const {
  const std::size_t count = out.size();
  const math::Modulus<std::uint64_t>& m = reduction.m;
  for (std::size_t j = 0; j < count; ++j) {
    std::uint64_t value = 0, whole = 0;
    std::uint64_t fraction = std::uint64_t{1} << 63;
    for (std::size_t l = 0; l < primes_.size(); ++l) {
      const Word y = primes_[l].mul_shoup(residues[l * count + j], inverse_[l], inverse_shoup_[l]);
      value = m.add(value, m.mul(m.reduce(y), reduction.quotient[l]));
      const auto part = static_cast<std::uint64_t>(
          (static_cast<unsigned __int128>(y) * ratio_[l]) >> (primes_[l].bits() - 1));
      fraction += part;
      whole -= math::mask_of<std::uint64_t>(fraction < part);
    }
    out[j] = m.mul(m.add(value, m.mul(m.reduce(whole), reduction.minus_Q)), scale);
  }
}

// Mixed radix: v mod Q = d_0 + d_1·q_0 + d_2·q_0·q_1 + … (Garner 1959).
template <class Word>
void PhaseReader<Word>::digits_of(std::span<const Word> residues, std::size_t count, std::size_t j,
                                  std::span<Word> digits) const {
  for (std::size_t l = 0; l < primes_.size(); ++l) {
    const math::Modulus<Word>& q = primes_[l];
    Word known = 0;
    for (std::size_t m = 0; m < l; ++m)
      known = q.add(known, q.mul(q.reduce(digits[m]), garner_[l][m]));
    digits[l] = q.mul(q.sub(residues[l * count + j], known), garner_[l][l + 1]);
  }
}

template <class Word>
void PhaseReader<Word>::centred(std::span<const Word> residues, std::span<double> out) const {
  const std::size_t L = primes_.size(), count = out.size();
  const Word half = primes_[L - 1].value() / 2;
  std::vector<double> place(1, 1.0);  // products of the first l primes
  for (std::size_t l = 0; l + 1 < L; ++l)
    place.push_back(place[l] * static_cast<double>(primes_[l].value()));
  math::WipedVector<Word> digits(L);
  for (std::size_t j = 0; j < count; ++j) {
    digits_of(residues, count, j, digits.span());
    // A negative v is Q + v: its complement, digit by digit, is -v - 1.
    const Word mask = math::mask_of<Word>(digits[L - 1] > half), negative = mask & 1;
    double sum = 0;
    for (std::size_t l = L; l-- > 0;) {
      const Word complement = primes_[l].value() - 1 - digits[l];
      const Word digit = static_cast<Word>(digits[l] ^ ((digits[l] ^ complement) & mask));
      sum += to_double(digit) * place[l];
    }
    sum += to_double(negative);
    out[j] = sum * (1.0 - 2.0 * to_double(negative));
  }
}

template <class Word>
double PhaseReader<Word>::log2_largest(std::span<const Word> residues) const {
  const std::size_t L = primes_.size(), count = residues.size() / L;
  double largest = -std::numeric_limits<double>::infinity();
  std::vector<Word> digits(L);
  for (std::size_t j = 0; j < count; ++j) {
    digits_of(residues, count, j, digits);
    // Negative ones as Q - 1 - |v| …: complement each digit where v > Q/2.
    if (digits[L - 1] > primes_[L - 1].value() / 2)
      for (std::size_t l = 0; l < L; ++l) digits[l] = primes_[l].value() - 1 - digits[l];
    double size = 0, scale = 0;  // of the two highest digits that are there
    std::size_t top = L;
    while (top > 0 && digits[top - 1] == 0) --top;
    if (top == 0) continue;
    for (std::size_t l = 0; l + 1 < top; ++l)
      scale += std::log2(static_cast<double>(primes_[l].value()));
    size = static_cast<double>(digits[top - 1]);
    if (top > 1)
      size += static_cast<double>(digits[top - 2]) / static_cast<double>(primes_[top - 2].value());
    largest = std::max(largest, std::log2(size) + scale);
  }
  return largest;
}

template class PhaseReader<std::uint32_t>;
template class PhaseReader<std::uint64_t>;

}  // namespace whorl::lattice::rlwe
