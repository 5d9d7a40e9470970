// Vectors modulo t to plaintext polynomials and back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ring/host/transforms.h"
#include "whorl/bgv/ciphertexts.h"

namespace whorl::bgv {

/// Slot (row, column) is the value at psi^(±3^column): + in row 0, - in row 1 (Halevi and Shoup,
/// CRYPTO 2014; N/2 columns, since 3 generates the odd residues modulo 2N up to sign).
class Encoder {
 public:
  explicit Encoder(const Parameters& parameters);

  /// EncodingError where the parameters have no slots and they are asked for.
  static void check(const Parameters& parameters, Packing packing);
  void check(Packing packing) const;
  /// ShapeError unless `values` is a whole number of rows of N; the number of rows.
  std::size_t rows(std::size_t values) const;

  /// Coefficients, centred: in -t/2 … t/2. One row of N. No branch on values.
  void encode(std::span<const std::int64_t> values, Packing packing,
              std::span<std::int64_t> coefficients) const;
  /// From coefficients in 0 … t-1, in place.
  void decode(Packing packing, std::span<std::uint64_t> coefficients) const;

 private:
  Parameters parameters_;
  std::optional<ring::HostNtt<std::uint32_t>> ntt_;  ///< modulo t, where there are slots
  std::vector<std::uint32_t> place_;                 ///< of each slot among NttPlan's values
};

}  // namespace whorl::bgv
