// Products of integers whose digits of radix 4 are FHEW/TFHE ciphertexts: through ring elements,
// where one product is that of all digits, with its carries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "whorl/binfhe/ciphertexts.h"
#include "whorl/binfhe/server.h"
#include "whorl/common.h"
#include "whorl/word_array.h"

namespace whorl::bridges {

/// What a server needs to multiply integers: nothing of it is secret.
struct ProductKeys {
  binfhe::Parameters parameters;
  KeyId key_id;
  /// A second blind-rotation key of the LWE key, by the method of the first one, with two digits of
  /// 15 bits.
  Seed rotation_seed;
  WordArray rotation_b;
  /// Bodies (rows, N), in evaluation form: encryptions of digits' places times s(X^g) for each g =
  /// 2^l + 1, l = 1 … log2 N, and times s^2, where s is the ring key.
  Seed ring_seed;
  WordArray ring_b;

  /// Bytes as they are sent, without the frame.
  std::size_t bytes() const {
    return rotation_b.bytes() + ring_b.bytes() + rotation_seed.size() + ring_seed.size();
  }
};

/// Multiplies on a server's devices. Copies share what is there. Several threads may call it at
/// once.
class Multiplier {
 public:
  /// Puts the keys on the server's devices. ParameterMismatchError or KeyMismatchError for keys of
  /// other parameters or another key, ShapeError or RangeError for keys of a wrong size or with
  /// residues out of range, DeviceError for devices without RNS operations.
  Multiplier(const binfhe::Server& server, const ProductKeys& keys, const Progress& progress = {});
  /// The same for the server of a dry run, without keys.
  explicit Multiplier(const binfhe::Server& dry);

  /// Most digits of a product.
  static constexpr std::uint32_t most_digits = 128;

  /// Digits of radix 4 of `integers` numbers: digit i of number b is message i·integers + b, 0 … 3,
  /// of p = 32 under the ring key, and stands for so much more as lows[i] says, -3 … 0. Where there
  /// are no lows all are 0.
  struct Factor {
    const binfhe::Array& digits;
    std::span<const std::int32_t> lows = {};
  };
  /// Products modulo 4^digits of so many integers. The results, in the order of factors, are digits
  /// -2 … 2. EncodingError for other messages, ShapeError for no digits, counts that are no
  /// multiples of `integers`, or other numbers of lows, KeyMismatchError for the LWE key,
  /// NoiseError where a digit would be wrong more often than the server allows.
  binfhe::Array multiply(const Factor& x, const Factor& y, std::size_t integers,
                         std::uint32_t digits) const;
  /// The same by a known factor: its digits 0 … 3, the lowest first, of which only those below
  /// `digits` count.
  binfhe::Array multiply(const Factor& x, std::span<const std::uint32_t> known,
                         std::size_t integers, std::uint32_t digits) const;
  /// log2 of the probability that a digit of a product of so many digits is wrong: of factors whose
  /// errors have so many times a rotation's variance, the first one of `first` digits, which
  /// decide: give the narrower factor first. 0: of one factor and a known one.
  double failure_log2(double noise, std::uint32_t first, std::uint32_t digits) const;
  /// Bytes of the keys on each device.
  std::size_t bytes() const;

 private:
  friend struct MultiplierAccess;
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace whorl::bridges
