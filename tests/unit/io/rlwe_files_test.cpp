// Files of the schemes over RNS rings: what is saved is what is loaded, and bad bytes of every kind
// get an exception of their own. What only one scheme has is in its own tests.
#include <sys/stat.h>

#include "math/text.h"
#include "support/test.h"
#include "unit/io/bgv_samples.h"
#include "unit/io/ckks_samples.h"
#include "unit/io/rlwe_frames.h"

namespace whorl::io {
namespace {

using samples::aligned;
using samples::expect_same_words;
using samples::insecure;
using samples::loading;
using samples::Random;
using samples::Sample;
using samples::thrown;

struct Names {
  template <class Scheme>
  static std::string GetName(int) {
    return Scheme::name;
  }
};
using Schemes = testing::Types<samples::Bgv, samples::Ckks>;

template <class Scheme>
class IoRlwe : public samples::Files {
 protected:
  static auto made(const typename Scheme::Literal& literal) {
    return Scheme::Parameters::create(literal, true);
  }
  static auto made(std::size_t i) { return made(Scheme::literals()[i]); }

  /// What is loaded from bytes, and what from a file.
  template <class T>
  std::vector<T> there_and_back(const T& value) {
    save(folder / "file", value);
    return {load<T>(dump(value), insecure()), load<T>(folder / "file", insecure())};
  }
};
TYPED_TEST_SUITE(IoRlwe, Schemes, Names);

// ---- round trips

TYPED_TEST(IoRlwe, Parameters) {
  using Parameters = typename TypeParam::Parameters;
  for (const auto& literal : TypeParam::literals()) {
    SCOPED_TRACE(literal.name);
    const Parameters value = this->made(literal);
    const Bytes bytes = dump(value);
    for (const Parameters& loaded : this->there_and_back(value))
      EXPECT_EQ(loaded.literal(), literal);
    EXPECT_EQ(bytes.size(),
              samples::payload_at + TypeParam::literal_bytes(literal) + samples::trailer_bytes);
    const FrameInfo said = info(bytes);
    EXPECT_EQ(said.type, TypeParam::parameters_type);
    EXPECT_EQ(said.parameters_digest, value.digest());
  }
  // Secure ones need no leave.
  const auto chosen = Parameters::choose({});
  EXPECT_EQ(load<Parameters>(dump(chosen)).literal(), chosen.literal());
}

TYPED_TEST(IoRlwe, Ciphertexts) {
  for (const auto& literal : TypeParam::literals()) {
    const auto parameters = this->made(literal);
    for (const bool seeded : {false, true}) {
      for (const std::size_t count : {std::size_t{1}, std::size_t{1 + this->random() % 4}}) {
        SCOPED_TRACE(literal.name + (seeded ? " seeded " : " ") + std::to_string(count));
        const unsigned parts = 2 + static_cast<unsigned>(this->random() % 4);
        const auto value = seeded ? TypeParam::fresh(parameters, count, this->random)
                                  : TypeParam::at_any_level(parameters, count, parts, this->random);
        ASSERT_EQ(value.seed.has_value(), seeded);
        const Bytes bytes = dump(value);
        for (const auto& loaded : this->there_and_back(value)) {
          EXPECT_EQ(loaded.parameters.literal(), literal);
          EXPECT_EQ(loaded.key_id, value.key_id);
          EXPECT_EQ(TypeParam::facts(loaded.info), TypeParam::facts(value.info));
          EXPECT_EQ(loaded.seed, value.seed);
          expect_same_words(loaded.data, value.data);
          EXPECT_EQ(dump(loaded), bytes);
        }
        const std::size_t head =
            aligned(samples::payload_at + TypeParam::literal_bytes(literal) +
                    TypeParam::info_bytes + (seeded ? 32 : 0) + samples::no_shape_bytes);
        EXPECT_EQ(bytes.size(),
                  head + value.data.bytes() / (seeded ? 2 : 1) + samples::trailer_bytes);
      }
    }
  }
}

TYPED_TEST(IoRlwe, PartsOfFreshBatches) {
  using Ciphertexts = typename TypeParam::Ciphertexts;
  using Numbers = std::vector<std::uint32_t>;
  for (const auto& literal : TypeParam::literals()) {
    SCOPED_TRACE(literal.name);
    const auto all = TypeParam::fresh(this->made(literal), 5, this->random);
    auto part = take(all, Numbers{3, 1});
    part.shape = Shape{2, 1};
    const Bytes bytes = dump(part);
    EXPECT_LT(bytes.size(), part.data.bytes() * 6 / 10 + 1000);
    const auto loaded = load<Ciphertexts>(bytes, insecure());
    expect_same_words(loaded.data, part.data);
    EXPECT_EQ(loaded.numbers, part.numbers);
    EXPECT_EQ(loaded.shape, part.shape);
    EXPECT_EQ(dump(loaded), bytes);
    auto altered = part;
    altered.numbers = {1, 3};
    EXPECT_THROW(dump(altered), MismatchError);
    altered = part;
    altered.shape = Shape{3, 1};
    EXPECT_THROW(dump(altered), ShapeError);
  }
}

TYPED_TEST(IoRlwe, PublicKey) {
  for (const auto& literal : TypeParam::literals()) {
    SCOPED_TRACE(literal.name);
    const auto parameters = this->made(literal);
    const auto value =
        samples::ring_public_key(parameters, TypeParam::fresh_limbs(parameters), this->random);
    for (const auto& loaded : this->there_and_back(value)) {
      EXPECT_EQ(loaded.parameters.literal(), literal);
      EXPECT_EQ(loaded.key_id, value.key_id);
      EXPECT_EQ(loaded.seed, value.seed);
      expect_same_words(loaded.b, value.b);
      EXPECT_EQ(dump(loaded), dump(value));
    }
  }
}

TYPED_TEST(IoRlwe, EvaluationKeys) {
  using EvaluationKeys = typename TypeParam::EvaluationKeys;
  for (const auto& literal : TypeParam::literals()) {
    SCOPED_TRACE(literal.name);
    const EvaluationKeys value = TypeParam::evaluation_keys(this->made(literal), this->random);
    const Bytes bytes = dump(value);
    save(this->folder / "file", value);
    for (const bool from_file : {false, true}) {
      // The words outlive the name of the file that they are mapped from.
      const auto loaded = from_file ? load<EvaluationKeys>(this->folder / "file", insecure())
                                    : load<EvaluationKeys>(bytes, insecure());
      if (from_file) std::filesystem::remove(this->folder / "file");
      EXPECT_EQ(loaded.parameters.literal(), literal);
      EXPECT_EQ(loaded.key_id, value.key_id);
      ASSERT_EQ(loaded.keys.size(), value.keys.size());
      for (std::size_t k = 0; k < value.keys.size(); ++k) {
        EXPECT_EQ(loaded.keys[k].g, value.keys[k].g);
        EXPECT_EQ(loaded.keys[k].power, value.keys[k].power);
        EXPECT_EQ(loaded.keys[k].kind, value.keys[k].kind);
        EXPECT_EQ(loaded.keys[k].seed, value.keys[k].seed);
        expect_same_words(loaded.keys[k].b, value.keys[k].b);
      }
      EXPECT_EQ(dump(loaded), bytes);
    }
    // Half of a switching key travels: one body for each pair of residues.
    EXPECT_LT(bytes.size(), value.bytes() + 1024);
  }
}

TYPED_TEST(IoRlwe, EvaluationKeysFromUnalignedBytes) {
  using EvaluationKeys = typename TypeParam::EvaluationKeys;
  const EvaluationKeys value = samples::ring_evaluation_keys(this->made(2), this->random);
  Bytes bytes = dump(value);
  bytes.insert(bytes.begin(), 0);
  const auto loaded =
      load<EvaluationKeys>(std::span<const std::uint8_t>(bytes).subspan(1), insecure());
  expect_same_words(loaded.keys[1].b, value.keys[1].b);
}

TYPED_TEST(IoRlwe, SecretKey) {
  using SecretKey = typename TypeParam::SecretKey;
  for (const auto& literal : TypeParam::literals()) {
    SCOPED_TRACE(literal.name);
    const auto value = samples::ternary_key<SecretKey>(this->made(literal), this->random);
    const Bytes bytes = dump_secret(value, samples::passphrase, samples::cheap_cost);
    const auto loaded = load<SecretKey>(bytes, samples::passphrase, insecure());
    EXPECT_EQ(loaded.parameters().literal(), literal);
    EXPECT_EQ(loaded.key_id(), value.key_id());
    EXPECT_TRUE(std::ranges::equal(loaded.coefficients(), value.coefficients()));
    EXPECT_THROW(load<SecretKey>(bytes, "another", insecure()), PassphraseError);
    // Nothing of the key is there in clear.
    const auto clear = bytes_of(value.coefficients()).first(64);
    EXPECT_EQ(std::search(bytes.begin(), bytes.end(), clear.begin(), clear.end()), bytes.end());
  }
  const auto value = samples::ternary_key<SecretKey>(this->made(0), this->random);
  EXPECT_THROW(dump(value, ""), PassphraseError);
  const auto file = this->folder / "file";
  save(file, value, samples::passphrase);
  struct stat status;
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(load<SecretKey>(file, samples::passphrase, insecure()).key_id(), value.key_id());
  // It is replaced only where the caller says so.
  EXPECT_THROW(save(file, this->made(0)), IoError);
  EXPECT_THROW(save(file, value, samples::passphrase), IoError);
}

// ---- the bytes

/// How the digests of some frames begin. Whoever has to change them has changed the format.
template <class Scheme>
struct Golden;
template <>
struct Golden<samples::Bgv> {
  static constexpr const char* digests[] = {"9b3cbe59162a4448", "1a97e9da5dcb7543",
                                            "66f4db791ad278ab", "b1030b21b9776b03",
                                            "0686837b9a826724"};
};
template <>
struct Golden<samples::Ckks> {
  static constexpr const char* digests[] = {"05fe80292e2014b6", "8faa8783bddcd148",
                                            "00749b63c121b7c3", "109486e6ccd3bb55",
                                            "ea1b3fa6579c4668"};
};

TYPED_TEST(IoRlwe, TheBytesNeverChange) {
  Random fixed(1);
  const auto parameters = this->made(1);
  const auto fresh_limbs = TypeParam::fresh_limbs(parameters);
  auto whole = TypeParam::at_any_level(parameters, 2, 3, fixed);
  whole.shape = Shape{1, 2, 1};
  auto seeded = TypeParam::ciphertexts(parameters, 2, 2, fixed);
  samples::give_seed(seeded, fresh_limbs, {7, 4}, fixed);
  const Bytes frames[] = {
      dump(parameters), dump(samples::ring_public_key(parameters, fresh_limbs, fixed)),
      dump(samples::ring_evaluation_keys(parameters, fixed)), dump(whole), dump(seeded)};
  std::size_t i = 0;
  for (const Bytes& frame : frames)
    EXPECT_EQ(
        math::hexadecimal(std::span(frame).subspan(frame.size() - samples::trailer_bytes).first(8)),
        Golden<TypeParam>::digests[i++]);
}

// ---- objects that no file may hold

TYPED_TEST(IoRlwe, RefusesToWriteBrokenObjects) {
  using Ciphertexts = typename TypeParam::Ciphertexts;
  const auto parameters = this->made(1);
  const auto good = TypeParam::at_any_level(parameters, 2, 2, this->random);
  const auto refuses = [&]<class E>(std::type_identity<E>, const auto& change) {
    auto bad = good;
    change(bad);
    EXPECT_THROW(dump(bad), E);
  };
  EXPECT_NO_THROW(dump(good));
  refuses(std::type_identity<ShapeError>{}, [](Ciphertexts& c) { c.info.count = 3; });
  refuses(std::type_identity<RangeError>{}, [](Ciphertexts& c) { c.info.count = 0; });
  refuses(std::type_identity<ShapeError>{}, [](Ciphertexts& c) { c.info.parts = 3; });
  for (const unsigned parts : {1U, 17U})
    refuses(std::type_identity<RangeError>{}, [=](Ciphertexts& c) { c.info.parts = parts; });
  refuses(std::type_identity<RangeError>{}, [](Ciphertexts& c) {
    std::vector<std::uint32_t> words(c.data.size(), 0);
    const unsigned last = TypeParam::limbs(c.parameters, c.info).back();
    words.back() = static_cast<std::uint32_t>(c.parameters.literal().chain[last]);
    c.data = WordArray(std::move(words));
  });
  refuses(std::type_identity<ShapeError>{},
          [](Ciphertexts& c) { c.data = WordArray(std::vector<std::uint64_t>(c.data.size())); });

  auto fresh = TypeParam::fresh(parameters, 1, this->random);
  const auto there = fresh.data.template as<std::uint32_t>();
  std::vector<std::uint32_t> words(there.begin(), there.end());
  words.back() ^= 1;
  fresh.data = WordArray(std::move(words));
  EXPECT_THROW(dump(fresh), MismatchError);
  fresh.seed.reset();
  EXPECT_NO_THROW(dump(fresh));

  auto keys = samples::ring_evaluation_keys(parameters, this->random);
  for (const auto& [g, power] : {std::pair{2U, 1U}, std::pair{1U, 1U}, std::pair{1U, 8U},
                                 std::pair{3U, 2U}, std::pair{2049U, 1U}, std::pair{1U, 2U}}) {
    keys.keys[1].g = g;
    keys.keys[1].power = power;
    EXPECT_THROW(dump(keys), FormatError) << g << " " << power;
  }
}

// ---- bad bytes

template <class Scheme>
class IoRlweBadInput : public IoRlwe<Scheme> {
 protected:
  std::vector<Sample> all = samples::rlwe_frames<Scheme>(this->random);
  std::size_t literal_bytes = Scheme::literal_bytes(Scheme::literals()[0]);
};
TYPED_TEST_SUITE(IoRlweBadInput, Schemes, Names);

// The header names others than the payload holds, or the payload none.
TYPED_TEST(IoRlweBadInput, FieldsOfTheLiteral) {
  for (const Sample& sample : this->all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    const auto with = [&](std::uint16_t tag, auto value) {
      return loading(sample,
                     samples::patched(sample.frame, samples::field_at(sample.frame, tag), value));
    };
    EXPECT_EQ(with(TypeParam::other_tag, TypeParam::other_value), "ParameterMismatch");
    EXPECT_EQ(with(TypeParam::N_tag, std::uint32_t{1000}), "Parameter");
    EXPECT_EQ(with(TypeParam::name_tag, std::uint8_t{0x1b}), "Format");
  }
}

TYPED_TEST(IoRlweBadInput, FieldsOfOtherSchemesArrays) {
  // Tag 6: whether FHEW/TFHE's ciphertexts are sums.
  const Sample& sample = this->all[3];
  Bytes frame = sample.frame;
  const std::size_t array = samples::payload_at + this->literal_bytes + TypeParam::info_bytes;
  frame.insert(frame.begin() + static_cast<std::ptrdiff_t>(array + 4), 64, 0);
  samples::put(frame, array, std::uint32_t{7});
  samples::put(frame, array + 4, std::uint16_t{6});
  samples::put(frame, array + 6, std::uint32_t{1});
  samples::put(frame, array + 10, std::uint8_t{1});
  samples::put(frame, samples::length_at,
               std::uint64_t{frame.size() - samples::payload_at - samples::trailer_bytes});
  samples::reseal(frame);
  EXPECT_EQ(loading(sample, frame), "Format");
}

TYPED_TEST(IoRlweBadInput, FieldsOfCiphertexts) {
  const std::size_t packing = samples::payload_at + this->literal_bytes, parts = packing + 4,
                    zeros = packing + 12, count = packing + 16;
  for (const std::size_t which : {3, 4}) {
    const Sample& sample = this->all[which];
    const bool seeded = which == 4;
    SCOPED_TRACE(seeded ? "seeded" : "whole");
    const auto with = [&](std::size_t at, auto value) {
      return loading(sample, samples::patched(sample.frame, at, value));
    };
    using Packing = decltype(TypeParam::Info::packing);
    const auto last = static_cast<std::uint32_t>(Packing::coefficients);
    for (const std::uint32_t bad : {last + 1, 256U, 0xffffffffU})
      EXPECT_EQ(with(packing, bad), "Format");
    // Copies lie behind a CKKS vector unless its length is a power of two, and behind coefficients
    // nothing does.
    std::uint64_t length = 1;
    std::uint32_t packed = last;
    std::memcpy(&packed, sample.frame.data() + packing, sizeof packed);
    if (std::is_same_v<TypeParam, samples::Ckks>)
      std::memcpy(&length, sample.frame.data() + packing + 24, sizeof length);
    const bool copies = packed != last && !std::has_single_bit(length);
    EXPECT_EQ(with(packing, last), copies ? "Format" : "nothing");
    EXPECT_EQ(with(zeros, std::uint32_t{1}), "Format");
    for (const std::uint32_t bad : {0U, 1U, 17U, 0xffffffffU}) EXPECT_EQ(with(parts, bad), "Range");
    EXPECT_EQ(with(parts, std::uint32_t{seeded ? 3U : 4U}), seeded ? "Range" : "Truncated");
    EXPECT_EQ(with(parts, std::uint32_t{2}), seeded ? "nothing" : "Oversized");
    EXPECT_EQ(with(count, std::uint64_t{0}), "Range");
    EXPECT_EQ(with(count, std::uint64_t{1}), "Oversized");
    EXPECT_EQ(with(count, std::uint64_t{3}), "Truncated");
    const std::size_t words =
        aligned(packing + TypeParam::info_bytes + (seeded ? 32 : 0) + samples::no_shape_bytes);
    const auto prime = static_cast<std::uint32_t>(TypeParam::literals()[0].chain[0]);
    const std::size_t end = sample.frame.size() - samples::trailer_bytes - 4;
    for (const std::size_t at : {words, end, words + 4 * (this->random() % 1024)}) {
      EXPECT_EQ(with(at, prime), "Range");
      EXPECT_EQ(with(at, prime - 1), "nothing");
    }
    EXPECT_EQ(with(words - 1, std::uint8_t{1}), "Format");
  }
}

// Each residue is below the prime of its own limb, whichever primes the level has.
TYPED_TEST(IoRlweBadInput, ResiduesOfEachLimb) {
  using Ciphertexts = typename TypeParam::Ciphertexts;
  const auto literal = TypeParam::literals()[1];
  const auto parameters = this->made(literal);
  for (const bool seeded : {false, true}) {
    auto value = seeded ? TypeParam::ciphertexts(parameters, 2, 2, this->random)
                        : TypeParam::at_any_level(parameters, 2, 2, this->random);
    const auto limbs = TypeParam::limbs(parameters, value.info);
    if (seeded) samples::give_seed(value, limbs, {3, 0}, this->random);
    const Bytes frame = dump(value);
    const std::size_t words =
        aligned(samples::payload_at + TypeParam::literal_bytes(literal) + TypeParam::info_bytes +
                (seeded ? 32 + 6 + 12 : 0) + samples::no_shape_bytes);
    for (std::size_t row = 0; row < limbs.size(); ++row) {
      const std::size_t at = words + 4 * (2 * row * literal.N + this->random() % (2 * literal.N));
      const auto prime = static_cast<std::uint32_t>(literal.chain[limbs[row]]);
      const auto with = [&](std::uint32_t word) {
        return loading<Ciphertexts>(samples::patched(frame, at, word));
      };
      EXPECT_EQ(with(prime), "Range") << row;
      EXPECT_EQ(with(prime - 1), "nothing") << row;
    }
  }
}

TYPED_TEST(IoRlweBadInput, CiphertextsUnpackWithinTheLimits) {
  const std::uint64_t unpacked = std::uint64_t{2} * 2 * 1024 * 4;
  const Sample& seeded = this->all[4];
  LoadOptions options = insecure();
  options.max_bytes = unpacked;
  ASSERT_LT(seeded.frame.size(), options.max_bytes);
  EXPECT_EQ(loading(seeded, seeded.frame, options), "nothing");
  --options.max_bytes;
  EXPECT_EQ(loading(seeded, seeded.frame, options), "Oversized");
  options = insecure();
  options.max_count = 2;
  EXPECT_EQ(loading(seeded, seeded.frame, options), "nothing");
  --options.max_count;
  EXPECT_EQ(loading(seeded, seeded.frame, options), "Oversized");
  EXPECT_EQ(loading(this->all[3], this->all[3].frame, options), "Oversized");
  // One word becomes two: as harmless as what is sent whole.
  options = insecure();
  options.max_expanded_bytes = 1;
  EXPECT_EQ(loading(seeded, seeded.frame, options), "nothing");
}

// 608 bytes of evaluation keys, none in them, had a server make 460 MB of tables.
TYPED_TEST(IoRlweBadInput, KeysInProportionToTheirParameters) {
  using EvaluationKeys = typename TypeParam::EvaluationKeys;
  const auto parameters = this->made(TypeParam::large());
  const Bytes frame = dump(EvaluationKeys{parameters, {}, {}});
  EXPECT_LT(frame.size(), 1000U);
  LoadOptions options = insecure();
  EXPECT_EQ(test::message_of<OversizedError>([&] { load<EvaluationKeys>(frame, options); }),
            "evaluation keys: the payload has 0 keys and " +
                std::to_string(frame.size() - header_bytes - digest_bytes) +
                " bytes, but the tables of its parameters take 167772160 bytes; at most 16777216 "
                "are accepted; expect_parameters accepts parameters that are known");
  options.expect_parameters = parameters.digest();
  EXPECT_TRUE(load<EvaluationKeys>(frame, options).keys.empty());
  // Those of usual sizes need no leave.
  const Bytes none = dump(EvaluationKeys{this->made(0), {}, {}});
  EXPECT_TRUE(load<EvaluationKeys>(none, insecure()).keys.empty());
}

TYPED_TEST(IoRlweBadInput, FieldsOfKeys) {
  using EvaluationKeys = typename TypeParam::EvaluationKeys;
  for (const auto& literal : TypeParam::literals()) {
    SCOPED_TRACE(literal.name);
    const EvaluationKeys value = samples::ring_evaluation_keys(this->made(literal), this->random);
    const Bytes frame = dump(value);
    const std::size_t count = samples::payload_at + TypeParam::literal_bytes(literal),
                      first = count + 8, second = first + 40, bodies = aligned(second + 40);
    const auto with = [&](std::size_t at, auto patch) {
      return loading<EvaluationKeys>(samples::patched(frame, at, patch));
    };
    EXPECT_NE(with(count, std::uint32_t{3}), "nothing");
    EXPECT_EQ(with(count, std::uint32_t{0xffffffff}), "Truncated");
    EXPECT_NE(with(count, std::uint32_t{1}), "nothing");
    EXPECT_EQ(with(count + 4, std::uint32_t{1}), "Format");
    EXPECT_EQ(with(first + 4, std::uint32_t{1}), "Format");
    EXPECT_EQ(with(first + 4, std::uint32_t{8}), "Format");
    for (const std::uint32_t g : {0U, 1U, 2U, 2 * literal.N, 2 * literal.N + 1, 0xffffffffU})
      EXPECT_EQ(with(second, g), "Format") << g;
    if (bodies > second + 40) {
      EXPECT_EQ(with(bodies - 1, std::uint8_t{1}), "Format");
    }
    // The modulus itself is the least that is too much, for each row's own prime.
    const auto primes = samples::all_primes(value.parameters);
    const std::size_t width = value.parameters.word_bytes();
    for (std::size_t row = 0; row < primes.size(); ++row) {
      const std::size_t at = bodies + (row * literal.N + this->random() % literal.N) * width;
      const auto put = [&](std::uint64_t word) {
        return width == 4 ? with(at, static_cast<std::uint32_t>(word)) : with(at, word);
      };
      EXPECT_EQ(put(primes[row]), "Range") << row;
      EXPECT_EQ(put(primes[row] - 1), "nothing") << row;
    }
  }
}

TYPED_TEST(IoRlweBadInput, RolesWithoutBootstrapping) {
  using EvaluationKeys = typename TypeParam::EvaluationKeys;
  const auto literal = TypeParam::literals()[1];
  EvaluationKeys value = samples::ring_evaluation_keys(this->made(literal), this->random);
  const Bytes frame = dump(value);
  const std::size_t second_power = samples::payload_at + TypeParam::literal_bytes(literal) + 8 + 44;
  // Linear maps of CKKS take keys of low levels without bootstrapping, too.
  const std::uint32_t most = std::is_same_v<typename TypeParam::Parameters, ckks::Parameters>;
  for (const std::uint32_t role : {1U, 2U, 3U, 4U, 255U}) {
    if (role <= most) continue;
    const std::string expected = "evaluation keys: the role of a key is " + std::to_string(role) +
                                 "; under these parameters it may be at most " +
                                 std::to_string(most);
    EXPECT_EQ(test::message_of<FormatError>([&] {
                load<EvaluationKeys>(samples::patched(frame, second_power, 1 | role << 24),
                                     insecure());
              }),
              expected);
    value.keys[1].kind = {static_cast<SwitchRole>(role)};
    EXPECT_EQ(test::message_of<FormatError>([&] { dump(value); }), expected);
  }
}

TYPED_TEST(IoRlweBadInput, CoefficientsOutsideTheirRange) {
  // The tag cannot be guessed, so the wrapped key is made anew over a bad coefficient.
  const Sample& sample = this->all[1];
  const std::size_t wrap_at = samples::payload_at + this->literal_bytes,
                    start = wrap_at + WrapHeader::encoded_bytes;
  ByteReader reader(std::span<const std::uint8_t>(sample.frame).subspan(wrap_at));
  const WrapHeader header = decode_wrap_header(reader, samples::cheap_cost);
  for (const auto& [bad, expected] : {std::pair{2, "Range"}, std::pair{-2, "Range"},
                                      std::pair{1 << 30, "Range"}, std::pair{1, "nothing"}}) {
    std::vector<std::int32_t> coefficients(TypeParam::literals()[0].N, 0);
    coefficients[this->random() % coefficients.size()] = bad;
    const auto wrapped =
        wrap(bytes_of(std::span<const std::int32_t>(coefficients)), samples::passphrase, header,
             std::span<const std::uint8_t>(sample.frame).first(start));
    Bytes frame = sample.frame;
    std::ranges::copy(wrapped, frame.begin() + static_cast<std::ptrdiff_t>(start));
    samples::reseal(frame);
    EXPECT_EQ(loading(sample, frame), expected) << bad;
  }
  EXPECT_EQ(loading(sample, samples::patched(sample.frame, start, std::uint32_t{0})), "Passphrase");
}

}  // namespace
}  // namespace whorl::io
