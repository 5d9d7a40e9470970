// Look-up tables Z_p -> Z_p'.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "whorl/binfhe/ciphertexts.h"
#include "whorl/binfhe/parameters.h"

namespace whorl::binfhe {

/// How a table is evaluated. `negacyclic` takes one blind rotation; p is even and f(x + p/2) =
/// -f(x) mod p'. `padded` takes one blind rotation for any f; inputs have a padding bit.
/// `arbitrary` takes two blind rotations for any f, without padding (Liu, Micciancio, Polyakov,
/// ASIACRYPT 2022; OpenFHE's EvalFunc). `near_negacyclic` takes one blind rotation, to which
/// Lut::weight() times the input is added; f(x) + f(x + p/2) is linear in x modulo p'.
enum class LutKind : std::uint8_t {
  negacyclic = 0,
  padded = 1,
  arbitrary = 2,
  near_negacyclic = 3
};

/// A checked table; immutable. values()[m] is f(m) for m in 0 … input().p - 1.
class Lut {
 public:
  /// The kind is `padded` if `input.padding`, else `negacyclic` if the values allow it. Else it is
  /// `near_negacyclic` with `one_rotation`, and `arbitrary` without it. EncodingError if a value is
  /// not below output.p, or if there are not input.p values; or if one rotation was asked for and
  /// the values do not allow it. EncodingError also if a sector has fewer than 4 units of Z_2N or
  /// of Z_q; for an arbitrary table, if p is above N/4. A table that is not `exact` has no limit of
  /// its failure probability; its outputs may differ from f(m) by up to error_bound(). Servers
  /// refuse such a table if its outputs may differ by more: see Server::apply. It may be coarse: p
  /// is then a power of two with up to 2^16 sectors, and f is looked up at the N or 2N phases that
  /// one rotation tells apart.
  static Lut create(const Parameters& parameters, std::vector<std::uint32_t> values, Encoding input,
                    Encoding output, bool exact = true, bool one_rotation = false);
  static Lut create(const Parameters& parameters,
                    const std::function<std::uint32_t(std::uint32_t)>& function, Encoding input,
                    Encoding output, bool exact = true, bool one_rotation = false);

  const Parameters& parameters() const { return parameters_; }
  std::span<const std::uint32_t> values() const { return values_; }
  Encoding input() const { return input_; }
  Encoding output() const { return output_; }
  LutKind kind() const { return kind_; }
  bool exact() const { return exact_; }
  /// How many times the input is added to what the rotation gives. The output's noise has the
  /// square of it times the input's beside that of a bootstrap. 0 unless the kind is
  /// `near_negacyclic`.
  std::int32_t weight() const { return weight_; }
  /// A bound of the distance between the decrypted output and f(m), around the circle of p'. A
  /// larger distance has a probability of at most `allow_failure`. For an exact table the bound is
  /// 0. `noise` is the variance of the input's errors in units of the variance of a bootstrapped
  /// ciphertext; 1 stands for a fresh or bootstrapped input. The bound adds up two effects. The
  /// input's noise can turn m into a neighbour of m, so the bound has the largest distance between
  /// f(m) and f of a neighbour that the noise reaches. The output's own noise can pass some sectors
  /// more. docs/noise.md has the formula. `range` says which integers the messages are, by default
  /// all of 0 … p - 1; neighbours may lie outside. RangeError for a noise that is negative or not
  /// finite, ParameterError for an `allow_failure` outside (0, 1].
  std::uint32_t error_bound(double noise = 1, double allow_failure = allowed_failure,
                            const std::optional<MessageRange>& range = {}) const;
  /// How far from m the message may be that is looked up in its place; arguments as above.
  std::uint32_t reach(double noise = 1, double allow_failure = allowed_failure) const;

 private:
  friend double most_off(const Lut& lut, bool arbitrary, std::uint32_t reach,
                         const std::optional<MessageRange>& range);
  struct Distances;
  Lut(Parameters parameters, std::vector<std::uint32_t> values, Encoding input, Encoding output,
      LutKind kind, bool exact, std::int32_t weight);
  Parameters parameters_;
  std::vector<std::uint32_t> values_;
  Encoding input_, output_;
  LutKind kind_;
  bool exact_;
  std::int32_t weight_;
  std::shared_ptr<Distances> distances_;  ///< that were looked for before; copies share them
};

}  // namespace whorl::binfhe
