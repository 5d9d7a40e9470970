#include "whorl/circuits/ckks/linear_maps.h"

#include <cstring>

#include "support/ckks_party.h"
#include "support/limited_device.h"
#include "support/named_devices.h"
#include "support/test.h"
#include "whorl/ckks/client.h"

namespace whorl::ckks {
namespace {

using Complex = std::complex<double>;
using test::Complexes;

struct Party : test::CkksParty {
  Party(const test::CkksShape& shape, const std::vector<std::int64_t>& rotations)
      : CkksParty(test::ckks_insecure(shape), {.rotations = rotations}) {}
};

Complexes in_clear(const LinearMap& map, const Complexes& x) {
  Complexes out(map.length);
  for (std::size_t j = 0; j < map.length; ++j)
    for (const auto& [k, values] : map.diagonals) {
      const auto n = static_cast<std::int64_t>(map.period);
      const std::int64_t at = ((static_cast<std::int64_t>(j) + k) % n + n) % n;
      const std::size_t place = static_cast<std::size_t>(at) % std::bit_ceil(x.size());
      if (place < x.size()) out[j] += values[j] * x[place];
    }
  return out;
}

/// The map of random values, within the error that the account states; on results that are whole
/// again, once more.
void expect(const test::CkksShape& shape, const LinearMap& map, std::size_t length) {
  const Party party(shape, rotations_of(map));
  std::mt19937_64 random(7);
  const unsigned top = party.server.parameters().depth();
  const EncodedMap encoded = encode(party.server, map, top - 1);
  const Complexes x = test::random_complexes(random, length);
  const Array y = apply(party.server, party.upload(x), encoded);
  EXPECT_EQ(y.info().level, top - 2);
  EXPECT_EQ(y.info().scale, party.server.parameters().scale(top - 2));
  EXPECT_EQ(y.info().length, map.length);
  test::expect_as_stated(y, party.values(y), in_clear(map, x));
}

bool same_words(const Ciphertexts& a, const Ciphertexts& b) {
  return a.data.bytes() == b.data.bytes() &&
         std::memcmp(a.data.data(), b.data.data(), a.data.bytes()) == 0;
}

LinearMap random_map(std::uint64_t period, const std::vector<std::int64_t>& which) {
  std::mt19937_64 random(period);
  LinearMap map{period, period, 0, {}};
  for (const std::int64_t k : which) map.diagonals[k] = test::random_complexes(random, period);
  return map;
}

TEST(CkksLinearMaps, DenseSparseAndStridedDiagonals) {
  std::vector<std::int64_t> all(64), strided;
  for (std::size_t k = 0; k < 64; ++k) all[k] = static_cast<std::int64_t>(k);
  for (std::int64_t k = -7; k <= 7; ++k) strided.push_back(32 * k);
  for (const test::CkksShape& shape : {test::CkksShape{40}, test::CkksShape{28}, {50, 64}}) {
    SCOPED_TRACE(shape.scale_bits);
    expect(shape, random_map(64, all), 64);
    expect(shape, random_map(512, strided), 512);
    expect(shape, random_map(512, {0, 1, 300}), 512);
    expect(shape, random_map(16, {0}), 16);
    expect(shape, random_map(16, {5}), 16);
    expect(shape, random_map(256, {-1, 0, 1, 64, 65}), 64);  // the vector is repeated four times
  }
}

TEST(CkksLinearMaps, BatchesAreCutSoThatTheirWorkFitsBesideTheKeys) {
  std::vector<std::int64_t> all(64);
  std::iota(all.begin(), all.end(), 0);
  const LinearMap map = random_map(64, all);
  const Client client(test::ckks_insecure({40}));
  const EvaluationKeys keys = client.evaluation_keys({.rotations = rotations_of(map)});
  std::mt19937_64 random(5);
  const Ciphertexts x = client.encrypt(test::random_complexes(random, 64 * 24), {.length = 64});
  const auto limit = std::make_shared<test::MemoryLimit>();
  const auto mapped = [&](const Server& server) {
    const EncodedMap encoded = encode(server, map, server.parameters().depth());
    const Array a = server.upload(x);
    apply(server, server.take(a, std::array{0u}), encoded);  // with it the keys come
    const std::size_t before = limit->used;
    limit->peak = before;
    const Array y = apply(server, a, encoded);
    if (before > 0) {
      EXPECT_LE(limit->peak - before - y.bytes(), (limit->bytes - 2 * keys.bytes()) / 4);
    }
    return server.download(y);
  };
  const Ciphertexts due = mapped(Server(keys, {.device = "cpu"}));
  // A quarter of what is beside the keys holds products of 24 ciphertexts, of which a map takes
  // more.
  limit->bytes = 2 * keys.bytes() + 4 * 24 * 8 * x.data.bytes() / 24;
  test::name_devices({test::limited_device(limit)});
  const Server server(keys, {.device = test::named_devices});
  EXPECT_TRUE(same_words(mapped(server), due));
}

TEST(CkksLinearMaps, EqualDiagonalsHaveEqualRoundings) {
  // They add up in one direction where values have one sign.
  constexpr std::size_t period = 512;
  std::mt19937_64 random(9);
  Complexes row;
  for (const Complex& z : test::random_complexes(random, period))
    row.emplace_back(z.real() / period);
  LinearMap map{period, period, 0, {}};
  for (std::size_t k = 0; k < period; ++k) map.diagonals[static_cast<std::int64_t>(k)] = row;
  const Party party({40}, rotations_of(map));
  const Array x = party.encrypt(std::vector<double>(period, 256), {256});
  const Array y = apply(party.server, x, encode(party.server, map, 2));
  Complexes due;
  for (const Complex& z : row) due.push_back(z * 256.0 * static_cast<double>(period));
  test::expect_as_stated(y, party.values(y), due);
}

TEST(CkksLinearMaps, MatricesOfAnyShape) {
  std::mt19937_64 random(3);
  for (const auto& [rows, columns] :
       {std::pair<std::size_t, std::size_t>{5, 16}, {16, 5}, {8, 8}, {1, 64}, {33, 2}, {3, 3}}) {
    SCOPED_TRACE(testing::Message() << rows << " x " << columns);
    const Complexes values = test::random_complexes(random, rows * columns);
    const LinearMap map = matrix_map(values, rows, columns);
    EXPECT_LE(map.diagonals.size(), std::bit_ceil(columns));
    expect({40}, map, columns);
    const Complexes x = test::random_complexes(random, columns);
    const Complexes got = in_clear(map, x);
    for (std::size_t j = 0; j < rows; ++j) {
      Complex sum = 0;
      for (std::size_t k = 0; k < columns; ++k) sum += values[j * columns + k] * x[k];
      EXPECT_LT(std::abs(got[j] - sum), 1e-12);
    }
  }
}

TEST(CkksLinearMaps, FewKeySwitches) {
  // 31 diagonals: 8 baby steps and 4 giant ones, two of which are 0.
  std::vector<std::int64_t> k;
  for (std::int64_t i = -15; i <= 15; ++i) k.push_back(16 * i);
  const LinearMap map = random_map(512, k);
  EXPECT_EQ(rotations_of(map).size(), 10u);
  const Party party({40}, rotations_of(map));
  const EncodedMap encoded = encode(party.server, map, 1);
  EXPECT_EQ(encoded.key_switches(), 10u);
  EXPECT_EQ(encoded.diagonals(), 31u);
  const ParameterLiteral& p = party.server.parameters().literal();
  EXPECT_EQ(encoded.bytes(),
            31u * p.N * 4 * (party.server.parameters().primes(1).size() + p.special.size()));
}

/// A word for each value that differs: twice as many as the values' period, if that is an eighth of
/// the ring's dimension or less.
TEST(CkksLinearMaps, DiagonalsAreStoredByTheirPeriod) {
  constexpr std::size_t slots = 512;
  for (const auto& [of_map, of_values] : {std::pair<std::size_t, std::size_t>{512, 512},
                                          {256, 256},
                                          {128, 128},
                                          {512, 128},
                                          {512, 8},
                                          {64, 2},
                                          {1, 1}}) {
    SCOPED_TRACE(std::to_string(of_map) + ", " + std::to_string(of_values));
    std::vector<std::int64_t> k;
    for (std::int64_t i = 0; i < 9 && i < static_cast<std::int64_t>(of_map); ++i) k.push_back(i);
    LinearMap map = random_map(of_map, k);
    for (auto& [number, values] : map.diagonals)
      for (std::size_t j = of_values; j < of_map; ++j) values[j] = values[j - of_values];
    for (const test::CkksShape& shape : {test::CkksShape{40}, {50, 64}}) {
      const Party party(shape, rotations_of(map));
      const Parameters& p = party.server.parameters();
      const std::size_t words = of_values > slots / 4 ? p.N() : 2 * of_values;
      EXPECT_EQ(encode(party.server, map, 2).bytes(),
                k.size() * words * (shape.word_bits / 8) *
                    (p.primes(2).size() + p.literal().special.size()));
      expect(shape, map, of_map);
    }
  }
}

/// Keys of a level serve the maps of that level and below, with the errors that are stated, and are
/// smaller.
TEST(CkksLinearMaps, KeysOfLowLevels) {
  const LinearMap map = random_map(64, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), other = random_map(64, {3});
  for (const test::CkksShape& shape : {test::CkksShape{40}, {50, 64}}) {
    SCOPED_TRACE(shape.scale_bits);
    const Parameters p = test::ckks_insecure(shape);
    KeyRequest request{.rotations = {}, .low_rotations = {{1, rotations_of(map)}}};
    std::size_t before = 0;
    for (unsigned level = 1; level <= p.top(); ++level) {
      const std::size_t bytes = key_bytes(p, {.low_rotations = {{level, {1}}}});
      EXPECT_GE(bytes, before);
      before = bytes;
    }
    EXPECT_EQ(before, key_bytes(p, {.rotations = {1}}));
    EXPECT_LT(key_bytes(p, {.low_rotations = {{1, {1}}}}), before);
    request.low_rotations[p.top() - 1] = rotations_of(map);
    request.low_rotations[p.top() - 1].push_back(3);
    const test::CkksParty party(p, request);
    std::mt19937_64 random(9);
    const Complexes x = test::random_complexes(random, 64);
    const Array a = party.upload(x);
    for (unsigned level = 1; level < p.top(); ++level) {
      const EncodedMap encoded = encode(party.server, map, level, {.low_rotations = true});
      const Array y = apply(party.server, a, encoded);
      test::expect_as_stated(y, party.values(y), in_clear(map, x));
      const Array z =
          apply(party.server, a, encode(party.server, other, level, {.low_rotations = true}));
      test::expect_as_stated(z, party.values(z), in_clear(other, x));
    }
    const auto message = [&](unsigned level, const MapOptions& options) {
      return test::message_of<MissingKeyError>([&] {
        static_cast<void>(apply(party.server, a, encode(party.server, other, level, options)));
      });
    };
    const std::string top = std::to_string(p.top());
    EXPECT_EQ(message(p.top(), {.low_rotations = true}),
              "a linear map at level " + top +
                  " has no keys of low levels: ask the client for "
                  "low_rotations={" +
                  top + ": [3]}");
    EXPECT_NE(message(1, {}).find("rotations=[3]"), std::string::npos);
    EXPECT_EQ(test::message_of<ParameterError>([&] {
                static_cast<void>(key_count(p, {.low_rotations = {{p.top() + 1, {1}}}}));
              }),
              "low_rotations: level " + std::to_string(p.top() + 1) + " is above " + top +
                  ", the highest of the parameters");
    // A dry run states what a server does that has keys for the map's own level.
    const DryRun dry(p);
    const Array one = dry.fresh(Packing::complex, 1, 64, 1, true);
    EXPECT_EQ(apply(dry.server(), one, encode(dry.server(), map, 1, {.low_rotations = true}))
                  .info()
                  .error,
              apply(party.server, party.server.upload(party.client.encrypt(x, {.bound = 1})),
                    encode(party.server, map, 1, {.low_rotations = true}))
                  .info()
                  .error);
    EXPECT_TRUE(dry.asked().rotations.empty());
  }
}

TEST(CkksLinearMaps, CompactPlaintextsGiveTheSameBits) {
  const LinearMap map = random_map(512, {-9, -1, 0, 1, 2, 64}), small = random_map(32, {0, 1, 5});
  for (const test::CkksShape& shape : {test::CkksShape{40}, test::CkksShape{28}, {50, 64}}) {
    SCOPED_TRACE(shape.scale_bits);
    std::vector<std::int64_t> rotations = rotations_of(map);
    std::ranges::copy(rotations_of(small), std::back_inserter(rotations));
    const Party party(shape, rotations);
    std::mt19937_64 random(11);
    const Array x = party.upload(test::random_complexes(random, 3 * 32), 32);
    const unsigned top = party.server.parameters().depth();
    for (unsigned level = 1; level <= top; ++level)
      for (const LinearMap& each : {map, small}) {
        const EncodedMap whole = encode(party.server, each, level),
                         compact = encode(party.server, each, level, {.compact = true});
        const Ciphertexts want = party.server.download(apply(party.server, x, whole)),
                          got = party.server.download(apply(party.server, x, compact));
        EXPECT_TRUE(same_words(got, want));
        EXPECT_EQ(got.info.error, want.info.error);
        if (each.period == 512 && level > 1) EXPECT_LE(2 * compact.bytes(), whole.bytes());
        if (each.period == 32) EXPECT_EQ(compact.bytes(), whole.bytes());
      }
  }
  // Values that need no prime, none at all, and all of them.
  for (const double factor : {0.0, 1e-30}) {
    LinearMap tiny = map;
    for (auto& [k, values] : tiny.diagonals)
      for (Complex& z : values) z *= factor;
    const Party party({40}, rotations_of(map));
    const Array x = party.upload(Complexes(512, 0.1));
    const EncodedMap whole = encode(party.server, tiny, 2),
                     compact = encode(party.server, tiny, 2, {.compact = true});
    EXPECT_TRUE(same_words(party.server.download(apply(party.server, x, compact)),
                           party.server.download(apply(party.server, x, whole))));
  }
  LinearMap large = map;
  for (Complex& z : large.diagonals[0]) z *= std::exp2(18);
  const Party party({40}, rotations_of(map));
  const Array x =
      party.server.upload(party.client.encrypt(Complexes(512, 0.1), {.bound = std::exp2(-3)}));
  const EncodedMap whole = encode(party.server, large, 1),
                   compact = encode(party.server, large, 1, {.compact = true});
  EXPECT_TRUE(same_words(party.server.download(apply(party.server, x, compact)),
                         party.server.download(apply(party.server, x, whole))));
}

TEST(CkksLinearMaps, FewRotations) {
  std::vector<std::int64_t> k(48);
  for (std::size_t i = 0; i < k.size(); ++i) k[i] = static_cast<std::int64_t>(i);
  LinearMap map = random_map(64, k);
  const std::size_t fast = rotations_of(map).size();
  map.few_rotations = true;
  EXPECT_LT(rotations_of(map).size(), fast);
  expect({40}, map, 64);
}

TEST(CkksLinearMaps, BatchesAndRepeatedMaps) {
  const LinearMap map = random_map(32, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Party party({40}, rotations_of(map));
  std::mt19937_64 random(5);
  const Complexes x = test::random_complexes(random, 3 * 32);
  const Array batch = party.upload(x, 32);
  const EncodedMap first = encode(party.server, map, 3), second = encode(party.server, map, 2);
  const Array y = apply(party.server, apply(party.server, batch, first), second);
  const Complexes got = party.values(y);
  ASSERT_EQ(got.size(), x.size());
  for (std::size_t i = 0; i < 3; ++i) {
    const Complexes one(x.begin() + 32 * static_cast<std::ptrdiff_t>(i),
                        x.begin() + 32 * static_cast<std::ptrdiff_t>(i + 1));
    const Complexes want = in_clear(map, in_clear(map, one));
    for (std::size_t j = 0; j < 32; ++j)
      EXPECT_LT(std::abs(got[32 * i + j] - want[j]), test::largest_error(y));
    // Alone, bit for bit what it is in a batch.
    const std::vector<std::uint32_t> index{static_cast<std::uint32_t>(i)};
    const Array alone = apply(party.server, party.server.take(batch, index), first);
    const Array among = party.server.take(apply(party.server, batch, first), index);
    const Ciphertexts first_words = party.server.download(alone),
                      other_words = party.server.download(among);
    EXPECT_TRUE(std::ranges::equal(first_words.data.as<std::uint32_t>(),
                                   other_words.data.as<std::uint32_t>()));
  }
}

TEST(CkksLinearMaps, WhatCannotBeRightIsRefused) {
  const LinearMap map = random_map(16, {0, 1, 2});
  const Party party({40}, {1});
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const EncodedMap encoded = encode(party.server, map, 2);
  const Array x = party.upload(Complexes(16));
  has(test::message_of<MissingKeyError>(
          [&] { static_cast<void>(apply(party.server, x, encoded)); }),
      "rotation by 2");
  has(test::message_of<ShapeError>(
          [&] { static_cast<void>(apply(party.server, party.upload(Complexes(64)), encoded)); }),
      "period 64");
  has(test::message_of<NoiseError>(
          [&] { static_cast<void>(apply(party.server, party.server.lower(x, 1), encoded)); }),
      "level 2");
  has(test::message_of<ParameterError>([&] { static_cast<void>(encode(party.server, map, 0)); }),
      "level = 0");
  LinearMap wrong = map;
  wrong.diagonals[17] = Complexes(16);
  has(test::message_of<ParameterError>([&] { static_cast<void>(rotations_of(wrong)); }), "twice");
  wrong = map;
  wrong.diagonals[3] = Complexes(15);
  has(test::message_of<ShapeError>([&] { static_cast<void>(rotations_of(wrong)); }), "15 values");
  wrong = map;
  wrong.period = 24;
  has(test::message_of<ShapeError>([&] { static_cast<void>(rotations_of(wrong)); }), "24");
  wrong = map;
  wrong.diagonals[0][3] = std::nan("");
  has(test::message_of<EncodingError>([&] { static_cast<void>(encode(party.server, wrong, 1)); }),
      "finite");
  has(test::message_of<ParameterError>([&] {
        static_cast<void>(rotations_of({16, 16, 0, {}}));
      }),
      "diagonal");
  wrong = map;
  wrong.length = 4;
  has(test::message_of<ShapeError>([&] { static_cast<void>(rotations_of(wrong)); }),
      "to be equal, differ");
  has(test::message_of<ShapeError>([] { static_cast<void>(EncodedMap().bytes()); }), "not encoded");
  const EncodedMap matrix = encode(party.server, matrix_map(Complexes(6, 1.0), 2, 3), 2);
  has(test::message_of<ShapeError>(
          [&] { static_cast<void>(apply(party.server, party.upload(Complexes(4)), matrix)); }),
      "matrix of 3 columns");
  has(test::message_of<ShapeError>([&] { static_cast<void>(matrix_map(Complexes(5), 2, 3)); }),
      "2 times 3");
  has(test::message_of<ShapeError>(
          [&] { static_cast<void>(encode(party.server, random_map(1024, {0}), 1)); }),
      "1024");
}

}  // namespace
}  // namespace whorl::ckks
