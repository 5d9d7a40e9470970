// Small CKKS parameter sets for tests, insecure and quick.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "whorl/ckks/parameters.h"

namespace whorl::test {

/// 32-bit words with rational rescaling, or 64-bit ones with a prime a level.
struct CkksShape {
  unsigned scale_bits = 40, word_bits = 32;
  unsigned depth = 3;
  std::uint32_t N = 1024;
};

inline const CkksShape ckks_shapes[] = {{28}, {30}, {35}, {40}, {45}, {50}, {50, 64}};

/// The primes that a secure ring takes, in a small one: they serve it too.
inline ckks::Parameters ckks_insecure(const CkksShape& shape = {}) {
  ckks::Requirements r;
  r.depth = shape.depth;
  r.scale_bits = shape.scale_bits;
  r.word_bits = shape.word_bits;
  ckks::ParameterLiteral p = ckks::Parameters::choose(r).literal();
  p.N = shape.N;
  p.name = "scale " + std::to_string(shape.scale_bits) + ", words of " +
           std::to_string(shape.word_bits) + " bits, N " + std::to_string(shape.N);
  return ckks::Parameters::create(p, true);
}

using Complexes = std::vector<std::complex<double>>;

/// Numbers of absolute value up to 1.
template <class Random>
Complexes random_complexes(Random& random, std::size_t count) {
  Complexes out(count);
  const auto part = [&] { return (static_cast<double>(random() >> 11) * 0x1p-52 - 1) * 0.7; };
  for (auto& z : out) {
    const double real = part();
    z = {real, part()};
  }
  return out;
}

}  // namespace whorl::test
