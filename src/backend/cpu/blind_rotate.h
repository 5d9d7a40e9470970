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

/// Accumulators of residues, centred modulo Q, in the doubled form of rotation-inl.h.
template <class Word>
struct Residues {
  using Int = std::make_signed_t<Word>;
  static constexpr bool doubled = true;
  explicit Residues(std::uint64_t Q) : modulus(static_cast<Word>(Q)) {}
  Int kept(Word residue) const { return static_cast<Int>(modulus.centred(residue)); }
  Word residue(Int kept) const {
    return static_cast<Word>(kept + (kept < 0 ? static_cast<Int>(modulus.value()) : 0));
  }
  math::Modulus<Word> modulus;
};
/// Accumulators of fractions of the circle, the integers nearest x·2^32/Q modulo 2^32: sums wrap by
/// themselves. For wide Q and keys of one digit, whose FFT has an error of 2^-26 and more
/// (docs/fft-error.md).
struct Fractions {
  using Int = std::int32_t;
  static constexpr bool doubled = false;
  explicit Fractions(std::uint64_t modulus) : Q(modulus) {}
  Int kept(std::uint64_t residue) const {
    return static_cast<Int>(static_cast<std::uint32_t>((Wide{residue} << 32 | Q / 2) / Q));
  }
  std::uint64_t residue(Int kept) const {
    const auto x = static_cast<std::uint64_t>(
        (Wide{static_cast<std::uint32_t>(kept)} * Q + 0x80000000u) >> 32);
    return x == Q ? 0 : x;
  }
  std::uint64_t Q;

 private:
  using Wide = unsigned __int128;
};

/// -x; that of the least integer is itself, as half a turn is.
template <class Int>
Int negated(Int x) {
  return static_cast<Int>(0 - static_cast<std::make_unsigned_t<Int>>(x));
}

/// Puts a value at j of an accumulator polynomial.
template <class Kept, class Int = typename Kept::Int>
void set_value(std::size_t N, std::size_t j, Int value, Int* acc) {
  acc[j] = Kept::doubled ? negated(value) : value;
  if constexpr (Kept::doubled) acc[N + j] = value;
}
/// Value number 0 … 2N - 1 of a polynomial that goes on with its negative.
template <class Kept, class Int = typename Kept::Int>
Int value_at(const Int* acc, std::size_t N, std::size_t j) {
  if constexpr (Kept::doubled) return acc[(j + N) & (2 * N - 1)];
  const Int value = acc[j & (N - 1)];
  return j < N ? value : negated(value);
}

/// ACC <- (0, lut·X^-b).
template <class Word, class Kept, class Int = typename Kept::Int>
void start_accumulator(const RotationShape& shape, const Kept& how, const Word* lut,
                       std::uint32_t b, Int* const acc[2]) {
  const std::size_t N = shape.N;
  for (std::size_t j = 0; j < N; ++j) {
    const std::size_t to = (j + 2 * N - b) & (2 * N - 1);
    const Int value = how.kept(lut[j]);
    set_value<Kept>(N, j, Int{0}, acc[0]);
    set_value<Kept>(N, to & (N - 1), to < N ? value : negated(value), acc[1]);
  }
}

/// Ciphertext i's accumulator as residues (2, N), or its sample.
template <class Word, class Kept, class Int = typename Kept::Int>
void write_accumulator(const RotationShape& shape, const Kept& how, Int* const acc[2],
                       const RotationBatch<Word>& batch, std::size_t i) {
  const std::size_t N = shape.N;
  const auto residue = [&](unsigned component, std::size_t j) {
    return how.residue(value_at<Kept>(acc[component], N, j));
  };
  if (batch.constant) {  // coefficients 0, -(N-1), …, -1 of a
    Word* const out = batch.out + i * (N + 1);
    out[0] = residue(0, 0);
    for (std::size_t j = 1; j < N; ++j) out[j] = residue(0, 2 * N - j);
    const math::Modulus<Word> modulus(static_cast<Word>(shape.Q));
    out[N] = modulus.add(residue(1, 0), *batch.constant);
    return;
  }
  Word* const out = batch.out + i * 2 * N;
  for (unsigned component = 0; component < 2; ++component)
    for (std::size_t j = 0; j < N; ++j) out[component * N + j] = residue(component, j);
}

/// out = x(X^g), N values, of an accumulator polynomial; `inverse` = g^-1 modulo 2N.
template <class Kept, class Int = typename Kept::Int>
void permute(const Int* x, std::size_t N, std::size_t inverse, Int* out) {
  for (std::size_t j = 0, from = 0; j < N; ++j, from += inverse)
    out[j] = value_at<Kept>(x, N, from & (2 * N - 1));
}
template <class Kept, class Int = typename Kept::Int>
void set_values(const Int* values, std::size_t N, Int* acc) {
  for (std::size_t j = 0; j < N; ++j) set_value<Kept>(N, j, values[j], acc);
}

/// The memory of one ciphertext during its blind rotation.
template <class How, class Value>
struct Carried {
  using Kept = How;
  using Int = typename Kept::Int;
  Int* acc[2];   ///< a, b: N values each, or 2N
  Int* rotated;  ///< N values and a vector
  /// Transformed digit polynomials, N values each; results overwrite the first two. With two
  /// moduli those modulo Q come first.
  Value* digits;
  const std::uint32_t* lwe;  ///< n + 1 residues modulo 2N
  std::uint32_t a;           ///< exponent of the step; where a step has several, 0 if all are 0
};

/// The ciphertexts begin … begin + count - 1 of a batch, with their accumulators and digits. One
/// thread does each step for all of them.
template <class Word, class Value, class Kept = Residues<Word>>
class Tile {
 public:
  using Int = typename Kept::Int;
  /// `moduli`: how many the digits are transformed by.
  Tile(const RotationShape& shape, const RotationBatch<Word>& batch, std::size_t begin,
       std::size_t count, unsigned moduli = 1)
      : shape_(shape), kept_(shape.Q), batch_(batch), begin_(begin), carried_(count) {
    const std::size_t N = shape.N, own_digits = 2 * shape.most_digits() * N * moduli,
                      of_acc = Kept::doubled ? 2 * N : N,
                      own_ints = 2 * of_acc + N + 64 / sizeof(Int);
    digits_ = hwy::AllocateAligned<Value>(count * own_digits);
    ints_ = hwy::AllocateAligned<Int>(count * own_ints);
    if (!digits_ || !ints_)
      throw OutOfMemoryError("blind rotation: the system gave no memory for a tile");
    for (std::size_t c = 0; c < count; ++c) {
      Int* const own = ints_.get() + c * own_ints;
      const std::uint32_t* const lwe = batch.lwe + (begin + c) * (shape.n + 1);
      carried_[c] = {{own, own + of_acc}, own + 2 * of_acc, digits_.get() + c * own_digits, lwe, 0};
      start_accumulator(shape, kept_, batch.luts + batch.index[begin + c] * N, lwe[shape.n],
                        carried_[c].acc);
    }
  }
  std::span<Carried<Kept, Value>> carried() { return carried_; }
  /// Writes to the batch's results.
  void write() const {
    for (std::size_t c = 0; c < carried_.size(); ++c)
      write_accumulator(shape_, kept_, carried_[c].acc, batch_, begin_ + c);
  }

 private:
  const RotationShape& shape_;
  Kept kept_;
  const RotationBatch<Word>& batch_;
  std::size_t begin_;
  std::vector<Carried<Kept, Value>> carried_;
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
