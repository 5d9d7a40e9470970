// Tables of integers in lanes, against those in clear.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "circuits/ckks/bootstrap.h"
#include "circuits/ckks/table_fit.h"
#include "support/lane_integers.h"
#include "support/test.h"

namespace whorl::ckks {
namespace {

// ---- polynomials

TEST(CkksTableFit, ValuesAndSlopesAtAllPoints) {
  std::mt19937_64 random(1);
  for (unsigned bits = 1; bits <= 5; ++bits) {
    const std::size_t M = std::size_t{1} << bits;
    std::vector<std::vector<std::int64_t>> tables(5, std::vector<std::int64_t>(M));
    for (std::size_t m = 0; m < M; ++m) {
      tables[0][m] = 7;                             // a constant
      tables[1][m] = static_cast<std::int64_t>(m);  // what it is
      tables[2][m] = m < M / 2 ? -3 : 5;            // a step
      tables[3][m] = m % 2 == 0 ? 0 : 31;
      tables[4][m] = static_cast<std::int64_t>(random() % 64) - 32;
    }
    for (const auto& entries : tables) {
      const TablePolynomial table = table_polynomial(entries);
      const TableSlopes slopes = slopes_of(table, M);
      for (std::size_t m = 0; m < M; ++m) {
        const double t = (static_cast<double>(m) + 0.5) / static_cast<double>(M);
        const auto wanted = static_cast<double>(entries[m]);
        EXPECT_NEAR(table(t), wanted, 1e-11);
        // An error e of m leaves at most curvature·e².
        for (const double e : {1e-3, -1e-2, 0.1, -0.25})
          EXPECT_LE(std::abs(table(t + e / static_cast<double>(M)) - wanted),
                    slopes.all.curvature * e * e + 1e-11);
      }
    }
    EXPECT_TRUE(table_polynomial(tables[0]).cosines.empty());
    EXPECT_TRUE(table_polynomial(tables[0]).sines.empty());
    EXPECT_TRUE(table_polynomial(tables[2]).cosines.empty());  // it is odd about its middle
  }
}

/// They are the polynomials of bits, where the table is a bit.
TEST(CkksTableFit, BitsAreTables) {
  for (unsigned bits = 1; bits <= 5; ++bits)
    for (unsigned j = 0; j < bits; ++j) {
      std::vector<std::int64_t> entries;
      for (unsigned m = 0; m < 1u << bits; ++m) entries.push_back(m >> j & 1);
      const TablePolynomial table = table_polynomial(entries);
      const std::vector<double> bit = bit_polynomials(bits)[j];
      EXPECT_EQ(table.constant, 0.5);
      EXPECT_TRUE(table.cosines.empty());
      ASSERT_EQ(table.sines.size(), bit.size());
      for (std::size_t n = 0; n < bit.size(); ++n) EXPECT_NEAR(table.sines[n], -bit[n], 1e-14);
    }
}

// ---- tables

TEST(CkksLaneFunctions, TablesOfAllIntegers) {
  std::mt19937_64 random(2);
  const LaneParty& with = integer_party();
  double seen = 0;
  for (const unsigned p : {4u, 8u, 16u, 32u})
    for (const unsigned to : {2u, 4u, 16u, 32u}) {
      SCOPED_TRACE(std::to_string(p) + " to " + std::to_string(to));
      Integers all(3 * length);
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint8_t>(i % p);
      const LaneArray x = with.encrypt_integers(all, p, length);
      std::vector<LaneTable> tables{LaneTable(p, to - 1), {}, {}, random_table(random, p, to)};
      for (unsigned m = 0; m < p; ++m) {
        tables[1].push_back(m % to);
        tables[2].push_back(m < p / 2 ? 0 : to - 1);
      }
      // All tables of all vectors; they share the bootstrap.
      std::vector<LaneLookup> where;
      for (std::uint32_t table = 0; table < 4; ++table)
        for (std::uint32_t v = 0; v < 3; ++v) where.push_back({v, table});
      const std::uint64_t before = with.lanes.counts().bootstraps;
      const LaneArray y = with.lanes.apply(x, tables, where, to);
      EXPECT_EQ(with.lanes.counts().bootstraps, before + 3);
      EXPECT_EQ(y.messages().p, to);
      EXPECT_EQ(y.info().level, with.server.parameters().depth());
      Integers want;
      for (const LaneTable& table : tables)
        for (const std::uint8_t m : all) want.push_back(static_cast<std::uint8_t>(table[m]));
      EXPECT_EQ(with.decrypt_integers(y, &seen), want);
    }
  EXPECT_GT(seen, 0x1p-9);  // the bound is not absurd
}

TEST(CkksLaneFunctions, ATableForEachVector) {
  std::mt19937_64 random(3);
  const LaneParty& with = integer_party();
  const Integers a = random_integers(random, 16, 4 * length);
  const LaneArray x = with.encrypt_integers(a, 16, length);
  std::vector<LaneTable> tables;
  for (unsigned i = 0; i < 3; ++i) tables.push_back(random_table(random, 16, 8));
  const std::vector<LaneLookup> where{{3, 0}, {0, 2}, {1, 0}, {3, 1}, {3, 0}};
  const Integers got = with.decrypt_integers(with.lanes.apply(x, tables, where, 8));
  ASSERT_EQ(got.size(), 5 * length);
  for (std::size_t i = 0; i < where.size(); ++i)
    for (std::size_t k = 0; k < length; ++k)
      EXPECT_EQ(got[i * length + k], tables[where[i].table][a[where[i].vector * length + k]]);
}

/// In a row for all vectors, and one for each; of lanes that fill their slots and others.
TEST(CkksLaneFunctions, ATableForEachLane) {
  std::mt19937_64 random(16);
  const LaneParty& with = integer_party();
  double seen = 0;
  for (const std::size_t lanes : {length, length - 16})
    for (const unsigned p : {4u, 8u, 16u, 32u})
      for (const unsigned to : {2u, 16u}) {
        SCOPED_TRACE(std::to_string(p) + " to " + std::to_string(to));
        const Integers a = random_integers(random, p, 3 * lanes);
        const LaneArray x = with.encrypt_integers(a, p, lanes);
        std::vector<LaneTable> tables(6);
        for (LaneTable& table : tables) table = random_table(random, p, to);
        for (const std::size_t rows : {1u, 3u}) {
          std::vector<std::uint32_t> which(rows * lanes);
          for (auto& each : which) each = static_cast<std::uint32_t>(random() % tables.size());
          const Integers got = with.decrypt_integers(with.lanes.apply(x, tables, which, to), &seen);
          for (std::size_t i = 0; i < a.size(); ++i)
            EXPECT_EQ(got[i], tables[which[i % which.size()]][a[i]]) << i;
        }
      }
  EXPECT_GT(seen, 0x1p-9);
  const LaneArray x = with.encrypt_integers(Integers(2 * length, 3), 4, length);
  const std::vector<LaneTable> tables{LaneTable(4, 1)};
  const auto apply = [&](std::size_t size, std::uint32_t table) {
    static_cast<void>(with.lanes.apply(x, tables, std::vector<std::uint32_t>(size, table), 4));
  };
  EXPECT_THROW(apply(length - 1, 0), ShapeError);
  EXPECT_THROW(apply(length, 1), ParameterError);
}

/// Integers that are off by as much as is stated: no result is farther than the bound, and the
/// worst one is not far from it.
TEST(CkksLaneFunctions, ErrorsAreSquared) {
  std::mt19937_64 random(17);
  const LaneParty& with = integer_party();
  const EncodedBootstrap maps = encode_bootstrap(with.server, length);
  for (unsigned bits = 2; bits <= 5; ++bits)
    for (const double off : {0.0625, 0.015625}) {
      SCOPED_TRACE(std::to_string(bits) + " bits off by " + std::to_string(off));
      const unsigned p = 1u << bits;
      const Integers a = random_integers(random, p, 2 * length);
      std::vector<double> values;
      for (const std::uint8_t m : a)
        values.push_back((m + 0.5 + (random() % 2 == 0 ? off : -off)) / p);
      const Array x = with.server.upload(
          with.client.encrypt(values, {.length = length, .bound = Bounds(0, 1)}));
      std::vector<TableTask> tasks(4);
      std::vector<std::vector<std::int64_t>> tables(4, std::vector<std::int64_t>(p));
      std::vector<double> bounds;
      for (std::size_t k = 0; k < tables.size(); ++k) {
        for (std::int64_t m = 0; m < p; ++m)
          tables[k][static_cast<std::size_t>(m)] = k == 0 ? m
                                                   : k == 1
                                                       ? m % 2
                                                       : static_cast<std::int64_t>(random() % p);
        tasks[k].polynomial = table_polynomial(tables[k]);
        bounds.push_back(error_of_table(with.server, maps, bits, tasks[k].polynomial,
                                        off + p * 48 * std::exp2(x.info().error), 48));
        tasks[k].error = bounds[k] / 48;
        tasks[k].largest = p;
      }
      const std::vector<Array> found = bootstrap_tables(with.server, x, tasks, maps);
      for (std::size_t k = 0; k < tables.size(); ++k) {
        const auto raw = with.client.decrypt_raw(with.server.download(found[k]));
        double worst = 0;
        for (std::size_t i = 0; i < a.size(); ++i)
          worst = std::max(worst, std::abs(raw[i].real() - static_cast<double>(tables[k][a[i]])));
        EXPECT_LE(worst, bounds[k]);
        EXPECT_GE(worst, bounds[k] / 8);
      }
    }
}

/// 20 tables, one after the other: errors come to rest, and all of them are within the bound.
TEST(CkksLaneFunctions, ChainsOfTables) {
  std::mt19937_64 random(4);
  const LaneParty& with = integer_party();
  for (const unsigned p : {4u, 16u, 32u}) {
    SCOPED_TRACE(p);
    Integers a = random_integers(random, p, 2 * length);
    LaneArray x = with.encrypt_integers(a, p, length);
    double seen = 0;
    for (unsigned i = 0; i < 20; ++i) {
      LaneTable table = random_table(random, p, p);
      if (i % 3 == 0) {
        std::iota(table.begin(), table.end(), 0u);
        std::ranges::shuffle(table, random);  // so that all values stay
      }
      x = with.lanes.apply(x, std::span(&table, 1), all_of(x), p);
      a = mapped(
          a, [&](std::int64_t m) { return table[static_cast<std::size_t>(m)]; }, p);
      EXPECT_EQ(with.decrypt_integers(x, &seen), a);
      if (i % 4 == 3) {
        const Integers b = random_integers(random, p, 2 * length);
        x = with.lanes.add(x, with.encrypt_integers(b, p, length));
        a = mapped(
            a, b, [](std::int64_t u, std::int64_t v) { return u + v; }, p);
      }
    }
    EXPECT_EQ(with.decrypt_integers(x, &seen), a);
    EXPECT_GT(seen, 0x1p-9);
  }
}

TEST(CkksLaneFunctions, TablesOfTwoInputs) {
  std::mt19937_64 random(9);
  const LaneParty& with = integer_party();
  for (const auto& [p, q] : {std::pair{4u, 4u}, {4u, 8u}, {8u, 4u}}) {
    const Integers a = random_integers(random, p, length), b = random_integers(random, q, length);
    const LaneArray x = with.encrypt_integers(a, p, length),
                    y = with.encrypt_integers(b, q, length);
    const LaneTable table = random_table(random, p * q, 16);
    const auto expect = [&](const LaneArray& u, const Integers& m, const LaneArray& v,
                            const Integers& n) {
      const LaneArray joined = with.lanes.join(u, v);
      const Integers got =
          with.decrypt_integers(with.lanes.apply(joined, std::span(&table, 1), all_of(u), 16));
      for (std::size_t i = 0; i < length; ++i) EXPECT_EQ(got[i], table[m[i] + p * n[i]]);
    };
    expect(x, a, y, b);
    expect(with.lanes.add(x, x),
           mapped(
               a, [](std::int64_t m) { return 2 * m; }, p),
           with.lanes.multiply_add(y, -1, 0),
           mapped(
               b, [](std::int64_t m) { return -m; }, q));
  }
}

}  // namespace
}  // namespace whorl::ckks
