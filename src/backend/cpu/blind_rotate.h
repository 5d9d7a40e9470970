// Blind rotation on the CPU: entry points of the two arithmetics.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "backend/contract/rotation.h"
#include "backend/cpu/by_word.h"
#include "backend/parallel.h"
#include "hwy/aligned_allocator.h"
#include "math/modulus.h"
#include "whorl/error.h"

namespace whorl::backend::cpu {

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

/// Blind rotation by one arithmetic.
template <class Word>
struct BlindRotation {
  std::unique_ptr<RotationKey> (*prepare)(const RotationShape& shape, const RowSource<Word>& rows,
                                          const Workers& workers);
  void (*rotate)(const RotationKey& key, const RotationBatch<Word>& batch, const Workers& workers);
};
extern const ByWord<BlindRotation> fft_rotation, ntt_rotation;

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

/// out = x(X^g), N values, of a polynomial in the doubled form; `inverse` = g^-1 modulo 2N.
template <class Int>
void permute(const Int* x, std::size_t N, std::size_t inverse, Int* out) {
  for (std::size_t j = 0, from = N; j < N; ++j, from += inverse) out[j] = x[from & (2 * N - 1)];
}
/// The doubled form of N values.
template <class Int>
void set_doubled(const Int* values, std::size_t N, Int* acc) {
  for (std::size_t j = 0; j < N; ++j) {
    acc[j] = -values[j];
    acc[N + j] = values[j];
  }
}

/// The memory of one ciphertext during its blind rotation.
template <class Word, class Value>
struct Carried {
  using Int = std::make_signed_t<Word>;
  Int* acc[2];   ///< a, b: 2N values each
  Int* rotated;  ///< N values
  /// Transformed digit polynomials, N values each; results overwrite the first two. With two
  /// moduli those modulo Q come first.
  Value* digits;
  const std::uint32_t* lwe;  ///< n + 1 residues modulo 2N
  std::uint32_t a;           ///< exponent of the step; where a step has several, 0 if all are 0
};

/// The ciphertexts begin … begin + count - 1 of a batch, with their accumulators and digits. One
/// thread does each step for all of them.
template <class Word, class Value>
class Tile {
 public:
  using Int = std::make_signed_t<Word>;
  /// `moduli`: how many the digits are transformed by.
  Tile(const RotationShape& shape, const RotationBatch<Word>& batch, std::size_t begin,
       std::size_t count, unsigned moduli = 1)
      : shape_(shape), batch_(batch), begin_(begin), carried_(count) {
    const std::size_t N = shape.N, own_digits = 2 * shape.most_digits() * N * moduli,
                      own_ints = 5 * N;
    digits_ = hwy::AllocateAligned<Value>(count * own_digits);
    ints_ = hwy::AllocateAligned<Int>(count * own_ints);
    if (!digits_ || !ints_)
      throw OutOfMemoryError("blind rotation: the system gave no memory for a tile");
    for (std::size_t c = 0; c < count; ++c) {
      Int* const own = ints_.get() + c * own_ints;
      const std::uint32_t* const lwe = batch.lwe + (begin + c) * (shape.n + 1);
      carried_[c] = {{own, own + 2 * N}, own + 4 * N, digits_.get() + c * own_digits, lwe, 0};
      start_accumulator(shape, batch.luts + batch.index[begin + c] * N, lwe[shape.n],
                        carried_[c].acc);
    }
  }
  std::span<Carried<Word, Value>> carried() { return carried_; }
  /// Writes to the batch's results.
  void write() const {
    for (std::size_t c = 0; c < carried_.size(); ++c)
      write_accumulator(shape_, carried_[c].acc, batch_, begin_ + c);
  }

 private:
  const RotationShape& shape_;
  const RotationBatch<Word>& batch_;
  std::size_t begin_;
  std::vector<Carried<Word, Value>> carried_;
  hwy::AlignedFreeUniquePtr<Value[]> digits_;
  hwy::AlignedFreeUniquePtr<Int[]> ints_;
};

/// Calls rotate(begin, count) for tiles of `count` ciphertexts: enough of them to share the reading
/// of the key, few enough that their transforms stay in the second-level cache.
template <class Rotate>
void each_tile(std::size_t count, std::size_t bytes_per_ciphertext, const Workers& workers,
               const Rotate& rotate) {
  constexpr std::size_t cache = 512 * 1024;
  const std::size_t fits = std::clamp<std::size_t>(cache / bytes_per_ciphertext, 1, most_tile);
  const std::size_t share = (count + workers.threads - 1) / std::max(1u, workers.threads);
  const std::size_t tile = std::clamp<std::size_t>(share, 1, fits);
  parallel_for((count + tile - 1) / tile, workers,
               [&](std::size_t t) { rotate(t * tile, std::min(tile, count - t * tile)); });
}

/// DeviceError unless a key was prepared for vectors of as many `values` as the device now uses.
inline void check_lanes(unsigned prepared, unsigned used, const char* values) {
  if (prepared != used)
    throw RefusedError("the key was prepared for vectors of " + std::to_string(prepared) + " " +
                       values + ", but the device now uses " + std::to_string(used));
}

}  // namespace whorl::backend::cpu
