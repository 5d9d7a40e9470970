// Files of BGV: what is saved is what is loaded, and bad bytes of every kind get an exception of
// their own.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <limits>
#include <random>

#include "io/frame.h"
#include "math/primes.h"
#include "support/message.h"
#include "unit/io/bgv_samples.h"
#include "unit/io/expectations.h"
#include "unit/io/temporary_folder.h"

namespace whorl::io {
namespace {

using samples::expect_same_words;
using samples::insecure;
using samples::loading;
using samples::Random;
using samples::Sample;
using samples::thrown;

class IoBgv : public testing::Test {
 protected:
  IoBgv() { RecordProperty("seed", std::to_string(seed)); }
  std::uint64_t seed = std::random_device{}();
  Random random{seed};
  testing::ScopedTrace trace{__FILE__, __LINE__, "seed " + std::to_string(seed)};
  TemporaryFolder folder;

  /// What is loaded from bytes, and what from a file.
  template <class T>
  std::vector<T> there_and_back(const T& value) {
    save(folder / "file", value);
    return {load<T>(dump(value), insecure()), load<T>(folder / "file", insecure())};
  }
};

std::size_t aligned(std::size_t at) { return (at + 63) / 64 * 64; }

// ---- round trips

TEST_F(IoBgv, Parameters) {
  for (const auto& literal : samples::bgv_literals()) {
    SCOPED_TRACE(literal.name);
    const auto value = samples::bgv_parameters(literal);
    const Bytes bytes = dump(value);
    save(folder / "file", value);
    EXPECT_EQ(load<bgv::Parameters>(bytes, insecure()).literal(), literal);
    EXPECT_EQ(load<bgv::Parameters>(folder / "file", insecure()).literal(), literal);
    EXPECT_EQ(bytes.size(),
              samples::payload_at + samples::bgv_literal_bytes(literal) + samples::trailer_bytes);
    const FrameInfo said = info(bytes);
    EXPECT_EQ(said.type, FrameType::bgv_parameters);
    EXPECT_EQ(said.parameters_digest, value.digest());
  }
  // Secure ones need no leave.
  bgv::Requirements needs;
  const auto chosen = bgv::Parameters::choose(needs);
  EXPECT_EQ(load<bgv::Parameters>(dump(chosen)).literal(), chosen.literal());
}

TEST_F(IoBgv, Ciphertexts) {
  for (const auto& literal : samples::bgv_literals()) {
    const auto parameters = samples::bgv_parameters(literal);
    for (const bool seeded : {false, true}) {
      for (const std::size_t count : {std::size_t{1}, std::size_t{1 + random() % 4}}) {
        SCOPED_TRACE(literal.name + (seeded ? " seeded " : " ") + std::to_string(count));
        const unsigned parts = 2 + static_cast<unsigned>(random() % 4),
                       limbs = 1 + static_cast<unsigned>(random() % parameters.limbs());
        const auto value = seeded
                               ? samples::bgv_fresh(parameters, count, random)
                               : samples::bgv_ciphertexts(parameters, count, parts, limbs, random);
        ASSERT_EQ(value.seed.has_value(), seeded);
        const Bytes bytes = dump(value);
        for (const auto& loaded : there_and_back(value)) {
          EXPECT_EQ(loaded.parameters.literal(), literal);
          EXPECT_EQ(loaded.key_id, value.key_id);
          EXPECT_EQ(loaded.info.packing, value.info.packing);
          EXPECT_EQ(loaded.info.count, count);
          EXPECT_EQ(loaded.info.parts, value.info.parts);
          EXPECT_EQ(loaded.info.limbs, value.info.limbs);
          EXPECT_EQ(loaded.info.factor, value.info.factor);
          EXPECT_EQ(loaded.info.noise, value.info.noise);
          EXPECT_EQ(loaded.seed, value.seed);
          expect_same_words(loaded.data, value.data);
          EXPECT_EQ(dump(loaded), bytes);
        }
        const std::size_t head = aligned(samples::payload_at + samples::bgv_literal_bytes(literal) +
                                         40 + (seeded ? 32 : 0) + samples::no_shape_bytes);
        EXPECT_EQ(bytes.size(),
                  head + value.data.bytes() / (seeded ? 2 : 1) + samples::trailer_bytes);
      }
    }
  }
}

TEST_F(IoBgv, PublicKey) {
  for (const auto& literal : samples::bgv_literals()) {
    SCOPED_TRACE(literal.name);
    const auto value = samples::bgv_public_key(samples::bgv_parameters(literal), random);
    for (const auto& loaded : there_and_back(value)) {
      EXPECT_EQ(loaded.parameters.literal(), literal);
      EXPECT_EQ(loaded.key_id, value.key_id);
      EXPECT_EQ(loaded.seed, value.seed);
      expect_same_words(loaded.b, value.b);
      EXPECT_EQ(dump(loaded), dump(value));
    }
  }
}

TEST_F(IoBgv, EvaluationKeys) {
  for (const auto& literal : samples::bgv_literals()) {
    SCOPED_TRACE(literal.name);
    const auto value = samples::bgv_evaluation_keys(samples::bgv_parameters(literal), random);
    const Bytes bytes = dump(value);
    save(folder / "file", value);
    for (const bool from_file : {false, true}) {
      // The words outlive the name of the file that they are mapped from.
      const auto loaded = from_file ? load<bgv::EvaluationKeys>(folder / "file", insecure())
                                    : load<bgv::EvaluationKeys>(bytes, insecure());
      if (from_file) std::filesystem::remove(folder / "file");
      EXPECT_EQ(loaded.parameters.literal(), literal);
      EXPECT_EQ(loaded.key_id, value.key_id);
      ASSERT_EQ(loaded.keys.size(), value.keys.size());
      for (std::size_t k = 0; k < value.keys.size(); ++k) {
        EXPECT_EQ(loaded.keys[k].g, value.keys[k].g);
        EXPECT_EQ(loaded.keys[k].power, value.keys[k].power);
        EXPECT_EQ(loaded.keys[k].seed, value.keys[k].seed);
        expect_same_words(loaded.keys[k].b, value.keys[k].b);
      }
      EXPECT_EQ(dump(loaded), bytes);
    }
    // Half of a switching key travels: one body for each pair of residues.
    EXPECT_LT(bytes.size(), value.bytes() + 1024);
  }
}

TEST_F(IoBgv, EvaluationKeysFromUnalignedBytes) {
  const auto value =
      samples::bgv_evaluation_keys(samples::bgv_parameters(samples::bgv_literals()[2]), random);
  Bytes bytes = dump(value);
  bytes.insert(bytes.begin(), 0);
  const auto loaded =
      load<bgv::EvaluationKeys>(std::span<const std::uint8_t>(bytes).subspan(1), insecure());
  expect_same_words(loaded.keys[1].b, value.keys[1].b);
}

TEST_F(IoBgv, SecretKey) {
  for (const auto& literal : samples::bgv_literals()) {
    SCOPED_TRACE(literal.name);
    const auto value = samples::bgv_secret_key(samples::bgv_parameters(literal), random);
    const Bytes bytes = dump_secret(value, samples::passphrase, samples::cheap_cost);
    const auto loaded = load<bgv::SecretKey>(bytes, samples::passphrase, insecure());
    EXPECT_EQ(loaded.parameters().literal(), literal);
    EXPECT_EQ(loaded.key_id(), value.key_id());
    EXPECT_TRUE(std::ranges::equal(loaded.coefficients(), value.coefficients()));
    EXPECT_THROW(load<bgv::SecretKey>(bytes, "another", insecure()), PassphraseError);
    // Nothing of the key is there in clear.
    const auto clear = bytes_of(value.coefficients()).first(64);
    EXPECT_EQ(std::search(bytes.begin(), bytes.end(), clear.begin(), clear.end()), bytes.end());
  }
  const auto value =
      samples::bgv_secret_key(samples::bgv_parameters(samples::bgv_literals()[0]), random);
  EXPECT_THROW(dump(value, ""), PassphraseError);
  save(folder / "file", value, samples::passphrase);
  struct stat status;
  ASSERT_EQ(::stat((folder / "file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(load<bgv::SecretKey>(folder / "file", samples::passphrase, insecure()).key_id(),
            value.key_id());
}

/// What travels works at the other end.
TEST_F(IoBgv, ACircuitOverFiles) {
  const auto parameters = samples::bgv_parameters([] {
    auto literal = samples::bgv_literals()[1];
    literal.t = 12289;  // 1 mod 2N, too, and small enough for two multiplications
    return literal;
  }());
  const bgv::Client client(samples::bgv_secret_key(parameters, random));
  std::vector<std::int64_t> values(parameters.N());
  for (auto& value : values) value = static_cast<std::int64_t>(random() % parameters.t());
  save(folder / "keys", client.evaluation_keys({3, {1}, false}));
  save(folder / "public", client.public_key());
  save(folder / "c", encrypt(load<bgv::PublicKey>(folder / "public", insecure()), values));
  const bgv::Server server(load<bgv::EvaluationKeys>(folder / "keys", insecure()), {"cpu", 1, {}});
  const auto c = server.upload(load<bgv::Ciphertexts>(folder / "c", insecure()));
  save(folder / "result", server.download(server.rotate(server.multiply(c, c), 1)));
  const auto result = client.decrypt(load<bgv::Ciphertexts>(folder / "result", insecure()));
  const auto row = static_cast<std::size_t>(parameters.N()) / 2;
  for (std::size_t j = 0; j < parameters.N(); ++j) {
    const auto x = static_cast<std::uint64_t>(values[j / row * row + (j % row + 1) % row]);
    ASSERT_EQ(result[j], x * x % parameters.t()) << j;
  }
}

TEST_F(IoBgv, RefusesToWriteBrokenObjects) {
  const auto parameters = samples::bgv_parameters(samples::bgv_literals()[1]);
  const auto good = samples::bgv_ciphertexts(parameters, 2, 2, 3, random);
  const auto refuses = [&]<class E>(std::type_identity<E>, const auto& change) {
    auto bad = good;
    change(bad);
    EXPECT_THROW(dump(bad), E);
  };
  EXPECT_NO_THROW(dump(good));
  refuses(std::type_identity<ShapeError>{}, [](auto& c) { c.info.count = 3; });
  refuses(std::type_identity<ShapeError>{}, [](auto& c) { c.info.limbs = 2; });
  refuses(std::type_identity<RangeError>{}, [](auto& c) { c.info.limbs = 6; });
  for (const unsigned parts : {1U, 17U})
    refuses(std::type_identity<RangeError>{}, [=](auto& c) { c.info.parts = parts; });
  refuses(std::type_identity<RangeError>{}, [](auto& c) { c.info.factor = 0; });
  refuses(std::type_identity<RangeError>{}, [](auto& c) { c.info.factor = c.parameters.t(); });
  for (const double noise : {-1.0, 1e6, std::numeric_limits<double>::infinity()})
    refuses(std::type_identity<RangeError>{}, [=](auto& c) { c.info.noise = noise; });
  refuses(std::type_identity<RangeError>{}, [](auto& c) {
    std::vector<std::uint32_t> words(c.data.size(), 0);
    words.back() = static_cast<std::uint32_t>(c.parameters.literal().chain[2]);
    c.data = WordArray(std::move(words));
  });
  refuses(std::type_identity<ShapeError>{},
          [](auto& c) { c.data = WordArray(std::vector<std::uint64_t>(c.data.size())); });

  auto fresh = samples::bgv_fresh(parameters, 1, random);
  std::vector<std::uint32_t> words(fresh.data.as<std::uint32_t>().begin(),
                                   fresh.data.as<std::uint32_t>().end());
  words.back() ^= 1;
  fresh.data = WordArray(std::move(words));
  EXPECT_THROW(dump(fresh), MismatchError);
  fresh.seed.reset();
  EXPECT_NO_THROW(dump(fresh));

  auto keys = samples::bgv_evaluation_keys(parameters, random);
  for (const auto& [g, power] : {std::pair{2U, 1U}, std::pair{1U, 1U}, std::pair{1U, 8U},
                                 std::pair{3U, 2U}, std::pair{2049U, 1U}, std::pair{1U, 2U}}) {
    keys.keys[1].g = g;
    keys.keys[1].power = power;
    EXPECT_THROW(dump(keys), FormatError) << g << " " << power;
  }
}

// ---- bad bytes

/// One small frame a type, ciphertexts with and without seed, all under the first literal.
std::vector<Sample> make_samples(Random& random) {
  const auto parameters = samples::bgv_parameters(samples::bgv_literals()[0]);
  return {
      samples::sample_of(FrameType::bgv_parameters, parameters),
      samples::secret_sample(FrameType::bgv_secret_key, samples::bgv_secret_key(parameters, random),
                             samples::passphrase),
      samples::sample_of(FrameType::bgv_evaluation_keys,
                         samples::bgv_evaluation_keys(parameters, random)),
      samples::sample_of(FrameType::bgv_ciphertexts,
                         samples::bgv_ciphertexts(parameters, 2, 3, 1, random)),
      samples::sample_of(FrameType::bgv_ciphertexts, samples::bgv_fresh(parameters, 2, random)),
      samples::sample_of(FrameType::bgv_public_key, samples::bgv_public_key(parameters, random))};
}

class IoBgvBadInput : public IoBgv {
 protected:
  std::vector<Sample> all = make_samples(random);
  std::size_t literal_bytes = samples::bgv_literal_bytes(samples::bgv_literals()[0]);
};

TEST_F(IoBgvBadInput, EveryTruncation) {
  for (const Sample& sample : all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    EXPECT_EQ(loading(sample, sample.frame), "nothing");
    for (std::size_t length = 0; length < sample.frame.size(); ++length)
      ASSERT_EQ(loading(sample, std::span(sample.frame).first(length)), "Truncated") << length;
  }
}

TEST_F(IoBgvBadInput, FlippedBits) {
  for (Sample& sample : all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    const std::size_t bits = 8 * sample.frame.size();
    // All of header and literal, then a sample.
    for (std::size_t bit = 0; bit < bits; bit += bit < 2048 ? 1 : 1 + random() % 200) {
      auto& byte = sample.frame[bit / 8];
      byte ^= static_cast<std::uint8_t>(1U << bit % 8);
      const char* expected = bit / 8 < samples::version_at ? "Format"
                             : bit / 8 < samples::type_at  ? "Version"
                                                           : "Corruption";
      ASSERT_EQ(loading(sample, sample.frame), expected) << "bit " << bit;
      byte ^= static_cast<std::uint8_t>(1U << bit % 8);
    }
  }
}

TEST_F(IoBgvBadInput, LengthsThatDoNotFit) {
  for (const Sample& sample : all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    const std::uint64_t payload =
        sample.frame.size() - samples::payload_at - samples::trailer_bytes;
    Bytes longer = sample.frame;
    longer.push_back(0);
    EXPECT_EQ(loading(sample, longer), "Oversized");
    for (std::uint64_t length = payload < 2000 ? 0 : payload - 100; length < payload; ++length)
      ASSERT_EQ(loading(sample, samples::with_payload_bytes(sample.frame, length)), "Truncated")
          << length;
    for (const std::uint64_t more : {1, 64, 4096})
      EXPECT_EQ(loading(sample, samples::with_payload_bytes(sample.frame, payload + more)),
                "Oversized");
    for (const std::uint64_t huge :
         {std::uint64_t{1} << 33, std::numeric_limits<std::uint64_t>::max()})
      EXPECT_EQ(loading(sample, samples::patched(sample.frame, samples::length_at, huge)),
                "Oversized");
    LoadOptions limited = insecure();
    limited.max_bytes = payload - 1;
    // Refused unread: the rest need not even be there.
    EXPECT_EQ(loading(sample, std::span(sample.frame).first(samples::payload_at), limited),
              "Oversized");
  }
}

TEST_F(IoBgvBadInput, OtherTypeParametersAndKey) {
  const Bytes binfhe = dump(samples::tiny_parameters());
  EXPECT_THROW(load<binfhe::Parameters>(all[0].frame, insecure()), TypeMismatchError);
  for (const Sample& sample : all) {
    SCOPED_TRACE(frame_type_name(sample.type));
    EXPECT_EQ(loading(sample, binfhe), "TypeMismatch");
    for (const Sample& other : all)
      if (other.type != sample.type) {
        EXPECT_EQ(loading(sample, other.frame), "TypeMismatch");
      }
    for (const int type : {6, 15, 21, 255})
      EXPECT_EQ(loading(sample, samples::patched(sample.frame, samples::type_at,
                                                 static_cast<std::uint16_t>(type))),
                "TypeMismatch");
    EXPECT_EQ(loading(sample, samples::patched(sample.frame, samples::flags_at, std::uint32_t{2})),
              "Format");
    EXPECT_EQ(loading(sample, sample.frame, {}), "Parameter");
    LoadOptions options = insecure();
    const FrameInfo there = info(sample.frame);
    options.expect_parameters = there.parameters_digest;
    options.expect_key = there.key_id;
    EXPECT_EQ(loading(sample, sample.frame, options), "nothing");
    (*options.expect_key)[15] ^= 0x80;
    const bool keyed = sample.type != FrameType::bgv_parameters;
    EXPECT_EQ(loading(sample, sample.frame, options), keyed ? "KeyMismatch" : "nothing");
    (*options.expect_parameters)[0] ^= 1;
    EXPECT_EQ(loading(sample, sample.frame, options), "ParameterMismatch");
    // The header names others than the payload holds.
    const auto with = [&](std::uint16_t tag, auto value) {
      return loading(sample,
                     samples::patched(sample.frame, samples::field_at(sample.frame, tag), value));
    };
    EXPECT_EQ(with(samples::bgv_t_tag, std::uint64_t{18433}), "ParameterMismatch");
    EXPECT_EQ(with(samples::bgv_N_tag, std::uint32_t{1000}), "Parameter");
    EXPECT_EQ(with(samples::bgv_name_tag, std::uint8_t{0x1b}), "Format");
  }
}

TEST_F(IoBgvBadInput, FieldsOfOtherSchemesArrays) {
  // Tag 6: whether FHEW/TFHE's ciphertexts are sums.
  const Sample& sample = all[3];
  Bytes frame = sample.frame;
  const std::size_t array = samples::payload_at + literal_bytes + 40;
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

TEST_F(IoBgvBadInput, FieldsOfCiphertexts) {
  const std::size_t packing = samples::payload_at + literal_bytes, parts = packing + 4,
                    limbs = packing + 8, count = packing + 16, factor = packing + 24,
                    noise = packing + 32;
  for (const std::size_t which : {3, 4}) {
    const Sample& sample = all[which];
    const bool seeded = which == 4;
    SCOPED_TRACE(seeded ? "seeded" : "whole");
    const auto with = [&](std::size_t at, auto value) {
      return loading(sample, samples::patched(sample.frame, at, value));
    };
    EXPECT_EQ(with(packing, std::uint32_t{2}), "Format");
    EXPECT_EQ(with(packing, std::uint32_t{1}), "nothing");
    EXPECT_EQ(with(limbs + 4, std::uint32_t{1}), "Format");
    EXPECT_EQ(with(parts, std::uint32_t{1}), "Range");
    for (const std::uint32_t bad : {0U, 17U, 0xffffffffU}) {
      EXPECT_EQ(with(parts, bad), "Range");
      EXPECT_EQ(with(limbs, bad), "Range");
    }
    EXPECT_EQ(with(parts, std::uint32_t{seeded ? 3U : 4U}), seeded ? "Range" : "Truncated");
    EXPECT_EQ(with(parts, std::uint32_t{2}), seeded ? "nothing" : "Oversized");
    EXPECT_EQ(with(count, std::uint64_t{0}), "Range");
    EXPECT_EQ(with(count, std::uint64_t{1}), "Oversized");
    EXPECT_EQ(with(count, std::uint64_t{3}), "Truncated");
    EXPECT_EQ(with(count, std::uint64_t{1} << 40), "Truncated");
    EXPECT_EQ(with(count, std::uint64_t{1} << 52), "Oversized");  // wraps around
    EXPECT_EQ(with(factor, std::uint64_t{0}), "Range");
    EXPECT_EQ(with(factor, std::uint64_t{12289}), "Range");
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), -0.5, 1e6})
      EXPECT_EQ(with(noise, bad), "Range");
    EXPECT_EQ(with(noise, 999999.0), "nothing");
    const std::size_t words = aligned(noise + 8 + (seeded ? 32 : 0) + samples::no_shape_bytes);
    const auto prime = static_cast<std::uint32_t>(samples::bgv_literals()[0].chain[0]);
    const std::size_t last = sample.frame.size() - samples::trailer_bytes - 4;
    for (const std::size_t at : {words, last, words + 4 * (random() % 1024)}) {
      EXPECT_EQ(with(at, prime), "Range");
      EXPECT_EQ(with(at, prime - 1), "nothing");
    }
    EXPECT_EQ(with(words - 1, std::uint8_t{1}), "Format");
  }
  // Slots that the parameters do not have.
  const auto wide = samples::bgv_parameters(samples::bgv_literals()[2]);
  const Bytes frame = dump(samples::bgv_ciphertexts(wide, 1, 2, 1, random));
  const std::size_t at =
      samples::payload_at + samples::bgv_literal_bytes(samples::bgv_literals()[2]);
  EXPECT_EQ(loading(all[3], samples::patched(frame, at, std::uint32_t{0})), "Encoding");
  // A factor that decryption could not divide by: t = 1000.
  EXPECT_EQ(loading(all[3], samples::patched(frame, at + 24, std::uint64_t{6})), "Range");
  EXPECT_EQ(loading(all[3], samples::patched(frame, at + 24, std::uint64_t{7})), "nothing");
}

TEST_F(IoBgvBadInput, SeededCiphertextsUnpackWithinTheLimit) {
  LoadOptions options = insecure();
  options.max_bytes = std::uint64_t{2} * 2 * 1024 * 4;
  ASSERT_LT(all[4].frame.size(), options.max_bytes);
  EXPECT_EQ(loading(all[4], all[4].frame, options), "nothing");
  --options.max_bytes;
  EXPECT_EQ(loading(all[4], all[4].frame, options), "Oversized");
}

// 608 bytes of evaluation keys, none in them, had a server make 460 MB of tables.
TEST_F(IoBgvBadInput, KeysInProportionToTheirParameters) {
  bgv::ParameterLiteral literal;
  literal.N = 1 << 17;
  literal.t = 65537;
  std::vector<std::uint64_t> primes = math::ntt_primes(50, literal.N, 20);
  literal.chain = {primes.begin() + 1, primes.end()};
  literal.special = {primes.front()};
  literal.digit_limbs = 1;
  const auto parameters = samples::bgv_parameters(literal);
  const Bytes frame = dump(bgv::EvaluationKeys{parameters, {}, {}});
  EXPECT_LT(frame.size(), 1000U);
  LoadOptions options = insecure();
  EXPECT_EQ(
      test::message_of<OversizedError>([&] { load<bgv::EvaluationKeys>(frame, options); }),
      "evaluation keys: the payload has 0 keys and " +
          std::to_string(frame.size() - header_bytes - digest_bytes) +
          " bytes, but the tables of its parameters take 167772160 bytes; at most 16777216 are "
          "accepted; expect_parameters accepts parameters that are known");
  options.expect_parameters = parameters.digest();
  EXPECT_TRUE(load<bgv::EvaluationKeys>(frame, options).keys.empty());
  // Those of usual sizes need no leave.
  const auto small = samples::bgv_parameters(samples::bgv_literals()[0]);
  const Bytes none = dump(bgv::EvaluationKeys{small, {}, {}});
  EXPECT_TRUE(load<bgv::EvaluationKeys>(none, insecure()).keys.empty());
}

TEST_F(IoBgvBadInput, FieldsOfKeys) {
  for (const auto& literal : samples::bgv_literals()) {
    SCOPED_TRACE(literal.name);
    const auto value = samples::bgv_evaluation_keys(samples::bgv_parameters(literal), random);
    const Bytes frame = dump(value);
    const std::size_t count = samples::payload_at + samples::bgv_literal_bytes(literal),
                      first = count + 8, second = first + 40, bodies = aligned(second + 40);
    const auto with = [&](std::size_t at, auto patch) {
      return thrown(
          [&] { load<bgv::EvaluationKeys>(samples::patched(frame, at, patch), insecure()); });
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
    std::vector<std::uint64_t> primes = literal.chain;
    primes.insert(primes.end(), literal.special.begin(), literal.special.end());
    const std::size_t width = value.parameters.word_bytes();
    for (std::size_t row = 0; row < primes.size(); ++row) {
      const std::size_t at = bodies + (row * literal.N + random() % literal.N) * width;
      const auto put = [&](std::uint64_t word) {
        return width == 4 ? with(at, static_cast<std::uint32_t>(word)) : with(at, word);
      };
      EXPECT_EQ(put(primes[row]), "Range") << row;
      EXPECT_EQ(put(primes[row] - 1), "nothing") << row;
    }
  }
}

TEST_F(IoBgvBadInput, CoefficientsOutsideTheirRange) {
  // The tag cannot be guessed, so the wrapped key is made anew over a bad coefficient.
  const Sample& sample = all[1];
  const auto parameters = samples::bgv_parameters(samples::bgv_literals()[0]);
  const std::size_t wrap_at = samples::payload_at + literal_bytes,
                    start = wrap_at + WrapHeader::encoded_bytes;
  ByteReader reader(std::span<const std::uint8_t>(sample.frame).subspan(wrap_at));
  const WrapHeader header = decode_wrap_header(reader, samples::cheap_cost);
  for (const auto& [bad, expected] : {std::pair{2, "Range"}, std::pair{-2, "Range"},
                                      std::pair{1 << 30, "Range"}, std::pair{1, "nothing"}}) {
    std::vector<std::int32_t> coefficients(parameters.N(), 0);
    coefficients[random() % coefficients.size()] = bad;
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
