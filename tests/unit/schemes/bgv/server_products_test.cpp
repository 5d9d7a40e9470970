// Products, rotations and levels of a server against the same on vectors in clear.
#include "support/bgv_scene.h"
#include "support/test.h"

namespace whorl::bgv {
namespace {

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
      EXPECT_THROW(server.relinearise(six), MissingKeyError);
      EXPECT_THROW(server.multiply(five, a.array), MissingKeyError);
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

}  // namespace
}  // namespace whorl::bgv
