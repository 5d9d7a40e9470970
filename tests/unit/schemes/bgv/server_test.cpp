// Sums, plaintexts, batches: operations of a server against the same on vectors in clear.
#include "whorl/bgv/server.h"
#include "support/bgv_scene.h"
#include "support/test.h"

namespace whorl::bgv {
namespace {

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

TEST(BgvServer, Scalars) {
  on_each_scene([](Scene& scene) {
    const Server& server = scene.server;
    const Value a = scene.fresh();
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

TEST(BgvServer, Plaintexts) {
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
    auto indices = scene.random.numbers(1 + scene.random.below(9), scene.count);
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

}  // namespace
}  // namespace whorl::bgv
