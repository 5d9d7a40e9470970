// Look-up tables Z_p -> Z_p'.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "whorl/binfhe/parameters.h"

namespace whorl::binfhe {

/// How a table is evaluated. `negacyclic`: f(x + p/2) = -f(x) mod p', one blind rotation, p even.
/// `padded`: inputs carry a padding bit, one blind rotation, any f. `arbitrary`: no padding, any f,
/// two blind rotations (Liu, Micciancio, Polyakov, ASIACRYPT 2022; OpenFHE's EvalFunc).
enum class LutKind : std::uint8_t { negacyclic = 0, padded = 1, arbitrary = 2 };

/// A checked table; immutable. values()[m] is f(m) for m in 0 … input().p - 1.
class Lut {
 public:
  /// The kind is `padded` if `input.padding`, else `negacyclic` if the values allow it, else
  /// `arbitrary`. EncodingError if a value is not below output.p, the length is not input.p, or p
  /// is more than the parameters carry (a sector of 2N/sectors < 4). A table that is not `exact`
  /// may be looked up whatever its failure probability is: outputs differ by up to error_bound().
  /// Servers refuse it where they may differ by more: see Server::apply.
  static Lut create(const Parameters& parameters, std::vector<std::uint32_t> values, Encoding input,
                    Encoding output, bool exact = true);
  static Lut create(const Parameters& parameters,
                    const std::function<std::uint32_t(std::uint32_t)>& function, Encoding input,
                    Encoding output, bool exact = true);

  const Parameters& parameters() const { return parameters_; }
  std::span<const std::uint32_t> values() const { return values_; }
  Encoding input() const { return input_; }
  Encoding output() const { return output_; }
  LutKind kind() const { return kind_; }
  bool exact() const { return exact_; }
  /// How far the decrypted output may be from f(m), around the circle of p'; more than that has a
  /// probability of at most `allow_failure`. 0: the table is exact. `noise` is the variance of the
  /// input's errors in units of a bootstrapped ciphertext's, by default 1 (fresh or bootstrapped).
  /// The input's noise makes of m one of its neighbours, up to as many sectors away as the noise
  /// passes with half the probability; the bound is the largest difference of f among these, and
  /// the sectors that the output's own noise passes (docs/noise.md). RangeError for a noise that is
  /// negative or not finite, ParameterError for an `allow_failure` outside (0, 1].
  std::uint32_t error_bound(double noise = 1, double allow_failure = allowed_failure) const;

 private:
  Lut(Parameters parameters, std::vector<std::uint32_t> values, Encoding input, Encoding output,
      LutKind kind, bool exact)
      : parameters_(std::move(parameters)),
        values_(std::move(values)),
        input_(input),
        output_(output),
        kind_(kind),
        exact_(exact) {}
  Parameters parameters_;
  std::vector<std::uint32_t> values_;
  Encoding input_, output_;
  LutKind kind_;
  bool exact_;
};

}  // namespace whorl::binfhe
