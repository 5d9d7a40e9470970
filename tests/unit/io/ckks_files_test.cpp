// Files of CKKS: what it does not share with other schemes (rlwe_files_test.cpp).
#include "support/test.h"
#include "unit/io/ckks_samples.h"
#include "unit/io/rlwe_frames.h"

namespace whorl::io {
namespace {

using samples::insecure;
using samples::loading;
using samples::Sample;
using samples::thrown;

using IoCkks = samples::Files;

/// What travels works at the other end.
TEST_F(IoCkks, ACircuitOverFiles) {
  for (const unsigned word_bits : {32U, 64U}) {
    SCOPED_TRACE(word_bits);
    const auto parameters = test::ckks_insecure({.scale_bits = 50, .word_bits = word_bits});
    const ckks::Client client(samples::ckks_secret_key(parameters, random));
    const auto values = test::random_complexes(random, parameters.slots());
    save(folder / "keys", client.evaluation_keys({3, {1}, false}));
    save(folder / "public", client.public_key());
    save(folder / "c", client.encrypt(values));
    save(folder / "d", encrypt(load<ckks::PublicKey>(folder / "public", insecure()), values));
    const ckks::Server server(load<ckks::EvaluationKeys>(folder / "keys", insecure()),
                              {.device = "cpu", .threads = 1});
    const auto c = server.upload(load<ckks::Ciphertexts>(folder / "c", insecure()));
    const auto d = server.upload(load<ckks::Ciphertexts>(folder / "d", insecure()));
    save(folder / "result", server.download(server.rotate(server.multiply(c, d), 1)));
    const auto result = load<ckks::Ciphertexts>(folder / "result", insecure());
    EXPECT_EQ(result.info.level, parameters.depth() - 1);
    EXPECT_EQ(result.info.scale, parameters.scale(result.info.level));
    const auto got = client.decrypt_raw(result);
    ASSERT_EQ(got.size(), values.size());
    for (std::size_t j = 0; j < got.size(); ++j) {
      const auto x = values[(j + 1) % values.size()];
      ASSERT_LT(std::abs(got[j] - x * x), 16 * std::exp2(result.info.error)) << j;
    }
  }
}

/// Every fact that operations give is one that files take.
TEST_F(IoCkks, FactsOfResults) {
  const auto parameters = test::ckks_insecure();
  const ckks::Client client(samples::ckks_secret_key(parameters, random));
  const ckks::Server server(client.evaluation_keys({}), {.device = "cpu", .threads = 1});
  const std::vector<double> values{0.5, -0.25, 0.125};
  for (const auto packing : {ckks::Packing::real, ckks::Packing::coefficients}) {
    const auto a = server.upload(client.encrypt(values, {}, packing));
    const auto tensor = server.multiply(a, a, {.relinearised = false, .rescaled = false});
    for (const auto& result :
         {a, tensor, server.lower(a, 0), server.multiply_integer(a, 0), server.with_bound(a, 1e-80),
          server.multiply(tensor, a, {.relinearised = false})}) {
      const auto value = server.download(result);
      const auto loaded = load<ckks::Ciphertexts>(dump(value), insecure());
      EXPECT_EQ(samples::Ckks::facts(loaded.info), samples::Ckks::facts(value.info));
      samples::expect_same_words(loaded.data, value.data);
    }
  }
}

TEST_F(IoCkks, EndsOfValuesAndWhatIsBehindThem) {
  const auto parameters = samples::ckks_parameters(samples::ckks_literals()[1]);
  auto value = samples::ckks_ciphertexts(parameters, 2, 2, 3, random);
  value.info.packing = ckks::Packing::real;
  value.info.length = 5;
  const auto loaded = [&] { return load<ckks::Ciphertexts>(dump(value), insecure()).info; };
  const std::size_t plain = dump(value).size();
  for (const auto& [low, high] : {std::pair(-1.5, 4.25), {2.0, 3.0}, {-3.0, -3.0}}) {
    value.info.low = low;
    value.info.high = high;
    EXPECT_EQ(loaded().low, low);
    EXPECT_EQ(loaded().high, high);
  }
  value.info.low = -std::exp2(2.5);  // the bound says so
  value.info.high = std::exp2(2.5);
  EXPECT_EQ(dump(value).size(), plain);
  EXPECT_EQ(loaded().bounds().low, value.info.low);
  const auto said = [&](double low, double high) {
    auto bad = value;
    bad.info.low = low;
    bad.info.high = high;
    return thrown([&] { dump(bad); });
  };
  EXPECT_EQ(said(1, 2), "nothing");
  EXPECT_EQ(said(2, 1), "Range");
  EXPECT_EQ(said(-6, 1), "Range");
  EXPECT_EQ(said(1, 6), "Range");
  EXPECT_EQ(said(std::numeric_limits<double>::quiet_NaN(), 1), "Range");
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(said(infinity, infinity), "Range");
  EXPECT_EQ(said(-infinity, -infinity), "Range");
}

TEST_F(IoCkks, CopiesAreBehindValuesWhoseNumberIsNoPowerOfTwo) {
  const auto literal = samples::ckks_literals()[1];
  auto value = samples::ckks_ciphertexts(samples::ckks_parameters(literal), 2, 2, 3, random);
  const std::size_t length_at = samples::payload_at + samples::ckks_literal_bytes(literal) + 24;
  const auto said = [&](std::uint64_t length, std::uint64_t patched) {
    value.info.length = length;
    const Bytes frame = samples::patched(dump(value), length_at, patched);
    return thrown([&] { load<ckks::Ciphertexts>(frame, insecure()); });
  };
  for (const auto packing :
       {ckks::Packing::real, ckks::Packing::complex, ckks::Packing::coefficients}) {
    value.info.packing = packing;
    const char* const refused = packing == ckks::Packing::coefficients ? "nothing" : "Format";
    EXPECT_EQ(said(5, 5), "nothing");
    EXPECT_EQ(said(5, 7), "nothing");
    EXPECT_EQ(said(4, 8), "nothing");
    EXPECT_EQ(said(5, 4), refused);
    EXPECT_EQ(said(4, 5), refused);
  }
}

TEST_F(IoCkks, RefusesToWriteBrokenFacts) {
  const auto parameters = samples::ckks_parameters(samples::ckks_literals()[1]);
  const auto good = samples::ckks_ciphertexts(parameters, 2, 2, 3, random);
  const auto said = [&](const auto& change) {
    auto bad = good;
    change(bad);
    return thrown([&] { dump(bad); });
  };
  EXPECT_EQ(said([](auto&) {}), "nothing");
  // Level 2 has four primes, level 3 five; level 1 has three.
  EXPECT_EQ(said([](auto& c) { c.info.level = 2; }), "Shape");
  EXPECT_EQ(said([](auto& c) { c.info.level = 4; }), "Range");
  EXPECT_EQ(said([](auto& c) { c.info.packing = static_cast<ckks::Packing>(3); }), "Range");
  EXPECT_EQ(said([](auto& c) { c.info.scale = 0.5; }), "Range");
  EXPECT_EQ(said([](auto& c) { c.info.length = 0; }), "Range");
  EXPECT_EQ(said([](auto& c) { c.info.bound = std::numeric_limits<double>::infinity(); }), "Range");
  EXPECT_EQ(said([](auto& c) { c.info.error = -201; }), "Range");
  // Only fresh ciphertexts have a seed.
  const auto seeded = [&](unsigned parts, unsigned level) {
    auto value = samples::ckks_ciphertexts(parameters, 1, parts, level, random);
    value.seed = Seed{};
    return test::message_of<RangeError>([&] { dump(value); });
  };
  EXPECT_EQ(seeded(3, 3),
            "seeded ciphertexts have parts = 3 and level = 3; they must have 2 and 3");
  EXPECT_EQ(seeded(2, 1),
            "seeded ciphertexts have parts = 2 and level = 1; they must have 2 and 3");
}

TEST_F(IoCkks, FieldsOfCiphertexts) {
  const auto literal = samples::ckks_literals()[0];
  const auto parameters = samples::ckks_parameters(literal);
  const std::size_t packing = samples::payload_at + samples::ckks_literal_bytes(literal),
                    level = packing + 8, count = packing + 16, length = packing + 24,
                    scale = packing + 32, bound = packing + 40, error = packing + 48;
  std::vector<Sample> frames;
  for (auto value : {samples::Ckks::ciphertexts(parameters, 2, 3, random),
                     samples::Ckks::fresh(parameters, 2, random)}) {
    value.info.packing = ckks::Packing::real;
    value.info.length = 4;  // so that no copies are behind the values
    frames.push_back(samples::sample_of(samples::Ckks::ciphertexts_type, value));
  }
  const double infinity = std::numeric_limits<double>::infinity(),
               nan = std::numeric_limits<double>::quiet_NaN(), most = parameters.log2_Q(0);
  for (const Sample& sample : frames) {
    SCOPED_TRACE(&sample == &frames[1] ? "seeded" : "whole");
    const auto with = [&](std::size_t at, auto value) {
      return loading(sample, samples::patched(sample.frame, at, value));
    };
    for (const std::uint32_t bad : {1U, 17U, 0xffffffffU}) EXPECT_EQ(with(level, bad), "Range");
    for (const std::uint64_t bad : {(std::uint64_t{1} << 24) + 1, std::uint64_t{1} << 40,
                                    std::uint64_t{1} << 52, ~std::uint64_t{0}})
      EXPECT_EQ(with(count, bad), "Range");
    EXPECT_EQ(with(count, std::uint64_t{1} << 24), "Truncated");
    for (const std::uint64_t bad : {std::uint64_t{0}, std::uint64_t{513}, ~std::uint64_t{0}})
      EXPECT_EQ(with(length, bad), "Range");
    EXPECT_EQ(with(length, std::uint64_t{512}), "nothing");
    for (const double bad :
         {nan, infinity, -infinity, 0.0, -1.0, 0.999, std::exp2(most) * 1.01, 1e300})
      EXPECT_EQ(with(scale, bad), "Range") << bad;
    for (const double good : {1.0, std::exp2(most) * 0.99}) EXPECT_EQ(with(scale, good), "nothing");
    for (const std::size_t at : {bound, error}) {
      for (const double bad : {nan, infinity, -infinity, -200.1, most + 0.1, 1e300})
        EXPECT_EQ(with(at, bad), "Range") << bad;
      for (const double good : {-200.0, -0.0, most}) EXPECT_EQ(with(at, good), "nothing") << good;
    }
  }
  // As coefficients, a ciphertext holds twice as many.
  Bytes frame = frames[0].frame;
  samples::put(frame, packing, std::uint32_t{2});
  EXPECT_EQ(loading(frames[0], samples::patched(frame, length, std::uint64_t{1024})), "nothing");
  EXPECT_EQ(loading(frames[0], samples::patched(frame, length, std::uint64_t{1025})), "Range");
}

TEST_F(IoCkks, MessagesNameFieldValueAndBound) {
  const auto parameters = samples::ckks_parameters(samples::ckks_literals()[1]);
  const Bytes frame = dump(samples::ckks_ciphertexts(parameters, 1, 2, 3, random));
  const std::size_t packing =
      samples::payload_at + samples::ckks_literal_bytes(parameters.literal());
  const auto said = [&](std::size_t at, auto value) {
    return test::message_of(
        [&] { load<ckks::Ciphertexts>(samples::patched(frame, packing + at, value), insecure()); });
  };
  EXPECT_EQ(said(0, std::uint32_t{3}), "packing is 3; it must be at most 2");
  EXPECT_EQ(said(4, std::uint32_t{1}), "ciphertexts: parts = 1 is outside 2 … 16");
  EXPECT_EQ(said(8, std::uint32_t{4}), "ciphertexts: level = 4 is above the highest, 3");
  EXPECT_EQ(said(16, std::uint64_t{0}), "ciphertexts: count = 0 is outside 1 … 2^24");
  EXPECT_EQ(said(32, 0.25), "ciphertexts: scale = 0.25 is outside 1 … the modulus 2^145.0");
}

TEST_F(IoCkks, FieldsOfTheLiteral) {
  const auto literal = samples::ckks_literals()[1];
  const Bytes frame = dump(samples::ckks_parameters(literal));
  const auto with = [&](std::uint16_t tag, std::size_t at, auto value) {
    return loading<ckks::Parameters>(
        samples::patched(frame, samples::field_at(frame, tag) + at, value));
  };
  EXPECT_EQ(with(3, 0, std::uint32_t{7}), "Parameter");           // terminals
  EXPECT_EQ(with(4, 0, std::uint32_t{3}), "Parameter");           // those of level 0
  EXPECT_EQ(with(4, 4, std::uint32_t{0xffffffff}), "Parameter");  // its others
  EXPECT_EQ(with(2, 0, literal.chain[1]), "Parameter");           // twice
  EXPECT_EQ(with(8, 0, std::numeric_limits<double>::quiet_NaN()), "Parameter");
  EXPECT_EQ(with(8, 0, 40.0), "Format");                // the default
  EXPECT_EQ(with(4, -4, std::uint32_t{28}), "Format");  // half a level
  // There were no such files before the second version.
  EXPECT_EQ(thrown([&] {
              load<ckks::Parameters>(samples::patched(frame, samples::version_at, std::uint16_t{1}),
                                     insecure());
            }),
            "Version");
}

TEST_F(IoCkks, FieldsOfBootstrapping) {
  const auto literal = samples::ckks_literals()[3];
  const Bytes frame = dump(samples::ckks_parameters(literal));
  // Behind the bytes of all fields, and tag and length of the first one.
  const std::size_t weight = samples::field_at(frame, 10) + 4 + 6, range = weight + 4 + 6;
  const auto with = [&](std::size_t at, auto value) {
    return loading<ckks::Parameters>(samples::patched(frame, at, value));
  };
  EXPECT_EQ(with(weight, std::uint32_t{8}), "nothing");
  EXPECT_EQ(with(weight, std::uint32_t{7}), "Parameter");
  EXPECT_EQ(with(weight, std::uint32_t{193}), "Parameter");
  EXPECT_EQ(with(weight, std::uint32_t{9}), "ParameterMismatch");  // the header has another digest
  EXPECT_EQ(with(weight, std::uint32_t{32}), "Format");            // the default
  EXPECT_EQ(with(weight - 6, std::uint16_t{2}), "Format");         // range, twice
  EXPECT_EQ(with(range - 6, std::uint16_t{99}), "Format");
  EXPECT_EQ(with(weight - 10, std::uint32_t{8}), "Truncated");  // bytes of all fields
}

TEST_F(IoCkks, RolesOfKeys) {
  const auto literal = samples::ckks_literals()[3];
  auto value = samples::ckks_evaluation_keys(samples::ckks_parameters(literal), random);
  const Bytes frame = dump(value);
  const std::size_t count = samples::payload_at + samples::ckks_literal_bytes(literal),
                    first = count + 8, entry = 40;
  const auto said = [&](std::size_t key, std::uint32_t g, std::uint32_t power, std::uint32_t role,
                        std::uint32_t level = 0) {
    Bytes changed = samples::patched(frame, first + key * entry, g);
    changed = samples::patched(changed, first + key * entry + 4, power | level << 8 | role << 24);
    return test::message_of<FormatError>([&] { load<ckks::EvaluationKeys>(changed, insecure()); });
  };
  // What was there.
  EXPECT_EQ(said(2, 3, 1, 1, 1), "");
  EXPECT_EQ(said(3, 1, 1, 2), "");
  EXPECT_EQ(said(4, 1, 1, 3), "");
  for (const std::uint32_t role : {4U, 255U})
    EXPECT_EQ(said(4, 1, 1, role), "evaluation keys: the role of a key is " + std::to_string(role) +
                                       "; under these parameters it may be at most 3");
  for (const auto& [key, role, level, most] : {std::array{2U, 1U, 99U, value.parameters.top()},
                                               {2U, 1U, 0xffffU, value.parameters.top()},
                                               {0U, 0U, 1U, 0U},
                                               {3U, 2U, 1U, 0U},
                                               {4U, 3U, 256U, 0U}})
    EXPECT_EQ(said(key, key == 2 ? 3 : 1, key == 0 ? 2 : 1, role, level),
              "evaluation keys: the level of a key of role " + std::to_string(role) + " is " +
                  std::to_string(level) + "; under these parameters it may be at most " +
                  std::to_string(most));
  const std::string no_client = "evaluation keys: no client makes a key for ";
  EXPECT_EQ(said(2, 1, 2, 1), no_client + "s(X^1)^2 of role 1 and level 0");
  EXPECT_EQ(said(2, 1, 1, 1), no_client + "s(X^1)^1 of role 1 and level 0");
  EXPECT_EQ(said(2, 2049, 1, 1), no_client + "s(X^2049)^1 of role 1 and level 0");
  EXPECT_EQ(said(3, 3, 1, 2), no_client + "s(X^3)^1 of role 2");
  EXPECT_EQ(said(4, 1, 2, 3), no_client + "s(X^1)^2 of role 3");
  EXPECT_EQ(said(4, 1, 1, 0), no_client + "s(X^1)^1");
  EXPECT_EQ(said(4, 1, 1, 2), "evaluation keys: there are two keys for s(X^1)^1 of role 2");
  // Keys of other roles have other lengths.
  const auto with = [&](std::size_t key, std::uint32_t power_and_role) {
    return loading<ckks::EvaluationKeys>(
        samples::patched(frame, first + key * entry + 4, power_and_role));
  };
  EXPECT_EQ(with(1, 1 | 1U << 8 | 1U << 24), "Format");  // the second key of its kind
  Bytes moved = samples::patched(frame, first + 2 * entry, std::uint32_t{5});
  EXPECT_EQ(loading<ckks::EvaluationKeys>(moved), "nothing");
  moved = samples::patched(moved, first + 2 * entry + 4, std::uint32_t{1});
  EXPECT_EQ(loading<ckks::EvaluationKeys>(moved), "Truncated");
  // Each row's own prime, and nothing else, bounds its words.
  const std::size_t N = literal.N, usual = 4 * 9 * N * 4,
                    low = samples::aligned(first + 5 * entry) + 2 * usual, sparse = low + 4 * N * 4;
  const auto word = [&](std::size_t at, std::uint64_t residue) {
    return loading<ckks::EvaluationKeys>(
        samples::patched(frame, at, static_cast<std::uint32_t>(residue)));
  };
  const auto& chain = literal.chain;
  const auto& special = literal.special;
  const std::vector<std::pair<std::size_t, std::uint64_t>> rows{{low, chain[0]},
                                                                {low + N * 4, chain[1]},
                                                                {low + 2 * N * 4, special[0]},
                                                                {low + 3 * N * 4, special[1]},
                                                                {sparse, chain[0]},
                                                                {sparse + N * 4, special[0]}};
  for (const auto& [at, prime] : rows) {
    EXPECT_EQ(word(at + 4 * (random() % N), prime), "Range") << at;
    EXPECT_EQ(word(at + 4 * (random() % N), prime - 1), "nothing") << at;
  }
  // Cut off anywhere.
  for (std::size_t length = count; length < frame.size();
       length += length < low ? 1 + random() % 2000 : 1 + random() % 200)
    ASSERT_EQ(loading<ckks::EvaluationKeys>(std::span(frame).first(length)), "Truncated") << length;
  const std::uint64_t payload = frame.size() - samples::payload_at - samples::trailer_bytes;
  for (std::uint64_t length = payload - 3 * N * 4; length < payload; length += 1 + random() % 100)
    ASSERT_EQ(loading<ckks::EvaluationKeys>(samples::with_payload_bytes(frame, length)),
              "Truncated")
        << length;
  // What no file may hold.
  value.keys[3].kind = {static_cast<SwitchRole>(4)};
  EXPECT_EQ(thrown([&] { dump(value); }), "Format");
  value.keys[3].kind = {SwitchRole::from_sparse};
  EXPECT_EQ(thrown([&] { dump(value); }), "Format");
  value.keys[3].kind = {SwitchRole::to_sparse};
  value.keys[2].kind = {};
  value.keys[2].g = 5;
  EXPECT_EQ(thrown([&] { dump(value); }), "Shape");
}

}  // namespace
}  // namespace whorl::io
