// Blind rotation on the CPU: entry points of the two arithmetics.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "backend/contract/rotation.h"
#include "backend/parallel.h"
#include "math/modulus.h"

namespace whorl::backend::cpu {

template <class Word>
std::unique_ptr<RotationKey> prepare_fft_key(const RotationShape& shape,
                                             const RowSource<Word>& rows, const Workers& workers);
template <class Word>
std::unique_ptr<RotationKey> prepare_ntt_key(const RotationShape& shape,
                                             const RowSource<Word>& rows, const Workers& workers);

/// A batch of blind rotations; the same meaning as RotationOps::rotate, or with `constant`, below
/// Q, as RotationOps::rotate_extract.
template <class Word>
struct RotationBatch {
  const std::uint32_t* lwe;  ///< (count, n+1) modulo 2N
  const Word* luts;          ///< (·, N)
  const std::uint32_t* index;
  std::optional<Word> constant;
  Word* out;  ///< (count, 2, N) or (count, N+1)
  std::size_t count;
};
template <class Word>
void blind_rotate_fft(const RotationKey& key, const RotationBatch<Word>& batch,
                      const Workers& workers);
template <class Word>
void blind_rotate_ntt(const RotationKey& key, const RotationBatch<Word>& batch,
                      const Workers& workers);

/// Most digits of a gadget and most ciphertexts of a tile.
inline constexpr std::size_t most_digits = RotationOps<std::uint32_t>::most_digits, most_tile = 8;

/// ACC <- (0, lut·X^-b) in the doubled, centred form of rotation-inl.h: 2N values a polynomial.
template <class Word, class Int = std::make_signed_t<Word>>
void start_accumulator(const RotationShape& shape, const Word* lut, std::uint32_t b,
                       Int* const acc[2]) {
  const std::size_t N = shape.N;
  const math::Modulus<Word> modulus(static_cast<Word>(shape.Q));
  std::fill_n(acc[0], 2 * N, Int{0});
  for (std::size_t j = 0; j < N; ++j) {
    const std::size_t to = (j + 2 * N - b) & (2 * N - 1);
    const Int value = static_cast<Int>(modulus.centred(lut[j]));
    acc[1][N + (to & (N - 1))] = to < N ? value : -value;
    acc[1][to & (N - 1)] = to < N ? -value : value;
  }
}

/// Ciphertext i's accumulator as residues (2, N), or its sample.
template <class Word, class Int = std::make_signed_t<Word>>
void write_accumulator(const RotationShape& shape, Int* const acc[2],
                       const RotationBatch<Word>& batch, std::size_t i) {
  const std::size_t N = shape.N;
  const Int Q = static_cast<Int>(shape.Q);
  const auto residue = [Q](Int value) { return static_cast<Word>(value + (value < 0 ? Q : 0)); };
  if (batch.constant) {
    // The first half of the doubled form is -a: coefficients 0, -(N-1), …, -1 of a.
    Word* const out = batch.out + i * (N + 1);
    out[0] = residue(acc[0][N]);
    for (std::size_t j = 1; j < N; ++j) out[j] = residue(acc[0][N - j]);
    const math::Modulus<Word> modulus(static_cast<Word>(shape.Q));
    out[N] = modulus.add(residue(acc[1][N]), *batch.constant);
    return;
  }
  Word* const out = batch.out + i * 2 * N;
  for (unsigned component = 0; component < 2; ++component)
    for (std::size_t j = 0; j < N; ++j) out[component * N + j] = residue(acc[component][N + j]);
}

/// Ciphertexts that a thread carries through each step of the key together: enough to share its
/// reading, few enough that their transforms stay in the second-level cache.
std::size_t rotation_tile(std::size_t count, std::size_t bytes_per_ciphertext, unsigned threads);

}  // namespace whorl::backend::cpu
