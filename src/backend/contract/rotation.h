// Blind rotation, and what is extracted from its accumulators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/contract/family.h"
#include "ring/gadget.h"

namespace whorl::backend {

enum class Arithmetic : std::uint8_t { ntt, fft };

/// How exponents are brought into the accumulator. This decides the rows of the key.
enum class RotationKind : std::uint8_t {
  ginx,          ///< a key for each value of an LWE coefficient but 0 (Chillotti et al. 2020)
  unrolled,      ///< the same for groups of `group` coefficients (Zhou et al., Bourse et al. 2018)
  ap,            ///< a key for each digit of each exponent, base `group` (Ducas, Micciancio 2015)
  automorphism,  ///< keys of automorphisms beside one for each coefficient (Lee et al. 2023)
  unrolled_all,  ///< unrolled with 2^group keys, of which one is for the case that all are 0
  block          ///< a key for each LWE coefficient; of each `group`, at most one is 1 (Lee et al.,
                 ///< CCS 2023)
};

/// Shape of a blind-rotation key: what a backend needs to know about its rows. `gadgets[i]` belongs
/// to LWE coefficient i. Only lattice::lwe::RotationMethod knows what the rows encrypt, and how
/// many rows a step has; its method `shape` makes these numbers. `prepare` only checks that the
/// numbers agree: each key of a step has a row for each digit of a and of b, and a step has the
/// keys of its kind. A backend that has no kernel for a kind of rotation refuses the key when it is
/// prepared.
struct RotationShape {
  std::uint32_t n = 0;
  std::uint32_t N = 0;
  std::uint64_t Q = 0;
  unsigned keys = 1;  ///< of each (full) step: GINX has 1 (binary secrets) or 2 (ternary)
  std::vector<ring::Gadget> gadgets;
  Arithmetic arithmetic = Arithmetic::fft;
  RotationKind kind = RotationKind::ginx;
  /// Coefficients of a step, the base of AP's digits, or the window. Block: n is a multiple of it.
  unsigned group = 1;
  /// Exponents a_i are multiples of this power of two: digits of AP are those of a_i/unit. 1 for
  /// the other kinds.
  std::uint32_t unit = 1;
  std::uint64_t raised_by = 1;  ///< P where products are made modulo P·Q and divided by P
  /// Keys of the step that each LWE coefficient begins, n numbers: 0 where it begins none; a last
  /// group of fewer coefficients has fewer.
  std::vector<unsigned> step_keys;
  /// RLWE rows before each coefficient's step, and of all steps: n + 1 numbers.
  std::vector<std::size_t> first_row;
  unsigned automorphisms = 0;  ///< keys of those, whose rows come after the steps
  std::size_t row_count = 0;   ///< with those of automorphisms

  /// RLWE rows of the step that LWE coefficient i begins.
  std::size_t rows_of(std::uint32_t i) const { return first_row[i + 1] - first_row[i]; }
  /// Words of a row's a or b: N residues modulo Q, and after them as many modulo P where the
  /// modulus is raised.
  std::size_t row_words() const { return std::size_t{N} * (raised() ? 2 : 1); }
  bool raised() const { return raised_by != 1; }
  /// Most coefficients of a step of an unrolled or block rotation.
  static constexpr unsigned most_unrolled = 8;
  unsigned most_digits() const;
};

/// A blind-rotation key in transform form, laid out in a backend's order of use.
class RotationKey : public PreparedKey<RotationShape> {
  using PreparedKey::PreparedKey;
};

/// A batch of rotations. Row i of `lwe` is (a_1 … a_n, b), residues modulo 2N. Its test vector is
/// luts[index[i]]; luts are (L, N) modulo Q. The index lies on the host, and may be freed after the
/// call. ShapeError names an index that is not below L.
template <class Word>
struct Rotations {
  Slice<const std::uint32_t> lwe;
  Slice<const Word> luts;
  std::span<const std::uint32_t> index;
};

/// Test vectors that lie on a queue, and which of them each row of a sequence is rotated into, for
/// rotations that come again: RotationOps::place.
template <class Word>
class PlacedTables {
 public:
  std::size_t rows() const { return index_.size(); }

 private:
  friend class RotationOps<Word>;
  Buffer<Word> vectors_;
  Buffer<std::uint32_t> index_;
};

/// Outputs lie apart from inputs.
template <class Word>
class RotationOps : public Family {
 public:
  using Family::Family;

  static constexpr std::uint32_t most_N = 8192;
  static constexpr unsigned most_digits = 16;

  /// Transforms a key; rows are RLWE rows (a, b) of N coefficients modulo Q, in the order of
  /// lattice::lwe::RotationMethod.
  std::unique_ptr<const RotationKey> prepare(const RotationShape& shape,
                                             const RowSource<Word>& rows) const;

  /// Computes for each row:
  ///   ACC <- (0, t·X^-b);  for i = 1 … n:  D <- decompose((X^a_i - 1)·ACC),
  ///   ACC <- ACC + D ⊡ K_i,1 - X^-a_i·(D ⊡ K_i,2)   (second term for ternary keys only)
  /// and writes ACC (B, 2, N) modulo Q, a first. ACC encrypts t·X^(-b + <a, s>). The ternary form
  /// follows from X^-a - 1 = -X^-a·(X^a - 1); it decomposes once and has half the noise of
  /// multiplying by X^a - 1 afterwards (Xiao et al., TCHES 2025, Algorithm 1). Other kinds of keys
  /// encrypt the same, where D = decompose(ACC) and K_k are the keys of the step that i begins:
  ///   unrolled, groups of m:  ACC <- ACC + D ⊡ sum_k (X^e_k - 1)·K_k, k = 1 … 2^m - 1, where e_k
  ///     is the sum of those a_(i+t) of which bit t is set in k (Zhou et al. 2018);
  ///   block, of l:  ACC <- ACC + D ⊡ sum_t (X^a_(i+t) - 1)·K_t, t = 0 … l - 1: K_t encrypts
  ///     s_(i+t), of which at most one is 1 (Lee, Min, Song, CCS 2023, Algorithm 3);
  ///   unrolled_all:  ACC <- D ⊡ sum_k X^e_k·K_k, k = 0 … 2^m - 1;
  ///   ap:  for each digit v, not 0, of place j of a_i/unit:  ACC <- D ⊡ K_(j·(base-1) + v - 1);
  ///   automorphism (all a_i odd):  ACC <- D ⊡ K_i where the walk through the exponents 5^k comes
  ///     to a_i, and ACC <- (0, b(X^g)) + decompose(a(X^g)) ⊡ K'_g between (Lee et al. 2023,
  ///     Algorithm 3). ShapeError for an even a_i, where a backend reads them.
  /// With raised_by = P digits are whole coefficients, centred modulo Q; a product is made modulo
  /// P·Q and divided by P, x -> (x - [x]_P)/P with [x]_P centred. GINX is then as unrolled, with
  /// e_1 = a_i and e_2 = -a_i (Shen et al., VeloFHE, Algorithms 2 and 3).
  void rotate(const RotationKey& key, const Rotations<Word>& batch, Slice<Word> out) const;
  /// rotate, followed by `extract`: (B, offsets, N+1). If only coefficient 0 is asked for, a
  /// backend may compute only that coefficient of b in the last step (Shen et al., VeloFHE, §4.3).
  void rotate_extract(const RotationKey& key, const Rotations<Word>& batch,
                      std::span<const std::uint32_t> offsets, std::uint64_t constant,
                      Slice<Word> out) const;
  /// Coefficient 0 alone: (B, N+1).
  void rotate_extract(const RotationKey& key, const Rotations<Word>& batch, std::uint64_t constant,
                      Slice<Word> out) const {
    const std::uint32_t zero = 0;
    rotate_extract(key, batch, std::span(&zero, 1), constant, out);
  }
  /// vectors (L, N) modulo the Q of the keys that rotate into them. ShapeError names an index that
  /// is not below L.
  PlacedTables<Word> place(std::uint32_t N, std::span<const Word> vectors,
                           std::span<const std::uint32_t> index) const;
  /// rotate_extract of coefficient 0, into the tables of rows first … first + B - 1 of those.
  void rotate_extract(const RotationKey& key, Slice<const std::uint32_t> lwe,
                      const PlacedTables<Word>& tables, std::size_t first, std::uint64_t constant,
                      Slice<Word> out) const;

  /// LWE encryptions (B, offsets, N+1) of the coefficients k = offsets[…] of each RLWE (B, 2, N),
  /// modulo Q, in words of ring_word_bytes(Q) or wider ones: (a_k, …, a_0, -a_(N-1), …, -a_(k+1),
  /// b_k + constant).
  void extract(std::uint64_t Q, std::uint32_t N, std::span<const std::uint32_t> offsets,
               std::uint64_t constant, Slice<const Word> rlwe, Slice<Word> out) const;
  void extract(std::uint64_t Q, std::uint32_t N, std::uint64_t constant, Slice<const Word> rlwe,
               Slice<Word> out) const {
    const std::uint32_t zero = 0;
    extract(Q, N, std::span(&zero, 1), constant, rlwe, out);
  }

 protected:
  /// The arguments of the entries above after their checks: `count` rows, `tables` test vectors,
  /// and indices below `tables`, which lie on the device.
  struct Batch {
    std::size_t count, tables;
    const std::uint32_t* lwe;
    const Word* luts;
    const std::uint32_t* index;
    /// If it is there, the result is samples of coefficient 0, (count, N+1), to which it is added.
    /// It is below Q.
    std::optional<Word> constant;
    Word* out;
  };
  virtual std::unique_ptr<RotationKey> make_key(const RotationShape& shape,
                                                const RowSource<Word>& rows) const = 0;
  /// Throws DeviceError, which names the kind, unless the shape is that of GINX: for backends that
  /// have no other kernels.
  void require_ginx(const RotationShape& shape) const;
  virtual void run_rotations(const RotationKey& key, const Batch& batch) const = 0;
  virtual void run_extraction(std::uint64_t Q, std::uint32_t N,
                              std::span<const std::uint32_t> offsets, Word constant,
                              std::size_t count, const Word* rlwe, Word* out) const = 0;

 private:
  template <class>
  friend class RelayRotation;
  /// `row`: words of the output for each ciphertext.
  Batch check_batch(const RotationKey& key, Slice<const std::uint32_t> lwe, Slice<const Word> luts,
                    std::size_t count, std::size_t row, Slice<Word> out) const;
  Batch check_batch(const RotationKey& key, const Rotations<Word>& batch, std::size_t row,
                    Slice<Word> out) const;
  void run_checked(const RotationKey& key, std::span<const std::uint32_t> index, Batch batch) const;
};

}  // namespace whorl::backend
