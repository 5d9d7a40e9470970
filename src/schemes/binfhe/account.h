// The variance of ciphertexts' errors, as far as it is known without the key, and the operations
// that it allows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/flooring.h"
#include "schemes/binfhe/gates.h"
#include "schemes/binfhe/origin.h"

namespace whorl::binfhe {

// log2 of failure probabilities; docs/noise.md derives them. `noise` is the variance of the
// inputs' errors in units of a bootstrapped ciphertext's under the same key, `estimate` is of
// `parameters`.

/// Variance of a bootstrapped ciphertext by the transform that has more: the unit of `noise`. Under
/// the LWE key it is at q, under the ring key at Q: that of the rotation alone.
double unit_of_noise(const Parameters& parameters, Under under = Under::lwe);
/// Noise of fresh encryptions.
double fresh_noise(const Parameters& parameters, Under under = Under::lwe);
/// Noise of encryptions under a public key.
double public_noise(const Parameters& parameters);
/// That of encryptions or of a bootstrap, whichever is smaller: ciphertexts with a mask state no
/// less.
double least_noise(const Parameters& parameters, Under under = Under::lwe);
/// Half a unit of the modulus in the deviations that `noise` has the squares of, by which rounding
/// a message to the modulus may be off at most; 0 where sectors are whole numbers of units.
double encoding_offset(const Parameters& parameters, Encoding encoding, Under under);
/// RangeError unless the noise is what ciphertexts can have: least_noise() at least, or 0 where no
/// ciphertext has a mask.
void check_noise(const Ciphertexts& ciphertexts);
/// ShapeError unless the batch has as many words as its ciphertexts take.
void check_words(const Ciphertexts& ciphertexts);
/// ShapeError unless `numbers` is empty, or has one for each ciphertext; they are read with a seed.
void check_numbers(const Ciphertexts& ciphertexts);
/// MismatchError unless the mask of ciphertext i comes from the seed that there is.
void check_mask(const Ciphertexts& ciphertexts, std::size_t i);

/// A rotation that decides with a margin of q/(2·margin_sectors).
double gate_failure_log2(const Parameters& parameters, const NoiseEstimate& estimate, double noise,
                         double margin_sectors);
/// A table over `encoding` that gives a value more than `sectors_off` sectors away from its
/// input's.
double lut_failure_log2(const Parameters& parameters, const NoiseEstimate& estimate,
                        Encoding encoding, const Reading& reading, double noise,
                        std::uint32_t sectors_off = 0);
/// What holds of a table that is not exact, but for a probability of `allow_failure`.
struct Bound {
  std::uint32_t input;   ///< how far the message that is looked up is from the input's
  std::uint32_t output;  ///< how far the decrypted output is from f(m), around the circle of p'
  double off;            ///< the same without the output's errors
};
/// `range`: what the messages are known to be, by default all of 0 … p - 1. `off`: by how much they
/// may be off themselves.
Bound bound_of(const Lut& lut, const Reading& reading, double noise, double allow_failure,
               const std::optional<MessageRange>& range, double off = 0);
/// The largest distance of f(m) and f of a message up to `reach` away, as the table is read, in
/// sectors of the output. It is looked for once for each `reach` and `range`.
double most_off(const Lut& lut, bool arbitrary, std::uint32_t reach,
                const std::optional<MessageRange>& range);

/// The least number of sectors, at most `most`, that fails(…) allows; it allows all larger ones.
template <class Fails>
std::uint32_t least_allowed(std::uint32_t most, const Fails& fails) {
  std::uint32_t least = 0;
  while (least < most) {
    const std::uint32_t middle = least + (most - least) / 2;
    if (fails(middle))
      least = middle + 1;
    else
      most = middle;
  }
  return least;
}

/// How far a ciphertext decrypts from the message of exact tables at most, but for a probability of
/// 2^failure_log2: of what its origin promises, and of its errors with at most allowed_failure.
struct Decrypted {
  std::uint32_t error_bound;
  double failure_log2;
  double by_errors_log2;  ///< of its errors alone
};
Decrypted decrypted(const Parameters& parameters, Encoding encoding, Under under,
                    const Origin& origin);
Decrypted decrypted(const Ciphertexts& ciphertexts);
/// A message that decrypts to one more than `sectors_off` sectors away; `variance` at q, or at Q
/// under the ring key.
double decryption_failure_log2(const Parameters& parameters, double variance, Encoding encoding,
                               std::uint32_t sectors_off = 0, Under under = Under::lwe);

/// ParameterError unless in (0, 1].
void check_allowed(double allow_failure);
/// NoiseError if fresh encryptions decrypt wrongly more often than `allow_failure`.
void check_fresh(const Parameters& parameters, Encoding encoding, double allow_failure,
                 Under under = Under::lwe);
/// The same of encryptions under a public key.
void check_public(const Parameters& parameters, Encoding encoding, double allow_failure);

/// What an operation that is allowed does.
struct Allowed {
  double failure_log2;        ///< log2 of the probability that a rotation decides wrongly
  std::vector<double> noise;  ///< of each result
};

/// The noise of a server's ciphertexts, and the failures that it allows. Checks throw a NoiseError
/// that names the operation, its probability, and what would serve; of an operation that rotates
/// they return log2 of the probability that a rotation decides wrongly. Gates and tables count an
/// encrypted input as bootstrapped at least, so that fresh inputs do not pass where the next ones
/// fail.
class Account {
 public:
  Account(const Parameters& parameters, Transform transform, double allow_failure);

  double allow_failure() const { return allow_failure_; }
  double fresh(Under under = Under::lwe) const { return fresh_[index(under)]; }
  /// What ciphertexts with errors have at least.
  double least(Under under) const { return std::min(1.0, fresh(under)); }
  double bootstrapped() const { return 1; }
  /// Two rotations, and under the LWE key one key switch.
  double of_mux(Under under = Under::lwe) const { return under == Under::lwe ? mux_ : 2; }
  /// A weighted sum of coefficients of one accumulator, under the LWE key after its key switch.
  /// `squares` and `absolute` are the sums of the weights' squares and absolute values.
  double of_coefficients(double squares, double absolute, Under under = Under::lwe) const;
  /// What of a bootstrapped ciphertext's errors is the same for all under one key.
  double constant(Under under = Under::lwe) const { return constant_[index(under)]; }
  /// What of a bootstrapped ciphertext's variance under the LWE key is the rotation's; the key
  /// switch and its roundings have the rest.
  double part_of_rotation() const { return rotation_; }
  /// Noise under the LWE key of what has this noise under the ring key.
  double switched(double noise) const { return rotation_ * noise + (1 - rotation_); }

  // `noise`: of the inputs' sum, under the LWE key; `under`: of the results.

  double check_gate(Gate gate, Encoding input, Encoding output, double noise,
                    Under under = Under::lwe) const;
  double check_bootstrap(Encoding input, Encoding output, double noise,
                         Under under = Under::lwe) const;
  double check_mux(Encoding encoding, double noise, Under under = Under::lwe) const;
  /// Checks the look-up of an exact table; `result` is the noise of its output.
  double check_look_up(const Lut& lut, const Reading& reading, double noise, double result,
                       Under under = Under::lwe) const;
  /// Whether that check passes.
  bool looks_up(const Lut& lut, const Reading& reading, double noise, double result,
                Under under = Under::lwe) const;
  /// `noise`: under the key of the sum.
  void check_sum(Encoding encoding, double noise, Under under = Under::lwe) const;
  void check_key_switch(Encoding encoding, double noise) const;
  /// What tables that are not exact get: how they read it, its noise and its messages.
  struct Looked {
    Reading reading;
    double noise;
    std::optional<MessageRange> range;
    Promise promise;
  };
  /// Returns how far the input and the outputs of a table that is not exact are off at most, but
  /// for allow_failure.
  Bound bound(const Lut& lut, const Looked& input) const;
  /// Checks that outputs are off by at most `within` for each table, by default what
  /// Lut::error_bound states.
  void check_approximate(std::span<const Lut> luts, const Looked& input,
                         std::optional<std::uint32_t> within) const;
  /// What holds of the outputs of tables, exact ones of which fail with that probability: with what
  /// of the input, and for tables that are not exact by `bound`, where `allow_failure` is 1 by
  /// bounds for allowed_failure.
  Promise promise(std::span<const Lut> luts, const Looked& input, double exact_failure_log2) const;
  /// log2 of the least allow_failure with which check_approximate would pass.
  double approximate_failure_log2(std::span<const Lut> luts, const Looked& input,
                                  std::optional<std::uint32_t> within) const;
  /// Whether messages are not meant to decrypt exactly: encodings that ciphertexts do not carry
  /// exactly, and what tables that are not exact gave, where these errors, or those of a bootstrap
  /// under the LWE key, are too large for it.
  bool is_coarse(Encoding encoding, const Origin& origin, Under under) const;
  /// log2 of the probability that a ciphertext decrypts to another message.
  double decryption_failure_log2(Encoding encoding, double noise, Under under = Under::lwe) const;

  // Operations of large precision: `noise` is the input's own. That of the results is
  // least_noise() at least.

  Allowed check_floor(Encoding input, unsigned bits, double noise) const;
  Allowed check_sign(Encoding input, Encoding output, double noise) const;
  /// Checks a decomposition into digits.
  Allowed check_decomposition(Encoding input, double noise) const;

 private:
  /// log2 of the failure probability of an operation that takes `encoding`.
  using Failure = std::function<double(const Parameters&, const NoiseEstimate&, Encoding encoding)>;
  bool allows(double failure_log2) const { return failure_log2 <= allow_failure_log2_; }
  [[noreturn]] void refuse(const std::string& operation, Encoding encoding,
                           const Failure& failure_log2) const;
  double check_decision(std::string_view name, double weight, Encoding input, std::uint64_t least,
                        double margin_sectors, double noise) const;
  static std::size_t index(Under under) { return static_cast<std::size_t>(under); }
  void check_output(Encoding output, Under under) const;
  void check_decryption(const std::string& operation, Encoding encoding, double noise,
                        Under under) const;
  using MakeFloorings = std::function<Floorings(const Parameters&, Encoding)>;
  using FlooringsFailure = std::function<double(const FlooredErrors&)>;
  FlooredErrors check_floorings(const std::string& operation, Encoding input, double noise,
                                const MakeFloorings& floorings,
                                const FlooringsFailure& fails) const;

  Parameters parameters_;
  NoiseEstimate estimate_;
  double allow_failure_, allow_failure_log2_, mux_, rotation_;
  std::array<double, 2> fresh_, constant_;
};

}  // namespace whorl::binfhe
