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
  /// is more than the parameters carry (a sector of 2N/sectors < 4).
  static Lut create(const Parameters& parameters, std::vector<std::uint32_t> values, Encoding input,
                    Encoding output);
  static Lut create(const Parameters& parameters,
                    const std::function<std::uint32_t(std::uint32_t)>& function, Encoding input,
                    Encoding output);

  const Parameters& parameters() const { return parameters_; }
  std::span<const std::uint32_t> values() const { return values_; }
  Encoding input() const { return input_; }
  Encoding output() const { return output_; }
  LutKind kind() const { return kind_; }

 private:
  Lut(Parameters parameters, std::vector<std::uint32_t> values, Encoding input, Encoding output,
      LutKind kind)
      : parameters_(std::move(parameters)),
        values_(std::move(values)),
        input_(input),
        output_(output),
        kind_(kind) {}
  Parameters parameters_;
  std::vector<std::uint32_t> values_;
  Encoding input_, output_;
  LutKind kind_;
};

}  // namespace whorl::binfhe
