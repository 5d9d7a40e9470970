// Integers of 1 to 256 bits as digits of radix 4, and functions of them that were compiled to
// files: Python's whorl.integers plans and writes them (integers.compile), and its ciphertexts are
// these (docs/integers.md).
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "whorl/binfhe/ciphertexts.h"
#include "whorl/binfhe/program.h"
#include "whorl/binfhe/server.h"
#include "whorl/common.h"

namespace whorl::binfhe {
class Client;
}

namespace whorl::integers {

/// A digit is a message of so many sectors, without padding.
inline constexpr binfhe::Encoding encoding{32, false};

/// How many axes an array of integers may have.
inline constexpr std::size_t most_axes = 31;

/// How many bits integers have, and whether they are signed.
struct Kind {
  std::uint32_t bits = 64;
  bool is_signed = false;
  static constexpr std::uint32_t most_bits = 256;
  /// Digits of each integer. The last one has one bit only where the bits are odd.
  std::size_t digits() const { return (std::size_t{bits} + 1) / 2; }
  bool operator==(const Kind&) const = default;
};

/// An integer of up to 256 bits, as it is modulo 2^256: words of 64 bits, the lowest first. Whether
/// the highest bit is a sign, a Kind says: -1 is 2^256 - 1 where 256 bits are unsigned.
struct Integer {
  std::array<std::uint64_t, 4> words{};

  Integer() = default;
  template <std::integral Number>
  Integer(Number number) : words{static_cast<std::uint64_t>(number), 0, 0, 0} {  // NOLINT
    if constexpr (std::signed_integral<Number>)
      for (std::size_t k = 1; k < words.size(); ++k) words[k] = std::uint64_t{0} - (number < 0);
  }
  explicit Integer(const std::array<std::uint64_t, 4>& given) : words(given) {}
  /// RangeError for one that 64 bits do not hold, unsigned or signed.
  std::uint64_t to_uint64() const;
  std::int64_t to_int64() const;
  bool operator==(const Integer&) const = default;
};

/// Digits of a result. A client reads all; other functions take `canonical` ones.
enum class Digits : std::uint8_t {
  canonical = 0,  ///< 0 … 3, and -2 … 1 as the last one of signed integers
  carries = 1,    ///< -16 … 15: a client adds them up
  flags = 2       ///< one bit, which counts 8
};

/// Encrypted integers of one kind: ciphertexts of digits along the first axis, the lowest one
/// first. They are saved by whorl/io.h as binfhe::Ciphertexts; the receiver states the kind again.
class Ciphertexts {
 public:
  /// ParameterError for a kind of no bits or of more than 256; EncodingError unless these are
  /// digits of so many bits: of `encoding`, with a shape whose first axis has kind.digits().
  Ciphertexts(binfhe::Ciphertexts digits, Kind kind);
  /// The same in integers of a shape that the digits need not state. ShapeError unless they are as
  /// many.
  Ciphertexts(std::shared_ptr<const binfhe::Ciphertexts> digits, Kind kind, Shape shape);

  const std::shared_ptr<const binfhe::Ciphertexts>& digits() const { return digits_; }
  const Kind& kind() const { return kind_; }
  /// Shape of the array of integers.
  const Shape& shape() const { return shape_; }
  /// How many integers there are.
  std::size_t count() const { return digits_->count / kind_.digits(); }

 private:
  Ciphertexts(std::shared_ptr<const binfhe::Ciphertexts> digits, Kind kind);
  std::shared_ptr<const binfhe::Ciphertexts> digits_;
  Kind kind_;
  Shape shape_;
};

/// Encrypts integers under the client's ring key. EncodingError names the first that the kind does
/// not have, ParameterError a kind of no bits or of more than 256, and ShapeError a shape of
/// another number of integers. NoiseError as of binfhe::Client::encrypt.
Ciphertexts encrypt(const binfhe::Client& client, std::span<const Integer> values, Kind kind,
                    const Shape& shape);
/// The same, in an array of one axis.
Ciphertexts encrypt(const binfhe::Client& client, std::span<const Integer> values, Kind kind);
inline Ciphertexts encrypt(const binfhe::Client& client, std::initializer_list<Integer> values,
                           Kind kind) {
  return encrypt(client, std::span(values.begin(), values.size()), kind);
}
/// Integers in the range of their kind, row-major, of what a client encrypted or a program made.
/// KeyMismatchError or ParameterMismatchError for ciphertexts of another key or other parameters.
std::vector<Integer> decrypt(const binfhe::Client& client, const Ciphertexts& ciphertexts);

/// A function of encrypted integers. Python's integers.compile makes it and saves it; whorl/io.h
/// loads and saves it too. Copies share it, and nothing changes it.
class Program {
 public:
  /// An array that it takes or makes.
  struct Array {
    Kind kind;
    Shape shape;
    Digits digits = Digits::canonical;  ///< inputs are so always
    bool operator==(const Array&) const = default;
  };

  /// `digits` has an input and a result for each of these: all digits of an array, in one axis.
  /// `input_noise`: errors of inputs have at most this variance, in units of a rotation's.
  /// `failure_log2`: of a bound on the probability that any result is wrong. ParameterError,
  /// ShapeError or EncodingError for arrays that are not those of `digits`, RangeError for a noise
  /// outside 0 … 1 or a failure_log2 above 0.
  Program(binfhe::Program digits, std::vector<Array> inputs, std::vector<Array> results,
          double input_noise, double failure_log2);

  const binfhe::Program& digits() const { return digits_; }
  const binfhe::Parameters& parameters() const { return digits_.parameters(); }
  const std::vector<Array>& inputs() const { return inputs_; }
  const std::vector<Array>& results() const { return results_; }
  double input_noise() const { return input_noise_; }
  double failure_log2() const { return failure_log2_; }
  /// Blind rotations of a run.
  std::size_t rotations() const { return digits_.rotations(); }
  /// Layers of tables, which wait for one another.
  std::size_t layers() const { return digits_.layers(); }

  /// What the function gives of these inputs, as a client decrypts it, under the LWE key. Inputs
  /// are as clients encrypt them. One device does all of the work. ShapeError for another number of
  /// inputs or another shape; EncodingError for another kind, or digits with a stated range;
  /// KeyMismatchError for results, which are under the LWE key, or other keys than the server's;
  /// ParameterMismatchError for other parameters; NoiseError for more noise than the program was
  /// made for, and for a ciphertext that comes twice among the inputs: failure_log2 holds of
  /// independent errors. And what binfhe::Server::run throws.
  std::vector<Ciphertexts> run(const binfhe::Server& server,
                               std::span<const Ciphertexts* const> inputs) const;
  std::vector<Ciphertexts> run(const binfhe::Server& server,
                               std::initializer_list<const Ciphertexts*> inputs) const {
    return run(server, std::span(inputs.begin(), inputs.size()));
  }

 private:
  binfhe::Program digits_;
  std::vector<Array> inputs_, results_;
  double input_noise_, failure_log2_;
};

}  // namespace whorl::integers
