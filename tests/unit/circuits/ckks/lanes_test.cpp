#include "whorl/circuits/ckks/lanes.h"

#include <algorithm>
#include <thread>

#include "circuits/ckks/bootstrap.h"
#include "schemes/ckks/named_sets.h"
#include "support/ckks_lanes.h"
#include "support/test.h"

namespace whorl::ckks {
namespace {

using Party = LaneParty;

TEST(CkksLanes, GatesOfAllInputs) {
  const Party party(small_ring(5), 512);
  const Bits a = {0, 0, 0, 0, 1, 1, 1, 1}, b = {0, 0, 1, 1, 0, 0, 1, 1},
             c = {0, 1, 0, 1, 0, 1, 0, 1};
  Bits all[3];
  for (std::size_t i = 0; i < 512; ++i) {
    all[0].push_back(a[i % 8]);
    all[1].push_back(b[i % 8]);
    all[2].push_back(c[i % 8]);
  }
  const LaneArray x = party.encrypt(all[0], 512), y = party.encrypt(all[1], 512),
                  z = party.encrypt(all[2], 512);
  const Lanes& lanes = party.lanes;
  const auto expect = [&](const LaneArray& got, const auto& f) {
    const Bits bits = party.decrypt(got);
    ASSERT_EQ(bits.size(), 512u);
    for (std::size_t i = 0; i < bits.size(); ++i)
      EXPECT_EQ(bits[i], f(a[i % 8], b[i % 8], c[i % 8])) << i;
  };
  expect(lanes.bit_not(x), [](int p, int, int) { return 1 - p; });
  expect(lanes.bit_and(x, y), [](int p, int q, int) { return p & q; });
  expect(lanes.bit_or(x, y), [](int p, int q, int) { return p | q; });
  expect(lanes.bit_xor(x, y), [](int p, int q, int) { return p ^ q; });
  expect(lanes.bit_xor(x, x), [](int, int, int) { return 0; });
  expect(lanes.select(x, y, z), [](int p, int q, int r) { return p ? q : r; });
  const auto [sum, carry] = lanes.full_add(x, y, z);
  expect(sum, [](int p, int q, int r) { return (p + q + r) % 2; });
  expect(carry, [](int p, int q, int r) { return (p + q + r) / 2; });
  EXPECT_EQ(party.lanes.counts().bootstraps, 0u);
}

/// Random gates on a pool of arrays, some of one ciphertext and some of three, in all slots and in
/// a part of them.
TEST(CkksLanes, RandomPrograms) {
  std::mt19937_64 random(3);
  const std::vector<std::pair<Parameters, std::uint64_t>> all_kinds{
      {small_ring(9), 512},
      {small_ring(9), 64},
      {small_ring(9), 48},
      {small_bits({.bits = 5, .levels = 9}), 512},
      {small_bits({.bits = 3, .levels = 7, .scale_bits = 36}), 48},
      {small_bits({.bits = 1, .levels = 4, .scale_bits = 35}), 512}};
  std::uint64_t cleanings = 0;
  for (const auto& [parameters, length] : all_kinds) {
    SCOPED_TRACE(parameters.literal().name + " " + std::to_string(length));
    const std::uint64_t slots = std::bit_ceil(length);
    const Party party(parameters, slots);
    const Lanes& lanes = party.lanes;
    std::vector<std::pair<LaneArray, Bits>> pool;
    const auto add = [&](std::size_t count) {
      const Bits bits = random_bits(random, count * length);
      pool.emplace_back(party.encrypt(bits, length), bits);
    };
    add(3);
    add(3);
    add(1);
    const auto spread = [&](const Bits& x, std::size_t size) {
      Bits out;
      while (out.size() < size) out.insert(out.end(), x.begin(), x.end());
      return out;
    };
    for (unsigned i = 0; i < 60; ++i) {
      const auto& [x, p] = pool[random() % pool.size()];
      const auto& [y, q] = pool[random() % pool.size()];
      const auto& [z, r] = pool[random() % pool.size()];
      const std::size_t size = std::max(p.size(), q.size()), all = std::max(size, r.size());
      const Bits a = spread(p, all), b = spread(q, all), c = spread(r, all);
      const auto gate = [&](LaneArray made, const auto& f) {
        pool.emplace_back(std::move(made), each(spread(p, size), spread(q, size), f));
      };
      switch (random() % 6) {
        case 0:
          gate(lanes.bit_and(x, y), [](int u, int v) { return u & v; });
          break;
        case 1:
          gate(lanes.bit_or(x, y), [](int u, int v) { return u | v; });
          break;
        case 2:
        case 3:
          gate(lanes.bit_xor(x, y), [](int u, int v) { return u ^ v; });
          break;
        case 4: {
          Bits want = each(a, b, [](int u, int v) { return u ^ v; });
          for (std::size_t k = 0; k < all; ++k) want[k] = a[k] ? b[k] : c[k];
          pool.emplace_back(lanes.select(x, y, z), want);
          break;
        }
        default: {
          auto made = lanes.full_add(x, y, z);
          Bits sum(all), carry(all);
          for (std::size_t k = 0; k < all; ++k) {
            sum[k] = (a[k] + b[k] + c[k]) % 2;
            carry[k] = (a[k] + b[k] + c[k]) / 2;
          }
          pool.emplace_back(made[0], sum);
          pool.emplace_back(made[1], carry);
        }
      }
      if (pool.size() > 9) pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(random() % 3));
    }
    for (const auto& [made, want] : pool) EXPECT_EQ(party.decrypt(made), want);
    EXPECT_GT(lanes.counts().bootstraps, 0u);
    EXPECT_LT(lanes.log2_failure(), -64);
    cleanings += lanes.counts().cleanings;
  }
  EXPECT_GT(cleanings, 0u);
}

/// As many vectors as fill coefficients, fewer and more, stay in their order; and errors that are
/// too large for many bits in a coefficient.
TEST(CkksLanes, RefreshesAnyNumberOfVectors) {
  std::mt19937_64 random(8);
  const Party party(small_bits({.bits = 5, .levels = 9}), 64);
  for (const std::size_t count : {1u, 2u, 5u, 6u, 10u, 11u, 23u}) {
    SCOPED_TRACE(count);
    const Bits bits = random_bits(random, count * 64), more = random_bits(random, count * 64);
    LaneArray x = party.encrypt(bits, 64);
    const LaneArray y = party.encrypt(more, 64);
    const std::array arrays{x, y};
    const std::uint64_t before = party.lanes.counts().bootstraps;
    party.lanes.refresh(arrays);
    EXPECT_EQ(party.lanes.counts().bootstraps, before + 2 * count);
    EXPECT_EQ(party.decrypt(x), bits);
    EXPECT_EQ(party.decrypt(y), more);
    // Down to the last level, with all errors that come together on the way.
    Bits want = bits;
    for (unsigned i = 0; i < 8; ++i) {
      x = party.lanes.bit_xor(x, y);
      want = each(want, more, [](int u, int v) { return u ^ v; });
    }
    party.lanes.refresh(std::span(&x, 1));
    EXPECT_EQ(x.info().level, party.server.parameters().depth());
    EXPECT_EQ(party.decrypt(x), want);
  }
}

TEST(CkksLanes, CountsOnes) {
  std::mt19937_64 random(9);
  const Party party(small_bits({.bits = 4, .levels = 7}), 64);
  for (const std::size_t arrays : {1u, 2u, 3u, 7u, 8u, 15u}) {
    SCOPED_TRACE(arrays);
    std::vector<LaneArray> all;
    std::vector<unsigned> want(3 * 64);
    for (std::size_t i = 0; i < arrays; ++i) {
      // Some are inverses, some were refreshed, and some have errors of several gates.
      Bits bits = random_bits(random, 3 * 64);
      LaneArray x = party.encrypt(bits, 64);
      for (unsigned gates = 0; i % 3 == 1 && gates < 6; ++gates) {
        const Bits other = random_bits(random, 3 * 64);
        x = party.lanes.bit_xor(x, party.encrypt(other, 64));
        bits = each(bits, other, [](int u, int v) { return u ^ v; });
      }
      if (i % 4 == 2) party.lanes.refresh(std::span(&x, 1));
      all.push_back(i % 2 == 0 ? x : party.lanes.bit_not(x));
      for (std::size_t k = 0; k < want.size(); ++k) want[k] += i % 2 == 0 ? bits[k] : 1u - bits[k];
    }
    const std::vector<LaneArray> found = party.lanes.count_ones(all);
    ASSERT_EQ(found.size(), std::bit_width(arrays));
    for (std::size_t j = 0; j < found.size(); ++j) {
      EXPECT_EQ(found[j].info().level, party.server.parameters().depth());
      const Bits bits = party.decrypt(found[j]);
      for (std::size_t k = 0; k < want.size(); ++k) EXPECT_EQ(bits[k], want[k] >> j & 1);
    }
  }
  const LaneArray x = party.encrypt(Bits(64, 1), 64);
  EXPECT_EQ(party.lanes.count_ones(std::vector<LaneArray>(16, x)).size(), 5u);
  EXPECT_THROW(static_cast<void>(party.lanes.count_ones({})), ParameterError);
  const Party plain(small_ring(5), 64);
  const std::vector<LaneArray> one{plain.encrypt(Bits(64, 1), 64)};
  EXPECT_THROW(static_cast<void>(plain.lanes.count_ones(one)), ParameterError);
}

/// The error of a long chain comes to rest.
TEST(CkksLanes, ErrorsDoNotGrowWithTheProgram) {
  std::mt19937_64 random(4);
  const Party party(small_ring(13), 512);
  Bits p = random_bits(random, 1024), q = random_bits(random, 1024);
  LaneArray x = party.encrypt(p, 512), y = party.encrypt(q, 512);
  double most = 0;
  for (unsigned i = 0; i < 150; ++i) {
    const LaneArray z = i % 2 == 0 ? party.lanes.bit_xor(x, y) : party.lanes.bit_or(x, y);
    const Bits r = each(p, q, [&](int u, int v) { return i % 2 == 0 ? u ^ v : u | v; });
    if (i >= 50) most = std::max(most, z.error());
    x = y;
    p = q;
    y = z;
    q = r;
    if (i % 7 == 0) {  // else all would soon be 1
      q = random_bits(random, 1024);
      y = party.encrypt(q, 512);
    }
  }
  EXPECT_EQ(party.decrypt(y), q);
  EXPECT_LE(most, party.lanes.limit());
}

TEST(CkksLanes, RotationsAndBatches) {
  const Party party(small_ring(5), 64, {}, {1, 3});
  std::mt19937_64 random(5);
  const Bits bits = random_bits(random, 3 * 64);
  const LaneArray x = party.encrypt(bits, 64);
  Bits want(bits.size());
  for (std::size_t i = 0; i < bits.size(); ++i) want[i] = bits[i / 64 * 64 + (i + 3) % 64];
  EXPECT_EQ(party.decrypt(party.lanes.rotate(x, 3)), want);
  EXPECT_THROW(static_cast<void>(party.lanes.rotate(x, 5)), MissingKeyError);
  const std::array<std::uint32_t, 2> indices{2, 0};
  const LaneArray some = party.lanes.take(x, indices);
  const std::array both{some, x};
  const Bits joined = party.decrypt(party.lanes.concatenate(both));
  EXPECT_TRUE(std::equal(joined.begin() + 64, joined.begin() + 128, bits.begin()));
  EXPECT_TRUE(std::equal(joined.begin() + 128, joined.end(), bits.begin()));
}

/// Copies share what was done for one of them.
TEST(CkksLanes, ArraysAreRefreshedOnce) {
  const Party party(small_ring(5), 64);
  std::mt19937_64 random(6);
  const Bits bits = random_bits(random, 2 * 64);
  const LaneArray x = party.encrypt(bits, 64), copy = x;
  const std::array both{x, copy};
  party.lanes.refresh(both);
  EXPECT_EQ(party.lanes.counts().bootstraps, 2u);
  EXPECT_EQ(copy.info().level, party.server.parameters().depth());
  const double before = x.error();
  party.lanes.clean(std::span(&x, 1));
  EXPECT_LT(copy.error(), before);
  EXPECT_EQ(party.decrypt(copy), bits);
}

TEST(CkksLanes, PairsAreRefreshedAsEachAlone) {
  const Parameters p = small_ring(5);
  for (const std::uint64_t slots : {512u, 64u}) {
    const Party party(p, slots);
    std::mt19937_64 random(7);
    std::vector<double> values(4 * slots);
    for (double& x : values) x = static_cast<double>(random() % 2001) / 1000 - 1;
    const Array x =
        party.server.lower(party.server.upload(party.client.encrypt(values, {.length = slots})),
                           p.least_bootstrap_level());
    const EncodedBootstrap maps = encode_bootstrap(party.server, slots);
    const Array y = bootstrap_pairs(party.server, x, maps);
    EXPECT_EQ(y.info().count, 4u);
    EXPECT_EQ(y.info().packing, Packing::real);
    EXPECT_EQ(y.info().level, p.depth());
    const auto got = party.client.decrypt_raw(party.server.download(y));
    double worst = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      worst = std::max(worst, std::abs(got[i].real() - values[i]));
    EXPECT_LT(worst, test::largest_error(y));
    const std::array<std::uint32_t, 3> odd{0, 1, 2};
    EXPECT_THROW(static_cast<void>(bootstrap_pairs(party.server, party.server.take(x, odd), maps)),
                 ShapeError);
  }
}

TEST(CkksLanes, ADryRunCountsAndStatesTheSame) {
  const Parameters p = small_ring(6);
  const Party party(p, 64);
  const DryRun run(p);
  const Lanes dry(run.server(), encode_bootstrap(run.server(), 64));
  const auto program = [](const Lanes& lanes, LaneArray x, LaneArray y) {
    for (unsigned i = 0; i < 12; ++i) {
      auto both = lanes.full_add(x, y, lanes.bit_not(x));
      x = both[0];
      y = lanes.bit_xor(both[1], y);
    }
    return lanes.finish(y);
  };
  std::mt19937_64 random(8);
  const Bits bits = random_bits(random, 3 * 64);
  const Array got = program(party.lanes, party.encrypt(bits, 64), party.encrypt(bits, 64));
  const Array fresh = run.fresh(Packing::real, 3, 64, Bounds(0, 1), true);
  const Array planned = program(dry, dry.take_in(fresh), dry.take_in(fresh));
  EXPECT_EQ(planned.info().error, got.info().error);
  EXPECT_EQ(planned.info().level, got.info().level);
  EXPECT_EQ(dry.log2_failure(), party.lanes.log2_failure());
  EXPECT_EQ(dry.counts().bootstraps, party.lanes.counts().bootstraps);
  EXPECT_EQ(dry.counts().cleanings, party.lanes.counts().cleanings);
  EXPECT_EQ(dry.counts().products, party.lanes.counts().products);
}

/// Sets whose refreshed arrays have no levels left for a cleaning behind an operation: refreshed
/// operands are not refreshed again. What takes more levels than there are is refused at once.
TEST(CkksLanes, FewLevelsServe) {
  const auto set = [](unsigned bits, unsigned levels) {
    ParameterLiteral literal = for_bits({.bits = bits, .levels = levels});
    literal.N = 65536;
    return Parameters::create(literal, true);
  };
  const auto bootstraps = [](const Parameters& p, std::size_t inputs, const auto& operation) {
    const DryRun dry(p);
    const Lanes lanes(dry.server(), encode_bootstrap(dry.server(), p.slots()));
    std::vector<LaneArray> fresh;
    for (std::size_t i = 0; i < inputs; ++i)
      fresh.push_back(lanes.take_in(dry.fresh(Packing::real, 1, p.slots(), Bounds(0, 1), true)));
    lanes.refresh(fresh);
    const std::uint64_t before = lanes.counts().bootstraps;
    operation(lanes, fresh);
    return lanes.counts().bootstraps - before;
  };
  const auto looks_up = [](const Lanes& lanes, const std::vector<LaneArray>& x) {
    const std::vector<std::uint8_t> table(std::size_t{1} << x.size(), 1);
    std::vector<std::vector<std::uint8_t>> tables{table};
    tables[0][3] = 0;
    static_cast<void>(lanes.lookup(x, tables));
  };
  EXPECT_EQ(bootstraps(set(3, 3), 8, looks_up), 0u);
  EXPECT_EQ(bootstraps(set(3, 4), 8, looks_up), 0u);
  EXPECT_EQ(bootstraps(set(4, 4), 5, looks_up), 0u);
  EXPECT_EQ(bootstraps(set(5, 2), 3,
                       [](const Lanes& lanes, const std::vector<LaneArray>& x) {
                         static_cast<void>(lanes.full_add(x[0], x[1], x[2]));
                         static_cast<void>(lanes.select(x[0], x[1], x[2]));
                       }),
            0u);
  EXPECT_THROW(bootstraps(set(5, 3), 16, looks_up), NoiseError);
}

TEST(CkksLanes, Refusals) {
  const Parameters p = small_ring(5);
  const Party party(p, 64);
  const std::vector<double> values(64, 0.5);
  const auto upload = [&](const Bounds& bound, Packing packing = Packing::real) {
    return party.server.upload(
        party.client.encrypt(values, {.length = 64, .bound = bound}, packing));
  };
  EXPECT_THROW(static_cast<void>(party.lanes.take_in(upload(1))), EncodingError);
  EXPECT_THROW(static_cast<void>(party.lanes.take_in(upload(1, Packing::coefficients))),
               EncodingError);
  const std::vector<double> longer(128, 0.5);
  EXPECT_THROW(static_cast<void>(party.lanes.take_in(party.server.upload(
                   party.client.encrypt(longer, {.length = 128, .bound = Bounds(0, 1)})))),
               ShapeError);
  const std::vector<double> many(3 * p.slots(), 1);
  const Party full(p, p.slots());
  EXPECT_THROW(static_cast<void>(full.lanes.take_in(full.server.upload(
                   full.client.encrypt(many, {.length = many.size(), .bound = Bounds(0, 1)})))),
               ShapeError);
  EXPECT_THROW(static_cast<void>(party.lanes.bit_not({})), ShapeError);
  // Probabilities.
  EXPECT_THROW(Lanes(party.server, encode_bootstrap(party.server, 64), {.most_log2_failure = 1}),
               ParameterError);
  const Lanes strict(party.server, encode_bootstrap(party.server, 64),
                     {.most_log2_failure = p.log2_failure() + 0.5});
  const Bits bits(128, 1);
  const LaneArray x = party.encrypt(bits, 64);
  EXPECT_THROW(strict.refresh(std::span(&x, 1)), NoiseError);
  // Other shapes of bootstraps.
  ParameterLiteral literal = p.literal();
  literal.bootstrap->coefficients_last = 1;
  // Decryption: what finish gives, and nothing else.
  const Array high =
      party.server.upload(party.client.encrypt(values, {.length = 64, .bound = Bounds(0, 1)}));
  EXPECT_THROW(static_cast<void>(party.client.decrypt_bits(party.server.download(high))),
               EncodingError);
  EXPECT_EQ(party.decrypt(x), bits);
  EXPECT_THROW(static_cast<void>(
                   party.client.decrypt_bits(party.server.download(party.server.lower(high, 0)))),
               NoiseError);
  // From then on, nothing at all.
  EXPECT_THROW(
      static_cast<void>(party.client.decrypt_bits(party.server.download(party.lanes.finish(x)))),
      NoiseError);
}

TEST(CkksLanes, ErrorsOutsideGatesAreFollowedToo) {
  const Party party(small_ring(5), 64, {}, {1});
  std::mt19937_64 random(12);
  const Bits bits = random_bits(random, 64);
  // Inputs with larger errors.
  const auto with_error = [&](double error) {
    const std::vector<double> values(bits.begin(), bits.end());
    const Array given =
        party.server.upload(party.client.encrypt(values, {.length = 64, .bound = Bounds(0, 1)}));
    return party.lanes.take_in(party.server.with_more_error(given, error / 48));
  };
  EXPECT_THROW(static_cast<void>(with_error(0.2)), NoiseError);
  const LaneArray turned = party.lanes.rotate(with_error(0.1), 1);
  EXPECT_LT(turned.error(), party.lanes.limit());
  Bits want = bits;
  std::ranges::rotate(want, want.begin() + 1);
  EXPECT_EQ(party.decrypt(turned), want);
}

TEST(CkksLanes, ABitAndItsInverseAreRefreshedOnce) {
  const Party party(small_ring(5), 64);
  std::mt19937_64 random(13);
  const Bits p = random_bits(random, 64), q = random_bits(random, 64);
  LaneArray x = party.encrypt(p, 64);
  const LaneArray y = party.encrypt(q, 64);
  while (x.info().level > party.server.parameters().least_bootstrap_level())
    x = party.lanes.bit_and(x, x);
  const std::uint64_t before = party.lanes.counts().bootstraps;
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(party.decrypt(party.lanes.bit_or(x, y)),
              each(p, q, [](int u, int v) { return u | v; }));
    EXPECT_EQ(party.decrypt(party.lanes.bit_and(party.lanes.bit_not(x), y)),
              each(p, q, [](int u, int v) { return (1 - u) & v; }));
  }
  EXPECT_EQ(party.lanes.counts().bootstraps, before + 1);
}

/// Some clean and refresh what others take: all results keep the levels that a refresh wants.
TEST(CkksLanes, ThreadsChangeWhatOthersTake) {
  const Party party(small_ring(5), 64);
  const unsigned least = party.server.parameters().least_bootstrap_level();
  std::mt19937_64 random(10);
  const Bits p = random_bits(random, 64), q = random_bits(random, 64);
  const Bits want = each(p, q, [](int u, int v) { return u ^ v; });
  const LaneArray y = party.encrypt(q, 64);
  for (unsigned round = 0; round < 8; ++round) {
    LaneArray x = party.encrypt(p, 64);
    while (x.info().level > least + 2) x = party.lanes.bit_and(x, x);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 2; ++i) {
      threads.emplace_back([&] { party.lanes.clean(std::span(&x, 1)); });
      threads.emplace_back([&] {
        for (unsigned k = 0; k < 3; ++k) {
          const LaneArray z = party.lanes.bit_xor(x, y);
          EXPECT_GE(z.info().level, least);
          EXPECT_EQ(party.decrypt(z), want);
        }
      });
    }
    for (auto& thread : threads) thread.join();
  }
}

TEST(CkksLanes, SeveralThreadsShareArrays) {
  const Party party(small_ring(5), 64);
  std::mt19937_64 random(9);
  const Bits bits = random_bits(random, 2 * 64);
  const LaneArray x = party.encrypt(bits, 64);
  std::vector<std::thread> threads;
  std::array<Bits, 3> got;
  for (Bits& own : got)
    threads.emplace_back([&] {
      LaneArray y = x;
      for (unsigned i = 0; i < 8; ++i) y = party.lanes.bit_xor(x, party.lanes.bit_not(y));
      own = party.decrypt(y);
    });
  for (auto& thread : threads) thread.join();
  for (const Bits& own : got) EXPECT_EQ(own, bits);
}

/// What a server has stored another one with the keys goes on with, with all that is known of it.
TEST(CkksLanes, StoredArraysGoOn) {
  std::mt19937_64 random(10);
  for (const Parameters& p : {small_ring(7), small_bits({.bits = 3, .levels = 7})}) {
    const Party party(p, 64, {}, {1});
    const Bits a = random_bits(random, 3 * 64), b = random_bits(random, 3 * 64);
    const LaneArray x = party.encrypt(a, 64), y = party.encrypt(b, 64);
    const Server later(party.client.evaluation_keys(Party::request(p, 64, {})),
                       {.device = test::tested_device, .threads = 1});
    const Lanes lanes(later, encode_bootstrap(later, 64));
    const unsigned least = p.least_bootstrap_level();
    for (const LaneArray& z :
         {x, party.lanes.bit_xor(x, y), party.lanes.bit_not(party.lanes.bit_xor(x, y)),
          party.lanes.constant(x, true)}) {
      const Bits want = party.decrypt(z);
      for (const std::optional<unsigned> level : {std::optional<unsigned>(), {least}}) {
        const Array kept = party.lanes.store(z, level);
        const Ciphertexts host = party.server.download(kept);
        EXPECT_THROW(static_cast<void>(party.client.decrypt_bits(host)), EncodingError);
        const LaneArray back = lanes.take_in(later.upload(host));
        EXPECT_EQ(back.info().level, level.value_or(z.info().level));
        EXPECT_GE(back.error(), level ? 0 : z.error());
        EXPECT_LE(back.error(), z.error() + 0x1p-12);
        const auto decrypted = [&](const LaneArray& of) {
          return party.client.decrypt_bits(later.download(lanes.finish(of)));
        };
        EXPECT_EQ(decrypted(lanes.bit_not(back)),
                  each(want, want, [](int u, int) { return 1 - u; }));
        EXPECT_EQ(decrypted(lanes.bit_xor(back, back)), Bits(3 * 64, 0));
      }
      EXPECT_THROW(static_cast<void>(party.lanes.store(z, least - 1)), ParameterError);
      EXPECT_THROW(static_cast<void>(party.lanes.store(z, z.info().level + 1)), ParameterError);
    }
  }
}

/// A file that states less than can be is believed as far as a fresh encryption is.
TEST(CkksLanes, StoredArraysStateWhatCanBe) {
  std::mt19937_64 random(11);
  const Parameters p = small_bits({.bits = 3, .levels = 7});
  const Party party(p, 64);
  const Bits a = random_bits(random, 64);
  const LaneArray fresh = party.encrypt(a, 64), x = party.lanes.bit_xor(fresh, fresh);
  const Ciphertexts host = party.server.download(party.lanes.store(x));
  const auto taken = [&](Ciphertexts c) { return party.lanes.take_in(party.server.upload(c)); };
  Ciphertexts c = host;
  EXPECT_EQ(taken(c).error(), x.error());
  c.info.error = -190;
  EXPECT_DOUBLE_EQ(taken(c).error(), fresh.error());
  c = host;
  c.info.bound = std::log2(1.01);
  c.info.high = 1.01;
  EXPECT_THROW(static_cast<void>(taken(c)), EncodingError);
  c = host;
  c.info.error = std::log2(0.2 / 48);
  EXPECT_THROW(static_cast<void>(taken(c)), NoiseError);
  c = host;
  c.info.scale *= 2;
  EXPECT_THROW(static_cast<void>(taken(c)), EncodingError);
  c = host;
  c.info.level += 1;
  EXPECT_THROW(static_cast<void>(taken(c)), Error);
  EXPECT_THROW(static_cast<void>(taken(party.server.download(party.lanes.finish(x)))),
               EncodingError);
}

}  // namespace
}  // namespace whorl::ckks
