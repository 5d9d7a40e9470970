// The payloads of BGV's frames; docs/file-format.md has the bytes.
#include "io/bgv_files.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "io/frame.h"
#include "io/frame_output.h"
#include "io/mapped_file.h"
#include "io/residues.h"
#include "io/text.h"
#include "io/words.h"
#include "math/random.h"
#include "math/secret.h"

namespace whorl::io {

void encode_bgv_literal(const bgv::ParameterLiteral& literal, ByteWriter& out) {
  out.value(literal.N);
  out.value(literal.digit_limbs);
  out.value(literal.t);
  out.value(literal.sigma);
  out.value(literal.depth);
  out.value(static_cast<std::uint16_t>(literal.chain.size()));
  out.value(static_cast<std::uint16_t>(literal.special.size()));
  for (const auto* primes : {&literal.chain, &literal.special})
    for (const std::uint64_t prime : *primes) out.value(prime);
  encode_text(literal.name, max_name_bytes, "name", out);
}

bgv::ParameterLiteral decode_bgv_literal(ByteReader& in) {
  bgv::ParameterLiteral literal;
  literal.N = in.value<std::uint32_t>("N");
  literal.digit_limbs = in.value<std::uint32_t>("digit_limbs");
  literal.t = in.value<std::uint64_t>("t");
  literal.sigma = in.value<double>("sigma");
  literal.depth = in.value<std::uint32_t>("depth");
  const auto chain = in.value<std::uint16_t>("chain");
  const auto special = in.value<std::uint16_t>("special");
  const auto primes = [&in](std::size_t count, const char* field) {
    ByteReader bytes(in.take(count * sizeof(std::uint64_t), field));
    std::vector<std::uint64_t> result(count);
    for (std::uint64_t& prime : result) prime = bytes.value<std::uint64_t>(field);
    return result;
  };
  literal.chain = primes(chain, "chain");
  literal.special = primes(special, "special");
  literal.name = decode_text(in, max_name_bytes, "name");
  return literal;
}

namespace {

using bgv::CiphertextInfo;
using bgv::Ciphertexts;
using bgv::EvaluationKeys;
using bgv::Packing;
using bgv::Parameters;
using bgv::PublicKey;
using bgv::SecretKey;
using bgv::SwitchKeyData;
using Mapping = std::shared_ptr<const MappedFile>;

constexpr unsigned max_parts = 16;
constexpr unsigned max_power = 7;
/// g, power, seed.
constexpr std::size_t key_entry_bytes = 40;

// ---- what all frames share

ByteWriter begin_payload(const Parameters& parameters) {
  ByteWriter head;
  encode_bgv_literal(parameters.literal(), head);
  return head;
}

/// Rebuilds the parameters at the head of a payload, which must be those that the header names.
Parameters read_parameters(ByteReader& reader, const Header& header, const LoadOptions& options) {
  auto parameters = Parameters::create(decode_bgv_literal(reader), options.allow_insecure);
  if (parameters.digest() != header.parameters_digest)
    throw ParameterMismatchError(
        "parameter digest: the header names other parameters than the payload holds");
  return parameters;
}

void align(ByteReader& reader, const char* field) {
  const std::uint64_t offset = header_bytes + reader.position();
  reader.zeros(static_cast<std::size_t>(align_up(offset) - offset), field);
}

/// Bytes that align() of a writer adds to a payload of `bytes`.
std::uint64_t aligned_payload(std::uint64_t bytes) {
  return align_up(header_bytes + bytes) - header_bytes;
}

/// Row r of `words`, of `row` words each, is below primes[r modulo their number].
template <class Word>
void check_rows(std::span<const Word> words, std::size_t row, std::span<const std::uint64_t> primes,
                const char* field) {
  for (std::size_t first = 0, r = 0; first < words.size(); first += row, ++r)
    check_residues(words.subspan(first, row), primes[r % primes.size()], field, first);
}

void check_rows(const WordArray& words, std::size_t row, std::span<const std::uint64_t> primes,
                const char* field) {
  if (words.word_bytes() == 4)
    check_rows(words.as<std::uint32_t>(), row, primes, field);
  else
    check_rows(words.as<std::uint64_t>(), row, primes, field);
}

// ---- parameters

void write_frame(Sink& sink, const Parameters& value) {
  const ByteWriter head = begin_payload(value);
  FrameWriter frame(sink, make_header(FrameType::bgv_parameters, value.digest(), {}, head.size()));
  frame.write(head.data());
  frame.finish();
}

// ---- ciphertexts

/// Words of one part: (limbs, count, N).
std::uint64_t part_words(const Parameters& parameters, const CiphertextInfo& info) {
  return checked_product(checked_product(info.count, info.limbs, "ciphertexts"), parameters.N(),
                         "ciphertexts");
}

/// RangeError, EncodingError or ShapeError for what no ciphertexts can have.
void check_info(const Parameters& parameters, const CiphertextInfo& info, bool seeded) {
  const auto within = [](const char* field, std::uint64_t value, std::uint64_t least,
                         std::uint64_t most) {
    if (value < least || value > most)
      throw RangeError(std::string(field) + ": " + std::to_string(value) + " is outside " +
                       std::to_string(least) + " … " + std::to_string(most));
  };
  if (info.packing == Packing::slots && !parameters.has_slots())
    throw EncodingError("packing: slots, which these parameters do not have");
  within("parts", info.parts, seeded ? 2 : 1, seeded ? 2 : max_parts);
  within("limbs", info.limbs, seeded ? parameters.limbs() : 1, parameters.limbs());
  within("factor", info.factor, 1, parameters.t() - 1);
  if (std::gcd(info.factor, parameters.t()) != 1)
    throw RangeError("factor: " + std::to_string(info.factor) +
                     " has no inverse modulo t = " + std::to_string(parameters.t()));
  if (info.count == 0) throw RangeError("count: 0, at least 1");
  if (!std::isfinite(info.noise)) throw RangeError("noise: not a number");
}

/// c_1 of fresh encryptions: limb l of row i is expand_uniform(seed, i·L + l, q_l).
template <class Word>
void expand_masks(const Parameters& parameters, const bgv::Seed& seed, std::size_t count,
                  std::span<Word> out) {
  const std::size_t N = parameters.N(), L = parameters.limbs();
  for (std::size_t l = 0; l < L; ++l)
    for (std::size_t i = 0; i < count; ++i)
      math::expand_uniform<Word>(seed, i * L + l, parameters.literal().chain[l],
                                 out.subspan((l * count + i) * N, N));
}

/// Whoever altered `data` and kept the seed would find other ciphertexts in the file.
template <class Word>
void check_seed(const Ciphertexts& value) {
  const auto words = value.data.as<Word>();
  const auto masks = words.subspan(words.size() / 2);
  std::vector<Word> expected(masks.size());
  expand_masks<Word>(value.parameters, *value.seed, value.info.count, expected);
  if (!std::equal(expected.begin(), expected.end(), masks.begin()))
    throw MismatchError("seed: c_1 does not come from it; whoever changes data must clear seed");
}

void write_frame(Sink& sink, const Ciphertexts& value) {
  const Parameters& parameters = value.parameters;
  const CiphertextInfo& info = value.info;
  check_info(parameters, info, value.seed.has_value());
  const std::uint64_t part = part_words(parameters, info);
  check_key_shape(value.data, checked_product(part, info.parts, "data"), parameters.word_bytes(),
                  "data");
  const std::span<const std::uint64_t> chain(parameters.literal().chain.data(), info.limbs);
  check_rows(value.data, info.count * parameters.N(), chain, "data");
  if (value.seed)
    parameters.word_bytes() == 4 ? check_seed<std::uint32_t>(value)
                                 : check_seed<std::uint64_t>(value);

  ByteWriter head = begin_payload(parameters);
  head.value(static_cast<std::uint32_t>(info.packing));
  head.value(static_cast<std::uint32_t>(info.parts));
  head.value(static_cast<std::uint32_t>(info.limbs));
  head.zeros(4);
  head.value(static_cast<std::uint64_t>(info.count));
  head.value(info.factor);
  head.value(info.noise);
  if (value.seed) head.bytes(*value.seed);
  const ByteSpan words = bytes_of(value.data);
  const ByteSpan written = value.seed ? words.first(words.size() / 2) : words;
  FrameWriter frame(sink, make_header(FrameType::bgv_ciphertexts, parameters.digest(), value.key_id,
                                      aligned_payload(head.size()) + written.size(),
                                      value.seed ? flag_seeded : 0));
  frame.write(head.data());
  frame.align();
  frame.write(written);
  frame.finish();
}

template <class Word>
WordArray unpack(const Parameters& parameters, const CiphertextInfo& info, ByteSpan bytes,
                 std::uint64_t words, const std::optional<bgv::Seed>& seed) {
  std::vector<Word> data;
  reserve(data, words, "ciphertexts");
  data.resize(static_cast<std::size_t>(words));
  std::memcpy(data.data(), bytes.data(), bytes.size());
  const std::span<Word> all(data);
  const std::size_t given = bytes.size() / sizeof(Word);
  check_rows<Word>(all.first(given), info.count * parameters.N(),
                   {parameters.literal().chain.data(), info.limbs}, "ciphertexts");
  if (seed) expand_masks<Word>(parameters, *seed, info.count, all.subspan(given));
  return WordArray(std::move(data));
}

Ciphertexts read_ciphertexts(ByteSpan bytes, const LoadOptions& options) {
  const OpenFrame frame = open_frame(bytes, FrameType::bgv_ciphertexts, options);
  ByteReader reader(frame.payload);
  const auto parameters = read_parameters(reader, frame.header, options);
  CiphertextInfo info;
  const auto packing = reader.value<std::uint32_t>("packing");
  if (packing > 1) throw FormatError("packing: " + std::to_string(packing) + ", at most 1");
  info.packing = static_cast<Packing>(packing);
  info.parts = reader.value<std::uint32_t>("parts");
  info.limbs = reader.value<std::uint32_t>("limbs");
  reader.zeros(4, "ciphertexts");
  info.count = reader.value<std::uint64_t>("count");
  info.factor = reader.value<std::uint64_t>("factor");
  info.noise = reader.value<double>("noise");
  std::optional<bgv::Seed> seed;
  if ((frame.header.flags & flag_seeded) != 0) seed = reader.array<32>("seed");
  check_info(parameters, info, seed.has_value());
  align(reader, "ciphertexts");

  const std::uint64_t part = part_words(parameters, info);
  const std::uint64_t all_words = checked_product(part, info.parts, "ciphertexts");
  const std::uint64_t unpacked = checked_product(all_words, parameters.word_bytes(), "ciphertexts");
  const ByteSpan words = reader.take(seed ? unpacked / 2 : unpacked, "ciphertexts");
  reader.finish("ciphertexts");
  if (unpacked > options.max_bytes)
    throw OversizedError("ciphertexts: " + std::to_string(info.count) + " unpack to " +
                         std::to_string(unpacked) + " bytes, at most " +
                         std::to_string(options.max_bytes) + " accepted (max_bytes)");
  WordArray data = parameters.word_bytes() == 4
                       ? unpack<std::uint32_t>(parameters, info, words, all_words, seed)
                       : unpack<std::uint64_t>(parameters, info, words, all_words, seed);
  return {parameters, frame.header.key_id, info, std::move(data), seed};
}

// ---- public keys

std::uint64_t public_key_words(const Parameters& parameters) {
  return std::uint64_t{parameters.limbs()} * parameters.N();
}

void write_frame(Sink& sink, const PublicKey& value) {
  const Parameters& parameters = value.parameters;
  check_key_shape(value.b, public_key_words(parameters), parameters.word_bytes(), "b");
  check_rows(value.b, parameters.N(), parameters.literal().chain, "b");
  ByteWriter head = begin_payload(parameters);
  head.bytes(value.seed);
  FrameWriter frame(sink, make_header(FrameType::bgv_public_key, parameters.digest(), value.key_id,
                                      aligned_payload(head.size()) + value.b.bytes()));
  frame.write(head.data());
  frame.align();
  frame.write(bytes_of(value.b));
  frame.finish();
}

PublicKey read_public_key(ByteSpan bytes, const LoadOptions& options) {
  const OpenFrame frame = open_frame(bytes, FrameType::bgv_public_key, options);
  ByteReader reader(frame.payload);
  const auto parameters = read_parameters(reader, frame.header, options);
  const auto seed = reader.array<32>("seed");
  align(reader, "public key");
  const ByteSpan words =
      reader.take(public_key_words(parameters) * parameters.word_bytes(), "public key");
  reader.finish("public key");
  WordArray b = take_words(words, parameters.word_bytes(), "public key", nullptr);
  check_rows(b, parameters.N(), parameters.literal().chain, "b");
  return {parameters, frame.header.key_id, seed, std::move(b)};
}

// ---- evaluation keys

/// The chain, then the special primes.
std::vector<std::uint64_t> all_primes(const Parameters& parameters) {
  std::vector<std::uint64_t> primes = parameters.literal().chain;
  primes.insert(primes.end(), parameters.literal().special.begin(),
                parameters.literal().special.end());
  return primes;
}

/// Bodies of one key: (digits, limbs + special, N).
std::uint64_t switch_key_words(const Parameters& parameters) {
  return std::uint64_t{parameters.digits()} * (parameters.limbs() + parameters.special()) *
         parameters.N();
}

/// FormatError for a power of s(X^g) that no client makes a key of, or that is there twice.
void check_entry(const Parameters& parameters, std::uint32_t g, std::uint32_t power,
                 std::set<std::pair<std::uint32_t, std::uint32_t>>& seen) {
  const bool relinearises = g == 1 && power >= 2 && power <= max_power;
  const bool rotates = power == 1 && g > 1 && g % 2 == 1 && g < 2 * parameters.N();
  if (!relinearises && !rotates)
    throw FormatError("evaluation keys: one for s(X^" + std::to_string(g) + ")^" +
                      std::to_string(power));
  if (!seen.emplace(g, power).second)
    throw FormatError("evaluation keys: two for s(X^" + std::to_string(g) + ")^" +
                      std::to_string(power));
}

void write_frame(Sink& sink, const EvaluationKeys& value) {
  const Parameters& parameters = value.parameters;
  const auto primes = all_primes(parameters);
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  ByteWriter head = begin_payload(parameters);
  head.value(static_cast<std::uint32_t>(value.keys.size()));
  head.zeros(4);
  for (const SwitchKeyData& key : value.keys) {
    check_entry(parameters, key.g, key.power, seen);
    check_key_shape(key.b, switch_key_words(parameters), parameters.word_bytes(), "b");
    check_rows(key.b, parameters.N(), primes, "b");
    head.value(key.g);
    head.value(static_cast<std::uint32_t>(key.power));
    head.bytes(key.seed);
  }
  // N is a multiple of 64: each key ends aligned.
  const std::uint64_t bytes = switch_key_words(parameters) * parameters.word_bytes();
  FrameWriter frame(sink,
                    make_header(FrameType::bgv_evaluation_keys, parameters.digest(), value.key_id,
                                aligned_payload(head.size()) + value.keys.size() * bytes));
  frame.write(head.data());
  frame.align();
  for (const SwitchKeyData& key : value.keys) frame.write(bytes_of(key.b));
  frame.finish();
}

EvaluationKeys read_evaluation_keys(ByteSpan bytes, const LoadOptions& options,
                                    const Mapping& mapping) {
  const OpenFrame frame = open_frame(bytes, FrameType::bgv_evaluation_keys, options, mapping.get());
  ByteReader reader(frame.payload);
  const auto parameters = read_parameters(reader, frame.header, options);
  const auto count = reader.value<std::uint32_t>("evaluation keys");
  reader.zeros(4, "evaluation keys");
  ByteReader entries(reader.take(std::uint64_t{count} * key_entry_bytes, "evaluation keys"));
  align(reader, "evaluation keys");
  const std::uint64_t key_bytes = switch_key_words(parameters) * parameters.word_bytes();
  ByteReader bodies(
      reader.take(checked_product(count, key_bytes, "evaluation keys"), "evaluation keys"));
  reader.finish("evaluation keys");

  EvaluationKeys result{parameters, frame.header.key_id, {}};
  reserve(result.keys, count, "evaluation keys");
  const auto primes = all_primes(parameters);
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (std::uint32_t k = 0; k < count; ++k) {
    const auto g = entries.value<std::uint32_t>("evaluation keys");
    const auto power = entries.value<std::uint32_t>("evaluation keys");
    const auto seed = entries.array<32>("evaluation keys");
    check_entry(parameters, g, power, seen);
    const ByteSpan body = bodies.take(key_bytes, "evaluation keys");
    WordArray b = take_words(body, parameters.word_bytes(), "evaluation keys", mapping);
    check_rows(b, parameters.N(), primes, "evaluation keys");
    if (mapping != nullptr) mapping->release(body);
    result.keys.push_back({g, power, seed, std::move(b)});
  }
  return result;
}

// ---- secret keys

void write_frame(Sink& sink, const SecretKey& value, std::string_view passphrase,
                 const KdfCost& cost) {
  const WrapHeader wrap_header = make_wrap_header(cost);
  ByteWriter head = begin_payload(value.parameters());
  encode_wrap_header(wrap_header, head);
  const ByteSpan coefficients = bytes_of(value.coefficients());
  const Header header =
      make_header(FrameType::bgv_secret_key, value.parameters().digest(), value.key_id(),
                  head.size() + coefficients.size() + wrap_tag_bytes);
  ByteWriter associated;
  associated.bytes(encode_header(header));
  associated.bytes(head.data());
  const auto wrapped = wrap(coefficients, passphrase, wrap_header, associated.data());

  FrameWriter frame(sink, header);
  frame.write(head.data());
  frame.write(wrapped);
  frame.finish();
}

}  // namespace

Bytes dump_secret_key(const SecretKey& value, std::string_view passphrase, const KdfCost& cost) {
  return dump_frame([&](Sink& sink) { write_frame(sink, value, passphrase, cost); });
}

SecretKey load_bgv_secret_key(ByteSpan bytes, std::string_view passphrase,
                              const LoadOptions& options, const KdfCost& limit) {
  const OpenFrame frame = open_frame(bytes, FrameType::bgv_secret_key, options);
  ByteReader reader(frame.payload);
  const auto parameters = read_parameters(reader, frame.header, options);
  const WrapHeader wrap_header = decode_wrap_header(reader, limit);
  const std::size_t clear_bytes = header_bytes + reader.position();
  const std::size_t N = parameters.N();
  const ByteSpan wrapped = reader.take(N * sizeof(std::int32_t) + wrap_tag_bytes, "wrapped key");
  reader.finish("secret key");

  const auto secret = unwrap(wrapped, passphrase, wrap_header, bytes.first(clear_bytes));
  math::SecretVector<std::int32_t> coefficients(N);
  std::memcpy(coefficients.data(), secret.data(), secret.size());
  return SecretKey::from_coefficients(parameters, frame.header.key_id,
                                      std::as_const(coefficients).span());
}

Bytes dump(const Parameters& value) {
  return dump_frame([&](Sink& sink) { write_frame(sink, value); });
}
Bytes dump(const Ciphertexts& value) {
  return dump_frame([&](Sink& sink) { write_frame(sink, value); });
}
Bytes dump(const PublicKey& value) {
  return dump_frame([&](Sink& sink) { write_frame(sink, value); });
}
Bytes dump(const EvaluationKeys& value) {
  return dump_frame([&](Sink& sink) { write_frame(sink, value); });
}
Bytes dump(const SecretKey& value, std::string_view passphrase) {
  return dump_secret_key(value, passphrase, kdf_default);
}

Parameters load_bgv_parameters(ByteSpan bytes, const LoadOptions& options) {
  const OpenFrame frame = open_frame(bytes, FrameType::bgv_parameters, options);
  ByteReader reader(frame.payload);
  auto parameters = read_parameters(reader, frame.header, options);
  reader.finish("parameters");
  return parameters;
}
Ciphertexts load_bgv_ciphertexts(ByteSpan bytes, const LoadOptions& options) {
  return read_ciphertexts(bytes, options);
}
PublicKey load_bgv_public_key(ByteSpan bytes, const LoadOptions& options) {
  return read_public_key(bytes, options);
}
EvaluationKeys load_bgv_evaluation_keys(ByteSpan bytes, const LoadOptions& options) {
  return read_evaluation_keys(bytes, options, nullptr);
}
SecretKey load_bgv_secret_key(ByteSpan bytes, std::string_view passphrase,
                              const LoadOptions& options) {
  return load_bgv_secret_key(bytes, passphrase, options, kdf_limit);
}

void save(const std::filesystem::path& path, const Parameters& value) {
  save_frame(path, public_mode, [&](Sink& sink) { write_frame(sink, value); });
}
void save(const std::filesystem::path& path, const Ciphertexts& value) {
  save_frame(path, public_mode, [&](Sink& sink) { write_frame(sink, value); });
}
void save(const std::filesystem::path& path, const PublicKey& value) {
  save_frame(path, public_mode, [&](Sink& sink) { write_frame(sink, value); });
}
void save(const std::filesystem::path& path, const EvaluationKeys& value) {
  save_frame(path, public_mode, [&](Sink& sink) { write_frame(sink, value); });
}
void save(const std::filesystem::path& path, const SecretKey& value, std::string_view passphrase) {
  save_frame(path, secret_mode,
             [&](Sink& sink) { write_frame(sink, value, passphrase, kdf_default); });
}

Parameters load_bgv_parameters(const std::filesystem::path& path, const LoadOptions& options) {
  return load_bgv_parameters(MappedFile::open(path)->bytes(), options);
}
Ciphertexts load_bgv_ciphertexts(const std::filesystem::path& path, const LoadOptions& options) {
  return load_bgv_ciphertexts(MappedFile::open(path)->bytes(), options);
}
PublicKey load_bgv_public_key(const std::filesystem::path& path, const LoadOptions& options) {
  return load_bgv_public_key(MappedFile::open(path)->bytes(), options);
}
EvaluationKeys load_bgv_evaluation_keys(const std::filesystem::path& path,
                                        const LoadOptions& options) {
  const Mapping mapping = MappedFile::open(path);
  return read_evaluation_keys(mapping->bytes(), options, mapping);
}
SecretKey load_bgv_secret_key(const std::filesystem::path& path, std::string_view passphrase,
                              const LoadOptions& options) {
  return load_bgv_secret_key(MappedFile::open(path)->bytes(), passphrase, options);
}

}  // namespace whorl::io
