// Small objects of every kind that is saved, and ways to alter their frames.
#pragma once

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/native/frame.h"
#include "io/native/secret_codec.h"
#include "math/random.h"
#include "whorl/binfhe.h"
#include "whorl/io.h"
#include "whorl/io_secret.h"

namespace whorl::io::samples {

using Random = std::mt19937_64;

inline constexpr std::string_view passphrase = "correct horse battery staple";
/// Cheap enough to derive thousands of keys.
inline constexpr KdfCost cheap_cost = {1, 8192};

inline binfhe::ParameterLiteral literal(std::string name, std::uint32_t n, std::uint64_t q,
                                        std::uint32_t N, std::uint64_t Q, std::uint64_t Q_ks) {
  binfhe::ParameterLiteral made;
  made.name = std::move(name), made.n = n, made.q = q, made.N = N, made.Q = Q, made.Q_ks = Q_ks;
  return made;
}

/// Insecure and small; between them every width of word, kind of key and transform.
inline std::vector<binfhe::ParameterLiteral> literals() {
  using namespace binfhe;
  constexpr std::uint64_t small_Q = 133857281, large_Q = 1125899906826241;

  auto tiny = literal("tiny", 16, 512, 256, small_Q, 1 << 14);  // the smallest frames
  tiny.gadget = {{16, 9, 1}};
  tiny.lwe_secret = SecretDistribution::binary;
  tiny.key_switch = KeySwitch::product, tiny.log_B_ks = 7, tiny.ks_digits = 1;

  auto table = literal("table", 32, 1024, 256, small_Q, 1 << 14);  // 2-byte switching words
  table.source = "made up; Größe ≤ 32";
  table.gadget = {{32, 7, 3}};
  table.log_B_ks = 4;

  // 8-byte words in both keys, several gadgets, Gaussian ring key.
  auto wide = literal("wide", 48, 4096, 512, large_Q, large_Q);
  wide.source = "made up";
  wide.gadget = {{16, 15, 3}, {32, 20, 2}};
  wide.key_switch = KeySwitch::product, wide.log_B_ks = 10;
  wide.ring_secret = SecretDistribution::gaussian;
  wide.transform = Transform::ntt;

  // 4-byte ciphertext words, 8-byte switching words.
  auto large_q = literal("large_q", 40, 1 << 20, 1024, large_Q, std::uint64_t{1} << 35);
  large_q.gadget = {{40, 25, 2}};
  large_q.key_switch = KeySwitch::product, large_q.log_B_ks = 7;

  // Keys of several bases.
  auto bases = literal("bases", 20, 1 << 20, 256, large_Q, std::uint64_t{1} << 35);
  bases.gadget = {{20, 25, 2}};
  bases.key_switch = KeySwitch::product, bases.log_B_ks = 7;
  bases.small_modulus_gadgets = {{16, 18, 2}, {12, 27, 1}};
  return {tiny, table, wide, large_q, bases};
}

inline binfhe::Parameters parameters(const binfhe::ParameterLiteral& literal) {
  return binfhe::Parameters::create(literal, true);
}

inline binfhe::Parameters tiny_parameters() { return parameters(literals()[0]); }

template <std::size_t size>
std::array<std::uint8_t, size> random_array(Random& random) {
  std::array<std::uint8_t, size> bytes;
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

template <class Word>
std::vector<Word> random_words(Random& random, std::size_t count, std::uint64_t modulus) {
  std::vector<Word> words(count);
  for (auto& word : words) word = static_cast<Word>(random() % modulus);
  // The extremes are where a range check would be off by one.
  if (count >= 2) words[0] = 0, words[count - 1] = static_cast<Word>(modulus - 1);
  return words;
}

inline WordArray random_word_array(Random& random, std::size_t count, std::size_t word_bytes,
                                   std::uint64_t modulus) {
  switch (word_bytes) {
    case 2:
      return WordArray(random_words<std::uint16_t>(random, count, modulus));
    case 4:
      return WordArray(random_words<std::uint32_t>(random, count, modulus));
    default:
      return WordArray(random_words<std::uint64_t>(random, count, modulus));
  }
}

/// Not encryptions of anything, but residues such as those are.
inline binfhe::Ciphertexts ciphertexts(const binfhe::Parameters& parameters, std::size_t count,
                                       bool seeded, Random& random,
                                       binfhe::Under under = binfhe::Under::lwe) {
  binfhe::Ciphertexts value{parameters, random_array<16>(random), {4, seeded}, count, {}, {}, {}};
  value.under = under;
  if (seeded) value.seed = random_array<32>(random);
  const auto fill = [&]<class Word>(std::vector<Word>& words) {
    words = random_words<Word>(random, count * value.row(), value.modulus());
    for (std::size_t i = 0; seeded && i < count; ++i)
      math::expand_uniform(*value.seed, i, value.modulus(),
                           std::span(words).subspan(i * value.row(), value.row() - 1));
  };
  if (value.is_wide())
    fill(value.wide);
  else
    fill(value.data);
  return value;
}

inline binfhe::EvaluationKeys evaluation_keys(const binfhe::Parameters& parameters,
                                              Random& random) {
  const std::size_t rotation_width = ring_word_bytes(parameters.Q());
  const auto rotation = [&](std::size_t key) {
    return random_word_array(random, parameters.rotation_key_rows(key) * parameters.N(),
                             rotation_width, parameters.Q());
  };
  binfhe::EvaluationKeys keys{
      parameters,
      random_array<16>(random),
      random_array<32>(random),
      rotation(0),
      random_array<32>(random),
      random_word_array(random, parameters.key_switch_rows(), word_bytes_for(parameters.Q_ks()),
                        parameters.Q_ks())};
  for (std::size_t key = 1; key < parameters.rotation_keys(); ++key)
    keys.small_modulus_rotations.push_back({random_array<32>(random), rotation(key)});
  return keys;
}

inline binfhe::SecretKey secret_key(const binfhe::Parameters& parameters, Random& random) {
  const auto coefficients = [&](std::size_t count, binfhe::SecretDistribution distribution) {
    const bool binary = distribution == binfhe::SecretDistribution::binary;
    std::vector<std::int32_t> values(count);
    for (auto& value : values)
      value = binary ? static_cast<std::int32_t>(random() % 2)
                     : static_cast<std::int32_t>(random() % 3) - 1;
    return values;
  };
  return binfhe::SecretKey::from_coefficients(
      parameters, random_array<16>(random),
      coefficients(parameters.n(), parameters.literal().lwe_secret),
      coefficients(parameters.N(), parameters.literal().ring_secret));
}

inline binfhe::Lut lut(const binfhe::Parameters& parameters, binfhe::Encoding input,
                       binfhe::Encoding output, Random& random) {
  std::vector<std::uint32_t> values(input.p);
  for (auto& value : values) value = static_cast<std::uint32_t>(random() % output.p);
  return binfhe::Lut::create(parameters, values, input, output);
}

/// A table of p = 4 with one rotation, to which something is added where `ones`.
inline binfhe::Lut half_turn(const binfhe::Parameters& parameters, bool ones, Random& random) {
  const auto a = static_cast<std::uint32_t>(random() % (ones ? 2 : 4)),
             b = static_cast<std::uint32_t>(random() % 4), sum = ones ? 5U : 4U;
  return binfhe::Lut::create(parameters, {a, b, (sum - a) % 4, (sum - b) % 4}, {4}, {4}, true,
                             true);
}

/// A program with every operation: two inputs, of 2 and 3 ciphertexts.
inline binfhe::Program program(const binfhe::Parameters& parameters, Random& random) {
  binfhe::ProgramRecorder recorder(parameters, {4}, {2, 3});
  const std::int32_t weights[] = {1, -1};
  const std::uint32_t known[] = {static_cast<std::uint32_t>(random() % 4), 1}, index[] = {0, 1},
                      ones[] = {0, 0, 0, 0};
  const binfhe::Lut luts[] = {half_turn(parameters, false, random),
                              half_turn(parameters, false, random)};
  const binfhe::Lut other = half_turn(parameters, true, random);
  const std::uint32_t terms[] = {recorder.take(1, {2, 0}), recorder.trivial(known)};
  const auto sum = recorder.linear(weights, terms, -3);
  const auto made = recorder.apply(luts, index, sum);
  const auto joined = recorder.concatenate({made, 0});
  return recorder.program({recorder.apply({&other, 1}, ones, joined), 0});
}

/// Two integers of 3 bits, changed places and 1 added to the lower digits; whether they are odd.
inline integers::Program integer_program(const binfhe::Parameters& parameters) {
  binfhe::ProgramRecorder recorder(parameters, integers::encoding, {4});
  const std::int32_t weights[] = {1, 1};
  const auto turned = recorder.take(0, {1, 0, 3, 2});
  const std::uint32_t known[] = {1, 1, 0, 0}, index[] = {0, 0};
  const std::uint32_t terms[] = {turned, recorder.trivial(known)};
  std::vector<std::uint32_t> odd(32);
  for (std::uint32_t m = 0; m < 16; ++m)
    odd[m] = m % 2 == 1 ? 8 : 0, odd[m + 16] = (32 - odd[m]) % 32;
  const binfhe::Lut lut =
      binfhe::Lut::create(parameters, odd, integers::encoding, integers::encoding, true, true);
  const binfhe::Program digits =
      recorder.program({recorder.linear(weights, terms),
                        recorder.apply({&lut, 1}, index, recorder.take(0, {0, 1}))});
  return {
      digits,
      {{{3, true}, {2}}},
      {{{3, true}, {2}, integers::Digits::carries}, {{1, false}, {2, 1}, integers::Digits::flags}},
      1e-6,
      -70};
}

// ---- altering frames. Offsets and digests are those of docs/file-format.md, written down again
// here so that a change of the format does not go unnoticed.

inline constexpr std::size_t version_at = 4, type_at = 6, flags_at = 8, reserved_at = 12,
                             length_at = 16, digest_at = 24, key_id_at = 40, check_at = 56,
                             payload_at = 64;
inline constexpr std::size_t trailer_bytes = 32;

/// Makes the header check and the digest right again.
inline void reseal(std::span<std::uint8_t> frame) {
  if (frame.size() < payload_at + trailer_bytes) return;
  std::uint8_t check[16];
  crypto_generichash(check, sizeof check, frame.data(), check_at, nullptr, 0);
  std::memcpy(frame.data() + check_at, check, payload_at - check_at);
  const std::size_t hashed = frame.size() - trailer_bytes;
  crypto_generichash(frame.data() + hashed, trailer_bytes, frame.data(), hashed, nullptr, 0);
}

template <class T>
void put(std::span<std::uint8_t> frame, std::size_t at, T value) {
  std::memcpy(frame.data() + at, &value, sizeof value);
}

/// A resealed copy with `value` at `at`.
template <class T>
Bytes patched(Bytes frame, std::size_t at, T value) {
  put(frame, at, value);
  reseal(frame);
  return frame;
}

/// A resealed copy whose payload is cut or extended with zeros to `payload_bytes`.
inline Bytes with_payload_bytes(Bytes frame, std::uint64_t payload_bytes) {
  frame.resize(frame.size() - trailer_bytes);
  frame.resize(payload_at + payload_bytes);
  frame.resize(frame.size() + trailer_bytes);
  put(frame, length_at, payload_bytes);
  reseal(frame);
  return frame;
}

/// What tagged fields cost: a tag and a length each, for those that are not at their default.
class TaggedBytes {
 public:
  template <class T>
  TaggedBytes& field(const T& value, const T& absent) {
    return field(value != absent, sizeof(T));
  }
  template <class T>
  TaggedBytes& field(const std::vector<T>& value) {
    return field(!value.empty(), sizeof(T) * value.size());
  }
  TaggedBytes& field(const std::string& value) { return field(!value.empty(), value.size()); }
  TaggedBytes& field(const std::optional<TaggedBytes>& value) {
    return field(value.has_value(), value ? value->total() : 0);
  }
  std::size_t total() const { return 4 + bytes_; }

 private:
  TaggedBytes& field(bool there, std::size_t bytes) {
    if (there) bytes_ += 6 + bytes;
    return *this;
  }
  std::size_t bytes_ = 0;
};

/// Bytes of the literal at the head of every payload.
inline std::size_t literal_bytes(const binfhe::ParameterLiteral& l) {
  const binfhe::ParameterLiteral absent;
  return TaggedBytes()
      .field(l.n, absent.n)
      .field(l.q, absent.q)
      .field(l.N, absent.N)
      .field(l.Q, absent.Q)
      .field(l.Q_ks, absent.Q_ks)
      .field(l.key_switch, absent.key_switch)
      .field(l.lwe_secret, absent.lwe_secret)
      .field(l.ring_secret, absent.ring_secret)
      .field(l.transform, absent.transform)
      .field(l.padding, absent.padding)
      .field(l.log_B_ks, absent.log_B_ks)
      .field(l.ks_digits, absent.ks_digits)
      .field(l.max_p, absent.max_p)
      .field(l.sigma_lwe, absent.sigma_lwe)
      .field(l.sigma_ring, absent.sigma_ring)
      .field(l.gadget)
      .field(l.name)
      .field(l.source)
      .field(l.small_modulus_gadgets)
      .total();
}

/// Bytes of the fields of an array without a shape.
inline constexpr std::size_t no_shape_bytes = 4;

/// Where the value of a field of the literal lies in a frame; it must be there.
inline std::size_t field_at(std::span<const std::uint8_t> frame, std::uint16_t wanted) {
  for (std::size_t at = payload_at + 4;;) {
    std::uint16_t tag;
    std::uint32_t bytes;
    std::memcpy(&tag, &frame[at], sizeof tag);
    std::memcpy(&bytes, &frame[at + 2], sizeof bytes);
    if (tag == wanted) return at + 6;
    if (tag > wanted) throw Error("no field " + std::to_string(wanted));
    at += 6 + bytes;
  }
}

// ---- loading

inline LoadOptions insecure() {
  LoadOptions options;
  options.allow_insecure = true;
  return options;
}

}  // namespace whorl::io::samples
