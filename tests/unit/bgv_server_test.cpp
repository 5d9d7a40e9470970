// Every operation of a server against the same on vectors in clear.
#include "whorl/bgv/server.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <mutex>
#include <thread>

#include "support/bgv_sets.h"
#include "support/targets.h"
#include "whorl/error.h"

namespace whorl::bgv {
namespace {

using test::bgv_insecure;
using test::bgv_pair;
using test::BgvShape;
using test::Clear;

struct Value {
  Clear clear;
  Array array;
};

/// A client, a server of the device under test, and vectors of both.
struct Scene {
  explicit Scene(const Parameters& parameters, const test::Executor& executor, unsigned threads = 1)
      : p(parameters),
        packing(p.has_slots() ? Packing::slots : Packing::coefficients),
        client(bgv_pair(p).client.secret_key()),
        server(bgv_pair(p).keys, {executor.name(), threads, {}}),
        count(1 + random.below(5)),
        trace(__FILE__, __LINE__, p.literal().name + ", batch " + std::to_string(count)) {}

  Parameters p;
  Packing packing;
  Client client;  ///< its tables are those of one SIMD target
  Server server;
  test::Random random;
  std::size_t count;
  ::testing::ScopedTrace trace;

  Clear clear(std::size_t rows) { return Clear::random(p, packing, rows, random); }
  Clear clear() { return clear(count); }
  Value fresh() {
    Clear m = clear();
    return {m, server.upload(client.encrypt(m.as_signed(), packing))};
  }
  /// Decrypts to what is due, with more budget than the bound says, which is positive.
  void expect(const Array& a, const Clear& due, const char* what) const {
    const Ciphertexts c = server.download(a);
    EXPECT_EQ(c.info.count, due.count()) << what;
    EXPECT_EQ(c.data.size(), std::size_t{c.info.parts} * c.info.limbs * c.info.count * p.N());
    EXPECT_GT(a.noise_budget(), 0) << what;
    for (const double budget : client.noise_budget(c)) EXPECT_GE(budget, a.noise_budget()) << what;
    ASSERT_EQ(client.decrypt(c) == due.values, true) << what;
  }
};

const BgvShape shapes[] = {{1024, 65537, 30, 6, 2},   {1024, 65537, 50, 4, 1},
                           {2048, 786433, 31, 7, 3},  {1024, 12289, 60, 3, 3},
                           {1024, 2, 30, 5, 5},       {1024, 4, 28, 5, 2},
                           {1024, 256, 50, 3, 1},     {1024, 1000003, 30, 7, 3},
                           {1024, 1000000, 30, 7, 2}, {1024, 1000000, 50, 5, 2}};

template <class Body>
void on_each_scene(const Body& body) {
  test::on_each_device([&](const test::Executor& executor) {
    for (const BgvShape& shape : shapes) {
      Scene scene(bgv_insecure(shape), executor);
      body(scene);
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(BgvServer, UploadAndDownload) {
  on_each_scene([](Scene& scene) {
    const Clear m = scene.clear();
    const Ciphertexts c = scene.client.encrypt(m.as_signed(), scene.packing);
    const Array a = scene.server.upload(c);
    const Ciphertexts back = scene.server.download(a);
    EXPECT_EQ(a.info().noise, c.info.noise);
    EXPECT_EQ(a.info().parts, 2u);
    EXPECT_FALSE(back.seed);
    ASSERT_EQ(back.data.size(), c.data.size());
    EXPECT_EQ(std::memcmp(back.data.data(), c.data.data(), c.data.bytes()), 0);
    EXPECT_GE(a.bytes(), c.data.bytes());
    scene.expect(a, m, "upload");
    scene.server.synchronise();
  });
}

TEST(BgvServer, Sums) {
  on_each_scene([](Scene& scene) {
    const Server& server = scene.server;
    const Value a = scene.fresh(), b = scene.fresh();
    scene.expect(server.add(a.array, b.array), a.clear + b.clear, "add");
    scene.expect(server.sub(a.array, b.array), a.clear - b.clear, "sub");
    scene.expect(server.add(a.array, a.array), a.clear + a.clear, "add to itself");
    scene.expect(server.negate(a.array), a.clear.zero() - a.clear, "negate");
    scene.expect(a.array, a.clear, "operands stay");
  });
}

TEST(BgvServer, PlainAndScalar) {
  on_each_scene([](Scene& scene) {
    const Server& server = scene.server;
    const Value a = scene.fresh();
    for (const std::size_t rows : {std::size_t{1}, scene.count}) {
      const Clear m = scene.clear(rows);
      const auto values = m.as_signed();
      scene.expect(server.add_plain(a.array, values), a.clear + m, "add_plain");
      scene.expect(server.sub_plain(a.array, values), a.clear - m, "sub_plain");
      scene.expect(server.multiply_plain(a.array, values), a.clear * m, "multiply_plain");
    }
    const auto t = static_cast<std::int64_t>(scene.p.t());
    for (const std::int64_t v : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, t / 2, t - 1,
                                 t, scene.random.between(-t * t, t * t)}) {
      SCOPED_TRACE(v);
      const Clear constant = a.clear.constant(v);
      scene.expect(server.add_scalar(a.array, v), a.clear + constant, "add_scalar");
      scene.expect(server.multiply_scalar(a.array, v), a.clear * constant, "multiply_scalar");
    }
  });
}

/// Bits, noise, factor and the rest.
void expect_same(const Server& server, const Array& a, const Array& b, const char* what) {
  const Ciphertexts x = server.download(a), y = server.download(b);
  EXPECT_EQ(x.info.count, y.info.count) << what;
  EXPECT_EQ(x.info.parts, y.info.parts) << what;
  EXPECT_EQ(x.info.limbs, y.info.limbs) << what;
  EXPECT_EQ(x.info.factor, y.info.factor) << what;
  EXPECT_EQ(x.info.noise, y.info.noise) << what;
  ASSERT_EQ(x.data.bytes(), y.data.bytes()) << what;
  EXPECT_EQ(std::memcmp(x.data.data(), y.data.data(), x.data.bytes()), 0) << what << ": bits";
}

TEST(BgvServer, PreparedPlaintexts) {
  on_each_scene([](Scene& scene) {
    const Server& server = scene.server;
    const Value a = scene.fresh();
    for (const std::size_t rows : {std::size_t{1}, scene.count}) {
      const Clear m = scene.clear(rows);
      const auto values = m.as_signed();
      const Plaintexts p = server.encode(values, scene.packing);
      EXPECT_EQ(p.count(), rows);
      EXPECT_EQ(p.packing(), scene.packing);
      EXPECT_EQ(p.bytes(), rows * scene.p.limbs() * scene.p.N() * scene.p.word_bytes());
      scene.expect(server.add_plain(a.array, p), a.clear + m, "add_plain");
      scene.expect(server.sub_plain(a.array, p), a.clear - m, "sub_plain");
      scene.expect(server.multiply_plain(a.array, p), a.clear * m, "multiply_plain");
      // On every level, and so with every factor.
      for (unsigned limbs = scene.p.limbs(); limbs > 0; --limbs) {
        const Array low = server.mod_switch(a.array, limbs);
        expect_same(server, server.add_plain(low, p), server.add_plain(low, values), "add_plain");
        expect_same(server, server.sub_plain(low, p), server.sub_plain(low, values), "sub_plain");
        expect_same(server, server.multiply_plain(low, p), server.multiply_plain(low, values),
                    "multiply_plain");
      }
      if (rows == 1) continue;
      const std::vector<std::uint32_t> turned = {1, 0, 1};
      const Plaintexts q = server.take(p, turned);
      EXPECT_EQ(q.count(), 3u);
      const Array three = server.take(a.array, std::vector<std::uint32_t>{0, 0, 0});
      const auto again = m.taken(turned).as_signed();
      expect_same(server, server.add_plain(three, q), server.add_plain(three, again), "taken");
      const Array low = server.mod_switch(three, scene.p.limbs() - 1);
      expect_same(server, server.add_plain(low, q), server.add_plain(low, again), "taken");
    }
  });
}

TEST(BgvServer, OneMeetsMany) {
  on_each_scene([](Scene& scene) {
    const Server& server = scene.server;
    scene.count = 1;
    const Value one = scene.fresh();
    scene.count = 2 + scene.random.below(4);
    const Value many = scene.fresh();
    const Clear repeated = one.clear.taken(std::vector<std::uint32_t>(scene.count, 0));
    for (const unsigned limbs : {scene.p.limbs(), scene.p.limbs() - 1}) {
      const Array low = server.mod_switch(one.array, limbs);
      scene.expect(server.add(low, many.array), repeated + many.clear, "one + many");
      scene.expect(server.add(many.array, low), many.clear + repeated, "many + one");
      scene.expect(server.sub(low, many.array), repeated - many.clear, "one - many");
      scene.expect(server.sub(many.array, low), many.clear - repeated, "many - one");
    }
    const Clear product = repeated * many.clear;
    scene.expect(server.multiply(one.array, many.array), product, "one · many");
    scene.expect(server.multiply(many.array, one.array), product, "many · one");
    const Array three = server.multiply(one.array, one.array, false);
    const Clear square = repeated * repeated;
    scene.expect(server.add(three, many.array), square + many.clear, "one of three parts + many");
    scene.expect(server.sub(many.array, three), many.clear - square, "many - one of three parts");
    // One ciphertext and many plaintexts.
    const auto values = many.clear.as_signed();
    const Plaintexts prepared = server.encode(values, scene.packing);
    scene.expect(server.add_plain(one.array, values), repeated + many.clear, "one + rows");
    scene.expect(server.sub_plain(one.array, prepared), repeated - many.clear, "one - rows");
    scene.expect(server.multiply_plain(one.array, values), product, "one · rows");
    expect_same(server, server.multiply_plain(one.array, values),
                server.multiply_plain(one.array, prepared), "one · rows, prepared");
    scene.expect(one.array, one.clear, "operands stay");
  });
}

TEST(BgvServer, TakeAndConcatenate) {
  on_each_scene([](Scene& scene) {
    const Server& server = scene.server;
    const Value a = scene.fresh(), b = scene.fresh();
    std::vector<std::uint32_t> indices(1 + scene.random.below(9));
    for (auto& i : indices) i = static_cast<std::uint32_t>(scene.random.below(scene.count));
    const Array three = server.multiply(a.array, b.array, false);
    const Clear ab = a.clear * b.clear;
    for (const auto& [array, clear] : {std::pair(a.array, a.clear), {three, ab}}) {
      const Array taken = server.take(array, indices);
      EXPECT_EQ(taken.info().noise, array.info().noise);
      EXPECT_EQ(taken.info().factor, array.info().factor);
      scene.expect(taken, clear.taken(indices), "take");
    }
    const Array short_one = server.take(b.array, std::vector<std::uint32_t>{0});
    const Clear first = b.clear.taken({0});
    const std::vector<Array> alike = {a.array, short_one, a.array};
    scene.expect(server.concatenate(alike), a.clear.followed_by(first).followed_by(a.clear),
                 "concatenate");
    expect_same(server, server.concatenate({&a.array, 1}), a.array, "concatenate one");
    const std::vector<Array> products = {three, server.multiply(b.array, b.array, false)};
    scene.expect(server.concatenate(products), ab.followed_by(b.clear * b.clear),
                 "concatenate three parts");
    // Any levels, and factors that differ at the same level.
    const Array product = server.relinearise(three);
    for (int i = 0; i < 6; ++i) {
      std::vector<Array> arrays;
      Clear due{scene.p.N(), scene.p.t(), scene.packing, {}};
      unsigned least = scene.p.limbs();
      for (std::size_t k = 1 + scene.random.below(4); k > 0; --k) {
        const bool fresh = scene.random.below(2);
        const Array& from = fresh ? a.array : product;
        const auto limbs = 1 + static_cast<unsigned>(scene.random.below(from.info().limbs));
        arrays.push_back(server.mod_switch(from, limbs));
        due = due.followed_by(fresh ? a.clear : ab);
        least = std::min(least, limbs);
      }
      const Array all = server.concatenate(arrays);
      EXPECT_EQ(all.info().limbs, least);
      EXPECT_EQ(all.info().count, due.count());
      if (all.noise_budget() > 0) scene.expect(all, due, "concatenate across levels");
    }
  });
}

// As a collector of garbage does.
TEST(BgvServer, ArraysAreDroppedByOtherThreads) {
  const Parameters p = bgv_insecure();
  Scene scene(p, test::Executor(test::tested_device), 2);
  const Server& server = scene.server;
  const Value a = scene.fresh(), b = scene.fresh();
  const Plaintexts plain = server.encode(b.clear.as_signed(), scene.packing);
  std::mutex mutex;
  std::vector<Array> arrays;
  std::vector<Plaintexts> plaintexts;
  bool done = false;
  std::vector<std::thread> droppers;
  for (int i = 0; i < 2; ++i)
    droppers.emplace_back([&] {
      for (bool last = false; !last;) {
        std::vector<Array> some;
        std::vector<Plaintexts> others;
        {
          const std::scoped_lock lock(mutex);
          last = done;
          some.swap(arrays);
          others.swap(plaintexts);
        }
      }
    });
  const Clear due = (a.clear * b.clear + b.clear) * b.clear;
  for (int i = 0; i < 50; ++i) {
    const Array product = server.multiply(a.array, b.array);
    const Array sum = server.add_plain(product, plain);
    const Plaintexts taken = server.take(plain, std::vector<std::uint32_t>(scene.count, 0));
    {
      const std::scoped_lock lock(mutex);
      arrays.push_back(product);
      arrays.push_back(server.take(product, std::vector<std::uint32_t>{0}));
      plaintexts.push_back(taken);
    }
    if (i % 10 == 0) scene.expect(server.multiply_plain(sum, plain), due, "while others drop");
    if (HasFatalFailure()) break;
  }
  {
    const std::scoped_lock lock(mutex);
    done = true;
  }
  for (auto& thread : droppers) thread.join();
}

TEST(BgvServer, Products) {
  on_each_scene([](Scene& scene) {
    const Server& server = scene.server;
    const Value a = scene.fresh(), b = scene.fresh();
    const Clear ab = a.clear * b.clear;
    const Array product = server.multiply(a.array, b.array);
    EXPECT_EQ(product.info().parts, 2u);
    scene.expect(product, ab, "multiply");
    const Array three = server.multiply(a.array, b.array, false);
    EXPECT_EQ(three.info().parts, 3u);
    scene.expect(three, ab, "multiply without relinearisation");
    const Array two = server.relinearise(three);
    EXPECT_EQ(two.info().parts, 2u);
    scene.expect(two, ab, "relinearise");
    const Clear squared = a.clear * a.clear;
    scene.expect(server.square(a.array), squared, "square");
    const Array square = server.square(a.array, false);
    EXPECT_EQ(square.info().parts, 3u);
    scene.expect(square, squared, "square without relinearisation");
    // Parts of different number.
    scene.expect(server.add(three, a.array), ab + a.clear, "three and two parts");
    scene.expect(server.add(a.array, three), ab + a.clear, "two and three parts");
    scene.expect(server.sub(three, a.array), ab - a.clear, "three less two parts");
    scene.expect(server.sub(a.array, three), a.clear - ab, "two less three parts");
    scene.expect(server.negate(three), ab.zero() - ab, "negate three parts");
    const Clear m = scene.clear(1);
    scene.expect(server.add_plain(three, m.as_signed()), ab + m, "add_plain to three parts");
    scene.expect(server.mod_switch(three, three.info().limbs - 1), ab, "mod_switch of three parts");
  });
}

TEST(BgvServer, MoreThanThreeParts) {
  test::on_each_device([](const test::Executor& executor) {
    for (const BgvShape& shape :
         {BgvShape{1024, 65537, 30, 11, 3}, {1024, 65537, 50, 7, 2}, {1024, 256, 30, 8, 2}}) {
      Scene scene(bgv_insecure(shape), executor);
      const Server& server = scene.server;
      const Value a = scene.fresh(), b = scene.fresh(), c = scene.fresh();
      const Array three = server.multiply(a.array, b.array, false);
      const Clear ab = a.clear * b.clear, abc = ab * c.clear;
      const Array four = server.multiply(three, c.array, false);
      EXPECT_EQ(four.info().parts, 4u);
      scene.expect(four, abc, "four parts");
      scene.expect(server.relinearise(four), abc, "four parts to two");
      const Array five = server.square(three, false);
      EXPECT_EQ(five.info().parts, 5u);
      scene.expect(five, ab * ab, "five parts");
      scene.expect(server.relinearise(five), ab * ab, "five parts to two");
      scene.expect(server.sub(five, four), ab * ab - abc, "five less four parts");
      scene.expect(server.multiply(three, c.array), abc, "three by two, relinearised");
      if (scene.packing == Packing::slots)
        scene.expect(server.rotate(four, 1), abc.rotated(1), "rotation of four parts");
      // Six parts want a key that is not there.
      const Array six = server.multiply(five, a.array, false);
      EXPECT_EQ(six.info().parts, 6u);
      EXPECT_THROW(server.relinearise(six), KeyMismatchError);
      EXPECT_THROW(server.multiply(five, a.array), KeyMismatchError);
      const Array ten = server.multiply(five, six, false);
      EXPECT_EQ(ten.info().parts, 10u);
      EXPECT_EQ(server.download(ten).info.parts, 10u);
      EXPECT_THROW(server.multiply(ten, ten, false), ShapeError);
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(BgvServer, Rotations) {
  on_each_scene([](Scene& scene) {
    if (scene.packing != Packing::slots) return;
    const Server& server = scene.server;
    const Value a = scene.fresh();
    const std::int64_t half = scene.p.N() / 2;
    std::vector<std::int64_t> columns = {0,        1,     -1,       3,         half,
                                         1 + half, -half, half / 2, -half / 2, 8};
    const auto many = server.rotate_many(a.array, columns);
    ASSERT_EQ(many.size(), columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      SCOPED_TRACE(columns[i]);
      const Array one = server.rotate(a.array, columns[i]);
      scene.expect(one, a.clear.rotated(columns[i]), "rotate");
      const Ciphertexts x = server.download(one), y = server.download(many[i]);
      ASSERT_EQ(x.data.bytes(), y.data.bytes());
      EXPECT_EQ(std::memcmp(x.data.data(), y.data.data(), x.data.bytes()), 0) << "hoisted differs";
      EXPECT_EQ(x.info.noise, y.info.noise);
    }
    EXPECT_TRUE(server.rotate_many(a.array, {}).empty());
    scene.expect(server.swap_rows(a.array), a.clear.swapped(), "swap_rows");
    scene.expect(server.swap_rows(server.rotate(a.array, 1)), a.clear.rotated(1).swapped(),
                 "rotated and swapped");
    // On fewer limbs, of which the last digit has fewer too.
    for (unsigned limbs = scene.p.limbs(); limbs > 2; --limbs) {
      const Array low = server.mod_switch(a.array, limbs - 1);
      if (low.noise_budget() < 12) break;
      scene.expect(server.rotate(low, 3), a.clear.rotated(3), "rotate on fewer limbs");
    }
    for (const std::uint32_t width : {1u, 2u, 8u, scene.p.N() / 2}) {
      const Array sum = server.inner_sum(a.array, width);
      Clear due = a.clear;
      for (std::uint32_t step = 1; step < width; step *= 2) due = due + due.rotated(step);
      Clear slow = a.clear;
      if (width <= 8) {
        for (std::uint32_t k = 1; k < width; ++k) slow = slow + a.clear.rotated(k);
        EXPECT_EQ(slow.values, due.values);
      }
      if (sum.noise_budget() > 0) scene.expect(sum, due, "inner_sum");
    }
  });
}

TEST(BgvServer, LevelsAndFactors) {
  on_each_scene([](Scene& scene) {
    const Server& server = scene.server;
    const Value a = scene.fresh(), b = scene.fresh(), c = scene.fresh();
    const unsigned L = scene.p.limbs();
    const math::Modulus<std::uint64_t> t(scene.p.t());
    std::uint64_t factor = 1;
    for (unsigned limbs = L; limbs >= 1; --limbs) {
      const Array low = server.mod_switch(a.array, limbs);
      EXPECT_EQ(low.info().limbs, limbs);
      EXPECT_EQ(low.info().factor, factor);
      if (low.noise_budget() > 1) scene.expect(low, a.clear, "mod_switch");
      if (limbs > 1)
        factor = t.mul(factor, t.inverse(scene.p.literal().chain[limbs - 1] % t.value()));
      // Different levels and factors meet.
      for (unsigned other = L; other >= 1; --other) {
        const Array high = server.mod_switch(b.array, other);
        const Array sum = server.add(low, high), difference = server.sub(high, low);
        EXPECT_EQ(sum.info().limbs, std::min(limbs, other));
        if (sum.noise_budget() > 0) scene.expect(sum, a.clear + b.clear, "add across levels");
        if (difference.noise_budget() > 0)
          scene.expect(difference, b.clear - a.clear, "sub across levels");
        if (other != limbs + 1 && other != L) continue;
        const Array product = server.multiply(low, high);
        EXPECT_LE(product.info().limbs, std::min(limbs, other));
        if (product.noise_budget() > 0)
          scene.expect(product, a.clear * b.clear, "multiply across levels");
      }
      const Clear m = scene.clear(1);
      if (low.noise_budget() > 10) {
        scene.expect(server.add_plain(low, m.as_signed()), a.clear + m, "add_plain with a factor");
        scene.expect(server.sub_plain(low, m.as_signed()), a.clear - m, "sub_plain with a factor");
        scene.expect(server.add_scalar(low, -5), a.clear + a.clear.constant(-5),
                     "add_scalar with a factor");
      }
      const Array times = server.multiply_plain(low, m.as_signed());
      if (times.noise_budget() > 0)
        scene.expect(times, a.clear * m, "multiply_plain with a factor");
    }
    // A product, dropped by hand, plus what has another factor at the same limbs.
    const Array product = server.multiply(a.array, b.array);
    const Clear ab = a.clear * b.clear;
    for (unsigned limbs = product.info().limbs; limbs >= 2; --limbs) {
      const Array low = server.mod_switch(product, limbs),
                  other = server.mod_switch(c.array, limbs);
      const Array sum = server.add(low, other), difference = server.sub(other, low);
      if (sum.noise_budget() > 0) scene.expect(sum, ab + c.clear, "equal limbs, other factors");
      if (difference.noise_budget() > 0)
        scene.expect(difference, c.clear - ab, "equal limbs, other factors");
    }
    // Both products of dropped ciphertexts: the factor is a square.
    const Array low = server.mod_switch(a.array, L - 1);
    const Array squared = server.square(low);
    const Array sum = server.add(squared, low);
    if (sum.noise_budget() > 0)
      scene.expect(sum, a.clear * a.clear + a.clear, "a square and its root");
  });
}

TEST(BgvServer, Shrink) {
  on_each_scene([](Scene& scene) {
    const Server& server = scene.server;
    const Value a = scene.fresh();
    for (const double spare : {0.5, 4.0, 8.0, 30.0}) {
      const Array small = server.shrink(a.array, spare);
      EXPECT_LE(small.info().limbs, scene.p.limbs());
      EXPECT_GE(small.noise_budget(), std::min(spare, a.array.noise_budget()));
      scene.expect(small, a.clear, "shrink");
      if (small.info().limbs > 1) {
        EXPECT_LT(server.mod_switch(small, small.info().limbs - 1).noise_budget(), spare);
      }
    }
    EXPECT_EQ(server.shrink(a.array, 1e9).info().limbs, scene.p.limbs());
  });
}

TEST(BgvServer, ThreadsDoNotChangeBits) {
  test::on_each_device([](const test::Executor& executor) {
    const Parameters p = bgv_insecure({1024, 65537, 30, 6, 2});
    Scene scene(p, executor);
    const Server other(bgv_pair(p).keys, {executor.name(), 3, {}});
    const Clear m = scene.clear(), n = scene.clear();
    const Ciphertexts x = scene.client.encrypt(m.as_signed()),
                      y = scene.client.encrypt(n.as_signed());
    const auto run = [&](const Server& server) {
      const Array product = server.multiply(server.upload(x), server.upload(y));
      return server.download(server.add(server.rotate(product, 1), server.swap_rows(product)));
    };
    const Ciphertexts a = run(scene.server), b = run(other);
    ASSERT_EQ(a.data.bytes(), b.data.bytes());
    EXPECT_EQ(std::memcmp(a.data.data(), b.data.data(), a.data.bytes()), 0);
  });
}

TEST(BgvServer, ArraysOutliveTheirServer) {
  const Parameters p = bgv_insecure();
  const auto& [client, keys] = bgv_pair(p);
  Array a;
  EXPECT_EQ(a.bytes(), 0u);
  {
    const Server server(keys, {test::tested_device, 1, {}});
    a = server.upload(client.encrypt(std::vector<std::int64_t>(1024, 5)));
  }
  EXPECT_GT(a.bytes(), 0u);
  EXPECT_EQ(a.info().count, 1u);
  Plaintexts m;
  EXPECT_EQ(m.bytes(), 0u);
  EXPECT_EQ(m.count(), 0u);
  m = Server(keys, {test::tested_device, 1, {}})
          .encode(std::vector<std::int64_t>(1024, 5), Packing::slots);
  EXPECT_GT(m.bytes(), 0u);
}

// docs/bgv.md: a key is 2·digits·(L + K)·N words on the device; its seeded half travels.
TEST(BgvServer, KeyBytes) {
  on_each_scene([](Scene& scene) {
    const Parameters& p = scene.p;
    const std::size_t polynomials = std::size_t{p.digits()} * (p.limbs() + p.special());
    const std::size_t half = polynomials * p.N() * p.word_bytes();
    const std::size_t keys = bgv_pair(p).keys.keys.size();
    EXPECT_EQ(scene.server.key_bytes(), keys * 2 * half);
    EXPECT_EQ(bgv_pair(p).keys.bytes(), keys * (half + 32 + 8));
  });
  Requirements needs;
  needs.depth = 24;
  needs.plain_modulus = 786433;
  const Parameters deep = Parameters::choose(needs);
  KeyRequest request;
  for (std::int64_t columns = 1; columns <= 16; ++columns) request.rotations.push_back(columns);
  EXPECT_LT(2 * key_bytes(deep, request), std::size_t{8'000'000'000}) << deep.literal().name;
}

TEST(BgvServer, Refusals) {
  const Parameters p = bgv_insecure({1024, 65537, 30, 4, 2});
  const auto& [client, keys] = bgv_pair(p);
  const ServerOptions options{test::tested_device, 1, {}};
  const Server server(keys, options), twin(keys, options);
  EXPECT_EQ(server.parameters(), p);
  EXPECT_EQ(server.key_id(), client.key_id());
  EXPECT_EQ(server.device().substr(0, 3), std::string(test::tested_device).substr(0, 3));
  EXPECT_GT(server.key_bytes(), keys.bytes());
  const std::vector<std::int64_t> row(1024, 3), two(2048, 4);
  const Ciphertexts good = client.encrypt(row);
  const Array a = server.upload(good), pair = server.upload(client.encrypt(two)),
              packed = server.upload(client.encrypt(row, Packing::coefficients));
  // Others' objects.
  const Client other(p), elsewhere(bgv_insecure({1024, 12289, 30, 4, 2}));
  EXPECT_THROW(server.upload(other.encrypt(row)), KeyMismatchError);
  EXPECT_THROW(server.upload(elsewhere.encrypt(row)), ParameterMismatchError);
  EXPECT_THROW(twin.download(a), DeviceError);
  EXPECT_THROW(twin.add(a, a), DeviceError);
  const Array empty;
  EXPECT_THROW(server.download(empty), ShapeError);
  EXPECT_THROW(server.negate(empty), ShapeError);
  EXPECT_THROW(server.inner_sum(empty, 1), ShapeError);
  EXPECT_THROW(server.rotate(empty, 1), ShapeError);
  // Shapes and packings.
  const Array three = server.take(a, std::vector<std::uint32_t>{0, 0, 0});
  for (const auto& operation : {&Server::add, &Server::sub}) {
    EXPECT_THROW((server.*operation)(three, pair), ShapeError);
    EXPECT_THROW((server.*operation)(a, packed), EncodingError);
    EXPECT_THROW((server.*operation)(a, empty), ShapeError);
  }
  EXPECT_THROW(server.multiply(three, pair), ShapeError);
  EXPECT_THROW(server.multiply(a, packed), EncodingError);
  EXPECT_THROW(server.rotate(packed, 1), EncodingError);
  EXPECT_THROW(server.swap_rows(packed), EncodingError);
  EXPECT_THROW(server.inner_sum(packed, 2), EncodingError);
  EXPECT_THROW(server.add_plain(three, two), ShapeError);
  EXPECT_THROW(server.add_plain(a, std::vector<std::int64_t>(1023)), ShapeError);
  EXPECT_THROW(server.sub_plain(a, std::vector<std::int64_t>()), ShapeError);
  EXPECT_THROW(server.multiply_plain(pair, std::vector<std::int64_t>(3 * 1024)), ShapeError);
  EXPECT_NO_THROW(server.multiply_plain(pair, row));
  const Plaintexts plain = server.encode(two, Packing::slots);
  const Plaintexts coefficients = server.encode(row, Packing::coefficients), nothing;
  for (const auto operation :
       {static_cast<Array (Server::*)(const Array&, const Plaintexts&) const>(&Server::add_plain),
        static_cast<Array (Server::*)(const Array&, const Plaintexts&) const>(&Server::sub_plain),
        static_cast<Array (Server::*)(const Array&, const Plaintexts&) const>(
            &Server::multiply_plain)}) {
    EXPECT_THROW((server.*operation)(three, plain), ShapeError);
    EXPECT_THROW((server.*operation)(a, coefficients), EncodingError);
    EXPECT_THROW((server.*operation)(a, nothing), ShapeError);
    EXPECT_THROW((server.*operation)(empty, plain), ShapeError);
    EXPECT_THROW((twin.*operation)(twin.upload(good), plain), DeviceError);
  }
  EXPECT_THROW(server.encode(std::vector<std::int64_t>(1023), Packing::slots), ShapeError);
  EXPECT_THROW(server.encode({}, Packing::slots), ShapeError);
  EXPECT_THROW(server.take(a, {}), ShapeError);
  EXPECT_THROW(server.take(plain, {}), ShapeError);
  EXPECT_THROW(server.take(empty, std::vector<std::uint32_t>{0}), ShapeError);
  EXPECT_THROW(server.take(plain, std::vector<std::uint32_t>{2}), ShapeError);
  try {
    server.take(pair, std::vector<std::uint32_t>{1, 0, 7});
    ADD_FAILURE() << "accepted";
  } catch (const ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("index 7 at place 2"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("a batch of 2"), std::string::npos);
  }
  EXPECT_THROW(server.concatenate({}), ShapeError);
  EXPECT_THROW(server.concatenate(std::vector<Array>{a, packed}), EncodingError);
  EXPECT_THROW(server.concatenate(std::vector<Array>{a, empty}), ShapeError);
  EXPECT_THROW(server.concatenate(std::vector<Array>{a, server.multiply(a, a, false)}), ShapeError);
  EXPECT_THROW(twin.concatenate(std::vector<Array>{a, a}), DeviceError);
  for (const std::uint32_t columns : {0u, 3u, 1024u, 0x80000000u})
    EXPECT_THROW(server.inner_sum(a, columns), ParameterError) << columns;
  for (const unsigned limbs : {0u, 5u}) EXPECT_THROW(server.mod_switch(a, limbs), ParameterError);
  EXPECT_THROW(server.mod_switch(server.mod_switch(a, 2), 3), ParameterError);
  // Keys that are not there.
  KeyRequest none;
  none.relinearise = 2;
  const Server bare(client.evaluation_keys(none), options);
  const Array b = bare.upload(good);
  EXPECT_THROW(bare.multiply(b, b), KeyMismatchError);
  EXPECT_NO_THROW(bare.multiply(b, b, false));
  EXPECT_THROW(bare.rotate(b, 1), KeyMismatchError);
  EXPECT_NO_THROW(bare.rotate(b, 512));
  EXPECT_THROW(bare.swap_rows(b), KeyMismatchError);
  EXPECT_THROW(server.rotate(a, 5), KeyMismatchError);
  try {
    bare.relinearise(bare.multiply(b, b, false));
    ADD_FAILURE() << "accepted";
  } catch (const KeyMismatchError& error) {
    EXPECT_NE(std::string(error.what()).find("relinearise = 3"), std::string::npos);
  }
}

TEST(BgvServer, RefusesForgedData) {
  const Parameters p = bgv_insecure({1024, 65537, 30, 4, 2});
  const auto& [client, keys] = bgv_pair(p);
  const ServerOptions options{test::tested_device, 1, {}};
  const Server server(keys, options);
  const Ciphertexts good = client.encrypt(std::vector<std::int64_t>(2048, 3));
  const auto refused = [&]<class Error>(const auto& change, Error*) {
    Ciphertexts bad = good;
    change(bad);
    EXPECT_THROW(server.upload(bad), Error);
  };
  ShapeError* const shape = nullptr;
  RangeError* const range = nullptr;
  for (const unsigned parts : {0u, 1u, 3u, 17u, 0xffffffffu})
    refused([=](Ciphertexts& c) { c.info.parts = parts; }, shape);
  for (const unsigned limbs : {0u, 5u})
    refused([=](Ciphertexts& c) { c.info.limbs = limbs; }, static_cast<ParameterError*>(nullptr));
  refused([=](Ciphertexts& c) { c.info.limbs = 3; }, shape);
  for (const std::uint64_t count :
       {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << 51) + 2, std::uint64_t{1} << 54})
    refused([=](Ciphertexts& c) { c.info.count = count; }, shape);
  for (const std::uint64_t factor : {0ULL, 65537ULL})
    refused([=](Ciphertexts& c) { c.info.factor = factor; }, range);
  for (const double noise : {std::nan(""), -1.0, HUGE_VAL})
    refused([=](Ciphertexts& c) { c.info.noise = noise; }, range);
  refused([](Ciphertexts& c) { c.data = WordArray(std::vector<std::uint64_t>(c.data.size())); },
          shape);
  for (const std::size_t row : {0u, 3u, 7u})
    refused(
        [=, &p](Ciphertexts& c) {
          const auto words = c.data.as<std::uint32_t>();
          std::vector<std::uint32_t> copy(words.begin(), words.end());
          copy[row * 2048 + 2047] = static_cast<std::uint32_t>(p.literal().chain[row % 4]);
          c.data = WordArray(std::move(copy));
        },
        range);
  // Keys.
  EvaluationKeys bad = keys;
  bad.keys[0].b = WordArray(std::vector<std::uint32_t>(7));
  EXPECT_THROW(Server(bad, options), ShapeError);
  bad = keys;
  bad.keys[0].g = 2;
  EXPECT_THROW(Server(bad, options), ParameterError);
  bad.keys[0].g = 2049;
  EXPECT_THROW(Server(bad, options), ParameterError);
  bad = keys;
  bad.keys[0].power = 0;
  EXPECT_THROW(Server(bad, options), ParameterError);
  EXPECT_THROW(Server(keys, {"no such device", 1, {}}), DeviceError);
}

}  // namespace
}  // namespace whorl::bgv
