// What is known of a batch's ciphertexts without their key: how large their errors are, which
// others may have the same, and how large their messages may be. docs/noise.md has the rules.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "whorl/binfhe/ciphertexts.h"

namespace whorl::binfhe {

/// A number for each ciphertext of a batch, or one for all; equal where the errors are. 0: none.
using Marks = std::shared_ptr<const std::vector<std::uint64_t>>;

/// Errors of fresh or bootstrapped ciphertexts, times a weight.
struct ErrorPart {
  /// Loaded ones may be any of those made before they were saved.
  /// Joined ones may have smaller weights, or of the other sign, in some of the batch. A MUX has
  /// two rotations, each of which others may have too.
  enum From : std::uint8_t { fresh = 1, loaded = 2, made = 4, joined = 8, half_of_mux = 16 };
  double weight = 1;
  double variance = 1;  ///< before the weight, in units of a bootstrapped ciphertext's
  Marks marks{};        ///< null: unknown, may be a part of any other
  std::uint8_t from = made;
  /// Numbers what was made or joined in this process, 0: nothing. Errors are the same where this
  /// and the rows of it are; marks do not tell whether their signs are.
  std::uint64_t batch = 0;
  Marks rows{};  ///< null: all, in order
};

/// What messages are known not to pass.
struct Largest {
  std::uint32_t any = 0;                ///< p or more where the padding bit may be set
  std::uint32_t as_bits = 1;            ///< if messages of which nothing is known are bits
  std::optional<MessageRange> range{};  ///< that was stated, or follows
};

/// How messages may be wrong, beside the errors that `noise` has.
struct Promise {
  /// log2 of a bound on the probability that a rotation on the way of a message decided wrongly, or
  /// that the message is further off than this says.
  double failure_log2 = -HUGE_VAL;
  /// How many sectors it may be from that of exact tables, around the circle; nothing where all
  /// tables on the way were exact.
  std::optional<double> off{};

  double most_off() const { return off.value_or(0); }
};

struct Origin {
  double noise = 0;  ///< variance, an upper bound
  Largest largest;
  /// These marks are those of the ciphertexts themselves, by which results of the same operation
  /// are known again.
  Marks values;
  std::vector<ErrorPart> parts;  ///< independent where marks tell them apart
  /// By how much rounding messages to the modulus may have moved phases, in units whose squares
  /// those of `noise` are. Parts do not count it; it adds up with the weights' absolute values.
  double offset = 0;
  Promise promise;

  /// Whether the errors are not those of fresh or bootstrapped ciphertexts, but sums.
  bool is_sum() const;
};

/// An operand and its weight.
struct Term {
  double weight;
  const Origin* origin;
};

/// What the batch came with. RangeError for what no ciphertexts of its encoding hold.
Largest largest_of(const Ciphertexts& batch);
/// States what is known of a batch: of fresh encryptions with that noise; of messages up to
/// `largest` without a mask, and so without errors; and of ciphertexts with an origin.
void set_fresh(Ciphertexts& batch, double noise);
void set_trivial(Ciphertexts& batch, std::uint32_t largest);
void set_origin(Ciphertexts& batch, std::shared_ptr<const Origin> origin);
/// States the origin of `taken`, which has the rows of another batch at `index`, if that has one.
void set_taken(Ciphertexts& taken, const Ciphertexts& of, std::span<const std::uint32_t> index);
/// States what is known of `joined`, which has the rows of all batches; `fresh` is the noise of
/// encryptions, `offset` that of their encoding. No origin is stated where no batch brought one:
/// words tell as much then.
void set_joined(Ciphertexts& joined, std::span<const Ciphertexts* const> batches, double fresh,
                double offset);
/// EncodingError, which begins with `what`, unless both ends are -MessageRange::most … most.
void check_ends(const std::string& what, MessageRange range);
/// What follows from a range; EncodingError, which begins with `what`, if p integers do not hold
/// it, or for its ends.
Largest largest_within(const std::string& what, Encoding encoding, MessageRange range);
/// What is known of the messages of joined arrays. Their range is that of all, where an array
/// without one counts with 0 … any. If p integers do not hold it, they have none; but EncodingError
/// if each array has one.
Largest largest_of_joined(std::span<const Largest> all, Encoding encoding);
/// What the batch came with, or by its words; `fresh` is the noise of encryptions, `offset` that of
/// an encoding.
std::shared_ptr<const Origin> origin_of(const Ciphertexts& batch, double fresh, double offset);

/// An upper bound on the variance of the weighted sum. `constant`: what of a bootstrapped
/// ciphertext's variance is the same error in all of them.
double variance_of(std::span<const Term> terms, double constant);
/// Two ciphertexts of inputs that may have the same error.
struct SharedError {
  struct Place {
    std::size_t input, row;
  };
  std::array<Place, 2> places;
};
/// Two such, within an input too, if not all errors are independent.
std::optional<SharedError> shared_error(std::span<const Origin* const> inputs);
/// The offset of the weighted sum; `own` is that of a constant which is added.
double offset_of(std::span<const Term> terms, double own);
/// What holds of messages that one operation makes of all of the inputs: their failures add up with
/// its own. `off`: of results, where messages of inputs are known nearly.
Promise promise_of(std::span<const Term> inputs, double failure_log2, double off);
/// The same of a weighted sum.
Promise promise_of_sum(std::span<const Term> terms);
/// A variance that stands for errors of this one beside an offset: (sqrt(variance) + offset)^2. An
/// error of that deviation leaves any margin of at least its own deviation as often or more.
double with_offset(double variance, double offset);
Origin origin_of_sum(std::span<const Term> terms, std::int32_t constant, double noise,
                     double offset, Largest largest);
/// Returns the same origin, of messages of which that holds.
Origin with_promise(Origin origin, Promise promise);
/// Returns the origin of the same ciphertexts behind a key switch that leaves `part` of their
/// variance: their errors, and those of the switch, which are 1 - part for each input. `noise`: of
/// both together, or more.
Origin origin_of_switched(const Origin& origin, double part, double noise);
/// Returns the origin of the results of one operation, which `tag` stands for, on ciphertexts with
/// these marks.
Origin origin_of_bootstrapped(Marks inputs, std::span<const std::uint64_t> tags,
                              std::span<const std::uint32_t> index, double noise, Largest largest,
                              Promise promise, double offset = 0);
/// Returns the origin of a digit of messages that are taken apart: the lowest one has the input's
/// own errors, so that nothing is known to be independent of any of them.
Origin origin_of_digit(Marks inputs, std::uint64_t tag, double noise, Largest largest,
                       Promise promise);
/// Returns the origin of a MUX: the sum of the results of two such operations.
Origin origin_of_mux(Marks values, const Origin& first, const Origin& second, Promise promise);
/// Marks of the weighted sum; and of several inputs that are not added up, in their order.
Marks mark_sum(std::span<const Term> terms, std::int32_t constant = 0);
/// A number that depends on all bits of both.
std::uint64_t mix(std::uint64_t a, std::uint64_t b = 0);

/// Returns the origin of the same ciphertexts, whose messages stand for integers in `range`.
/// ParameterError for an empty range, and EncodingError for one that contradicts what is known.
Origin with_range(const Origin& origin, Encoding encoding, MessageRange range);
/// Returns the origin of the same ciphertexts, read as messages divided by `by`, of p/by.
Origin divided(const Origin& origin, Encoding encoding, std::uint32_t by);
Origin take(const Origin& origin, std::span<const std::uint32_t> index);
Origin join(std::span<const Origin* const> origins, Encoding encoding);

}  // namespace whorl::binfhe
