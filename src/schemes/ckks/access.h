// Parts of a CKKS server and its arrays that circuits use, and users do not see.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lattice/rlwe/evaluator.h"
#include "lattice/rlwe/keys.h"
#include "schemes/ckks/account.h"
#include "whorl/ckks/server.h"

namespace whorl::ckks {

struct Access {
  static const run::Fleet& fleet(const Server& server);
  static const lattice::rlwe::Evaluator& evaluator(const Server& server);
  static const lattice::rlwe::Keys& keys(const Server& server, SwitchRole role = SwitchRole::usual);
  static const Account& account(const Server& server);

  /// DeviceError for another server's array, EncodingError for coefficients.
  static void check_packed(const Server& server, const char* what, const Array& a);
  /// The same, and ShapeError for a vector whose length is no power of two.
  static void check_alone(const Server& server, const char* what, const Array& a);
  static void check_slots(const Server& server, const char* what, const Array& a);
  /// The g of a rotation to the left of vectors with that period. MissingKeyError names the
  /// rotation that has no key.
  static std::uint32_t rotation(const Server& server, std::uint64_t period, std::int64_t slots,
                                SwitchRole role = SwitchRole::usual);

  /// Down to a level, at so many times its canonical scale.
  static Array lower(const Server& server, const Array& a, unsigned level, double times);
  /// At that level, if may be without a division: then at the scale that it has.
  static Array restricted(const Server& server, const Array& a, unsigned level);
  /// sum_i coefficients_i·arrays_i + constant at `level` and the square of its scale, or rescaled
  /// from there. The arrays have two parts, and at least that level.
  static Array linear_combination(const Server& server, std::span<const Array> arrays,
                                  std::span<const double> coefficients, double constant,
                                  unsigned level, bool rescale);
  /// The same with rows of `length` numbers for each coefficient: one row for all ciphertexts, or a
  /// row for each; and without a constant. EncodingError for numbers that are too large.
  static Array linear_combination(const Server& server, std::span<const Array> arrays,
                                  std::span<const std::vector<std::complex<double>>> coefficients,
                                  std::size_t length, unsigned level, bool rescale);
  /// a·b + added, neither relinearised nor rescaled.
  static Array product_plus(const Server& server, const Array& a, const Array& b,
                            const std::optional<Array>& added);
  /// By one division.
  static Array relinearised_and_rescaled(const Server& server, const Array& a);
  /// by·a + value, of two parts, in one pass.
  static Array multiply_add(const Server& server, const Array& a, std::int64_t by, double value);
  /// 2·a·b - 1 of real numbers, relinearised and rescaled. The product is doubled before it is
  /// rounded; `by_scale`: by halving its scale, on the levels of a bootstrap's doublings.
  static Array twice_product_less_1(const Server& server, const Array& a, const Array& b,
                                    bool by_scale);

  /// Account::narrowed.
  static Array narrowed(const Server& server, const Array& a, const Bounds& ends);

  static const lattice::rlwe::Array& residues(const Array& a);
  static Array put(CiphertextInfo info, lattice::rlwe::Array residues);
  /// A plaintext with these values in its slots, a factor: stored by its period, if there are fewer
  /// than half as many values as slots, or if they repeat (rlwe::Evaluator::interpolate_by_period).
  /// EncodingError if a value times the scale is above
  /// 2^61, or is not finite.
  static lattice::rlwe::Array encode_factor(const Server& server,
                                            std::span<const std::complex<double>> values,
                                            double scale, const ring::Basis& basis);
};

}  // namespace whorl::ckks
