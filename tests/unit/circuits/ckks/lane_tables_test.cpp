#include <algorithm>
#include <bit>
#include <numeric>

#include "support/ckks_lanes.h"
#include "whorl/circuits/ckks/lanes.h"

namespace whorl::ckks {
namespace {

using Tables = std::vector<Bits>;

/// Inputs in lanes, and the number that each lane's bits are.
struct Indices {
  /// The bits of `values` are vectors of `length` lanes, off by `error`.
  Indices(const LaneParty& party, const std::vector<std::size_t>& values_, std::size_t inputs,
          std::size_t length, double error = 0, std::uint64_t seed = 1)
      : values(values_) {
    std::mt19937_64 random(seed);
    for (std::size_t k = 0; k < inputs; ++k) {
      Bits bits;
      for (const std::size_t i : values) bits.push_back(i >> k & 1);
      arrays.push_back(error > 0 ? party.encrypt_off(bits, error, random)
                                 : party.encrypt(bits, length));
    }
  }

  void expect(const LaneParty& party, const Tables& tables) const {
    const std::vector<LaneArray> got = party.lanes.lookup(arrays, tables);
    ASSERT_EQ(got.size(), tables.size());
    for (std::size_t t = 0; t < tables.size(); ++t) {
      Bits want;
      for (const std::size_t i : values) want.push_back(tables[t][i]);
      EXPECT_EQ(party.decrypt(got[t]), want) << "table " << t;
    }
  }

  std::vector<std::size_t> values;
  std::vector<LaneArray> arrays;
};

/// Tables with few different rows, with many, and constants.
Tables some_tables(std::mt19937_64& random, std::size_t inputs) {
  const std::size_t entries = std::size_t{1} << inputs;
  Tables out{random_bits(random, entries),
             random_bits(random, entries),
             Bits(entries, 1),
             Bits(entries),
             Bits(entries),
             Bits(entries)};
  for (std::size_t i = 0; i < entries; ++i) {
    out[3][i] = i == entries - 1;      // AND
    out[4][i] = std::popcount(i) & 1;  // XOR
    out[5][i] = i * i >> inputs & 1;   // a bit of a square
  }
  out.emplace_back(entries, 0);
  return out;
}

TEST(CkksLaneTables, EveryFunctionOfTwoBits) {
  const LaneParty party(small_ring(6), 64);
  std::vector<std::size_t> values;
  for (std::size_t i = 0; i < 64; ++i) values.push_back(i % 4);
  Tables all;
  for (unsigned i = 0; i < 16; ++i)
    all.push_back({std::uint8_t(i & 1), std::uint8_t(i >> 1 & 1), std::uint8_t(i >> 2 & 1),
                   std::uint8_t(i >> 3)});
  const Indices indices(party, values, 2, 64);
  indices.expect(party, all);
  // A single product serves all of them.
  EXPECT_EQ(party.lanes.counts().products, 1u);
  for (const Bits& table : all) indices.expect(party, {table});
  EXPECT_LE(party.lanes.counts().products, 17u);
}

/// Lanes hold every index; of parameters with one bit in a coefficient and with five, too.
TEST(CkksLaneTables, EveryEntry) {
  std::mt19937_64 random(11);
  const std::vector<Parameters> kinds{small_ring(6),
                                      small_bits({.bits = 1, .levels = 4, .scale_bits = 35}),
                                      small_bits({.bits = 5, .levels = 9})};
  for (const Parameters& parameters : kinds) {
    const LaneParty party(parameters, 512);
    for (std::size_t inputs = 1; inputs <= 10; ++inputs) {
      SCOPED_TRACE(parameters.literal().name + ", " + std::to_string(inputs) + " inputs");
      std::vector<std::size_t> values;
      for (std::size_t i = 0; i < std::max<std::size_t>(512, std::size_t{1} << inputs); ++i)
        values.push_back(i % (std::size_t{1} << inputs));
      const Indices indices(party, values, inputs, 512);
      const Tables tables = some_tables(random, inputs);
      indices.expect(party, tables);
      // Levels are what the fewest products in sequence take.
      const LaneArray parity = party.lanes.lookup(indices.arrays, {&tables[4], 1})[0];
      EXPECT_EQ(indices.arrays[0].info().level - parity.info().level, std::bit_width(inputs - 1));
    }
  }
}

/// Chains of permutations: where inputs have no levels left, the bootstrap that they need is the
/// table, and takes no product; all entries come out, of one vector and of three.
TEST(CkksLaneTables, BootstrapsThatAreDueAreTables) {
  std::mt19937_64 random(13);
  const LaneParty party(small_bits({.levels = 4, .lift = 6, .degree = 15, .doublings = 5}), 64);
  for (const std::size_t inputs : {4u, 5u})
    for (const std::size_t vectors : {1u, 3u}) {
      SCOPED_TRACE(std::to_string(inputs) + " inputs, " + std::to_string(vectors));
      const std::size_t entries = std::size_t{1} << inputs;
      std::vector<std::size_t> values;
      for (std::size_t i = 0; i < vectors * 64; ++i) values.push_back(i % entries);
      Indices indices(party, values, inputs, 64);
      unsigned tables_by_bootstraps = 0;
      for (unsigned step = 0; step < 9; ++step) {
        std::vector<std::size_t> permuted(entries);
        std::iota(permuted.begin(), permuted.end(), 0);
        std::ranges::shuffle(permuted, random);
        Tables tables(inputs, Bits(entries));
        for (std::size_t j = 0; j < inputs; ++j)
          for (std::size_t i = 0; i < entries; ++i) tables[j][i] = permuted[i] >> j & 1;
        const LaneCounts before = party.lanes.counts();
        indices.arrays = party.lanes.lookup(indices.arrays, tables);
        const LaneCounts after = party.lanes.counts();
        for (std::size_t& value : indices.values) value = permuted[value];
        if (after.bootstraps > before.bootstraps &&
            after.products - before.products == 2 * (after.cleanings - before.cleanings)) {
          ++tables_by_bootstraps;
          EXPECT_EQ(after.bootstraps - before.bootstraps, vectors);
          EXPECT_EQ(indices.arrays[0].info().level, party.lanes.server().parameters().depth());
        }
        for (std::size_t j = 0; j < inputs; ++j) {
          Bits want;
          for (const std::size_t i : indices.values) want.push_back(i >> j & 1);
          EXPECT_EQ(party.decrypt(indices.arrays[j]), want) << "step " << step << ", bit " << j;
        }
      }
      EXPECT_GE(tables_by_bootstraps, 2u);
    }
}

TEST(CkksLaneTables, TablesOfManyBits) {
  std::mt19937_64 random(12);
  const LaneParty party(small_ring(6), 64);
  for (const std::size_t inputs : {11u, 12u, 16u}) {
    SCOPED_TRACE(inputs);
    std::vector<std::size_t> values{0, (std::size_t{1} << inputs) - 1};
    while (values.size() < 64) values.push_back(random() % (std::size_t{1} << inputs));
    const Indices indices(party, values, inputs, 64);
    const std::uint64_t before = party.lanes.counts().products;
    Tables tables = some_tables(random, inputs);
    if (inputs == 16) tables.resize(2);
    indices.expect(party, tables);
    // 2·278 of minterms, and one for each row of each table.
    if (inputs == 16) EXPECT_EQ(party.lanes.counts().products - before, 2 * 278 + 2 * 256u);
  }
}

/// More tables than one pass makes, and between them some that take no product: bits of the index,
/// their sum with others, and constants.
TEST(CkksLaneTables, TablesInSeveralPasses) {
  std::mt19937_64 random(15);
  const LaneParty party(small_ring(6), 256);
  for (const std::size_t inputs : {5u, 8u}) {
    const std::size_t entries = std::size_t{1} << inputs;
    std::vector<std::size_t> values;
    for (std::size_t i = 0; i < 256; ++i) values.push_back(i % entries);
    Tables tables;
    // 22 products of minterms of 8 bits; of 5 those of (3, 2), or of all where tables are many.
    std::size_t products = inputs == 8 ? 22 : 5;
    for (std::size_t t = 0; t < (inputs == 8 ? 40 : 9); ++t) {
      Bits table(entries, t % 2);
      for (std::size_t i = 0; i < entries && t % 4 > 1; ++i) table[i] = i >> t % inputs & 1;
      if (t % 2 == 0 || t % 8 == 7)
        for (std::size_t i = 0; i < entries; ++i)
          table[i] = i / 16 % 4 == 3 || random() % 2;  // rows of 1 among them
      tables.push_back(table);
      const std::size_t length = inputs == 8 ? 16 : 8;
      const bool multiplies = t % 2 == 0 || t % 8 == 7;
      for (std::size_t i = 0; i < entries && multiplies; i += length)
        products += std::any_of(table.begin() + static_cast<std::ptrdiff_t>(i),
                                table.begin() + static_cast<std::ptrdiff_t>(i + length),
                                [](auto bit) { return bit == 1; });
    }
    const std::uint64_t before = party.lanes.counts().products;
    Indices(party, values, inputs, 256).expect(party, tables);
    EXPECT_EQ(party.lanes.counts().products - before, products);
  }
}

/// The stated error holds where inputs are as far from bits as they may be.
TEST(CkksLaneTables, InputsThatAreOff) {
  std::mt19937_64 random(13);
  const LaneParty party(small_ring(6), 64);
  for (const std::size_t inputs : {1u, 2u, 3u, 4u, 5u, 8u, 12u}) {
    SCOPED_TRACE(inputs);
    std::vector<std::size_t> values;
    while (values.size() < 64) values.push_back(random() % (std::size_t{1} << inputs));
    const double error = 0.9 * party.lanes.limit() / static_cast<double>(inputs);
    const Indices indices(party, values, inputs, 64, error, random());
    indices.expect(party, some_tables(random, inputs));
  }
}

TEST(CkksLaneTables, Refusals) {
  const LaneParty party(small_ring(5), 64);
  const LaneArray x = party.encrypt(Bits(64, 1), 64), more = party.encrypt(Bits(128, 1), 64);
  const auto refused = [&](std::size_t inputs, const Tables& tables, const char* part) {
    try {
      static_cast<void>(party.lanes.lookup(std::vector<LaneArray>(inputs, x), tables));
      ADD_FAILURE() << part;
    } catch (const ParameterError& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  refused(2, {{0, 1, 0}}, "table 0 has 3 entries, and 2 inputs want 4");
  refused(2, {{0, 1, 0, 0}, {0, 1, 2, 0}}, "table 1 has the entry 2 at index 2");
  refused(0, {}, "0 inputs are outside 1 … 16");
  refused(17, {}, "17 inputs are outside 1 … 16");
  EXPECT_THROW(
      static_cast<void>(party.lanes.lookup(std::vector<LaneArray>{x, more}, Tables{{0, 1, 0, 0}})),
      ShapeError);
}

TEST(CkksLaneTables, ADryRunCountsAndStatesTheSame) {
  const Parameters p = small_ring(6);
  const LaneParty party(p, 64);
  const DryRun run(p);
  const Lanes dry(run.server(), encode_bootstrap(run.server(), 64));
  std::mt19937_64 random(14);
  const Tables tables = some_tables(random, 7);
  std::vector<LaneArray> real, planned;
  for (unsigned k = 0; k < 7; ++k) {
    real.push_back(party.encrypt(random_bits(random, 64), 64));
    planned.push_back(dry.take_in(run.fresh(Packing::real, 1, 64, Bounds(0, 1), true)));
  }
  const auto got = party.lanes.lookup(real, tables), stated = dry.lookup(planned, tables);
  for (std::size_t t = 0; t < tables.size(); ++t) {
    EXPECT_EQ(got[t].error(), stated[t].error());
    EXPECT_EQ(got[t].info().level, stated[t].info().level);
  }
  EXPECT_EQ(dry.counts().products, party.lanes.counts().products);
  EXPECT_EQ(dry.counts().products, run.costs().products);
  EXPECT_EQ(dry.log2_failure(), party.lanes.log2_failure());
}

}  // namespace
}  // namespace whorl::ckks
