// The public facts about CKKS ciphertexts besides their residues: level, scale, bound and error.
// There is one function for each operation. It says what must be done to the operands first, and
// gives the facts about the result. docs/ckks-noise.md has the reasons.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ring/basis.h"
#include "schemes/ckks/noise.h"
#include "schemes/ring/account.h"
#include "whorl/ckks/ciphertexts.h"

namespace whorl::ckks {

/// log2 of a negligible bound or error: smaller ones are stated as this, and so is the bound of
/// zeros.
inline constexpr double log2_negligible = -200;
/// Doubles keep values to 2^-53: what scales that are rounded to doubles add to an error.
inline constexpr double log2_of_rounding = -52;
/// log2 of the size of a number.
inline double log2_size(double x) { return std::max(log2_negligible, std::log2(std::abs(x))); }

/// A large integer of at most 53 leading bits: head·2^shift.
struct Multiplier {
  std::uint64_t head = 1;
  unsigned shift = 0;

  bool is_one() const { return head == 1 && shift == 0; }
  double log2() const { return std::log2(static_cast<double>(head)) + shift; }
};

/// What the evaluator must do to an operand first: multiply it by an integer, then divide it down
/// to the primes of a level, if this is not its own.
struct Preparation {
  Multiplier by;
  unsigned level = 0;

  /// Whether it leaves an operand of that level as it is.
  bool is_nothing(unsigned of) const { return level == of && by.is_one(); }
};

/// What to do where levels are missing, as the end of a message; `first`: what else may help, with
/// a comma behind.
inline std::string more_levels(const std::string& first = {}) {
  return ": " + first + "take parameters with a larger depth, or bootstrap before";
}
/// The same for an operand that was encoded for more levels than `level`.
inline std::string more_levels_than(unsigned level) {
  return more_levels(level == 0 ? ""
                                : "encode it for level " + std::to_string(level) + " or below, ");
}

/// How a square is doubled: its residues, before they are rounded; or its scale is halved, on the
/// levels that a bootstrap's parameters have for that.
enum class Doubling { of_residues, of_scale };

/// Which roundings of EvalMod's levels count in the error of a bootstrap: those of the level where
/// they are largest, which is what is seen, or all of them, added up.
enum class Roundings { largest, all };

class Account : public PreparedResults<CiphertextInfo, Preparation> {
 public:
  using Info = CiphertextInfo;

  explicit Account(const Parameters& parameters);

  /// Checks ciphertexts from outside: RangeError for a packing, parts, level, scale, length, bound
  /// or error that none can have.
  static void check(const Parameters& parameters, const Info& a);

  const Parameters& parameters() const { return parameters_; }
  /// The primes of a level.
  const ring::Basis& basis(unsigned level) const { return bases_.at(level); }
  /// log2 of the ratio of Q/2 to the largest coefficients that the bounds allow.
  double room(const Info& a) const;

  /// Fresh encryptions of `count` vectors of values within `bound`, under the secret key or under
  /// the public one. EncodingError if they do not fit, and for two bounds of values that are not
  /// real ones in slots; ShapeError for more ciphertexts than a batch has.
  Info fresh(Packing packing, std::size_t count, std::uint64_t length, const Bounds& bound,
             bool with_public_key) const;

  /// Sum or difference. The operands come to the level of the lower one, and to one scale.
  /// EncodingError names both scales if no large integer brings one to the other.
  Two add(const Info& a, const Info& b, bool subtract = false) const;
  /// Product of a.parts + b.parts - 1 parts, not rescaled; `square`: of one batch with itself.
  /// Operands come to one level, and to its canonical scale if they were at that of their level.
  /// ShapeError beyond the most parts.
  Two multiply(const Info& a, const Info& b, bool square = false) const;
  /// NoiseError if a product of a ciphertext of that level has none to be rescaled to.
  static void check_level(unsigned level);
  Many concatenate(std::span<const Info> arrays) const;

  Info relinearise(Info a) const;
  Info automorphism(Info a, SwitchKind kind = {}) const;
  /// Divides by the ratio of its level. NoiseError at level 0, EncodingError if the scale would be
  /// below 2^16.
  Info rescale(const Info& a) const;
  /// Brings it down to a level, at so many times its canonical scale.
  One lower(const Info& a, unsigned level, double times = 1) const;
  /// The residues modulo the primes of a lower level alone, which are among a's: values and scale
  /// stay.
  Info restrict(Info a, unsigned level) const;
  Info multiply_integer(const Info& a, std::int64_t by) const;
  /// sum_i weights_i·arrays_i + constant, of arrays of one level and scale.
  Info sum_of_multiples(std::span<const Info> arrays, std::span<const std::int64_t> weights,
                        double constant) const;
  Info multiply_by_i(const Info& a) const;
  /// 2·a² - 1, the cosine of twice an angle, of a product a² that is not rescaled.
  Info double_angle(const Info& square, Doubling by) const;

  // ---- the same residues, of which something else is stated

  /// States bounds that the caller knows (of coefficients: of their sum), as far as they say more
  /// than what is known. ParameterError for bounds that contradict it, and for an upper one below
  /// the lower one; EncodingError for two bounds of values that are not real ones in slots.
  Info with_bound(const Info& a, const Bounds& bound) const;
  /// States bounds that follow from others. If these hold zeros only, which are no larger
  /// than their errors, nothing is stated of the size.
  Info narrowed(const Info& a, const Bounds& ends) const {
    return ends.most() > 0 ? with_bound(a, ends) : a;
  }
  /// States log2 of a bound of the absolute values, and that nothing else is known of them.
  static Info with_log2_bound(Info a, double log2_bound);
  /// States a smaller error (CiphertextInfo::error, but as a number) that the caller knows; a
  /// larger one changes nothing. ParameterError unless it is positive.
  Info with_error(Info a, double error) const;
  /// States `by` times the scale: the values, bounds and errors are divided by that.
  static Info with_scale(Info a, double by);
  /// States the canonical scale of its level, which differs from its own by roundings of doubles.
  Info with_canonical_scale(Info a) const;
  /// States vectors of so many values, with the same slots().
  static Info with_length(Info a, std::uint64_t length);
  /// States vectors of so many values, more than slots(), over several ciphertexts each; ShapeError
  /// unless the batch holds whole ones.
  Info as_vectors(Info a, std::uint64_t length) const;
  /// One ciphertext of each vector, of those that vectors of `each` ciphertexts take.
  static Info part(Info a, std::size_t each);

  // ---- batches (account_batches.cpp)

  /// Batches of the host's memory as one: they have one packing, level, scale, length and number of
  /// parts.
  static Info join_batches(std::span<const Info> batches);
  /// A matrix of numbers at scale `by`, row by row, times so many inputs of `a`, and a constant for
  /// each row, or none, at the square of the level's scale: what holds for all rows. EncodingError
  /// for numbers that are not finite.
  Info weighted_sums(const Info& a, std::span<const double> weights, std::size_t inputs,
                     std::span<const double> constants, double by) const;
  /// Products of `high` with sums of `low`, added up, before they are rescaled. All have one level,
  /// packing, length and count, and two parts, and those of each one scale (ShapeError); in each
  /// slot absolute values of all of `high`, and of all of `low`, add up to no more than stated.
  Info masked_tensors(std::span<const Info> high, double high_sum, std::span<const Info> low,
                      double low_sum) const;
  /// Values that are released: log2 of their error, and of the noise that is added to hide it.
  static Info released(Info a, double error, double noise);

  /// What is known of plaintexts: how many, their scale, log2 of the bound of their values, values
  /// of each, and between which numbers real ones lie.
  struct Plain {
    std::size_t count = 1;
    double scale = 1, bound = 0;
    std::uint64_t length = 1;
    Packing packing = Packing::real;
    Bounds values = 1;
  };
  /// One real number for all values of a batch with that packing, coefficients or not.
  Plain constant(double value, double scale, Packing packing) const;
  /// Sums and products with plaintexts over the ciphertext's primes. Sums want its scale.
  Info add_plain(const Info& a, const Plain& m, bool subtract = false) const;
  Info multiply_plain(const Info& a, const Plain& m) const;
  /// An operand of a combination and its coefficient: a number (constant()), or plaintexts, which
  /// count as their largest value and have the error of an encoding.
  struct Weighted {
    Info of;
    Plain by;
    bool is_encoded = false;
  };
  /// Their sum and a constant, at `level` and the square of its scale. All may be restricted to
  /// that level's primes.
  Info combination(std::span<const Weighted> terms, double constant, unsigned level) const;
  /// What is known of a linear map of the slots: the scale of its diagonals and their number, the
  /// largest sum of absolute values in a row of its matrix, the root of the largest sum of their
  /// squares, and whether all values are real.
  struct Map {
    double scale = 1, row_sum = 1, row_norm = 1;
    std::size_t diagonals = 1;
    bool real = true;
    SwitchKind kind = {};  ///< of the keys
  };
  /// The map's result of vectors of `length` values, not rescaled. It is in baby and giant steps
  /// (Halevi and Shoup, CRYPTO 2018): two key switches at most for each term.
  Info linear_map(const Info& a, const Map& map, std::uint64_t length) const;

  // ---- a bootstrap (account_bootstrap.cpp; docs/ckks-noise.md)
  //
  // ModRaise adds multiples of the small modulus to coefficients, so that nothing is known of
  // values from there until CoeffsToSlots has divided them by their range.

  /// Returns what is known after CoeffsToSlots: `count` ciphertexts hold t/range, real numbers
  /// within ±1, where t·q is a coefficient and q the small modulus. Of their errors that of the
  /// conjugate alone is stated; bootstrap() has all.
  Info coeffs_to_slots(const Info& refreshed, std::size_t count) const;
  /// log2 of errors of EvalMod's sine for values of at most 1, without noise: the largest one that
  /// grows with the value, and the deviation of one that does not, of different multiples of the
  /// modulus.
  struct SineError {
    double straightness = 0, fit = 0;
  };
  /// Real vectors, of which `pairs` has two in each ciphertext, as they are there; `each` is what
  /// was known of them before.
  static Info of_pairs(const Info& pairs, const Info& each);
  /// The same values at the highest level of users.
  Info bootstrap(const Info& a, const SineError& sine, Roundings of = Roundings::largest) const;
  /// log2 of deviations in a bootstrap of bits: of t = m/2^k, a part of the modulus; of z =
  /// exp(2πi·t); and of what polynomials for bits add, of which a power of z that is off counts
  /// `root` times, and all coefficients together are `sum` at most.
  struct BitNoise {
    double turn = 0, root = 0, bit = 0;
  };
  BitNoise bit_noise(unsigned bits, double root, double sum) const;
  /// log2 of the deviation that roundings of SlotsToCoeffs's plaintexts give to a coefficient, of
  /// real vectors in pairs of values of size 1. It does not depend on a key.
  double map_rounding() const;
  /// What a table makes of so many of the numbers, at the highest level of users: values of a size
  /// up to `largest`, with that error.
  Info refreshed_message(const Info& numbers, std::size_t count, double error,
                         double largest) const;
  /// What a second iteration refreshes (META-BTS: Bae, Cheon, Cho, Kim, Kim, CCS 2022): the
  /// difference of x and its bootstrap, times 2^bits. The difference holds the error of the
  /// bootstrap as values of at most 1; its own error is that of x and of the roundings that bring
  /// the bootstrap to its level.
  Info bootstrap_remainder(const Info& x, const Info& bootstrapped, const Info& difference,
                           unsigned bits) const;

  // ---- iterations that correct an error (account_iterations.cpp)
  //
  // The error of what an iteration begins with is among the values of another operand, which takes
  // it off the result. So it counts there, and not a second time.

  /// Returns how many `bits` bootstrap_remainder() has in iteration `number`, from 2 on. NoiseError
  /// if the error would be less than a bit better.
  unsigned remainder_bits(const Info& bootstrapped, unsigned number) const;
  /// The bootstrap of x as a term beside the bootstrap of its remainder, which holds its error.
  static Info beside_remainder(const Info& bootstrapped) { return without_error(bootstrapped); }
  /// Goldschmidt's iteration (1964) for 1/x, of least <= |x| <= most: each step replaces y by
  /// y·(1 + e) and e = 1 - x·y by e².
  struct Goldschmidt {
    double least = 1, most = 1;
    double residual = 0;  ///< the largest |e| of the first y without its error
    unsigned steps = 0;
  };
  /// Returns the largest |e| of the first y with its error; NoiseError unless it is below 1.
  static double goldschmidt_residual(const Info& y, const Goldschmidt& of);
  /// The first y beside e, which holds its error.
  static Info goldschmidt_start(const Info& y) { return without_error(y); }
  /// The last y, (1 - e^(2^steps))/x with the e of the first y: `residual` is that with the error.
  static Info goldschmidt_end(Info y, const Goldschmidt& of, double residual);

  // ---- functions of several steps whose slope is known (account_iterations.cpp)
  //
  // The slope of all steps together is less than the product of their slopes. So the error of the
  // argument is left out on the way, and counts at the end.

  /// The argument: its error counts at the end.
  static Info function_start(const Info& x) { return without_error(x); }
  /// The result, in which the errors of arguments make one of at most `error`.
  static Info with_more_error(Info y, double error);

  /// The scale that plaintexts for products should have, so that the rescaled product has the
  /// canonical one: that of the level.
  double plain_scale(const Info& a) const { return parameters_.scale(a.level); }

  /// NoiseError if the error is as large as the values; it ends with the advice.
  void check_decrypts(const Info& a, const char* advice) const;
  /// ShapeError unless vectors have equal lengths, or one of them a single value for all slots.
  static void check_lengths(std::uint64_t a, std::uint64_t b);
  /// A bound of the values, of coefficients or in slots, as info has it.
  double bound_of(double largest, std::uint64_t length, Packing packing) const;

 private:
  /// With a negligible error.
  static Info without_error(Info a);
  bool canonical_square(const Info& a) const {
    return a.scale == parameters_.scale(a.level) * parameters_.scale(a.level);
  }
  /// Returns log2 of the errors of CoeffsToSlots and EvalMod, and adds `log2_more` to each.
  std::vector<double> errors_after_mod_raise(double log2_more, Roundings of) const;
  double scale_after_rescaling(const Info& a) const;
  /// Brings it to that scale at that level. EncodingError names the scales if the integer that
  /// leads there is below 2^24.
  One to_scale(const Info& a, unsigned level, double scale) const;
  /// Brings it to that level's canonical scale, unless it is at that level.
  One lowered(const Info& a, unsigned level) const;
  Info prepared(const Info& a, const Preparation& by, double scale) const;
  /// The packing, count and length of what two operands give, and all else as `a` has it.
  /// EncodingError if one holds coefficients and the other slots; ShapeError as check_lengths(),
  /// and for several single values beside vectors over several ciphertexts.
  Info joined(const Info& a, const Info& b) const;
  Info joined(const Info& a, const Plain& m) const;
  /// States log2 of a bound of the values, and the ends of real ones.
  static void set_bounds(Info& out, double log2_bound, const Bounds& ends);
  /// log2 of the error of values of which each is off by that part of itself (log2). Coefficients'
  /// errors are stated as those of slots, sqrt(N) times as large, though one may be all of them.
  double relative_error(double log2_bound, Packing packing, double part) const;
  /// log2 of the largest coefficient of the error, in units of the values.
  double largest_error(const Info& a) const;
  /// NoiseError unless the values and their errors fit the modulus; it says which of them does not.
  const Info& fits(const char* what, const Info& a) const;

  Parameters parameters_;
  NoiseModel noise_;
  std::vector<ring::Basis> bases_;
};

}  // namespace whorl::ckks
