// What products of integers through ring elements are made of, step by step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bridges/products_noise.h"
#include "lattice/lwe/evaluator.h"
#include "lattice/rlwe/evaluator.h"
#include "run/keys.h"
#include "schemes/binfhe/server_state.h"
#include "whorl/bridges/products.h"

namespace whorl::bridges {

/// Digits are messages of this encoding, 0 … 3 before a product, -2 … 2 after it.
inline constexpr binfhe::Encoding digits_encoding{32, false};
/// Tables that share a rotation, one for each place of a row.
inline constexpr std::uint32_t slots = 4;
/// So digits are messages of 2·slots sectors.
inline constexpr std::uint32_t weight_of_digits = digits_encoding.p / (2 * slots);

/// LWE ciphertexts of coefficients, under the ring key.
lattice::lwe::Form ring_form(const binfhe::Parameters& parameters);

/// Arrays of LWE ciphertexts are those of the evaluator of the server, and others the ring's.
struct Multiplier::State {
  State(const binfhe::Server& of, const ProductKeys& keys, const Progress& progress);
  explicit State(const binfhe::Server& dry);

  std::shared_ptr<const binfhe::Access::State> server;
  binfhe::Parameters second;  ///< of the second blind-rotation key
  std::shared_ptr<const run::KeyOnDevices> rotation;
  std::shared_ptr<const lattice::rlwe::Evaluator> ring;
  /// Rows of key switches from s(X^g), g = 2^l + 1, for l = 1 … log2 N, and from s^2.
  std::vector<std::vector<lattice::rlwe::Array>> switches;
  lattice::rlwe::Array s;  ///< (0, 1), whose phase is the secret

  const binfhe::Parameters& parameters() const { return server->parameters; }
  const lattice::lwe::Evaluator& rows() const { return server->evaluator; }
  std::size_t bytes() const;

  /// A polynomial that is a factor.
  lattice::rlwe::Array plain(std::span<const std::int64_t> polynomial) const;
  lattice::rlwe::Array monomial(std::uint32_t power, std::int64_t times = 1) const;

  /// Ring ciphertexts of `slots` tables of each digit (count), whose coefficients 0 … slots - 1
  /// have its places over N; their words are (a, b).
  lattice::lwe::Array looked_up(const lattice::lwe::Array& digits,
                                std::span<const std::int32_t> lows) const;
  /// The same as arrays of the ring, for each slot in turn of each digit.
  lattice::rlwe::Array lifted(const lattice::lwe::Array& accumulators) const;
  /// sum_r digits_r(x)·rows_r.
  lattice::rlwe::Array switched(const lattice::rlwe::Array& x,
                                std::span<const lattice::rlwe::Array> rows,
                                const std::optional<lattice::rlwe::Array>& other = {}) const;
  /// x(X^g) under s, g = 2^step + 1.
  lattice::rlwe::Array folded(const lattice::rlwe::Array& x, unsigned step) const;
  /// Ring ciphertexts (digits, others), as (others): digit i becomes the coefficient of Y^i.
  lattice::rlwe::Array packed(lattice::rlwe::Array x, const ProductRing& ring_of,
                              std::size_t others) const;
  /// Ring ciphertexts of B products over 4 - Y, times Q: of (digits, 2, B, slots), or of one factor
  /// and known ones.
  lattice::rlwe::Array product(const lattice::rlwe::Array& packed, const ProductRing& ring_of,
                               std::size_t B) const;
  lattice::rlwe::Array product_by(const lattice::rlwe::Array& packed,
                                  std::span<const std::int64_t> known, const ProductRing& ring_of,
                                  std::size_t B) const;
  /// Digits -2 … 2 (digits, B) of ring ciphertexts of B products.
  lattice::lwe::Array read(const lattice::rlwe::Array& products, const ProductRing& ring_of,
                           std::uint32_t digits, std::size_t B) const;

  binfhe::Array multiply(std::span<const Factor> factors, std::span<const std::uint32_t> known,
                         std::size_t integers, std::uint32_t digits) const;
  /// A factor's rows, and what its digits are more.
  struct Held {
    lattice::lwe::Array rows;
    std::span<const std::int32_t> lows;
  };
  /// The products' digits.
  lattice::lwe::Array multiplied(std::span<const Held> factors, std::span<const std::int64_t> known,
                                 const ProductRing& ring_of, std::uint32_t digits,
                                 std::size_t B) const;

 private:
  State(std::shared_ptr<const binfhe::Access::State> on, const ProductKeys& keys,
        const Progress& progress);
};

/// What tests see of a multiplier.
struct MultiplierAccess {
  static const Multiplier::State& of(const Multiplier& multiplier) { return *multiplier.state_; }
};

}  // namespace whorl::bridges
