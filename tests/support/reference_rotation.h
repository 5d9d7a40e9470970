// Blind rotation straight from the formula at RotationOps::rotate, in exact integers.
#pragma once

#include "support/test.h"

namespace whorl::test {

/// A key of given rows in coefficient form, in the order of whorl::binfhe::EvaluationKeys.
template <class Word>
struct RotationRows {
  backend::RotationShape shape;
  std::vector<std::vector<Word>> a, b;

  backend::RowSource<Word> source() const {
    return [this](std::size_t row, std::span<Word> to_a, std::span<Word> to_b) {
      std::copy(a.at(row).begin(), a[row].end(), to_a.begin());
      std::copy(b.at(row).begin(), b[row].end(), to_b.begin());
    };
  }
};

/// Table values whose sums and differences are next to multiples of the gadget's unit and less than
/// half a turn: with a single digit of a wide modulus the FFT keeps the accumulator to 2^-33 of a
/// turn and may round a tie either way.
template <class Word>
void avoid_ties(const ring::Gadget& gadget, std::vector<Word>& luts) {
  if (sizeof(Word) == 4 || gadget.digits() > 1) return;
  for (Word& x : luts) x = x / 4 >> gadget.dropped() << gadget.dropped();
}

/// ACC (2, N), a first, for one ciphertext (a_1 … a_n, b) modulo 2N.
template <class Word>
std::vector<Word> reference_rotation(const RotationRows<Word>& key,
                                     const std::vector<std::uint32_t>& lwe,
                                     const std::vector<Word>& lut) {
  const backend::RotationShape& shape = key.shape;
  const std::uint64_t Q = shape.Q, two_n = 2ULL * shape.N;
  std::vector<std::uint64_t> acc[2] = {std::vector<std::uint64_t>(shape.N, 0),
                                       times_monomial(lut, (two_n - lwe[shape.n]) % two_n, Q)};
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    const ring::Gadget& gadget = shape.gadgets[i];
    const unsigned digits = gadget.digits();
    std::vector<std::vector<std::int64_t>> D;
    for (const auto& part : acc) {
      const auto rotated = times_monomial(part, lwe[i], Q);
      for (unsigned j = 0; j < digits; ++j) {
        D.emplace_back(shape.N);
        for (std::size_t t = 0; t < shape.N; ++t)
          D.back()[t] = gadget.digit(centred((rotated[t] + Q - part[t]) % Q, Q), j);
      }
    }
    const std::size_t rows = shape.rows_of(i) / shape.keys;
    for (unsigned k = 0; k < shape.keys; ++k)
      for (unsigned part = 0; part < 2; ++part) {
        std::vector<Int128> sum(shape.N, 0);
        for (std::size_t row = 0; row < rows; ++row) {
          const std::size_t r = shape.first_row[i] + k * rows + row;
          const auto product = negacyclic(D[row], part == 0 ? key.a[r] : key.b[r]);
          for (std::size_t t = 0; t < shape.N; ++t) sum[t] += product[t];
        }
        std::vector<std::uint64_t> reduced(shape.N);
        for (std::size_t t = 0; t < shape.N; ++t) reduced[t] = reduce(sum[t], Q);
        if (k == 1) reduced = times_monomial(reduced, (two_n - lwe[i]) % two_n, Q);
        for (std::size_t t = 0; t < shape.N; ++t)
          acc[part][t] = (acc[part][t] + (k == 0 ? reduced[t] : Q - reduced[t])) % Q;
      }
  }
  std::vector<Word> out;
  for (const auto& part : acc)
    for (const std::uint64_t x : part) out.push_back(static_cast<Word>(x));
  return out;
}

/// The same of a batch, ciphertext i with table index[i].
template <class Word>
std::vector<Word> reference_rotations(const RotationRows<Word>& key,
                                      const std::vector<std::uint32_t>& lwe,
                                      const std::vector<Word>& luts,
                                      const std::vector<std::uint32_t>& index) {
  const auto row = static_cast<std::ptrdiff_t>(key.shape.n) + 1;
  const auto N = static_cast<std::ptrdiff_t>(key.shape.N);
  std::vector<Word> out;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const auto ciphertext = lwe.begin() + static_cast<std::ptrdiff_t>(i) * row;
    const auto lut = luts.begin() + static_cast<std::ptrdiff_t>(index[i]) * N;
    const auto one = reference_rotation<Word>(key, {ciphertext, ciphertext + row}, {lut, lut + N});
    out.insert(out.end(), one.begin(), one.end());
  }
  return out;
}

}  // namespace whorl::test
