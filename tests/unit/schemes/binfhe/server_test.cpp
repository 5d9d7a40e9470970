#include "whorl/binfhe/server.h"
#include "support/binfhe_sets.h"
#include "support/test.h"

namespace whorl::binfhe {
namespace {

Ciphertexts part(const Ciphertexts& c, std::size_t begin, std::size_t count) {
  Ciphertexts out = c;
  out.seed.reset();
  out.count = count;
  out.data.assign(c.data.begin() + static_cast<std::ptrdiff_t>(begin * c.row()),
                  c.data.begin() + static_cast<std::ptrdiff_t>((begin + count) * c.row()));
  return out;
}
Ciphertexts nand(const Server& server, const Ciphertexts& a, const Ciphertexts& b) {
  const Ciphertexts* in[] = {&a, &b};
  return server.gate(Gate::nand, in);
}

TEST(BinfheServer, SameBitsForAnyBatchAndThreads) {
  test::Random random;
  for (const Parameters& parameters : test::varied_sets()) {
    SCOPED_TRACE(parameters.name());
    const test::Pair& pair = test::pair_of(parameters);
    const std::size_t count = 41;
    const Ciphertexts a = pair.client.encrypt(random.numbers(count, 2)),
                      b = pair.client.encrypt(random.numbers(count, 2));
    const Lut lut = Lut::create(parameters, {1, 0, 1, 1}, {4, false}, {4, false});
    for (const Transform transform : {Transform::ntt, Transform::fft}) {
      std::vector<std::uint32_t> gates, tables;
      for (const unsigned threads : {1u, 2u, 3u, 8u}) {
        const Server server(pair.keys, {.device = "cpu", .threads = threads},
                            {.transform = transform});
        EXPECT_EQ(server.threads(), threads);
        EXPECT_EQ(server.transform(), transform);
        const auto gate_bits = nand(server, a, b).data;
        const auto table_bits = server.apply(std::span(&lut, 1), {}, a).data;
        if (gates.empty()) gates = gate_bits, tables = table_bits;
        ASSERT_TRUE(gate_bits == gates && table_bits == tables) << threads << " threads";
        for (std::size_t begin = 0; begin < count;) {
          const std::size_t size = std::min<std::size_t>(1 + random.below(15), count - begin);
          const auto some = nand(server, part(a, begin, size), part(b, begin, size)).data;
          ASSERT_TRUE(std::equal(some.begin(), some.end(),
                                 gates.begin() + static_cast<std::ptrdiff_t>(begin * a.row())));
          begin += size;
        }
      }
    }
  }
}

TEST(BinfheServer, NttGivesTheSameBitsOnEveryTarget) {
  test::Random random;
  const Parameters parameters = test::varied_sets()[3];
  const test::Pair& pair = test::pair_of(parameters);
  const Ciphertexts a = pair.client.encrypt(random.numbers(9, 2)),
                    b = pair.client.encrypt(random.numbers(9, 2));
  std::vector<std::uint32_t> first;
  test::on_each_target([&] {
    const Server server(pair.keys, {.device = "cpu", .threads = 2}, {.transform = Transform::ntt});
    const auto got = nand(server, a, b).data;
    if (first.empty()) first = got;
    EXPECT_TRUE(got == first) << server.device();
  });
}

TEST(BinfheServer, BatchesBeyondOnePiece) {
  test::Random random;
  const Parameters parameters = test::insecure(test::small_literal());
  const test::Pair& pair = test::pair_of(parameters);
  const Server server(pair.keys, {"cpu", 2});
  const std::size_t count = 1030;  // two pieces of 512 and a rest
  const auto x = random.numbers(count, 2), y = random.numbers(count, 2);
  const Ciphertexts a = pair.client.encrypt(x), b = pair.client.encrypt(y);
  std::vector<std::uint32_t> expected(count), expected_mux(count);
  for (std::size_t i = 0; i < count; ++i) {
    expected[i] = 1 - (x[i] & y[i]);
    expected_mux[i] = x[i] ? y[i] : x[i];
  }
  EXPECT_EQ(pair.client.decrypt(nand(server, a, b)), expected);
  EXPECT_EQ(pair.client.decrypt(server.mux(a, b, a)), expected_mux);
  const std::vector<Lut> luts = {Lut::create(parameters, {0, 1, 2, 3}, {4, false}, {4, false}),
                                 Lut::create(parameters, {1, 0, 2, 3}, {4, false}, {4, false})};
  std::vector<std::uint32_t> looked_up(count);
  for (std::size_t i = 0; i < count; ++i) looked_up[i] = luts[y[i]].values()[x[i]];
  EXPECT_EQ(pair.client.decrypt(server.apply(luts, y, a)), looked_up);
}

TEST(BinfheServer, NoiseOfResultsIsThatPredicted) {
  // 2,000 refreshed bits; an error's variance is known within 3.2 %. It may be below the estimate,
  // which counts a full digit for every coefficient, but not 30 % above (nine deviations, < 1e-15).
  test::Random random;
  for (const Parameters& parameters : test::varied_sets()) {
    SCOPED_TRACE(parameters.name());
    const test::Pair& pair = test::pair_of(parameters);
    for (const Transform transform : {Transform::ntt, Transform::fft}) {
      const Server server(pair.keys, {.device = "cpu", .threads = 2}, {.transform = transform});
      const auto m = random.numbers(2000, 2);
      const Ciphertexts out = server.bootstrap(pair.client.encrypt(m));
      double squares = 0;
      for (const std::int64_t e : pair.client.noise(out, m)) squares += static_cast<double>(e * e);
      // The key's weights are fixed here, n of them: half as much again for those.
      EXPECT_LT(squares / 2000, 1.3 * 1.5 * parameters.noise(transform).refreshed + 0.3);
    }
  }
}

TEST(BinfheServer, LinearTrivialNot) {
  test::Random random;
  const Parameters parameters = test::insecure(test::small_literal());
  const test::Pair& pair = test::pair_of(parameters);
  const Server server(pair.keys, {"cpu", 2});
  const Encoding encoding{8, false};
  const std::vector<std::uint32_t> x = {0, 1, 2, 7}, y = {3, 3, 5, 6};
  const Ciphertexts a = pair.client.encrypt(x, encoding), b = server.trivial(y, encoding);
  EXPECT_EQ(pair.client.decrypt(b), y);
  for (const std::int64_t e : pair.client.noise(b, y)) EXPECT_EQ(e, 0);
  const Ciphertexts* in[] = {&a, &b};
  for (const auto& [v, w, c] : {std::tuple{1, 1, 0}, std::tuple{-1, 2, 3}, std::tuple{3, -2, -11},
                                std::tuple{0, 0, 5}, std::tuple{1, 0, INT32_MIN}}) {
    const std::int32_t weights[] = {v, w};
    std::vector<std::uint32_t> expected;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::int64_t sum = std::int64_t{v} * x[i] + std::int64_t{w} * y[i] + c;
      expected.push_back(static_cast<std::uint32_t>((sum % 8 + 8) % 8));
    }
    EXPECT_EQ(pair.client.decrypt(server.linear(weights, in, c)), expected)
        << v << ", " << w << ", " << c;
  }
  const std::int32_t one[] = {1};
  EXPECT_THROW(server.linear(one, in), ShapeError);
  EXPECT_THROW(server.linear({}, std::span<const Ciphertexts* const>()), ShapeError);
  EXPECT_THROW(server.trivial(std::vector<std::uint32_t>{8}, encoding), EncodingError);
  EXPECT_THROW(server.trivial(y, {1U << 17, false}), EncodingError);
  const Ciphertexts shorter = pair.client.encrypt(std::vector<std::uint32_t>{1}, encoding);
  const Ciphertexts* uneven[] = {&a, &shorter};
  const std::int32_t weights[] = {1, 1};
  EXPECT_THROW(server.linear(weights, uneven), ShapeError);
  // Trivial inputs go through gates.
  const Ciphertexts zero = server.trivial(std::vector<std::uint32_t>{0, 0, 1, 1}),
                    other = pair.client.encrypt(std::vector<std::uint32_t>{0, 1, 0, 1});
  EXPECT_EQ(pair.client.decrypt(nand(server, zero, other)),
            (std::vector<std::uint32_t>{1, 1, 1, 0}));
  EXPECT_EQ(pair.client.decrypt(nand(server, zero, zero)),
            (std::vector<std::uint32_t>{1, 1, 0, 0}));
}

TEST(BinfheServer, ForeignKeysAndParameters) {
  const Parameters parameters = test::insecure(test::small_literal());
  const test::Pair& pair = test::pair_of(parameters);
  const Server server(pair.keys, {"cpu", 1});
  const std::vector<std::uint32_t> m = {1};
  const Ciphertexts good = pair.client.encrypt(m), other_key = Client(parameters).encrypt(m),
                    other_set = Client(test::varied_sets()[1]).encrypt(m);
  EXPECT_THROW(nand(server, good, other_key), KeyMismatchError);
  EXPECT_THROW(nand(server, other_set, good), ParameterMismatchError);
  EXPECT_THROW(server.not_(other_key), KeyMismatchError);
  EXPECT_THROW(server.mux(good, good, other_set), ParameterMismatchError);
  Ciphertexts cut = good;
  cut.data.pop_back();
  EXPECT_THROW(server.bootstrap(cut), ShapeError);
  Ciphertexts claims = good;
  claims.count = 2;
  EXPECT_THROW(server.bootstrap(claims), ShapeError);

  auto with = [&](auto change) {
    EvaluationKeys keys = pair.keys;
    change(keys);
    return keys;
  };
  using Words32 = std::vector<std::uint32_t>;
  EXPECT_THROW(Server(with([](auto& k) { k.rotation_b = WordArray(Words32(10)); })), ShapeError);
  EXPECT_THROW(
      Server(with([](auto& k) { k.switch_b = WordArray(std::vector<std::uint16_t>(10)); })),
      ShapeError);
  EXPECT_THROW(Server(with([](auto& k) { k.switch_b = WordArray(Words32(k.switch_b.size())); })),
               ShapeError);
  EXPECT_THROW(Server(with([](auto& k) {
                 k.rotation_b = WordArray(std::vector<std::uint64_t>(k.rotation_b.size()));
               })),
               ShapeError);
  EXPECT_THROW(Server(pair.keys, {"gpu", 1}), DeviceError);
  EXPECT_GT(server.key_bytes(), 0u);
  EXPECT_NE(server.device().find("cpu"), std::string::npos);
}

// Residues out of range can come from whoever fills `data`: they must not reach memory they should
// not, and results are those of the residues modulo q or a refusal.
TEST(BinfheServer, ResiduesOutOfRange) {
  for (const Parameters& parameters : test::varied_sets()) {
    SCOPED_TRACE(parameters.name());
    const test::Pair& pair = test::pair_of(parameters);
    const Server server(pair.keys, {"cpu", 1});
    const std::vector<std::uint32_t> m = {0, 1, 1, 0};
    Ciphertexts c = pair.client.encrypt(m);
    for (auto& word : c.data)
      word = static_cast<std::uint32_t>(word + 0xffffffffULL / parameters.q() * parameters.q());
    try {
      const Ciphertexts out = server.bootstrap(c);
      EXPECT_EQ(pair.client.decrypt(out), m);
    } catch (const Error&) {
    }
    const Lut lut = Lut::create(parameters, {0, 1, 2, 2}, {4, false}, {4, false});
    try {
      server.apply(std::span(&lut, 1), {}, c);
    } catch (const Error&) {
    }
  }
}

TEST(BinfheServer, InterruptStopsAndLeavesTheServerUsable) {
  test::Random random;
  const Parameters parameters = test::insecure(test::small_literal());
  const test::Pair& pair = test::pair_of(parameters);
  const auto x = random.numbers(600, 2);
  const Ciphertexts a = pair.client.encrypt(x);
  for (const unsigned threads : {1u, 3u}) {
    bool stop = false;
    int polls = 0;
    const std::thread::id here = std::this_thread::get_id();
    const Server server(pair.keys, {"cpu", threads, [&] {
                                      EXPECT_EQ(std::this_thread::get_id(), here);
                                      return stop && ++polls > 3;
                                    }});
    const auto before = nand(server, a, a).data;
    stop = true;
    EXPECT_THROW(nand(server, a, a), InterruptedError);
    EXPECT_THROW(server.mux(a, a, a), InterruptedError);
    stop = false;
    EXPECT_TRUE(nand(server, a, a).data == before);
  }
  EXPECT_THROW(Server(pair.keys, {"cpu", 1, [] { return true; }}), InterruptedError);
}

TEST(BinfheServer, ConcurrentCalls) {
  test::Random random;
  const Parameters parameters = test::insecure(test::small_literal());
  const test::Pair& pair = test::pair_of(parameters);
  for (const Transform transform : {Transform::ntt, Transform::fft}) {
    const Server server(pair.keys, {.device = "cpu", .threads = 2}, {.transform = transform});
    const Ciphertexts a = pair.client.encrypt(random.numbers(30, 2)),
                      b = pair.client.encrypt(random.numbers(30, 2));
    const auto expected = nand(server, a, b).data;
    std::atomic<int> wrong = 0;
    {
      std::vector<std::jthread> callers;
      for (int t = 0; t < 4; ++t)
        callers.emplace_back([&] {
          for (int i = 0; i < 3; ++i) wrong += nand(server, a, b).data != expected;
        });
    }
    EXPECT_EQ(wrong, 0);
  }
}

}  // namespace
}  // namespace whorl::binfhe
