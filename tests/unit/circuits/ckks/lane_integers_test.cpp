// Integers modulo p in lanes, against integers in clear.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "circuits/ckks/bootstrap.h"
#include "circuits/ckks/lane_errors.h"
#include "circuits/ckks/table_fit.h"
#include "support/lane_integers.h"
#include "support/test.h"

namespace whorl::ckks {
namespace {

// ---- sums and products

TEST(CkksLaneIntegers, SumsWrap) {
  std::mt19937_64 random(5);
  const LaneParty& with = integer_party();
  const Lanes& lanes = with.lanes;
  for (const unsigned p : {4u, 8u, 16u, 32u}) {
    SCOPED_TRACE(p);
    const Integers a = random_integers(random, p, 2 * length),
                   b = random_integers(random, p, length);
    const LaneArray x = with.encrypt_integers(a, p, length),
                    y = with.encrypt_integers(b, p, length);
    const std::uint64_t before = lanes.counts().bootstraps;
    EXPECT_EQ(with.decrypt_integers(lanes.add(x, y)),
              mapped(
                  a, b, [](std::int64_t u, std::int64_t v) { return u + v; }, p));
    EXPECT_EQ(with.decrypt_integers(lanes.subtract(x, y)),
              mapped(
                  a, b, [](std::int64_t u, std::int64_t v) { return u - v; }, p));
    for (const std::int64_t by : {0, 1, -1, 3, 7, 1000, -12345})
      EXPECT_EQ(with.decrypt_integers(lanes.multiply_add(x, by, by + 5)),
                mapped(
                    a, [&](std::int64_t m) { return by * m + by + 5; }, p));
    EXPECT_EQ(lanes.counts().bootstraps, before);  // of fresh ones all are free
    // Values far outside 0 … p - 1 wrap in the next bootstrap.
    LaneArray sum = x;
    Integers want = a;
    for (unsigned i = 0; i < 8; ++i) {
      sum = i % 2 == 0 ? lanes.subtract(sum, y) : lanes.add(lanes.add(sum, sum), x);
      want = mapped(
          want, i % 2 == 0 ? b : a,
          [&](std::int64_t u, std::int64_t v) { return i % 2 == 0 ? u - v : 2 * u + v; }, p);
    }
    const LaneMessages messages = sum.messages();
    EXPECT_LT(messages.low, -2 * static_cast<std::int64_t>(p));
    EXPECT_GT(messages.high, 2 * static_cast<std::int64_t>(p));
    EXPECT_EQ(with.decrypt_integers(sum), want);
    lanes.refresh(std::span(&sum, 1));
    EXPECT_EQ(sum.messages().low, 0);
    EXPECT_EQ(sum.messages().high, p - 1);
    EXPECT_EQ(with.decrypt_integers(sum), want);
  }
}

/// Sums of so many results of tables that operands are refreshed on the way.
TEST(CkksLaneIntegers, LongSumsOfResults) {
  std::mt19937_64 random(6);
  const LaneParty& with = integer_party();
  const Integers a = random_integers(random, 16, length);
  const LaneTable table = random_table(random, 16, 16);
  const LaneArray x = with.encrypt_integers(a, 16, length);
  const LaneArray y = with.lanes.apply(x, std::span(&table, 1), all_of(x), 16);
  const std::uint64_t before = with.lanes.counts().bootstraps;
  LaneArray sum = y;
  Integers b = mapped(
               a, [&](std::int64_t m) { return table[static_cast<std::size_t>(m)]; }, 16),
           want = b;
  for (unsigned i = 0; i < 12; ++i) {
    sum = with.lanes.add(with.lanes.multiply_add(sum, 3, 1), y);
    want = mapped(
        want, b, [](std::int64_t u, std::int64_t v) { return 3 * u + 1 + v; }, 16);
    EXPECT_LE(sum.error(), with.lanes.limit(16));
    EXPECT_LE(sum.messages().high, 1 << 21);
  }
  EXPECT_EQ(with.decrypt_integers(sum), want);
  EXPECT_GT(with.lanes.counts().bootstraps, before);
}

TEST(CkksLaneIntegers, ProductsAndChoices) {
  std::mt19937_64 random(7);
  const LaneParty& with = integer_party();
  const Lanes& lanes = with.lanes;
  for (const unsigned p : {4u, 8u, 16u, 32u}) {
    SCOPED_TRACE(p);
    Integers a = random_integers(random, p, 2 * length);
    const Integers b = random_integers(random, p, 2 * length);
    const Bits s = random_bits(random, length);
    LaneArray x = with.encrypt_integers(a, p, length);
    const LaneArray y = with.encrypt_integers(b, p, length), choice = with.encrypt(s, length);
    for (unsigned round = 0; round < 3; ++round) {
      const LaneArray product = lanes.multiply(x, y);
      const Integers products = mapped(
          a, b, [](std::int64_t u, std::int64_t v) { return u * v; }, p);
      EXPECT_EQ(with.decrypt_integers(product), products);
      Integers chosen(products);
      for (std::size_t i = 0; i < chosen.size(); ++i)
        chosen[i] = s[i % length] ? products[i] : b[i];
      const LaneArray found = lanes.select(choice, product, y);
      EXPECT_EQ(with.decrypt_integers(found), chosen);
      x = lanes.add(found, y);  // wide, with an error
      a = mapped(
          chosen, b, [](std::int64_t u, std::int64_t v) { return u + v; }, p);
    }
    EXPECT_EQ(with.decrypt_integers(lanes.select(lanes.bit_not(choice), x, y)), [&] {
      Integers out(b);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = s[i % length] ? b[i] : a[i];
      return out;
    }());
  }
}

/// Operands whose errors would be too large for one product are multiplied by their bits.
TEST(CkksLaneIntegers, ProductsOfResultsOfTables) {
  std::mt19937_64 random(15);
  const LaneParty& with = integer_party();
  for (const unsigned p : {4u, 8u, 16u, 32u}) {
    SCOPED_TRACE(p);
    const Integers a = random_integers(random, p, 2 * length),
                   b = random_integers(random, p, length);
    const double error = with.lanes.limit(p) / 2;
    const auto off = [&](const Integers& messages) {
      std::vector<double> values;
      for (const std::uint8_t m : messages)
        values.push_back(m + (random() % 2 == 0 ? error : -error));
      const Array given =
          with.server.upload(with.client.encrypt(values, {.length = length, .bound = Bounds(p)}));
      return with.lanes.take_in(with.server.with_more_error(
          with.server.with_bound(given, Bounds(0, p - 1.0)), error / deviations));
    };
    const std::uint64_t before = with.lanes.counts().bootstraps;
    EXPECT_EQ(with.decrypt_integers(with.lanes.multiply(off(a), off(b))),
              mapped(
                  a, b, [](std::int64_t u, std::int64_t v) { return u * v; }, p));
    EXPECT_EQ(with.lanes.counts().bootstraps, before + 4);
  }
}

// ---- conversions and comparisons

TEST(CkksLaneIntegers, BitsAndIntegers) {
  std::mt19937_64 random(8);
  const LaneParty& with = integer_party();
  const Lanes& lanes = with.lanes;
  for (const unsigned p : {4u, 8u, 16u, 32u}) {
    SCOPED_TRACE(p);
    const unsigned bits = static_cast<unsigned>(std::countr_zero(p));
    std::vector<LaneArray> arrays;
    Integers want(2 * length);
    for (unsigned j = 0; j < bits; ++j) {
      const Bits bit = random_bits(random, 2 * length);
      arrays.push_back(with.encrypt(bit, length));
      if (j % 2 == 1) arrays.back() = lanes.bit_not(arrays.back());
      for (std::size_t i = 0; i < want.size(); ++i)
        want[i] = static_cast<std::uint8_t>(want[i] | (j % 2 == 1 ? 1 - bit[i] : bit[i]) << j);
    }
    const std::uint64_t before = lanes.counts().bootstraps;
    const LaneArray x = lanes.integers(arrays, p);
    EXPECT_EQ(lanes.counts().bootstraps, before);
    EXPECT_EQ(with.decrypt_integers(x), want);
    const auto expect_bits = [&](const std::vector<LaneArray>& found, const Integers& of) {
      ASSERT_EQ(found.size(), bits);
      for (unsigned j = 0; j < bits; ++j)
        EXPECT_EQ(with.decrypt(found[j]), mapped(
                                              of, [&](std::int64_t m) { return m >> j & 1; }, 2));
    };
    expect_bits(lanes.bits(x), want);
    expect_bits(lanes.bits(lanes.multiply_add(x, -3, 1)),
                mapped(
                    want, [](std::int64_t m) { return 1 - 3 * m; }, p));
    // Fewer bits of a larger modulus, bits with errors, and one modulus after another.
    LaneArray dirty = arrays[0];
    Bits first = mapped(
        want, [](std::int64_t m) { return m & 1; }, 2);
    for (unsigned i = 0; i < 3; ++i) {
      const Bits other = random_bits(random, 2 * length);
      dirty = lanes.bit_xor(dirty, with.encrypt(other, length));
      first = each(first, other, [](int u, int v) { return u ^ v; });
    }
    EXPECT_EQ(with.decrypt_integers(lanes.integers(std::span(&dirty, 1), p)), first);
    if (p > 4) {
      EXPECT_EQ(with.decrypt_integers(lanes.modulo(lanes.multiply_add(x, 5, 0), p / 2)),
                mapped(
                    want, [](std::int64_t m) { return 5 * m; }, p / 2));
    }
  }
}

TEST(CkksLaneIntegers, Comparisons) {
  const LaneParty& with = wide_party();
  constexpr std::size_t all = 512;
  const Lanes& lanes = with.lanes;
  for (const unsigned p : {4u, 8u, 16u, 32u}) {
    SCOPED_TRACE(p);
    // All pairs.
    Integers a, b;
    for (unsigned i = 0; i < p * p; ++i) {
      a.push_back(static_cast<std::uint8_t>(i % p));
      b.push_back(static_cast<std::uint8_t>(i / p));
    }
    a.resize((a.size() + all - 1) / all * all);
    b.resize(a.size());
    const LaneArray x = with.encrypt_integers(a, p, all), y = with.encrypt_integers(b, p, all);
    const auto expect = [&](const LaneArray& u, const Integers& m, const LaneArray& v,
                            const Integers& n) {
      const auto want = [&](const std::function<std::int64_t(std::int64_t, std::int64_t)>& f) {
        return mapped(m, n, f, 32);
      };
      using I = std::int64_t;
      EXPECT_EQ(with.decrypt(lanes.less(u, v)), want([](I i, I k) { return i < k; }));
      EXPECT_EQ(with.decrypt(lanes.equal(u, v)), want([](I i, I k) { return i == k; }));
      EXPECT_EQ(with.decrypt_integers(lanes.minimum(u, v)),
                want([](I i, I k) { return std::min(i, k); }));
      EXPECT_EQ(with.decrypt_integers(lanes.maximum(u, v)),
                want([](I i, I k) { return std::max(i, k); }));
    };
    expect(x, a, y, b);
    // One vector beside all, and integers that have left 0 … p - 1.
    const std::uint32_t first = 0;
    const Integers row(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(all));
    const LaneArray wide = lanes.multiply_add(x, 3, 2);
    expect(wide,
           mapped(
               a, [](std::int64_t m) { return 3 * m + 2; }, p),
           lanes.take(y, std::span(&first, 1)), row);
  }
}

// ---- as arrays

TEST(CkksLaneIntegers, Arrays) {
  std::mt19937_64 random(10);
  const LaneParty& with = integer_party();
  const Lanes& lanes = with.lanes;
  const Integers a = random_integers(random, 16, 3 * length);
  const LaneArray x = with.encrypt_integers(a, 16, length);
  Integers want(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) want[i] = a[i / length * length + (i + 3) % length];
  EXPECT_EQ(with.decrypt_integers(lanes.rotate(x, 3)), want);
  const std::array<std::uint32_t, 2> indices{2, 0};
  const LaneArray some = lanes.take(x, indices), wide = lanes.multiply_add(some, 2, 3);
  const Integers joined = with.decrypt_integers(lanes.concatenate(std::array{wide, x}));
  EXPECT_TRUE(std::equal(a.begin(), a.end(), joined.begin() + 2 * length));
  for (std::size_t i = 0; i < length; ++i) EXPECT_EQ(joined[i], (2 * a[2 * length + i] + 3) % 16);
  EXPECT_EQ(with.decrypt_integers(lanes.constant(x, 13)), Integers(3 * length, 13));
  const Integers known = random_integers(random, 16, 2 * length);
  EXPECT_EQ(with.decrypt_integers(lanes.known(x, known)), known);
  // A copy is refreshed with it, bits and several moduli in one call.
  const Bits bits = random_bits(random, length);
  const LaneArray copy = x, bit = with.encrypt(bits, length), eight = lanes.modulo(x, 8);
  const double before = x.error();
  lanes.refresh(std::array{x, bit, copy, eight});
  EXPECT_NE(copy.error(), before);
  EXPECT_EQ(with.decrypt_integers(copy), a);
  EXPECT_EQ(with.decrypt(bit), bits);
  EXPECT_EQ(with.decrypt_integers(eight), mapped(
                                              a, [](std::int64_t m) { return m; }, 8));
  lanes.clean(std::span(&x, 1));  // nothing is done
  EXPECT_EQ(with.decrypt_integers(x), a);
}

TEST(CkksLaneIntegers, ADryRunCountsAndStatesTheSame) {
  const Parameters p = parameters_of(5);
  const LaneParty with(p, length);
  const DryRun run(p);
  const Lanes dry(run.server(), encode_bootstrap(run.server(), length));
  std::mt19937_64 random(11);
  const LaneTable table = random_table(random, 16, 16);
  const auto program = [&](const Lanes& lanes, LaneArray x, LaneArray y) {
    for (unsigned i = 0; i < 4; ++i) {
      const LaneArray sum = lanes.add(lanes.multiply_add(x, 3, 1), y);
      x = lanes.apply(sum, std::span(&table, 1), all_of(sum), 16);
      y = lanes.select(lanes.less(x, y), lanes.multiply(x, y), lanes.minimum(x, y));
    }
    return std::array{lanes.finish(x), lanes.finish(y),
                      lanes.finish(lanes.integers(lanes.bits(x), 16))};
  };
  const Integers a = random_integers(random, 16, 3 * length);
  const auto got = program(with.lanes, with.encrypt_integers(a, 16, length),
                           with.encrypt_integers(a, 16, length));
  const Array fresh = run.fresh(Packing::real, 3, length, Bounds(0, 15), true);
  const auto planned = program(dry, dry.take_in(fresh), dry.take_in(fresh));
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(planned[i].info().error, got[i].info().error);
    EXPECT_EQ(planned[i].info().level, got[i].info().level);
  }
  EXPECT_EQ(dry.log2_failure(), with.lanes.log2_failure());
  EXPECT_LT(dry.log2_failure(), -64);
  EXPECT_EQ(dry.counts().bootstraps, with.lanes.counts().bootstraps);
  EXPECT_EQ(dry.counts().products, with.lanes.counts().products);
}

/// Without levels for cleanings integers are refreshed by a table.
TEST(CkksLaneIntegers, FewLevels) {
  std::mt19937_64 random(12);
  const LaneParty with(parameters_of(4, 2), length);
  const Integers a = random_integers(random, 16, 2 * length);
  LaneArray x = with.encrypt_integers(a, 16, length);
  x = with.lanes.multiply_add(x, -1, 0);
  with.lanes.refresh(std::span(&x, 1));
  EXPECT_EQ(x.info().level, with.server.parameters().depth());
  EXPECT_EQ(with.decrypt_integers(x), mapped(
                                          a, [](std::int64_t m) { return -m; }, 16));
}

/// With the secure set errors of worst tables come to rest, and no p runs away.
TEST(CkksLaneIntegers, BoundsOfTheNamedSetComeToRest) {
  const Parameters p = Parameters::create(
      for_bits({.scale_bits = 40, .lift = 6, .degree = 15, .doublings = 5}), true);
  const DryRun run(p);
  const Lanes lanes(run.server(), encode_bootstrap(run.server(), p.slots()));
  for (unsigned modulus = 4; modulus <= 32; modulus *= 2) {
    SCOPED_TRACE(modulus);
    LaneArray x =
        lanes.take_in(run.fresh(Packing::real, 2, p.slots(), Bounds(0, modulus - 1.0), false));
    // 0 and p - 1, so that it has the largest slopes of 200 of them.
    std::mt19937_64 random(13);
    LaneTable worst;
    double most = 0;
    for (unsigned i = 0; i < 200; ++i) {
      std::vector<std::int64_t> entries(modulus);
      for (auto& entry : entries) entry = random() % 2 == 0 ? 0 : modulus - 1;
      const double root = slopes_of(table_polynomial(entries), modulus).all.root;
      if (root < most) continue;
      most = root;
      worst.assign(entries.begin(), entries.end());
    }
    std::vector<double> errors;
    for (unsigned i = 0; i < 40; ++i) {
      x = lanes.apply(x, std::span(&worst, 1), all_of(x), modulus);
      errors.push_back(x.error());
    }
    const double end = *std::max_element(errors.begin() + 20, errors.end()),
                 middle = *std::max_element(errors.begin() + 5, errors.begin() + 20);
    EXPECT_LE(end, middle * 1.001);
    EXPECT_LT(end, 1.0 / 16);
    static_cast<void>(lanes.finish(lanes.multiply(lanes.add(x, x), x)));
  }
}

TEST(CkksLaneIntegers, Refusals) {
  std::mt19937_64 random(14);
  const LaneParty with(parameters_of(4), length);
  const Lanes& lanes = with.lanes;
  const Integers a = random_integers(random, 16, 2 * length);
  const LaneArray x = with.encrypt_integers(a, 16, length),
                  four = with.encrypt_integers(Integers(2 * length, 3), 4, length),
                  bit = with.encrypt(Bits(2 * length, 1), length);
  const auto upload = [&](double low, double high) {
    return with.server.upload(with.client.encrypt(std::vector<double>(length, 1),
                                                  {.length = length, .bound = Bounds(low, high)}));
  };
  EXPECT_THROW(static_cast<void>(lanes.take_in(upload(0, 2))), EncodingError);
  EXPECT_THROW(static_cast<void>(lanes.take_in(upload(0, 31))), EncodingError);
  EXPECT_THROW(static_cast<void>(lanes.take_in(upload(-1, 15))), EncodingError);
  // Gates take bits, and operations of integers take integers of one p.
  EXPECT_THROW(static_cast<void>(lanes.bit_and(x, x)), ParameterError);
  EXPECT_THROW(static_cast<void>(lanes.bit_not(x)), ParameterError);
  EXPECT_THROW(static_cast<void>(lanes.count_ones(std::array{x})), ParameterError);
  EXPECT_THROW(static_cast<void>(lanes.add(bit, bit)), ParameterError);
  EXPECT_THROW(static_cast<void>(lanes.add(x, four)), ParameterError);
  EXPECT_THROW(static_cast<void>(lanes.select(x, x, x)), ParameterError);
  EXPECT_THROW(static_cast<void>(lanes.concatenate(std::array{x, four})), ParameterError);
  EXPECT_THROW(static_cast<void>(lanes.join(x, four)), ParameterError);
  EXPECT_THROW(static_cast<void>(lanes.modulo(four, 16)), ParameterError);
  EXPECT_THROW(static_cast<void>(lanes.modulo(x, 6)), ParameterError);
  EXPECT_THROW(static_cast<void>(lanes.limit(32)), ParameterError);
  EXPECT_THROW(static_cast<void>(lanes.integers(std::array{x}, 16)), ParameterError);
  EXPECT_THROW(static_cast<void>(lanes.integers(std::array{bit, bit, bit}, 4)), ParameterError);
  EXPECT_THROW(static_cast<void>(lanes.integers(std::array{bit}, 32)), ParameterError);
  const std::array<std::uint32_t, 3> three{0, 0, 0};
  EXPECT_THROW(static_cast<void>(lanes.add(lanes.take(x, three), x)), ShapeError);
  EXPECT_THROW(static_cast<void>(lanes.constant(x, 16)), ParameterError);
  EXPECT_THROW(static_cast<void>(lanes.known(x, Integers(length, 16))), ParameterError);
  // Tables.
  const LaneTable table = random_table(random, 16, 16), shorter(8, 0), larger(16, 16);
  const auto apply = [&](const LaneTable& with_table, const std::vector<LaneLookup>& where,
                         unsigned p) {
    static_cast<void>(lanes.apply(x, std::span(&with_table, 1), where, p));
  };
  EXPECT_THROW(apply(shorter, {{0, 0}}, 16), ParameterError);
  EXPECT_THROW(apply(larger, {{0, 0}}, 16), ParameterError);
  EXPECT_THROW(apply(table, {{2, 0}}, 16), ParameterError);
  EXPECT_THROW(apply(table, {{0, 1}}, 16), ParameterError);
  EXPECT_THROW(apply(table, {}, 16), ParameterError);
  EXPECT_THROW(apply(table, {{0, 0}}, 32), ParameterError);
  EXPECT_THROW(static_cast<void>(lanes.apply(bit, std::span(&table, 1), all_of(bit), 16)),
               ParameterError);
  // Parameters for one bit, and for real numbers.
  const LaneParty one(parameters_of(1), length);
  EXPECT_THROW(static_cast<void>(one.lanes.limit(4)), ParameterError);
  EXPECT_THROW(
      static_cast<void>(one.lanes.integers(std::array{one.encrypt(Bits(length, 1), length)}, 4)),
      ParameterError);
}

/// Clients take what finish() gives, and no value that is far from whole numbers.
TEST(CkksLaneIntegers, ClientsRefuse) {
  const LaneParty with(parameters_of(4), length);
  const LaneArray x = with.encrypt_integers(Integers(length, 5), 16, length);
  const Ciphertexts right = with.server.download(with.lanes.finish(x));
  EXPECT_EQ(with.client.decrypt_integers(right, 16), Integers(length, 5));
  EXPECT_EQ(with.client.decrypt_integers(right, 4), Integers(length, 1));
  for (const unsigned p : {2u, 3u, 32u})
    EXPECT_THROW(static_cast<void>(with.client.decrypt_integers(right, p)), ParameterError);
  EXPECT_THROW(static_cast<void>(with.client.decrypt_bits(right)), EncodingError);
  const auto half = with.server.upload(with.client.encrypt(
      std::vector<double>(length, 5.5), {.length = length, .bound = Bounds(0, 15)}));
  EXPECT_THROW(static_cast<void>(with.client.decrypt_integers(with.server.download(half), 16)),
               EncodingError);
  EXPECT_THROW(static_cast<void>(with.client.decrypt_integers(
                   with.server.download(with.server.lower(half, 1)), 16)),
               NoiseError);
  EXPECT_THROW(static_cast<void>(with.client.decrypt_integers(right, 16)), NoiseError);
}

}  // namespace
}  // namespace whorl::ckks
