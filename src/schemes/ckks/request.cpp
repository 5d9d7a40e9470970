// Which switching keys there are, and what they are over.
#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "schemes/ckks/derived.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace rlwe = lattice::rlwe;

ring::Basis basis_of(const ParameterLiteral& p, unsigned level) {
  const auto [terminals, mains] = p.levels.at(level);
  return ring::Basis::range(0, terminals) | ring::Basis::range(p.terminals, mains);
}

namespace {

double log2_of(const ParameterLiteral& p, const ring::Basis& basis) {
  double sum = 0;
  basis.for_each([&](unsigned i) { sum += std::log2(static_cast<double>(p.chain[i])); });
  return sum;
}

/// The fewest special primes, from the first, of together at least so many bits; or all.
ring::Basis special_of(const ParameterLiteral& p, double bits) {
  unsigned count = 0;
  for (double sum = 0; count < p.special.size() && sum < bits; ++count)
    sum += std::log2(static_cast<double>(p.special[count]));
  return ring::Basis::range(static_cast<unsigned>(p.chain.size()), count);
}

/// Makes one digit, if the special primes have so many bits together; otherwise digits as usual
/// keys have them, over all special primes.
void divide_in_digits(const ParameterLiteral& p, double bits, double margin, ring::KeyLayout& out) {
  out.special = special_of(p, bits + margin);
  double sum = 0;
  for (const std::uint64_t q : p.special) sum += std::log2(static_cast<double>(q));
  if (sum >= bits) {
    out.digits = {out.chain};
    return;
  }
  out.chain.for_each([&](unsigned i) {
    if (out.digits.empty() || out.digits.back().size() == p.digit_limbs) out.digits.emplace_back();
    out.digits.back().insert(i);
  });
}

}  // namespace

ring::KeyLayout layout_of(const ParameterLiteral& p, SwitchKind kind) {
  if (kind.role != SwitchRole::to_sparse && kind.role != SwitchRole::low)
    return rlwe::usual_layout(static_cast<unsigned>(p.chain.size()),
                              static_cast<unsigned>(p.special.size()), p.digit_limbs);
  ring::KeyLayout out;
  if (kind.role == SwitchRole::to_sparse) {
    out.chain = basis_of(p, 0);
    divide_in_digits(p, log2_of(p, out.chain), 0, out);
  } else {
    double most = 0;
    for (unsigned level = 0; level <= kind.level; ++level) {
      const ring::Basis basis = basis_of(p, level);
      out.chain = out.chain | basis;
      most = std::max(most, log2_of(p, basis));
    }
    // A digit that is 2^4 times smaller than their product adds less than the division's rounding.
    divide_in_digits(p, most, 4, out);
  }
  return out;
}

std::vector<KeyName> keys_of(const Parameters& p, const KeyRequest& request) {
  const auto exponents = [&](const std::vector<std::int64_t>& rotations) {
    std::vector<std::uint32_t> out;
    for (const std::int64_t slots : rotations) out.push_back(rotation_exponent(p.N(), slots));
    return out;
  };
  std::vector<std::uint32_t> usual = exponents(request.rotations);
  if (request.conjugate) usual.push_back(conjugation_exponent(p));
  std::vector<KeyName> out;
  for (const rlwe::SwitchSource& source :
       rlwe::switch_sources(request.relinearise, std::move(usual)))
    out.push_back({{}, source});
  if (request.sparse && !p.literal().bootstrap)
    throw ParameterError("keys for bootstrapping are asked for, but the parameters \"" +
                         p.literal().name + "\" have none; take parameters with bootstrap=True");
  for (const auto& [level, rotations] : request.low_rotations) {
    if (level > p.top())
      throw ParameterError("low_rotations: level " + std::to_string(level) + " is above " +
                           std::to_string(p.top()) + ", the highest of the parameters");
    for (const rlwe::SwitchSource& source : rlwe::switch_sources(2, exponents(rotations)))
      out.push_back({{SwitchRole::low, level}, source});
  }
  if (request.sparse)
    for (const SwitchRole role : {SwitchRole::to_sparse, SwitchRole::from_sparse})
      out.push_back({{role}, {1, 1}});
  return out;
}

std::size_t key_count(const Parameters& p, const KeyRequest& request) {
  return keys_of(p, request).size();
}

std::size_t key_bytes(const Parameters& p, const KeyRequest& request) {
  std::size_t sum = 0;
  for (const KeyName& key : keys_of(p, request)) {
    const ring::KeyLayout layout = layout_of(p.literal(), key.kind);
    sum += rlwe::switch_key_bytes(p.N(), static_cast<unsigned>(layout.digits.size()),
                                  layout.rows().size(), p.word_bytes());
  }
  return sum;
}

void request_sum(KeyRequest& request, std::uint64_t length, std::uint64_t period) {
  if (length == 0 || length > 1u << 24 || !std::has_single_bit(period) || period > 1u << 24)
    throw ShapeError("sums of " + std::to_string(length) + " values with period " +
                     std::to_string(period) +
                     ": the length must be in 1 … 2^24, and the period a power of two up to 2^24");
  for (std::uint64_t step = period; step < length; step *= 2)
    request.rotations.push_back(static_cast<std::int64_t>(step));
}

}  // namespace whorl::ckks
