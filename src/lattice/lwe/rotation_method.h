// How blind rotation brings secret exponents into an accumulator: the one place that knows the rows
// of a blind-rotation key, what they encrypt and what they cost. Backends read them as
// backend::RotationShape says, which is made here.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backend/contract/rotation.h"
#include "lattice/security.h"
#include "math/random.h"
#include "math/sampling.h"
#include "ring/gadget.h"
#include "whorl/word_array.h"

namespace whorl::lattice::lwe {

/// A method and its number, immutable:
///
/// - GINX (Chillotti et al. 2020; ternary: Xiao et al. 2025, Algorithm 1). A step for each LWE
///   coefficient; key k encrypts whether s_i = 1 (k = 0) or s_i = -1 (k = 1, ternary only).
/// - Unrolled (Zhou et al. 2018, Bourse et al. 2018), binary secrets. A step for `group`
///   coefficients; key k encrypts whether those of their secrets that are 1 are the ones set in
///   k + 1: 2^group - 1 keys K_S, and ACC <- ACC + ACC ⊡ sum_S (X^a_S - 1)·K_S, where a_S is the
///   sum of the a_i of S. A last group may be shorter.
/// - Unrolled, all keys: key k is for the set k, the empty one too. 2^group keys, and
///   ACC <- ACC ⊡ sum_S X^a_S·K_S, in which errors of keys count once, not twice.
/// - Block (Lee, Min, Song, CCS 2023, ePrint 2023/958), block-binary secrets: of each `group`
///   coefficients at most one is 1. A step for a block; key t encrypts s_(i+t): `group` keys, and
///   ACC <- ACC + ACC ⊡ sum_t (X^a_(i+t) - 1)·K_t.
/// - AP (Ducas and Micciancio 2015), any secrets. Exponents, which are multiples of `unit`, are
///   taken apart to the base `group`: ACC <- ACC ⊡ K_(j,v) for each digit v of place j of a/unit
///   that is not 0; key (j, v), number j·(group - 1) + v - 1, encrypts X^(unit·v·group^j·s_i). The
///   top place has as many as 2N/unit leaves it. With unit = 2N/q for q < 2N these are the digits
///   of residues modulo q, as FHEW takes them.
/// - Automorphisms (Lee et al. 2023), any secrets. Key 0 of each coefficient encrypts X^s_i; keys
///   that switch from s(X^g) to s follow those of all coefficients, for g = 5, 5^2 … 5^group and
///   then -5 modulo 2N, `group` being the window. Exponents have to be odd.
///
/// Rows: in the order of steps; within one key by key, of each the rows that digits of a multiply,
/// which encrypt -s·m·g_j, then those for b, which encrypt m·g_j, both from the lowest digit. A key
/// of an automorphism has digits of a only, and encrypts -s(X^g)·g_j.
///
/// With a raised modulus (VeloFHE's MR: Shen et al., Algorithms 2 and 3) rows are modulo P·Q, as N
/// residues modulo Q and then N modulo P, and encrypt P·m instead of m·g_j, one for a and one for
/// b: a product is divided by P.
class RotationMethod {
 public:
  using Kind = backend::RotationKind;
  /// ParameterError unless it is one of the above: group 1 … 8 (unrolled), length 2 … 8 (block),
  /// base 2 … 2^12 (AP), window 1 … 256, P below 2^60, unit a power of two, and 1 for other methods
  /// than AP.
  explicit RotationMethod(Kind kind = Kind::ginx, unsigned group = 1, std::uint64_t raised_by = 1,
                          std::uint32_t unit = 1);

  Kind kind() const { return kind_; }
  unsigned group() const { return group_; }
  std::uint64_t raised_by() const { return raised_by_; }
  bool raised() const { return raised_by_ != 1; }
  /// "GINX", "unrolled (groups of 2)", …, as messages have it.
  std::string describe() const;
  bool operator==(const RotationMethod&) const = default;

  // ---- what is asked of parameters and of the input

  /// ParameterError for a distribution of LWE secrets that the keys do not cover.
  void check_secret(SecretKind lwe) const;
  /// Whether exponents a_i have to be odd.
  bool odd() const { return kind_ == Kind::automorphism; }
  /// Exponents are this times an integer, plus 1 if they have to be odd.
  std::uint32_t unit() const { return odd() ? 2 : unit_; }
  /// Coefficients that a step takes together: a gadget serves whole steps.
  unsigned coefficients_a_step() const { return grouped() ? group_ : 1; }

  // ---- rows

  /// Keys of a (full) step.
  unsigned keys(std::uint32_t N, SecretKind lwe) const;
  /// `gadgets`: one for each LWE coefficient. ParameterError if blocks do not divide their number.
  backend::RotationShape shape(std::uint32_t N, std::uint64_t Q, SecretKind lwe,
                               std::vector<ring::Gadget> gadgets,
                               backend::Arithmetic arithmetic) const;
  /// The b halves of all rows, whose a halves are those of expand: words of `Word`, which is that
  /// of Q. Takes neither branch nor index from a secret. `progress(done, total)` counts LWE
  /// coefficients and is polled from the calling thread; false stops. threads 0: all cores.
  template <class Word>
  static WordArray generate(const backend::RotationShape& shape, std::span<const std::int32_t> lwe,
                            std::span<const std::int32_t> ring, const math::GaussianSampler& error,
                            const math::Seed& seed, unsigned threads,
                            const std::function<bool(std::size_t, std::size_t)>& progress);
  /// The a half of row r, shape.row_words() words: expand_uniform(seed, r) modulo Q; where the
  /// modulus is raised, (seed, 2r) modulo Q and then (seed, 2r + 1) modulo P.
  template <class Word>
  static void expand(const backend::RotationShape& shape, const math::Seed& seed, std::size_t row,
                     std::span<Word> a);
  /// A key takes about so many bytes of a device's memory: each row's a and b, in words, integers
  /// or doubles.
  static std::size_t bytes(const backend::RotationShape& shape);

  // ---- cost

  struct Noise {
    std::uint32_t n = 0, N = 0;
    std::uint64_t Q = 0;
    unsigned keys = 1;
    double row_variance = 0;  ///< of a key's row
    double lwe_mean_square = 0, ring_mean_square = 0;
    bool fft = false;
  };
  /// LWE coefficients that follow one another and have one gadget. Automorphisms have that of the
  /// first.
  struct Range {
    ring::Gadget gadget;
    std::uint32_t count;
  };
  using Ranges = std::span<const Range>;
  /// The variance of each coefficient of an accumulator after all steps, at Q.
  double variance(const Noise& noise, Ranges ranges) const;
  /// Returns the part of the variance that is the same in all results under one key: it is an upper
  /// bound, since a later step whose message is not 1 turns it.
  double constant(const Noise& noise, Ranges ranges) const;
  /// Expected transforms of N coefficients; those modulo P·Q count once.
  double transforms(std::uint32_t n, std::uint32_t N, Ranges ranges) const;

 private:
  bool unrolled() const { return kind_ == Kind::unrolled || kind_ == Kind::unrolled_all; }
  /// Whether a step takes `group` coefficients.
  bool grouped() const { return unrolled() || kind_ == Kind::block; }
  /// Whether products are with sums of keys times X^e - 1, and are added to ACC.
  bool by_differences() const { return kind_ != Kind::unrolled_all; }
  /// Places of an exponent below 2N, divided by the unit, to the base `group`.
  unsigned places(std::uint32_t N) const;
  /// Keys of a step for `size` coefficients of an unrolled or block rotation.
  unsigned keys_of_group(unsigned size) const;
  /// The probability that no secret of as many coefficients is 1.
  double none_of_group(unsigned size) const;
  /// Expected external products for `count` LWE coefficients, and automorphisms for all n.
  double products(std::uint32_t N, std::uint32_t count) const;
  double automorphisms(std::uint32_t n, std::uint32_t N) const;
  /// Returns the variance of a product in which the errors of keys count `weight` times, and which
  /// multiplies what is rounded away by a message of mean square `message`. Doubles round products
  /// of keys that count `rounded` times.
  double product_variance(const Noise& noise, const ring::Gadget& gadget, double weight,
                          double message, double rounded) const;
  double automorphism_variance(const Noise& noise, const ring::Gadget& gadget) const;
  double steps_variance(const Noise& noise, const Range& range) const;
  double steps_constant(const Noise& noise, const Range& range) const;

  Kind kind_;
  unsigned group_;
  std::uint64_t raised_by_;
  std::uint32_t unit_;
};

}  // namespace whorl::lattice::lwe
