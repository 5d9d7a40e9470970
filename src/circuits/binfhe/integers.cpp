// Programs of integers: what they take and make, over programs of digits.
#include "whorl/circuits/binfhe/integers.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "circuits/binfhe/integer_digits.h"
#include "math/text.h"
#include "schemes/binfhe/origin.h"
#include "schemes/binfhe/server_state.h"
#include "whorl/error.h"

namespace whorl::integers {

namespace {

using Array = Program::Array;

std::string describe(const Kind& kind) {
  return math::counted(kind.bits, "bit") + (kind.is_signed ? ", signed" : "");
}

std::string describe(const Shape& shape) {
  std::string out = "(";
  for (const std::uint64_t length : shape)
    out += (out.size() > 1 ? ", " : "") + std::to_string(length);
  return out + (shape.size() == 1 ? ",)" : ")");
}

/// The axes behind that of digits.
Shape shape_of(const binfhe::Ciphertexts& digits, const Kind& kind) {
  check_kind(kind);
  const Shape all = digits.shape.value_or(Shape{digits.count});
  if (all.empty() || all.front() != kind.digits())
    throw EncodingError("integers of " + describe(kind) + " are " +
                        math::counted(kind.digits(), "digit") +
                        " along the first axis; these have shape " + describe(all));
  return {all.begin() + 1, all.end()};
}

/// The range that results state, by which clients tell flags from digits.
binfhe::MessageRange range_of(Digits digits) {
  switch (digits) {
    case Digits::canonical:
      return {-2, 3};
    case Digits::carries:
      return {-16, 15};
    case Digits::flags:
      break;
  }
  return {flag_range.low, flag_range.high};
}

/// Throws unless these are the arrays whose digits a program has.
void check_arrays(const char* what, const std::vector<Array>& arrays,
                  const std::vector<std::size_t>& counts, bool results) {
  if (arrays.size() != counts.size())
    throw ShapeError(std::string(what) + ": there are " + std::to_string(arrays.size()) +
                     ", but those of digits are " + std::to_string(counts.size()));
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    const Array& array = arrays[k];
    const std::string which = std::string(what) + " " + std::to_string(k);
    check_kind(array.kind, which + ": ");
    const auto number = static_cast<std::uint8_t>(array.digits);
    if (number > (results ? static_cast<std::uint8_t>(Digits::flags) : 0))
      throw EncodingError(which + ": there are no digits " + std::to_string(number) +
                          " of it; inputs have 0, results 0 … 2");
    if (array.digits == Digits::flags && array.kind != Kind{1, false})
      throw EncodingError(which + ": flags have one bit, and not " + describe(array.kind));
    if (shape_size(array.shape, array.kind.digits(), which + ": ") != counts[k])
      throw ShapeError(which + ": integers of " + describe(array.kind) + " and shape " +
                       describe(array.shape) + " are not " + std::to_string(counts[k]) + " digits");
  }
}

/// Throws where digits have the same errors: what a program says of failures holds of independent
/// ones.
void check_independent(std::span<const binfhe::Array> digits, const std::vector<Array>& inputs) {
  using Known = decltype(binfhe::Access::State::origin(digits[0]));
  std::vector<Known> held;
  std::vector<Known::element_type*> origins;
  for (const binfhe::Array& each : digits) {
    held.push_back(binfhe::Access::State::origin(each));
    origins.push_back(held.back().get());
  }
  const auto found = binfhe::shared_error(origins);
  if (!found) return;
  const auto named = [&](const binfhe::SharedError::Place& place) {
    const std::size_t count = digits[place.input].count() / inputs[place.input].kind.digits();
    return "integer " + std::to_string(place.row % count) + " of input " +
           std::to_string(place.input);
  };
  throw NoiseError("run: a digit of " + named(found->places[0]) + " and one of " +
                   named(found->places[1]) +
                   " have the same error, or may have it, so that the program would fail more "
                   "often than its failure_log2 says: compile a function that takes the integer "
                   "once, or encrypt it again");
}

}  // namespace

std::uint64_t shape_size(const Shape& shape, std::uint64_t each, const std::string& which) {
  if (shape.size() > most_axes)
    throw ShapeError(which + "a shape of integers has " + std::to_string(shape.size()) +
                     " axes; it may have " + std::to_string(most_axes));
  std::uint64_t size = each;
  for (const std::uint64_t length : shape)
    if (__builtin_mul_overflow(size, length, &size) || size > UINT32_MAX)
      throw ShapeError(which + "integers of shape " + describe(shape) + " are 2^32 digits or more");
  return size;
}

void check_kind(const Kind& kind, const std::string& which) {
  if (kind.bits < 1 || kind.bits > Kind::most_bits)
    throw ParameterError(which + "bits is " + std::to_string(kind.bits) + "; it must be 1 … " +
                         std::to_string(Kind::most_bits));
}

std::uint64_t Integer::to_uint64() const {
  if ((words[1] | words[2] | words[3]) != 0) throw RangeError("the integer is not in 0 … 2^64 - 1");
  return words[0];
}

std::int64_t Integer::to_int64() const {
  const std::uint64_t sign = std::uint64_t{0} - (words[0] >> 63);
  if (words[1] != sign || words[2] != sign || words[3] != sign)
    throw RangeError("the integer is not in -2^63 … 2^63 - 1");
  return static_cast<std::int64_t>(words[0]);
}

Ciphertexts::Ciphertexts(binfhe::Ciphertexts digits, Kind kind)
    : Ciphertexts(std::make_shared<const binfhe::Ciphertexts>(std::move(digits)), kind) {}

Ciphertexts::Ciphertexts(std::shared_ptr<const binfhe::Ciphertexts> digits, Kind kind)
    : Ciphertexts(digits, kind, shape_of(*digits, kind)) {}

Ciphertexts::Ciphertexts(std::shared_ptr<const binfhe::Ciphertexts> digits, Kind kind, Shape shape)
    : digits_(std::move(digits)), kind_(kind), shape_(std::move(shape)) {
  check_kind(kind);
  if (digits_->encoding != encoding)
    throw EncodingError("digits of integers have p = 32 without padding, and not p = " +
                        std::to_string(digits_->encoding.p) +
                        (digits_->encoding.padding ? " with padding" : ""));
  if (shape_size(shape_, kind.digits()) != digits_->count)
    throw ShapeError("integers of " + describe(kind) + " and shape " + describe(shape_) +
                     " are not " + math::counted(digits_->count, "digit"));
}

Program::Program(binfhe::Program digits, std::vector<Array> inputs, std::vector<Array> results,
                 double input_noise, double failure_log2)
    : digits_(std::move(digits)),
      inputs_(std::move(inputs)),
      results_(std::move(results)),
      input_noise_(input_noise),
      failure_log2_(failure_log2) {
  if (digits_.encoding() != encoding)
    throw EncodingError("a program of integers has digits of p = 32, not of p = " +
                        std::to_string(digits_.encoding().p));
  check_arrays("input", inputs_, digits_.inputs(), false);
  check_arrays("result", results_, digits_.results(), true);
  if (!(input_noise >= 0 && input_noise <= 1))
    throw RangeError("input_noise is " + math::text_of(input_noise) + "; it must be in 0 … 1");
  if (!(failure_log2 <= 0))
    throw RangeError("failure_log2 is " + math::text_of(failure_log2) + "; it must be 0 or below");
}

std::vector<Ciphertexts> Program::run(const binfhe::Server& server,
                                      std::span<const Ciphertexts* const> inputs) const {
  if (inputs.size() != inputs_.size())
    throw ShapeError("run: the program takes " + math::counted(inputs_.size(), "input") +
                     ", and not " + std::to_string(inputs.size()));
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const std::string which = "run: input " + std::to_string(k);
    const Ciphertexts& given = *inputs[k];
    const binfhe::Ciphertexts& digits = *given.digits();
    const Array& wanted = inputs_[k];
    if (given.kind() != wanted.kind)
      throw EncodingError(which + " has integers of " + describe(given.kind()) +
                          "; the program takes those of " + describe(wanted.kind));
    if (given.shape() != wanted.shape)
      throw ShapeError(which + " has shape " + describe(given.shape()) +
                       "; the program takes shape " + describe(wanted.shape));
    if (digits.under != binfhe::Under::ring)
      throw KeyMismatchError(which + " is a result; the program takes what clients encrypt under " +
                             "the ring key");
    if (digits.range)
      throw EncodingError(which + " has digits in " + std::to_string(digits.range->low) + " … " +
                          std::to_string(digits.range->high) +
                          ", as a server states it; the program takes what clients encrypt");
    if (!(digits.noise <= input_noise_))
      throw NoiseError(which + " has " + math::text_of(digits.noise) +
                       " times a rotation's noise; the program takes " +
                       math::text_of(input_noise_) + ", as what a client encrypts has");
  }
  std::vector<binfhe::Array> arrays;
  std::vector<const binfhe::Array*> operands;
  operands.reserve(inputs.size());
  for (const Ciphertexts* each : inputs) arrays.push_back(server.upload(each->digits()));
  for (const binfhe::Array& each : arrays) operands.push_back(&each);
  check_independent(arrays, inputs_);
  const std::vector<binfhe::Array> made = server.run(digits_, operands);
  std::vector<Ciphertexts> out;
  for (std::size_t k = 0; k < made.size(); ++k) {
    const Array& result = results_[k];
    binfhe::Ciphertexts digits =
        server.download(server.with_range(server.to_lwe_key(made[k]), range_of(result.digits)));
    digits.shape = Shape{result.kind.digits()};
    digits.shape->insert(digits.shape->end(), result.shape.begin(), result.shape.end());
    out.emplace_back(std::move(digits), result.kind);
  }
  return out;
}

}  // namespace whorl::integers
