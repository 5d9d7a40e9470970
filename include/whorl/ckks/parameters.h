// Parameters of CKKS: a literal of plain data, the immutable object that is made from it, and the
// choice of parameters for what a circuit needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "whorl/common.h"
#include "whorl/ring_parameters.h"

namespace whorl::ckks {

/// The primes of one level: the first `terminals` terminal primes of the chain, and the first
/// `mains` of the others.
struct LevelPrimes {
  unsigned terminals = 0, mains = 0;
  bool operator==(const LevelPrimes&) const = default;
};

/// How ciphertexts are refreshed (bootstrapped): their slots are moved to the coefficients, at the
/// lowest levels; the modulus is raised under a sparse secret (Bossuat, Troncoso-Pastoriza, Hubaux,
/// ACNS 2022), so that multiples of the small modulus are added; the coefficients are moved back to
/// the slots, where a polynomial takes the multiples off. docs/adr/0005 has the polynomial. With
/// coefficients_last the modulus is raised first, from level 0, and the slots that are then
/// coefficients of the message are moved to coefficients at the end, at levels above those of
/// users.
struct BootstrapLiteral {
  /// Coefficients of the sparse secret that are 1 or -1, 8 … 192. More of them want a larger range.
  std::uint32_t weight = 32;
  std::uint32_t range = 16;           ///< multiples of the modulus are below this, 2 … 64
  std::uint32_t slots_to_coeffs = 3;  ///< levels from slots to coefficients, 1 … 6
  std::uint32_t coeffs_to_slots = 4;  ///< levels back, 1 … 6
  std::uint32_t degree = 31;          ///< of the polynomial, 3 … 127
  std::uint32_t doublings = 3;        ///< of its result's angle, 1 … 6
  /// log2 of the modulus of level 0 over the scale that values have when it is raised, 6 … 20: a
  /// value of 1 is 2^-log2_ratio of the modulus. A larger one makes the sine straighter, and
  /// coarser. Parameters::choose takes others: see Requirements::bootstrap.
  double log2_ratio = 13;
  /// Which polynomial: 0 one that is fitted to the cosine near the integers, in Chebyshev's basis;
  /// 1 Taylor's series of the cosine at 0 (Cheon, Han, Kim, Kim, Song, EUROCRYPT 2018; TensorFHE).
  /// The series needs a higher degree or more doublings: its error at t is about
  /// (2π·|t|/2^doublings)^(degree + 1)/(degree + 1)!, times what the doublings multiply it by.
  std::uint32_t series = 0;
  /// Degree of the arcsine's series that is taken of the sine, odd, 3 … 15; 0: none. It takes off
  /// what the sine differs from a line by, so that a small log2_ratio serves, which magnifies less
  /// noise (Lee, Lee, Lee, Kim, No, EUROCRYPT 2021; Lattigo: Mod1InvDegree).
  std::uint32_t arcsine = 0;
  /// 1: slots are moved to coefficients after the sine, not before (OpenFHE's and Lattigo's
  /// default; OpenFHE calls 0 StCFirst).
  std::uint32_t coefficients_last = 0;
  /// 0: real numbers are refreshed. 1 … 5: bits are, up to so many in a coefficient, by Lanes
  /// alone. Then EvalMod is exp(2πit), of which a polynomial of degree 2^bits - 1 makes each bit
  /// (docs/lanes.md). log2_ratio is 0, and there is no other series, no arcsine and no
  /// coefficients_last.
  std::uint32_t bits = 0;
  bool operator==(const BootstrapLiteral&) const = default;

  /// What a sine is multiplied by to give its argument's value. With δ = 2π/2^log2_ratio it is
  /// (1 + δ²/8)/δ: of all multiples this one has the least maximal error on ±1, δ²/24. With
  /// coefficients_last it is (1 + δ²/12)/δ: then the errors of messages of one coefficient and of
  /// many small ones are equal, δ²/12. With an arcsine it is 1/δ. With bits it is 1.
  double sine_factor() const;

  /// Levels of EvalMod: the polynomial, the doublings, and what comes after them.
  unsigned sine() const;
  /// Levels of the arcsine, or of the polynomials for bits.
  unsigned after_doublings() const;
  /// Levels between those that users see and the sine's.
  unsigned after_sine() const { return coefficients_last == 0 ? 0 : slots_to_coeffs; }
  /// Levels above those that users see.
  unsigned above() const { return after_sine() + sine() + coeffs_to_slots; }
};

/// Plain data; nothing is checked until Parameters::create.
struct ParameterLiteral {
  std::string name;     ///< free text up to 64 characters
  std::uint32_t N = 0;  ///< ring dimension, a power of two 2^10 … 2^17
  /// Primes = 1 mod 2N of 25 to 31 bits (32-bit words, the fast ones) or of 46 to 60 bits.
  std::vector<std::uint64_t> chain;
  /// How many primes at the chain's beginning are terminal ones. Rescaling drops some primes and
  /// takes terminal ones back in the same division, so that scales need not be as large as a whole
  /// number of primes (rational rescaling: Cheddar, Choi, Kim, Ahn, ASPLOS 2026).
  unsigned terminals = 0;
  /// The primes of each level, from level 0, the last one. A fresh ciphertext has the last entry's.
  std::vector<LevelPrimes> levels;
  std::vector<std::uint64_t> special;  ///< primes for key switching; their product is P
  unsigned digit_limbs = 1;            ///< primes of the chain in a digit of key switching
  double sigma = 3.19;                 ///< standard deviation of errors
  double log2_scale = 40;              ///< log2 of the scale at level 0
  /// If there is one, ciphertexts can be refreshed; bootstrap->above() of the levels are only for
  /// that.
  std::optional<BootstrapLiteral> bootstrap = {};
  bool operator==(const ParameterLiteral&) const = default;
};

/// What a circuit needs.
struct Requirements {
  unsigned depth = 1;        ///< rescalings in sequence: the number of levels above level 0
  unsigned scale_bits = 40;  ///< log2 of the scale, 28 … 55: how finely values are rounded
  /// log2 of the largest value that a ciphertext of level 0 holds, 2 … 20; 0: 10, or 8 with
  /// bootstrap, or as many less as there is room for beside the scale. One prime of 64-bit words
  /// holds 58 - scale_bits, and 57 - scale_bits with bootstrap; 32-bit words with bootstrap hold
  /// about as much.
  unsigned value_bits = 0;
  static constexpr unsigned most_value_bits = 20;
  std::uint32_t slots = 0;  ///< how many values a ciphertext must hold, at most N/2; 0: any number
  std::uint32_t N = 0;      ///< 0: the least that is secure and has the slots
  /// Digits of key switching, 1 … 80, at most one a prime; with bootstrap at least so many. 0: up
  /// to 8, those that take the smallest ring and in it cost least; with bootstrap 3 and more.
  unsigned dnum = 0;
  /// 32: primes of 25 to 31 bits, two and more a level. 64: one prime a level, for scales of 46
  /// bits and more.
  unsigned word_bits = 32;
  /// Whether ciphertexts can be refreshed. Then `depth` counts the levels between refreshes; the
  /// three levels from which slots are moved to coefficients come below them. The ratio of values
  /// to the modulus (BootstrapLiteral::log2_ratio) is 13.5; with coefficients_last it is 11; with
  /// an arcsine, in either order, 9.65 of degree 3, 7.3 of 5, and 6.5 of 7 and more. It is as much
  /// less as the sine's scale takes beside a large scale.
  bool bootstrap = false;
  /// BootstrapLiteral::coefficients_last: the three levels come above them then.
  bool coefficients_last = false;
  /// BootstrapLiteral::arcsine, 0 … 15.
  unsigned arcsine = 0;
};

/// Validated, immutable parameters; cheap to copy.
class Parameters : public RingParameters<ParameterLiteral> {
 public:
  /// Checks every relation. ParameterError names the field, the value and the bound. It is also
  /// thrown for parameters estimated under 128 bits unless `allow_insecure`.
  static Parameters create(ParameterLiteral literal, bool allow_insecure = false);
  /// The smallest ring that meets the requirements with at least 128 bits of security, and in it
  /// the primes and digits that cost least: the time of a key switch at all levels, and bytes of
  /// keys. Key switching adds at most 3.5 times the deviation of a division's rounding, and scales
  /// miss scale_bits by at most a bit, or by three for some chains. If no ring up to N = 2^17
  /// serves, ParameterError says what is missing, and what serves in its place.
  static Parameters choose(const Requirements& requirements);
  /// A named set. If no set has that name, ParameterError lists all names. It is also thrown for a
  /// set estimated under 128 bits, as some of papers are, unless `allow_insecure`.
  static Parameters named(std::string_view name, bool allow_insecure = false);
  /// The names of all sets: Whorl's own, with security, levels between bootstraps and bits of the
  /// worst slot after one; then those of other libraries and of papers.
  static std::vector<std::string> names();

  /// The most values that a ciphertext holds in slots: N/2.
  std::uint32_t slots() const { return N() / 2; }
  /// The highest level of users' ciphertexts, that of fresh ones and of refreshed ones: how often
  /// they can be rescaled.
  unsigned depth() const {
    return top() - (literal().bootstrap ? literal().bootstrap->above() : 0);
  }
  /// The highest level of all. Those above depth() are used while ciphertexts are refreshed.
  unsigned top() const { return static_cast<unsigned>(literal().levels.size()) - 1; }
  /// The lowest level that ciphertexts can be refreshed from: bootstrap->slots_to_coeffs, or 0 with
  /// coefficients_last. ParameterError without bootstrapping.
  unsigned least_bootstrap_level() const;

  /// Which primes of the chain a ciphertext of that level has, ascending. ParameterError for a
  /// level above top().
  const std::vector<unsigned>& primes(unsigned level) const;
  /// log2 of the product of these primes.
  double log2_Q(unsigned level) const;
  /// Product of the primes of `level` over that of the level below: what rescaling divides by.
  /// ParameterError for level 0.
  double ratio(unsigned level) const;
  /// The canonical scale of a level: 2^log2_scale at level 0, and above it the one whose square,
  /// divided by ratio(level), is the canonical scale of the level below. So products of two
  /// ciphertexts with canonical scales have one again after rescaling. (Cheddar, §4, rounded to
  /// doubles.) Above depth() the ladder goes on from that scale times bootstrap->sine_factor(), and
  /// on the levels of the doublings the product is halved: the square y² stands for 2y². With
  /// coefficients_last the sine's result has a quarter of the ratio of the level above it as its
  /// scale, and the levels of the maps to coefficients lead from there to depth() in equal steps.
  double scale(unsigned level) const;
  double log2_QP() const;  ///< of all primes: what keys are modulo
  /// security_bits() of the key to the sparse secret of bootstrapping alone: the least of known
  /// estimates of the best attack, the hybrid one with meet in the middle. ParameterError without
  /// bootstrapping.
  double sparse_security_bits() const;
  /// log2 of a bound of the probability that one refresh of a full ciphertext gives wrong values:
  /// that some of N sums of weight + 1 numbers, uniform in ±1/2, is beyond what the polynomial is
  /// made for (Irwin and Hall's distribution). ParameterError without bootstrapping.
  double log2_failure() const;

  /// A description of the parameters for people, of several lines.
  std::string describe() const;

 private:
  struct State;
  using RingParameters::RingParameters;
  const State& state() const;
};

}  // namespace whorl::ckks
