// Vectors modulo t to plaintext polynomials and back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ring/host/transforms.h"
#include "whorl/bgv/ciphertexts.h"

namespace whorl::bgv {

/// Vectors of `length` values, each from the first slot of a ciphertext on; those of more than N go
/// on in the next ciphertexts.
struct Rows {
  std::size_t vectors = 0, length = 0, each = 1;
  std::uint32_t N = 0;

  std::size_t count() const { return vectors * each; }
  /// CiphertextInfo::length of these vectors.
  std::uint64_t kept() const { return length == N ? 0 : length; }
  /// The part of `values` that ciphertext i holds.
  std::span<const std::int64_t> of(std::span<const std::int64_t> values, std::size_t i) const {
    const std::size_t first = i % each * N;
    return values.subspan(i / each * length + first, std::min<std::size_t>(N, length - first));
  }
};

/// Slot (row, column) is the value at psi^(±3^column): + in row 0, - in row 1 (Halevi and Shoup,
/// CRYPTO 2014; N/2 columns, since 3 generates the odd residues modulo 2N up to sign).
class Encoder {
 public:
  explicit Encoder(const Parameters& parameters);

  /// EncodingError where the parameters have no slots and they are asked for.
  static void check(const Parameters& parameters, Packing packing);
  void check(Packing packing) const;
  /// How `values` numbers are cut into vectors of `length`, and vectors into rows of up to N.
  /// Length 0 stands for N if the numbers are a multiple of N, and otherwise for all of them.
  /// ShapeError if there are no numbers, if they are not a whole number of vectors, or if a
  /// polynomial has more than N coefficients.
  Rows rows(std::size_t values, std::size_t length, Packing packing) const;

  /// Coefficients, centred: in -t/2 … t/2. Up to N values, zeros behind. No branch on values.
  void encode(std::span<const std::int64_t> values, Packing packing,
              std::span<std::int64_t> coefficients) const;
  /// Decodes coefficients in 0 … t-1, in place.
  void decode(Packing packing, std::span<std::uint64_t> coefficients) const;

 private:
  Parameters parameters_;
  std::optional<ring::HostNtt<std::uint32_t>> ntt_;  ///< modulo t, where there are slots
  std::vector<std::uint32_t> place_;                 ///< of each slot among NttPlan's values
};

}  // namespace whorl::bgv
