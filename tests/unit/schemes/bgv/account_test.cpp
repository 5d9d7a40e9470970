// What the account says of ciphertexts, against arithmetic modulo t and the noise model's formulas.
#include "schemes/bgv/account.h"
#include "support/bgv_sets.h"
#include "support/test.h"

namespace whorl::bgv {
namespace {

using Info = Account::Info;

constexpr int kRounds = 200;

/// Parameters, their account, and random ciphertexts under them.
struct Ledger {
  explicit Ledger(Parameters parameters) : p(std::move(parameters)) {}

  test::Random random;
  Parameters p;
  Account account{p};
  NoiseModel noise{p};

  std::uint64_t unit() {
    for (;;)
      if (const std::uint64_t f = 1 + random.below(p.t() - 1); std::gcd(f, p.t()) == 1) return f;
  }
  Info any(unsigned parts = 2) {
    const auto limbs = static_cast<unsigned>(1 + random.below(p.limbs()));
    const double share = static_cast<double>(random.below(1000)) / 1000;
    return {Packing::coefficients,  1 + random.below(9), parts, limbs, unit(),
            share * p.log2_Q(limbs)};
  }
  std::uint64_t product(std::uint64_t a, std::int64_t b) const {
    return test::reduce(static_cast<test::Int128>(a) * b, p.t());
  }
  /// An operand as it is after `by`, in the order that Preparation states.
  Info prepared(Info a, const Preparation& by, std::uint64_t factor) const {
    // factor·q_left·… = a.factor·before·after: no inverse is needed to tell.
    std::uint64_t left = factor;
    for (unsigned l = by.limbs; l < a.limbs; ++l)
      left = product(left, static_cast<std::int64_t>(p.literal().chain[l] % p.t()));
    EXPECT_EQ(left, product(product(a.factor, by.before), by.after));
    for (const std::int64_t scalar : {by.before, by.after}) {
      EXPECT_EQ(std::gcd(scalar, static_cast<std::int64_t>(p.t())), 1);
      EXPECT_LE(2 * std::abs(scalar), static_cast<std::int64_t>(p.t()) + 1);
    }
    a.factor = factor;
    a.noise += std::log2(std::abs(static_cast<double>(by.before)));
    for (; a.limbs > by.limbs; --a.limbs) a.noise = noise.dropped(a.noise, a.limbs, a.parts);
    a.noise += std::log2(std::abs(static_cast<double>(by.after)));
    return a;
  }
  /// The factor of an operand after `by`.
  std::uint64_t factor_after(const Info& a, const Preparation& by) const {
    const math::Modulus<std::uint64_t> t(p.t());
    std::uint64_t factor = product(product(a.factor, by.before), by.after);
    for (unsigned l = by.limbs; l < a.limbs; ++l)
      factor = t.mul(factor, t.inverse(t.reduce(p.literal().chain[l])));
    return factor;
  }
};

void is_nothing(const Preparation& by, const Info& a) {
  EXPECT_EQ(by.limbs, a.limbs);
  EXPECT_EQ(by.before, 1);
  EXPECT_EQ(by.after, 1);
}

template <class Body>
void on_each_ledger(const Body& body) {
  for (const test::BgvShape& shape : {test::BgvShape{1024, 65537, 30, 6, 2},
                                      {1024, 1000000, 30, 7, 2},
                                      {1024, 2, 30, 5, 5},
                                      {1024, 2147483647, 50, 4, 1}}) {
    Ledger ledger(test::bgv_insecure(shape));
    SCOPED_TRACE(ledger.p.literal().name);
    body(ledger);
  }
}

TEST(BgvAccount, FreshCiphertexts) {
  on_each_ledger([](Ledger& l) {
    const Info secret = l.account.fresh_secret(Packing::slots, 3),
               open = l.account.fresh_public(Packing::coefficients, 5);
    EXPECT_EQ(secret.packing, Packing::slots);
    EXPECT_EQ(open.packing, Packing::coefficients);
    EXPECT_EQ(secret.count, 3u);
    EXPECT_EQ(open.count, 5u);
    for (const Info& each : {secret, open}) {
      EXPECT_EQ(each.parts, 2u);
      EXPECT_EQ(each.limbs, l.p.limbs());
      EXPECT_EQ(each.factor, 1u);
      EXPECT_NO_THROW(Account::check(l.p, each));
      EXPECT_EQ(l.account.budget(each), l.noise.budget(each.noise, each.limbs));
    }
    EXPECT_EQ(secret.noise, l.noise.fresh_secret());
    EXPECT_EQ(open.noise, l.noise.fresh_public());
  });
}

TEST(BgvAccount, SumsHaveOneFactor) {
  on_each_ledger([](Ledger& l) {
    for (int round = 0; round < kRounds; ++round) {
      const Info a = l.any(), b = l.any(static_cast<unsigned>(2 + l.random.below(3)));
      const Account::Two sum = l.account.add(a, b);
      EXPECT_EQ(sum.result.limbs, std::min(a.limbs, b.limbs));
      EXPECT_EQ(sum.a.limbs, sum.result.limbs);
      EXPECT_EQ(sum.b.limbs, sum.result.limbs);
      EXPECT_EQ(sum.result.count, std::max(a.count, b.count));
      EXPECT_EQ(sum.result.parts, std::max(a.parts, b.parts));
      const Info x = l.prepared(a, sum.a, sum.result.factor),
                 y = l.prepared(b, sum.b, sum.result.factor);
      EXPECT_NEAR(sum.result.noise, log2_sum(x.noise, y.noise), 1e-9);
      // No more than if both were multiplied by t/2.
      const auto late = [&](const Info& i) {
        return l.account.mod_switch(i, sum.result.limbs).result.noise;
      };
      const double bits = std::log2(static_cast<double>(l.p.t())) - 1;
      EXPECT_LE(sum.result.noise, log2_sum(late(a), late(b)) + bits + 1e-9);
    }
    const Info a = l.any(), same = a;
    const Account::Two sum = l.account.add(a, same);
    is_nothing(sum.a, a);
    is_nothing(sum.b, a);
    EXPECT_EQ(sum.result.factor, a.factor);
    EXPECT_NEAR(sum.result.noise, a.noise + 1, 1e-9);
  });
}

TEST(BgvAccount, ProductsMultiplyFactors) {
  on_each_ledger([](Ledger& l) {
    for (int round = 0; round < kRounds; ++round) {
      const Info a = l.any(static_cast<unsigned>(2 + l.random.below(3))), b = l.any();
      const Account::Two product = l.account.multiply(a, b);
      EXPECT_EQ(product.a.limbs, product.result.limbs);
      EXPECT_EQ(product.b.limbs, product.result.limbs);
      EXPECT_LE(product.result.limbs, std::min(a.limbs, b.limbs));
      EXPECT_EQ(product.result.parts, a.parts + b.parts - 1);
      EXPECT_EQ(product.result.count, std::max(a.count, b.count));
      const std::uint64_t of_a = l.factor_after(a, product.a), of_b = l.factor_after(b, product.b);
      EXPECT_EQ(product.result.factor, l.product(of_a, static_cast<std::int64_t>(of_b)));
      const Info x = l.prepared(a, product.a, of_a), y = l.prepared(b, product.b, of_b);
      EXPECT_NEAR(product.result.noise, x.noise + y.noise, 1e-9);
    }
  });
}

/// Operands that keep to the schedule drop the same limbs, whatever their own noise.
TEST(BgvAccount, ProductsKeepToTheSchedule) {
  Ledger l(test::bgv_rated({}, 4));
  const auto schedule = l.noise.schedule();
  ASSERT_EQ(schedule.size(), 4u);
  for (const NoiseModel::Level& level : schedule)
    for (int round = 0; round < 20; ++round) {
      const auto some = [&] {
        const double share = static_cast<double>(l.random.below(1001)) / 1000;
        return Info{Packing::coefficients, 1, 2,
                    level.limbs,           1, level.least + share * (level.most - level.least)};
      };
      const Account::Two product = l.account.multiply(some(), some());
      EXPECT_EQ(product.result.limbs, level.left);
      EXPECT_EQ(product.a.before, 1);
      EXPECT_EQ(product.b.before, 1);
    }
}

TEST(BgvAccount, LevelsDivideTheFactor) {
  on_each_ledger([](Ledger& l) {
    for (int round = 0; round < kRounds; ++round) {
      const Info a = l.any(static_cast<unsigned>(2 + l.random.below(3)));
      const auto limbs = static_cast<unsigned>(1 + l.random.below(a.limbs));
      const Account::One switched = l.account.mod_switch(a, limbs);
      EXPECT_EQ(switched.result.limbs, limbs);
      EXPECT_EQ(switched.a.limbs, limbs);
      EXPECT_EQ(switched.result.count, a.count);
      EXPECT_EQ(switched.result.parts, a.parts);
      const Info due = l.prepared(a, switched.a, switched.result.factor);
      EXPECT_NEAR(switched.result.noise, due.noise, 1e-9);

      const double spare = static_cast<double>(l.random.below(60));
      const Account::One shrunk = l.account.shrink(a, spare);
      const Info same = l.account.mod_switch(a, shrunk.result.limbs).result;
      EXPECT_EQ(shrunk.result.factor, same.factor);
      EXPECT_EQ(shrunk.result.noise, same.noise);
      if (shrunk.result.limbs < a.limbs) {
        EXPECT_GE(l.account.budget(shrunk.result), spare);
      }
      if (shrunk.result.limbs > 1) {
        const Info next = l.account.mod_switch(a, shrunk.result.limbs - 1).result;
        EXPECT_LT(l.account.budget(next), spare);
      }
    }
  });
}

/// The candidates for the common factor do not depend on the noise.
TEST(BgvAccount, ConcatenationIsMonotone) {
  on_each_ledger([](Ledger& l) {
    for (int round = 0; round < 20 * kRounds; ++round) {
      std::vector<Info> less, more;
      for (std::size_t left = 2 + l.random.below(3); left > 0; --left) {
        less.push_back(l.any());
        more.push_back(less.back());
        more.back().noise += static_cast<double>(l.random.below(100)) / 10;
      }
      ASSERT_GE(l.account.concatenate(more).result.noise,
                l.account.concatenate(less).result.noise - 1e-9);
    }
  });
}

TEST(BgvAccount, ShortVectorsKeepTheirLength) {
  const Parameters p = test::bgv_insecure();
  const Account account(p);
  const Info full = account.fresh_public(Packing::slots, 1),
             three = account.fresh_public(Packing::slots, 1, 3),
             five = account.fresh_public(Packing::slots, 1, 5);
  Info total = three;
  total.length = 1;
  total.rest = Rest::same;
  const Info dirty = account.add(three, total).result;
  EXPECT_EQ(dirty.rest, Rest::anything);
  EXPECT_EQ(dirty.length, 3u);
  // An integer goes to the values alone; with a vector of N values every slot is one of them.
  EXPECT_EQ(account.add_constant(three, 1).rest, Rest::zeros);
  EXPECT_EQ(account.add_constant(full, 1).rest, Rest::zeros);
  EXPECT_EQ(account.add_constant(dirty, 1).rest, Rest::anything);
  EXPECT_EQ(account.add(full, total).result.rest, Rest::zeros) << "no slot is left behind";

  EXPECT_FALSE(account.needs_zeros(three, five));
  EXPECT_FALSE(account.needs_zeros(dirty, three));
  EXPECT_FALSE(account.needs_zeros(dirty, total));
  EXPECT_FALSE(account.needs_zeros(five, dirty));
  EXPECT_TRUE(account.needs_zeros(dirty, five));
  EXPECT_TRUE(account.needs_zeros(dirty, full));
  EXPECT_TRUE(account.needs_zeros(dirty, Account::Plain{1, 0, 4}));
  const auto refused = [&](const auto& call) {
    EXPECT_EQ(test::message_of(call),
              "vectors of 3 values meet vectors of 5 values, and the slots behind the 3 values may "
              "not be zero: multiply them by 3 ones first");
    EXPECT_THROW(call(), ShapeError);
  };
  refused([&] { account.add(dirty, five); });
  refused([&] { account.multiply(five, dirty); });
  refused([&] { account.add_plain(dirty, {1, 0, 5}); });
  refused([&] { account.concatenate(std::vector<Info>{five, dirty}); });

  // The order of the parts does not matter.
  for (const std::vector<Info>& parts :
       {std::vector<Info>{total, three, five}, {five, total, three}, {three, five, total}}) {
    const Info all = account.concatenate(parts).result;
    EXPECT_EQ(all.length, 5u);
    EXPECT_EQ(all.rest, Rest::anything);
    EXPECT_EQ(all.count, 3u);
  }
  EXPECT_EQ(account.concatenate(std::vector<Info>{five, three}).result.rest, Rest::zeros);
  EXPECT_EQ(account.concatenate(std::vector<Info>{total, total}).result.rest, Rest::same);
  // One value in all slots, beside a vector over three ciphertexts.
  const Info longer = account.fresh_public(Packing::slots, 3, 2500);
  EXPECT_THROW(account.concatenate(std::vector<Info>{longer, total}), ShapeError);
  total.count = 3;
  EXPECT_EQ(account.concatenate(std::vector<Info>{total, longer}).result.length, 2500u);
}

TEST(BgvAccount, ConcatenationHasOneFactor) {
  on_each_ledger([](Ledger& l) {
    for (int round = 0; round < kRounds / 4; ++round) {
      std::vector<Info> arrays;
      for (std::size_t left = 2 + l.random.below(4); left > 0; --left) arrays.push_back(l.any());
      const Account::Many all = l.account.concatenate(arrays);
      ASSERT_EQ(all.each.size(), arrays.size());
      std::size_t count = 0;
      double noise = 0;
      unsigned limbs = l.p.limbs();
      for (std::size_t i = 0; i < arrays.size(); ++i) {
        EXPECT_EQ(all.each[i].limbs, all.result.limbs);
        noise = std::max(noise, l.prepared(arrays[i], all.each[i], all.result.factor).noise);
        count += arrays[i].count;
        limbs = std::min(limbs, arrays[i].limbs);
      }
      EXPECT_EQ(all.result.limbs, limbs);
      EXPECT_EQ(all.result.count, count);
      EXPECT_EQ(all.result.parts, 2u);
      EXPECT_NEAR(all.result.noise, noise, 1e-9);
    }
    const Info a = l.any();
    const Account::Many same = l.account.concatenate(std::vector<Info>{a, a, a});
    for (const Preparation& by : same.each) is_nothing(by, a);
    EXPECT_EQ(same.result.count, 3 * a.count);
    EXPECT_EQ(same.result.noise, a.noise);
  });
}

/// No operation gains, and more noise in gives no less out.
TEST(BgvAccount, NoiseIsMonotone) {
  on_each_ledger([](Ledger& l) {
    for (int round = 0; round < kRounds; ++round) {
      const Info a = l.any(3), b = l.any();
      Info more = a;
      more.noise += static_cast<double>(l.random.below(100)) / 10;
      const std::int64_t by = l.random.between(-1000, 1000);
      const double norm = static_cast<double>(l.random.below(300)) / 10;
      const auto rises = [&](const auto& result) {
        EXPECT_GE(result(a).noise, a.noise);
        EXPECT_GE(result(more).noise, result(a).noise - 1e-9);
      };
      rises([&](const Info& x) { return l.account.relinearise(x); });
      rises([&](const Info& x) { return l.account.automorphism(x); });
      rises([&](const Info& x) { return l.account.scale(x, by); });
      rises([&](const Info& x) { return taken(x, 4); });
      rises([&](const Info& x) { return l.account.add_plain(x, {1, norm, 0}); });
      rises([&](const Info& x) { return l.account.multiply_plain(x, {1, norm, 0}); });
      EXPECT_GE(l.account.add(more, b).result.noise, l.account.add(a, b).result.noise - 1e-9);
      const auto lowest = [&](const Info& x) { return l.account.mod_switch(x, 1).result.noise; };
      EXPECT_GE(lowest(more), lowest(a) - 1e-9);
    }
  });
}

TEST(BgvAccount, WhatOneOperandGoesThrough) {
  on_each_ledger([](Ledger& l) {
    Info a = l.any(5);
    const Info two = l.account.relinearise(a);
    EXPECT_EQ(two.parts, 2u);
    EXPECT_EQ(two.factor, a.factor);
    const double key = l.noise.key_switch(a.limbs);
    EXPECT_NEAR(two.noise, log2_sum(a.noise, key + std::log2(3.0)), 1e-9) << "one key a part";
    EXPECT_NEAR(l.account.automorphism(two).noise, log2_sum(two.noise, key), 1e-9);
    EXPECT_EQ(l.account.relinearise(two).noise, two.noise);
    EXPECT_NEAR(l.account.scale(a, -8).noise, a.noise + 3, 1e-9);
    EXPECT_EQ(l.account.scale(a, -8).factor, a.factor) << "the message is multiplied";
    EXPECT_EQ(l.account.scale(a, 0).noise, a.noise);
    EXPECT_EQ(taken(a, 17).count, 17u);
    a.count = 1;
    EXPECT_EQ(l.account.add_plain(a, {6, 3, 0}).count, 6u);
    EXPECT_NEAR(l.account.add_plain(a, {6, a.noise, 0}).noise, a.noise + 1, 1e-9);
    EXPECT_EQ(l.account.multiply_plain(a, {6, 3, 0}).count, 6u);
    EXPECT_EQ(l.account.multiply_plain(a, {6, 3, 0}).noise, a.noise + 3);
  });
}

TEST(BgvAccount, PlaintextsAndFactors) {
  on_each_ledger([](Ledger& l) {
    const auto t = static_cast<std::int64_t>(l.p.t());
    EXPECT_EQ(l.account.divisor(), l.p.t());
    std::vector<std::int64_t> m(50);
    for (auto& x : m) x = l.account.residue(l.random.between(-3 * t, 3 * t));
    EXPECT_EQ(l.account.with_factor(m, 1), m);
    for (int round = 0; round < 20; ++round) {
      const std::uint64_t f = l.unit();
      EXPECT_EQ(l.product(l.account.inverse(f), static_cast<std::int64_t>(f)), 1u);
      const auto with = l.account.with_factor(m, f);
      for (std::size_t j = 0; j < m.size(); ++j) {
        EXPECT_EQ(test::reduce(with[j], l.p.t()), l.product(f, m[j]));
        EXPECT_LE(2 * std::abs(with[j]), t);
      }
      const std::int64_t value = l.random.between(-5 * t, 5 * t), r = l.account.residue(value);
      EXPECT_EQ((value - r) % t, 0);
      EXPECT_LE(2 * std::abs(r), t);
    }
  });
  EXPECT_EQ(log2_norm(std::vector<std::int64_t>{3, -4, 0, 1}), 3);
  EXPECT_EQ(log2_norm(std::vector<std::int64_t>{0, 0}), 0);
}

TEST(BgvAccount, WhatNoCiphertextsCanHaveIsRefused) {
  const Parameters p = test::bgv_insecure({1024, 1000000, 30, 4, 2});
  const Info good{Packing::coefficients, 3, 2, 4, 7, 20};
  EXPECT_NO_THROW(Account::check(p, good));
  const auto refused = [&](const auto& change, const std::string& message) {
    Info bad = good;
    change(bad);
    EXPECT_THROW(Account::check(p, bad), RangeError);
    EXPECT_EQ(test::message_of([&] { Account::check(p, bad); }), message);
  };
  refused([](Info& i) { i.parts = 1; }, "parts: 1 is outside 2 … 16");
  refused([](Info& i) { i.parts = 17; }, "parts: 17 is outside 2 … 16");
  refused([](Info& i) { i.limbs = 0; }, "limbs: 0 is outside 1 … 4");
  refused([](Info& i) { i.limbs = 5; }, "limbs: 5 is outside 1 … 4");
  refused([](Info& i) { i.count = 0; }, "count: 0 is below 1");
  refused([](Info& i) { i.factor = 0; }, "factor: 0 is outside 1 … 999999");
  refused([](Info& i) { i.factor = 1000000; }, "factor: 1000000 is outside 1 … 999999");
  refused([](Info& i) { i.factor = 15; }, "factor: 15 has no inverse modulo t = 1000000");
  refused([](Info& i) { i.noise = -1; }, "noise: a bound of 2^-1 is outside 2^0 … 2^(10^6)");
  for (const double noise :
       {1e6, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    Info bad = good;
    bad.noise = noise;
    EXPECT_THROW(Account::check(p, bad), RangeError) << noise;
  }
  const Account account(p);
  Info long_one = good, longer = good;
  long_one.parts = 9;
  longer.parts = 8;
  EXPECT_EQ(account.multiply(long_one, longer).result.parts, 16u);
  EXPECT_THROW(account.multiply(long_one, long_one), ShapeError);
  EXPECT_EQ(test::message_of([&] { account.multiply(long_one, long_one); }),
            "multiply: the product would have 17 parts, and 16 are the most: relinearise the "
            "operands first");
}

}  // namespace
}  // namespace whorl::bgv
