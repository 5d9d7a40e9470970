// Predicts levels, factors and noise bounds of a server's results, without keys or ciphertexts.
// Plans of circuits use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "whorl/bgv/ciphertexts.h"
#include "whorl/bgv/parameters.h"

namespace whorl::bgv {

/// Each method predicts the operation of Server that has its name. It takes and gives the public
/// facts of ciphertexts (CiphertextInfo) instead of the ciphertexts, and computes the same levels,
/// factors and noise bounds as Server. Server checks the operands; this class does not: packings
/// must be equal, and counts and arguments must be within the bounds of Server.
class Forecast {
 public:
  using Info = CiphertextInfo;

  explicit Forecast(const Parameters& parameters);

  /// A fresh encryption under the public key, of vectors of `length` values each (0: N). Encryption
  /// under the secret key makes less noise.
  Info encrypted(Packing packing, std::size_t count, std::uint64_t length = 0) const;
  /// Bits that are left by the noise bound. Client::decrypt refuses unless they are positive.
  double noise_budget(const Info& a) const;
  /// The least noise budget that a circuit with these requirements can end with. If it is negative,
  /// the parameters do not carry the circuit.
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
  /// A rotation or the exchange of rows; `a` has two parts.
  Info automorphism(const Info& a) const;
  Info concatenate(std::span<const Info> arrays) const;
  Info take(const Info& a, std::size_t count) const;
  Info mod_switch(const Info& a, unsigned limbs) const;
  Info shrink(const Info& a, double spare_bits) const;
  Info multiply_scalar(const Info& a, std::int64_t value) const;
  /// Adds an integer whose product with the factor of `a`, reduced modulo t and centred, is at most
  /// 2^norm in absolute value. Where zeros lie behind the values it is added to the values alone,
  /// and counts as largest_norm() at most.
  Info add_scalar(const Info& a, double norm) const;
  /// Adds `count` plaintexts of vectors of `length` values each (0: N). The absolute values of a
  /// plaintext's coefficients add up to at most 2^norm. multiply_plain takes the same arguments.
  Info add_plain(const Info& a, std::size_t count, double norm, std::uint64_t length = 0) const;
  Info multiply_plain(const Info& a, std::size_t count, double norm,
                      std::uint64_t length = 0) const;
  /// log2(N·t/2), the `norm` of a plaintext whose values are not known.
  double largest_norm() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace whorl::bgv
