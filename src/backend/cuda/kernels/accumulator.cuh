// The accumulator of a blind rotation in shared memory, and what both arithmetics do with it.
//
// A polynomial is N words centred modulo Q, odd: x in [-(Q-1)/2, (Q-1)/2]. A group of threads owns
// one polynomial; thread t of G has coefficients t, t + G, t + 2G, ….
#pragma once

#include <cstdint>
#include <type_traits>

namespace whorl::backend::cuda {

/// Consecutive LWE coefficients with one gadget, as the kernels take it.
struct GadgetRange {
  std::uint32_t first, end;  ///< LWE coefficients
  std::uint32_t digits, log_base, dropped;
  std::int64_t offset;      ///< ring::Gadget::offset
  std::uint64_t first_row;  ///< rows of the key before this range
  /// One digit only: Q/2^dropped·2^factor_shift, of 31 bits.
  std::int32_t factor;
  std::uint32_t factor_shift;
};

/// Where the slots for spectra of digits lie: in shared memory, or, where they do not fit, in
/// device memory.
enum class Slots { shared, device };

/// A step of an unrolled key, and where its keys and its bundles lie (fft_bundles.cuh).
struct BundleStep {
  std::uint32_t first;  ///< LWE coefficient
  std::uint32_t digits;
  std::size_t key;     ///< value of the key
  std::size_t bundle;  ///< value of a ciphertext's bundles
};

/// The input and output of a blind rotation, without the key.
template <class Word>
struct RotationBatch {
  const std::uint32_t* lwe;    ///< (count, n+1) modulo 2N
  const Word* luts;            ///< (tables, N)
  const std::uint32_t* index;  ///< (count), each a table's
  Word* out;                   ///< (count, 2, N), or (count, N+1) samples
  std::uint32_t count, n;
  bool extract;   ///< write samples: RotationOps::rotate_extract
  Word constant;  ///< added to a sample's b, below Q
  /// Words of luts and out have 32 bits though Word has 64: for kernels of wide keys and Q below
  /// 2^31.
  bool halves = false;

  /// The same without the first ciphertexts.
  void skip(std::uint32_t ciphertexts, std::uint32_t N) {
    lwe += std::size_t{ciphertexts} * (n + 1);
    index += ciphertexts;
    const std::size_t words = std::size_t{ciphertexts} * (extract ? N + 1 : 2 * N);
    out =
        reinterpret_cast<Word*>(reinterpret_cast<char*>(out) + words * (halves ? 4 : sizeof(Word)));
    count -= ciphertexts;
  }
  /// Coefficient j of a ciphertext's test vector.
  template <int N>
  __device__ __forceinline__ Word lut(std::uint32_t ciphertext, std::uint32_t j) const {
    const std::uint64_t at = std::uint64_t{index[ciphertext]} * N + j;
    if constexpr (sizeof(Word) == 8)
      if (halves) return reinterpret_cast<const std::uint32_t*>(luts)[at];
    return luts[at];
  }
  __device__ __forceinline__ void store_word(std::uint64_t at, Word x) const {
    if constexpr (sizeof(Word) == 8)
      if (halves) {
        reinterpret_cast<std::uint32_t*>(out)[at] = static_cast<std::uint32_t>(x);
        return;
      }
    out[at] = x;
  }

  /// Whether step i leaves nothing of b to be used but coefficient 0 (Shen et al., VeloFHE, §4.3).
  __device__ __forceinline__ bool constant_only(std::uint32_t i) const {
    return extract && i + 1 == n;
  }
  /// One component's coefficients t, t + G, … to where they belong; `residue(j)` is below Q.
  template <int N, int G, class Residue>
  __device__ __forceinline__ void write(std::uint32_t ciphertext, int component, int t, Word Q,
                                        const Residue& residue) const {
    if (!extract) {
      const std::uint64_t to = (std::uint64_t{ciphertext} * 2 + component) * N;
      for (int j = t; j < N; j += G) store_word(to + j, residue(j));
      return;
    }
    const std::uint64_t to = std::uint64_t{ciphertext} * (N + 1);
    if (component == 0) {
      for (int j = t; j < N; j += G) {
        const Word x = residue(j);
        store_word(to + (j == 0 ? 0 : N - j), j == 0 || x == 0 ? x : Q - x);
      }
    } else if (t == 0) {
      const Word x = residue(0), left = Q - constant;  // no sum above the word
      store_word(to + N, x >= left ? x - left : x + constant);
    }
  }
};

/// x in [-(Q-1), Q-1] centred.
template <class Int>
__device__ __forceinline__ Int centre(Int x, Int Q) {
  const Int half = (Q - 1) / 2;
  if (x > half) x -= Q;
  if (x < -half) x += Q;
  return x;
}

/// Coefficient j of (X^a - 1)·acc, centred; a < 2N.
template <int N, class Int>
__device__ __forceinline__ Int rotated_difference(const Int* acc, int j, std::uint32_t a, Int Q) {
  const std::uint32_t from = (static_cast<std::uint32_t>(j) - a) & (2 * N - 1);
  Int x = acc[from & (N - 1)];
  if (from & N) x = -x;
  return centre<Int>(x - acc[j], Q);
}

/// ring::Gadget::digit, of a centred value.
struct DigitRule {
  std::uint32_t shift, mask, half;  ///< the top digit: mask of ones, half = 0

  __device__ DigitRule(const GadgetRange& gadget, std::uint32_t j)
      : shift(gadget.dropped + j * gadget.log_base),
        mask(j + 1 == gadget.digits ? ~0u : (1u << gadget.log_base) - 1),
        half(j + 1 == gadget.digits ? 0u : 1u << (gadget.log_base - 1)) {}

  template <class Int>
  __device__ __forceinline__ std::int32_t operator()(Int with_offset) const {
    return static_cast<std::int32_t>((static_cast<std::uint32_t>(with_offset >> shift) & mask) -
                                     half);
  }
};

/// acc <- coefficients of (0, lut·X^-b), those of thread t of G; component 0 is a. With `move`, an
/// odd number m modulo 2N: of (0, lut·X^-b) under X -> X^(1/m).
template <int N, int G, class Word, class Int = std::make_signed_t<Word>>
__device__ __forceinline__ void start_accumulator(const RotationBatch<Word>& batch,
                                                  std::uint32_t ciphertext, int component, int t,
                                                  Int Q, Int* acc, std::uint32_t move = 1) {
  const std::uint32_t b = batch.lwe[std::uint64_t{ciphertext} * (batch.n + 1) + batch.n];
  for (int j = t; j < N; j += G) {
    Int x = 0;
    if (component == 1) {
      const std::uint32_t from = (static_cast<std::uint32_t>(j) * move + b) & (2 * N - 1);
      x = centre<Int>(static_cast<Int>(batch.template lut<N>(ciphertext, from & (N - 1))), Q);
      if (from & N) x = -x;
    }
    acc[j] = x;
  }
}

template <int N, int G, class Word, class Int = std::make_signed_t<Word>>
__device__ __forceinline__ void write_accumulator(const RotationBatch<Word>& batch,
                                                  std::uint32_t ciphertext, int component, int t,
                                                  Int Q, const Int* acc) {
  batch.template write<N, G>(ciphertext, component, t, static_cast<Word>(Q), [&](int j) {
    const Int x = acc[j];
    return static_cast<Word>(x < 0 ? x + Q : x);
  });
}

/// Barrier of the `threads` threads of one group: part of a warp, a warp, or several.
template <int threads>
__device__ __forceinline__ void group_sync(int group) {
  if constexpr (threads <= 32)
    __syncwarp();
  else
    asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(threads) : "memory");
}

}  // namespace whorl::backend::cuda
