// Coefficients of ring ciphertexts as LWE ciphertexts.
#pragma once

#include <cstddef>
#include <span>

namespace whorl::lattice::lwe {

/// The row (a, b) for coefficient `place` of (c_0, c_1), of N coefficients each but c_0 perhaps of
/// fewer, under a secret whose coefficient v is that of X^(N/n·v): b - <a, s> is that coefficient
/// of c_0 + c_1·s (SampleExtract of CGGI20, §4.2).
template <class Word>
void extract(std::span<const Word> c0, std::span<const Word> c1, Word modulus, std::size_t place,
             std::span<Word> row) {
  const std::size_t N = c1.size(), n = row.size() - 1, gap = N / n;
  for (std::size_t v = 0; v < n; ++v) {
    // X^(gap·v) brings c_1's coefficient place - gap·v here, with a minus where that wraps around.
    const bool wraps = place < gap * v;
    const Word c = c1[wraps ? N + place - gap * v : place - gap * v];
    row[v] = wraps || c == 0 ? c : modulus - c;
  }
  row[n] = c0[place];
}

}  // namespace whorl::lattice::lwe
