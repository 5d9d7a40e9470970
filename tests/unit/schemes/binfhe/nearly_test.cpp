// Messages that are known nearly: what tables that are not exact promise of them, and what becomes
// of it in sums, in other tables, in gates and between devices and hosts.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "lattice/lwe/noise.h"
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/server_state.h"
#include "support/binfhe_sets.h"
#include "support/message.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

using Messages = std::vector<std::uint32_t>;

constexpr std::uint32_t p = 64, half = p / 2;

std::uint32_t apart(std::int64_t a, std::int64_t b, std::uint32_t modulus) {
  const std::int64_t m = modulus, distance = ((a - b) % m + m) % m;
  return static_cast<std::uint32_t>(std::min(distance, m - distance));
}

const Promise& promise_of(const Array& array) { return Access::of(array).origin->promise; }

class BinfheNearly : public testing::Test {
 protected:
  /// Rises and falls over the circle, and is negacyclic.
  Lut wave(bool exact = false, std::uint32_t p_out = p) const {
    Messages values(p);
    for (std::uint32_t m = 0; m < half; ++m) {
      values[m] = std::min(m, half - m);
      values[m + half] = (p_out - values[m]) % p_out;
    }
    return Lut::create(p_, values, {p}, {p_out}, exact);
  }
  /// The largest distance of f(m) and f(k), k at most `reach` from m, by looking at all of them.
  static double furthest(const Lut& f, std::uint32_t reach) {
    std::uint32_t most = 0;
    for (std::int64_t m = 0; m < p; ++m)
      for (std::int64_t k = m - reach; k <= m + std::int64_t{reach}; ++k)
        most = std::max(most, apart(f.values()[m], f.values()[((k % p) + p) % p], f.output().p));
    return most;
  }
  Array fresh(const Messages& m, Encoding encoding = {p}) const {
    return strict_.upload(pair_.client.encrypt(m, encoding, 1));
  }
  static Array apply(const Server& server, const Lut& lut, const Array& x) {
    return server.apply(std::span(&lut, 1), {}, x, lut.output().p);
  }
  static Array sum(const Server& server, const std::vector<std::int32_t>& weights,
                   const std::vector<Array>& terms) {
    std::vector<const Array*> inputs;
    for (const Array& term : terms) inputs.push_back(&term);
    return server.linear(weights, inputs, 0, true);
  }

  const Parameters p_ = test::insecure(test::small_literal());
  const test::Pair& pair_ = test::pair_of(p_);
  const Session session_{{test::tested_device, 1}};
  const Server strict_{pair_.keys, session_};
  const Server lenient_{pair_.keys, session_, test::failing()};
};

TEST_F(BinfheNearly, TablesPromiseWhatTheirBoundSays) {
  const Lut f = wave();
  const Array x = fresh({1, 20, 63});
  for (const Server* server : {&strict_, &lenient_}) {
    const Array y = apply(*server, f, x);
    const std::uint32_t reach = strict_.reach(f, x);
    EXPECT_GT(reach, 0u);
    EXPECT_EQ(promise_of(y).off, furthest(f, reach));
    // A server that allows all promises what one of 2^-40 does.
    EXPECT_EQ(promise_of(y).failure_log2, -40);
    EXPECT_EQ(y.error_bound(), strict_.error_bound(f, x));
    EXPECT_NEAR(y.failure_log2(), -40, 1);
  }
  const Server often(pair_.keys, session_, {.allow_failure = 0.5});
  const Array y = apply(often, f, x);
  EXPECT_EQ(promise_of(y).failure_log2, -1);
  EXPECT_EQ(promise_of(y).off, furthest(f, often.reach(f, x)));
  EXPECT_LT(promise_of(y).off, promise_of(apply(strict_, f, x)).off);
}

TEST_F(BinfheNearly, SumsAddUpWhatTheirTermsPromise) {
  const Array y = apply(strict_, wave(), fresh({1, 20, 63})),
              z = apply(strict_, wave(), fresh({5, 6, 7}));
  const double off = *promise_of(y).off;
  const Array added = sum(strict_, {3, -2}, {y, z});
  EXPECT_EQ(promise_of(added).off, 5 * off);
  EXPECT_DOUBLE_EQ(promise_of(added).failure_log2, -39);
  EXPECT_EQ(promise_of(sum(strict_, {3, 0}, {y, z})).off, 3 * off);
  EXPECT_EQ(promise_of(sum(strict_, {3, 0}, {y, z})).failure_log2, -40);
  // Known messages have nothing to add, and exact ones their failures.
  EXPECT_EQ(promise_of(sum(strict_, {1, 1}, {y, strict_.trivial_array({3, 4, 5}, {p})})).off, off);
  // Of the row that has the most.
  const std::int32_t entries[] = {1, -1, 1, 0, 0, 0, 7, 0, 0};
  const Array product = strict_.linear(Weights{3, entries}, y, {}, true);
  EXPECT_EQ(promise_of(product).off, 7 * off);
  EXPECT_DOUBLE_EQ(promise_of(product).failure_log2, -40 + std::log2(3));
}

TEST_F(BinfheNearly, SumsNeedNotDecryptExactly) {
  // 128 sectors of four units: bootstrapped errors are too large for them.
  const Lut f = wave(false, 2 * p);
  const Array y = apply(strict_, f, fresh({1, 20, 63}));
  EXPECT_GT(y.error_bound(), *promise_of(y).off);
  Array made = sum(strict_, {2, 1}, {y, apply(strict_, f, fresh({5, 6, 7}))});
  EXPECT_GT(made.error_bound(), y.error_bound());
  const std::int32_t twice[] = {2, 0, 0, 0, 1, 1};
  EXPECT_NO_THROW(strict_.linear(Weights{3, twice}, y, {}, true));
  // Exact tables and encryptions still do.
  const Array exact = fresh({1, 2, 3}, {2 * p});
  const auto refused = [&](const auto& body) {
    test::expect_message<NoiseError>(body, {"decryption of this weighted sum"});
  };
  refused([&] { sum(strict_, {2, 1}, {exact, fresh({1, 2, 3}, {2 * p})}); });
  refused([&] { strict_.linear(Weights{3, twice}, exact, {}, true); });
  // Where the terms decrypt exactly, the sum must.
  Messages values(p, 0);
  const Lut bits = Lut::create(p_, values, {p}, {4}, false);
  const Array bit = apply(strict_, bits, fresh({1}));
  EXPECT_EQ(bit.error_bound(), 0u);
  refused([&] { sum(strict_, {100, 1}, {bit, bit}); });
}

TEST_F(BinfheNearly, MessagesStayWithinTheBound) {
  test::Random random;
  const Lut f = wave();
  const Messages a = random.numbers(2048, p), b = random.numbers(2048, p);
  const Array made =
      sum(strict_, {1, -1}, {apply(strict_, f, fresh(a)), apply(strict_, f, fresh(b))});
  ASSERT_LT(made.error_bound(), half);
  const Messages got = pair_.client.decrypt(strict_.download(made));
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, apart(got[i], std::int64_t{f.values()[a[i]]} - f.values()[b[i]], p));
  EXPECT_GT(most, 0u);
  EXPECT_LE(most, made.error_bound());
}

TEST_F(BinfheNearly, TablesReadOnFromWhatMessagesMayBe) {
  const Lut f = wave(), exact = wave(true);
  const Array x = fresh({1, 20, 63}), y = apply(strict_, f, x);
  const double off = *promise_of(y).off;
  // The noise of both is that of a bootstrap.
  EXPECT_EQ(strict_.reach(f, y), strict_.reach(f, apply(lenient_, exact, x)) + off);
  test::expect_message<NoiseError>([&] { strict_.apply(std::span(&f, 1), {}, y); },
                                   {"whose messages are known within ", "within="});
  const Array again = apply(strict_, f, y);
  EXPECT_EQ(promise_of(again).off, furthest(f, strict_.reach(f, y)));
  EXPECT_DOUBLE_EQ(promise_of(again).failure_log2, -39);
  // An exact table gives f of the message that there is.
  const Array of_exact = apply(lenient_, exact, y);
  EXPECT_EQ(promise_of(of_exact).off, furthest(exact, static_cast<std::uint32_t>(off)));
  EXPECT_GT(promise_of(of_exact).failure_log2, -40);
  EXPECT_FALSE(promise_of(apply(lenient_, exact, x)).off);
  // Tables together do as each alone.
  const Lut both[] = {f, exact};
  const auto many = lenient_.apply_many(both, y, p);
  EXPECT_GE(promise_of(many[0]).off, promise_of(again).off);
  EXPECT_EQ(promise_of(many[1]).off, promise_of(of_exact).off);
}

TEST_F(BinfheNearly, GatesCountFailures) {
  const Account account(p_, strict_.transform(), 1);
  const Encoding bits{4};
  const Array a = fresh({0, 1, 1}, bits), b = fresh({1, 0, 1}, bits);
  const Array* fresh_ones[] = {&a, &b};
  const Array x = lenient_.gate(Gate::nand, fresh_ones), y = lenient_.gate(Gate::or_, fresh_ones);
  const double one = account.check_gate(Gate::nand, bits, bits, 2);
  EXPECT_DOUBLE_EQ(promise_of(x).failure_log2, one);
  EXPECT_FALSE(promise_of(x).off);
  EXPECT_EQ(x.error_bound(), 0u);
  EXPECT_EQ(promise_of(a).failure_log2, -HUGE_VAL);
  const Array* computed[] = {&x, &y};
  const double both = account.check_gate(Gate::and_, bits, bits, 2 + 2 * account.constant());
  EXPECT_NEAR(promise_of(lenient_.gate(Gate::and_, computed)).failure_log2,
              lattice::sum_log2(both, one + 1), 1e-9);
  const Array mux = lenient_.mux(a, x, y);
  EXPECT_GE(promise_of(mux).failure_log2, one + 1);
  // A bit of a threshold may be any bit, and so may what gates make of it.
  Messages values(p, 0);
  std::fill(values.begin() + half, values.end(), 1);
  const Lut threshold = Lut::create(p_, values, {p}, bits, false);
  const Array bit = lenient_.with_range(apply(lenient_, threshold, fresh({1, 20, 63})), {0, 1});
  EXPECT_EQ(promise_of(bit).off, 2);
  const Array stated = sum(lenient_, {1}, {bit});
  const Array* of_bit[] = {&stated, &x};
  EXPECT_EQ(promise_of(lenient_.gate(Gate::and_, of_bit)).off, 1);
  EXPECT_EQ(promise_of(lenient_.not_(bit)).off, 2);
}

TEST_F(BinfheNearly, PromisesStayWithArrays) {
  const Array y = apply(strict_, wave(), fresh({1, 20, 63}));
  const Promise promise = promise_of(y);
  const auto expect_same = [&](const Array& array, double by = 1) {
    EXPECT_EQ(promise_of(array).off, *promise.off / by);
    EXPECT_EQ(promise_of(array).failure_log2, promise.failure_log2);
  };
  expect_same(strict_.take(y, Messages{2, 0}));
  expect_same(strict_.with_range(y, {-std::int64_t{half}, half - 1}));
  expect_same(strict_.divided(y, 4), 4);
  const Array joined[] = {fresh({1}), y};
  expect_same(strict_.concatenate(joined));
  Ciphertexts host = strict_.download(y);
  EXPECT_EQ(host.off, promise.off);
  EXPECT_EQ(error_bound(host), y.error_bound());
  EXPECT_EQ(failure_log2(host), y.failure_log2());
  for (const bool known : {true, false}) {
    if (!known) host.origin.reset();
    expect_same(strict_.upload(host));
    expect_same(strict_.upload(take(host, Messages{1})));
    const Ciphertexts other = pair_.client.encrypt({1}, {p}, 1);
    const Ciphertexts* batches[] = {&other, &host};
    expect_same(strict_.upload(concatenate(batches)));
  }
  EXPECT_EQ(error_bound(pair_.client.encrypt({1}, {4}, 1)), 0u);
  EXPECT_LT(failure_log2(pair_.client.encrypt({1}, {4}, 1)), -40);
}

TEST_F(BinfheNearly, UnderTheRingKeyAndBehindIt) {
  const Lut f = wave();
  const Array y = strict_.apply(std::span(&f, 1), {}, fresh({1, 20, 63}), p, Under::ring);
  const Array switched = strict_.to_lwe_key(sum(strict_, {1, 1}, {y, y}));
  EXPECT_EQ(promise_of(switched).off, 2 * *promise_of(y).off);
}

TEST_F(BinfheNearly, EncodingsThatAreNotCarriedNeedNoAllowance) {
  constexpr std::uint32_t large = 1 << 12;
  const Array x = fresh({1, 1000, 4000}, {large});
  EXPECT_GT(x.error_bound(), 0u);
  const Array moved = sum(strict_, {1, 1}, {x, strict_.trivial_array({5, 0, 100}, {large})});
  const Messages got = pair_.client.decrypt(strict_.download(moved));
  const std::uint32_t want[] = {6, 1000, 4};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_LE(apart(got[i], want[i], large), moved.error_bound());
  EXPECT_LT(moved.error_bound(), large / 8);
}

TEST_F(BinfheNearly, DryRunsCountThemOnce) {
  const DryRun dry(p_);
  const Lut f = wave(false, 2 * p);
  const Array y = apply(dry.server(), f, dry.fresh({p}, 4));
  const Array added = sum(dry.server(), {1, 1}, {y, y});
  EXPECT_GT(added.error_bound(), 2 * *promise_of(y).off);
  // At most the four tables and the four results, each with 2^-40.
  EXPECT_LE(dry.failure_log2(std::span(&added, 1)), -37);
  EXPECT_GT(dry.failure_log2(std::span(&added, 1)), -60);
}

TEST_F(BinfheNearly, ThatMayBeAnyFindTheSpreadOfValues) {
  // Levels 0 … 7, of which neighbours are 7 apart at most.
  Messages values(p);
  for (std::uint32_t m = 0; m < half; ++m) values[m] = m / 4, values[m + half] = 7 - m / 4;
  const Lut levels = Lut::create(p_, values, {p}, {p}, false, true);
  for (const std::uint32_t reach : {5U, half - 1, half, p})
    EXPECT_EQ(most_off(levels, false, reach, {}), furthest(levels, reach)) << reach;
  EXPECT_EQ(most_off(wave(), false, p, {}), half);
  EXPECT_EQ(most_off(Lut::create(p_, Messages(p, 5), {p, true}, {p, true}, false), false, p, {}),
            10);
}

TEST_F(BinfheNearly, DistancesAreLookedForOnce) {
  const Lut f = wave();
  const std::uint32_t first = f.error_bound();
  const Lut copy = f;
  for (int round = 0; round < 3; ++round)
    for (const double noise : {1.0, 4.0, 9.0})
      for (const std::int64_t high : {10, 63}) {
        // A new table looks for each anew.
        EXPECT_EQ(copy.error_bound(noise, 1e-9, MessageRange{0, high}),
                  wave().error_bound(noise, 1e-9, MessageRange{0, high}));
      }
  EXPECT_EQ(copy.error_bound(), first);
}

}  // namespace
}  // namespace whorl::binfhe
