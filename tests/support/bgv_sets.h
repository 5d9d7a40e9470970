// Small BGV parameter sets for tests, insecure and quick, and arithmetic on vectors in clear.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "math/primes.h"
#include "schemes/bgv/account.h"
#include "support/once.h"
#include "support/random.h"
#include "whorl/bgv/client.h"
#include "whorl/bgv/server.h"

namespace whorl::test {

struct BgvShape {
  std::uint32_t N = 1024;
  std::uint64_t t = 65537;
  unsigned prime_bits = 30, limbs = 4, digit_limbs = 2;
};

inline bgv::ParameterLiteral bgv_literal(const BgvShape& shape = {}) {
  bgv::ParameterLiteral p;
  p.name = "N " + std::to_string(shape.N) + ", t " + std::to_string(shape.t) + ", " +
           std::to_string(shape.limbs) + " primes of " + std::to_string(shape.prime_bits) + " bits";
  p.N = shape.N;
  p.t = shape.t;
  p.digit_limbs = shape.digit_limbs;
  const auto primes = math::ntt_primes(shape.prime_bits, shape.N, shape.limbs + shape.digit_limbs);
  p.special.assign(primes.begin(), primes.begin() + shape.digit_limbs);
  p.chain.assign(primes.begin() + shape.digit_limbs, primes.end());
  return p;
}
inline bgv::Parameters bgv_insecure(const BgvShape& shape = {}) {
  return bgv::Parameters::create(bgv_literal(shape), true);
}

/// The shortest chain that the account rates for a depth, as Parameters::choose finds it, in a
/// ring too small to be secure.
inline bgv::Parameters bgv_rated(BgvShape shape, unsigned depth, unsigned dnum = 3) {
  bgv::Requirements requirements;
  requirements.depth = depth;
  for (shape.limbs = 1; shape.limbs <= 64; ++shape.limbs) {
    shape.digit_limbs = (shape.limbs + dnum - 1) / dnum;
    bgv::ParameterLiteral literal = bgv_literal(shape);
    literal.depth = depth;
    literal.name += ", depth " + std::to_string(depth);
    const auto parameters = bgv::Parameters::create(std::move(literal), true);
    if (bgv::Account(parameters).rated_budget(requirements) >= 0) return parameters;
  }
  throw ParameterError("no chain for depth " + std::to_string(depth));
}

/// Vectors of N values modulo t, any number of them, and what operations do to them.
struct Clear {
  std::uint32_t N = 0;
  std::uint64_t t = 0;
  bgv::Packing packing = bgv::Packing::slots;
  std::vector<std::uint64_t> values;

  static Clear random(const bgv::Parameters& p, bgv::Packing packing, std::size_t count,
                      Random& random) {
    return {p.N(), p.t(), packing, random.residues<std::uint64_t>(count * p.N(), p.t())};
  }
  std::vector<std::int64_t> as_signed() const { return {values.begin(), values.end()}; }
  std::size_t count() const { return values.size() / N; }

  template <class Body>
  Clear each(const Clear& b, const Body& body) const {
    Clear out = *this;
    for (std::size_t i = 0; i < values.size(); ++i)
      out.values[i] = body(values[i], b.values[b.count() == 1 ? i % N : i]) % t;
    return out;
  }
  Clear operator+(const Clear& b) const {
    return each(b, [](std::uint64_t x, std::uint64_t y) { return x + y; });
  }
  Clear operator-(const Clear& b) const {
    return each(b, [this](std::uint64_t x, std::uint64_t y) { return x + t - y; });
  }
  Clear operator*(const Clear& b) const {
    if (packing == bgv::Packing::slots)
      return each(b, [](std::uint64_t x, std::uint64_t y) { return x * y; });
    // Products are summed before they are reduced: t is below 2^26.
    Clear out = *this;
    std::vector<std::uint64_t> low(N), high(N);
    for (std::size_t r = 0; r < count(); ++r) {
      const std::uint64_t* const x = values.data() + r * N;
      const std::uint64_t* const y = b.values.data() + (b.count() == 1 ? 0 : r) * N;
      std::fill(low.begin(), low.end(), 0);
      std::fill(high.begin(), high.end(), 0);
      for (std::size_t i = 0; i < N; ++i) {
        for (std::size_t j = 0; j < N - i; ++j) low[i + j] += x[i] * y[j];
        for (std::size_t j = N - i; j < N; ++j) high[i + j - N] += x[i] * y[j];
      }
      for (std::size_t j = 0; j < N; ++j)
        out.values[r * N + j] = (low[j] % t + t - high[j] % t) % t;
    }
    return out;
  }
  /// The same value in every slot, or as the constant coefficient.
  Clear constant(std::int64_t value) const {
    Clear out{N, t, packing, std::vector<std::uint64_t>(N)};
    const auto modulus = static_cast<std::int64_t>(t);
    const auto v = static_cast<std::uint64_t>((value % modulus + modulus) % modulus);
    if (packing == bgv::Packing::slots)
      std::fill(out.values.begin(), out.values.end(), v);
    else
      out.values[0] = v;
    return out;
  }
  Clear zero() const { return *this - *this; }
  Clear taken(const std::vector<std::uint32_t>& indices) const {
    Clear out{N, t, packing, {}};
    for (const std::uint32_t i : indices)
      out.values.insert(out.values.end(), values.begin() + static_cast<std::ptrdiff_t>(i * N),
                        values.begin() + static_cast<std::ptrdiff_t>((i + 1) * N));
    return out;
  }
  Clear followed_by(const Clear& b) const {
    Clear out = *this;
    out.values.insert(out.values.end(), b.values.begin(), b.values.end());
    return out;
  }
  /// Both rows to the left.
  Clear rotated(std::int64_t columns) const {
    Clear out = *this;
    const std::int64_t half = N / 2;
    for (std::size_t row = 0; row < 2 * count(); ++row)
      for (std::int64_t j = 0; j < half; ++j)
        out.values[row * N / 2 + static_cast<std::size_t>(j)] =
            values[row * N / 2 + static_cast<std::size_t>(((j + columns) % half + half) % half)];
    return out;
  }
  Clear swapped() const {
    Clear out = *this;
    for (std::size_t r = 0; r < count(); ++r)
      std::rotate(out.values.begin() + static_cast<std::ptrdiff_t>(r * N),
                  out.values.begin() + static_cast<std::ptrdiff_t>(r * N + N / 2),
                  out.values.begin() + static_cast<std::ptrdiff_t>((r + 1) * N));
    return out;
  }
};

using BgvPair = KeyPair<bgv::Client, bgv::EvaluationKeys>;
/// A client and its keys, made once per parameters: parts up to 5, and, with slots, rotations by
/// -1, 3, 1, 2, 16 and N/4, in small rings by all powers of two, and the exchange of rows.
inline const BgvPair& bgv_pair(const bgv::Parameters& parameters) {
  return made_once<BgvPair>(parameters, [&] {
    bgv::KeyRequest request;
    request.relinearise = 5;
    if (parameters.has_slots()) {
      request.rotations = {-1, 3, 1, 2, 16, parameters.N() / 4};
      if (parameters.N() <= 4096)
        for (std::int64_t step = 1; step < parameters.N() / 2; step *= 2)
          request.rotations.push_back(step);
      request.swap_rows = true;
    }
    const bgv::Client client(parameters);
    return BgvPair{client, client.evaluation_keys(request, 2)};
  });
}

}  // namespace whorl::test
