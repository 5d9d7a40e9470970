// What a CKKS server is made of, for its methods, for dry runs and for circuits' access.
#pragma once

#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <vector>

#include "lattice/rlwe/evaluator.h"
#include "lattice/rlwe/keys.h"
#include "schemes/ckks/account.h"
#include "schemes/ring/server_state.h"
#include "whorl/ckks/server.h"

namespace whorl::ckks {

/// The account says what is to be done, the evaluator does it.
struct ServerState : RingServerState<Parameters> {
  using Complex = std::complex<double>;
  using Info = CiphertextInfo;

  ServerState(const EvaluationKeys& data, std::shared_ptr<const run::SessionState> on);
  /// Makes the state of a dry run.
  explicit ServerState(const Parameters& of);

  /// The keys of each kind that there can be. A dry run has keys of low levels for every level.
  std::map<SwitchKind, lattice::rlwe::Keys> keys_by_kind;
  const lattice::rlwe::Keys& keys = keys_of({});
  auto all_keys() const { return std::views::values(keys_by_kind); }
  Account account;

  /// The most ciphertexts that a device works on at once, in linear maps too if there are keys for
  /// bootstraps.
  std::size_t most() const;
  /// MissingKeyError if no key of that kind was given, where only some servers have one.
  const lattice::rlwe::Keys& keys_of(SwitchKind kind) const;
  /// The kind of the keys for the lowest levels, `level` among them, which has all these rotations
  /// of vectors with that period. MissingKeyError if there is none.
  SwitchKind low_kind(std::uint64_t of, std::span<const std::int64_t> rotations,
                      unsigned level) const;

  static constexpr std::uint64_t no_plain_modulus = 1;
  // A rotation by k is X -> X^(generator^k); `inverse` asks for X -> X^-1.
  static constexpr std::uint64_t generator = 5;
  static constexpr bool KeyRequest::*inverse = &KeyRequest::conjugate;

  // ---- arrays

  static Array array(Info info, lattice::rlwe::Array residues);
  static const lattice::rlwe::Array& residues(const Array& a) { return *a.residues_; }

  // ---- the same residues, of which the account states something else

  static Array with_length(Array a, std::uint64_t length) {
    return with_info(a, Account::with_length(a.info_, length));
  }
  Array narrowed(const Array& a, const Bounds& ends) const {
    return with_info(a, account.narrowed(a.info_, ends));
  }
  static Array with_scale(const Array& a, double by) {
    return with_info(a, Account::with_scale(a.info_, by));
  }
  Array bootstrap_remainder(const Array& x, const Array& bootstrapped, const Array& difference,
                            unsigned bits) const {
    return with_info(difference, account.bootstrap_remainder(x.info_, bootstrapped.info_,
                                                             difference.info_, bits));
  }
  static Array beside_remainder(const Array& bootstrapped) {
    return with_info(bootstrapped, Account::beside_remainder(bootstrapped.info_));
  }
  static Array goldschmidt_start(const Array& y) {
    return with_info(y, Account::goldschmidt_start(y.info_));
  }
  static Array goldschmidt_end(const Array& y, const Account::Goldschmidt& of, double residual) {
    return with_info(y, Account::goldschmidt_end(y.info_, of, residual));
  }
  static Array function_start(const Array& x) {
    return with_info(x, Account::function_start(x.info_));
  }
  static Array with_more_error(const Array& y, double error) {
    return with_info(y, Account::with_more_error(y.info_, error));
  }

  /// i in every slot, at scale 1, as X^(N/2) has it (5^j = 1 modulo 4): a ciphertext of two parts
  /// that needs no key, and a plaintext.
  struct Constants {
    lattice::rlwe::Array imaginary, imaginary_plain;
  };
  Constants constants;
  Constants make_constants() const;

  /// The integer next to a number of any size, modulo each prime of a level.
  std::vector<std::uint64_t> residues_of(double number, unsigned level) const;

  void check(const Array& a) const { check_residues(a.residues_.get()); }
  void check_packed(const char* what, const Array& a) const;
  /// ShapeError for vectors that take several ciphertexts, too.
  void check_alone(const char* what, const Array& a) const;
  void check_slots(const char* what, const Array& a) const;

  /// An operand, brought to what its account asks for.
  lattice::rlwe::Array prepared(const Array& a, const Preparation& by) const;
  lattice::rlwe::Array divided(const lattice::rlwe::Array& a, unsigned level) const {
    return evaluator->divide(a, account.basis(level), no_plain_modulus);
  }

  /// Brings `a` down to a level, at so many times its canonical scale.
  Array lower(const Array& a, unsigned level, double times = 1) const;
  Array add(const Array& a, const Array& b, bool subtract) const;
  Array relinearised(const Array& a) const;
  Array rescaled(const Array& a) const;
  Array multiply(const Array& a, const Array& b, const Finish& finish) const;
  /// Makes what `multiply` says, but with two parts: tensor(a, b, end) by one division.
  Array relinearised_product(const Info& product, const lattice::rlwe::Array& a,
                             const lattice::rlwe::Array& b,
                             const lattice::rlwe::Evaluator::ProductEnd& end, bool rescaled) const;
  /// Does both by one division.
  Array relinearised_and_rescaled(const Array& a) const;

  /// The g of a rotation that there is a key for, of vectors with that period.
  std::optional<std::uint32_t> held_rotation(std::uint64_t of, std::int64_t slots,
                                             SwitchKind kind) const;
  std::uint32_t rotation(std::uint64_t of, std::int64_t slots, SwitchKind kind = {}) const;
  std::vector<Array> automorphisms(const Array& a, std::span<const std::uint32_t> gs) const;

  // ---- plaintexts

  struct Encoded {
    lattice::rlwe::Array residues;
    Account::Plain known;
  };
  /// What is known of numbers at that scale that meet `a`.
  Account::Plain known_of(const Info& a, std::span<const Complex> values, std::size_t of_each,
                          double scale) const;
  /// Numbers at that scale over the primes of a level.
  Encoded encoded(const Info& a, std::span<const Complex> values, std::size_t of_each, double scale,
                  unsigned level) const;
  /// Rows of `length` numbers as polynomials, made on the devices: values in slots, repeated with
  /// the least period that is a power of two, or coefficients. They have been checked.
  lattice::rlwe::Array plaintexts(std::span<const Complex> values, std::size_t length,
                                  Packing packing, double scale, const ring::Basis& basis) const;
  /// Rows of `period` values in slots that are multiplied with and never added:
  /// rlwe::Evaluator::interpolate_by_period. They are finite, of an absolute value up to `most`.
  /// EncodingError if that is too large for a plaintext of that scale.
  std::vector<lattice::rlwe::Array> factors(std::span<const Complex> values, double most,
                                            std::size_t period, double scale,
                                            const ring::Basis& basis) const;
  /// One row. EncodingError for a number that is not finite, too.
  lattice::rlwe::Array factor(std::span<const Complex> values, double scale,
                              const ring::Basis& basis) const;
  Array add(const Array& a, std::span<const Complex> values, std::size_t length,
            bool subtract) const;
  Array multiply_plain(const Array& a, std::span<const Complex> values, std::size_t length,
                       bool rescale) const;
  /// The same with what was encoded for it.
  Array multiply_plain(const Array& a, const Encoded& m, bool rescale) const;
  /// a + m, which was encoded at the scale of `a`.
  Array add(const Array& a, const Encoded& m) const;
  /// Its plaintext has one coefficient, or two.
  Array add_scalar(const Array& a, Complex value) const;
  /// by·a + value, in one pass.
  Array multiply_add(const Array& a, std::int64_t by, double value) const;
  /// a·b + added, neither relinearised nor rescaled; null: nothing is added.
  Array product_plus(const Array& a, const Array& b, const Array* added) const;
  /// 2·a² - 1 of real numbers, relinearised and rescaled: the cosine of twice an angle. Halving the
  /// scale takes `a` at its level's canonical scale, and the result has that of its own. `less`:
  /// what is added in place of -1, encoded at the scale of the result.
  Array double_angle(const Array& a, Doubling by, const Encoded* less = nullptr) const;
  /// `a`, with the primes of that level and perhaps more: then it needs no division.
  Array reaching(const Array& a, unsigned level) const;
  /// `a` at that level. If the level's primes are among its own, nothing is divided, and the scale
  /// stays what it was.
  Array restricted(const Array& a, unsigned level) const;
  /// sum_i weights_i·arrays_i + constant in one pass, of arrays of one level, scale and number of
  /// parts.
  Array sum_of_multiples(std::span<const Array> arrays, std::span<const std::int64_t> weights,
                         double constant) const;
  /// sum_i coefficients_i·arrays_i + constant at `level` and the square of its scale, or rescaled
  /// from there. The arrays have two parts, and at least that level.
  Array linear_combination(std::span<const Array> arrays, std::span<const double> coefficients,
                           double constant, unsigned level, bool rescale) const;
  /// The same with rows of `length` numbers for each coefficient: one row for all ciphertexts, or a
  /// row for each; and without a constant. EncodingError for numbers that are too large.
  Array linear_combination(std::span<const Array> arrays,
                           std::span<const std::vector<Complex>> coefficients, std::size_t length,
                           unsigned level, bool rescale) const;
  /// A matrix times inputs, as Server::weighted_sums has it (weighted_sums.cpp).
  Array weighted_sums(const Array& a, std::span<const double> weights, std::size_t inputs,
                      std::span<const double> constants, bool rescale) const;
  /// Products of `high` with sums of `low` that masks (results, high) choose, added up as
  /// rlwe::Evaluator::masked_tensors has it, neither relinearised nor rescaled. In each slot the
  /// absolute values of all of `high` add up to high_sum at most, and those of `low` to low_sum
  /// (masked_tensors.cpp).
  std::vector<Array> masked_tensors(std::span<const Array> high, double high_sum,
                                    std::span<const Array> low, double low_sum,
                                    std::span<const std::uint16_t> masks) const;
  /// by·a + value, for an integer, and any number of parts.
  lattice::rlwe::Array with_constant(const lattice::rlwe::Array& a, double by, Complex value,
                                     double scale, unsigned level) const;

 private:
  friend class Server;

  static Array with_info(Array a, const Info& info) {
    a.info_ = info;
    return a;
  }
};

/// What circuits see of a server and its arrays, and users do not.
using Access = RingAccess<ServerState>;

}  // namespace whorl::ckks
