// What a server will know of its results: for plans of circuits, without keys or ciphertexts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "whorl/bgv/ciphertexts.h"
#include "whorl/bgv/parameters.h"

namespace whorl::bgv {

/// Each operation as the method of Server that has its name, on what is known of ciphertexts
/// instead of on them: the same account, and so the same levels, factors and bounds of the noise.
/// Operands are of equal packing, and their counts and arguments in the bounds that Server checks.
class Forecast {
 public:
  using Info = CiphertextInfo;

  explicit Forecast(const Parameters& parameters);

  /// Encrypted under the public key; the secret key leaves less noise.
  /// Vectors of `length` values each; 0: N.
  Info encrypted(Packing packing, std::size_t count, std::uint64_t length = 0) const;
  /// Bits left by the noise bound. Decryption is refused unless it is positive.
  double noise_budget(const Info& a) const;
  /// Least budget of any circuit that needs just what is required; negative where it does not last.
  double rated_budget(const Requirements& requirements) const;

  /// Whether zeros lie behind the values of short vectors; whether operations left something else
  /// there. In the latter case a server multiplies by ones before rotations and sums of values, and
  /// where `a` meets longer vectors (needs_zeros). Operations with those raise ShapeError here.
  bool has_zeros(const Info& a) const;
  bool has_remains(const Info& a) const;
  bool needs_zeros(const Info& a, const Info& b) const;
  Info add(const Info& a, const Info& b) const;
  Info multiply(const Info& a, const Info& b) const;  ///< not relinearised
  Info relinearise(const Info& a) const;
  /// Of a rotation or the exchange of rows, of two parts.
  Info automorphism(const Info& a) const;
  Info concatenate(std::span<const Info> arrays) const;
  Info take(const Info& a, std::size_t count) const;
  Info mod_switch(const Info& a, unsigned limbs) const;
  Info shrink(const Info& a, double spare_bits) const;
  Info multiply_scalar(const Info& a, std::int64_t value) const;
  /// An integer whose size is at most 2^norm, times the factor of `a` modulo t. Where zeros lie
  /// behind the values it is added to the values alone, with largest_norm() at most.
  Info add_scalar(const Info& a, double norm) const;
  /// With `count` plaintexts, the sizes of whose coefficients add up to at most 2^norm; vectors of
  /// `length` values each, 0: N.
  Info add_plain(const Info& a, std::size_t count, double norm, std::uint64_t length = 0) const;
  Info multiply_plain(const Info& a, std::size_t count, double norm,
                      std::uint64_t length = 0) const;
  /// log2(N·t/2): that norm of plaintexts of which nothing is known.
  double largest_norm() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace whorl::bgv
