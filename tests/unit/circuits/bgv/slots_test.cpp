// Products with matrices, sums and dot products under encryption, against the same in the clear.
#include "whorl/circuits/bgv/slots.h"

#include "support/bgv_scene.h"
#include "support/named_devices.h"
#include "support/test.h"

namespace whorl::bgv {
namespace {

constexpr std::uint64_t t = 65537;
const Parameters& toy() {
  static const Parameters p = bgv_insecure({1024, t, 30, 8, 3});
  return p;
}
using Values = std::vector<std::int64_t>;

struct Slots {
  explicit Slots(const KeyRequest& request, const char* device = test::tested_device)
      : client(toy()), server(client.evaluation_keys(request), {device, 2, {}}) {}
  Client client;
  Server server;
  test::Random random;

  Values values(std::size_t count) {
    Values out(count);
    for (auto& v : out) v = random.between(0, t - 1);
    return out;
  }
  Array upload(const Values& v, std::size_t length = 0) const {
    return server.upload(client.encrypt(v, Packing::slots, length));
  }
  /// The values plus 3, with something else than zeros behind them.
  Array with_remains(const Values& v) const {
    Ciphertexts threes = client.encrypt(Values(1024, 3));
    threes.info.length = 1;
    threes.info.rest = Rest::same;
    return server.add(upload(v), server.upload(threes));
  }
  /// All slots.
  std::vector<std::uint64_t> read(const Array& a) const {
    EXPECT_GT(a.noise_budget(), 0);
    const Ciphertexts c = server.download(a);
    for (const double budget : client.noise_budget(c)) EXPECT_GE(budget, a.noise_budget());
    return client.decrypt(c, {.all_slots = true});
  }
};

std::uint64_t modulo(std::int64_t x) {
  return static_cast<std::uint64_t>((x % std::int64_t{t} + std::int64_t{t}) % std::int64_t{t});
}
std::vector<std::uint64_t> product(const Values& x, const Values& m, std::size_t columns) {
  std::vector<std::uint64_t> y(columns);
  for (std::size_t r = 0; r < x.size(); ++r)
    for (std::size_t c = 0; c < columns; ++c)
      y[c] = modulo(static_cast<std::int64_t>(y[c]) + x[r] * m[r * columns + c] % std::int64_t{t});
  return y;
}

TEST(CircuitsBgvSlots, Matrices) {
  for (const auto& [rows, columns] : std::vector<std::pair<std::size_t, std::size_t>>{{1, 1},
                                                                                      {3, 2},
                                                                                      {2, 3},
                                                                                      {16, 16},
                                                                                      {5, 30},
                                                                                      {40, 5},
                                                                                      {512, 512},
                                                                                      {700, 3},
                                                                                      {3, 700},
                                                                                      {1024, 1},
                                                                                      {1, 1024},
                                                                                      {530, 520}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    KeyRequest request;
    request_matrix(request, toy(), rows, columns);
    Slots s(request);
    const Values m = s.values(rows * columns), v = s.values(2 * rows), one = s.values(rows);
    const SlotMap matrix = encode_matrix(s.server, m, rows, columns);
    EXPECT_EQ(matrix.rows(), rows);
    EXPECT_EQ(matrix.columns(), columns);
    EXPECT_GT(matrix.bytes(), 0u);
    const Array two = s.upload(v, rows);
    const Array y = multiply(s.server, two, matrix);
    EXPECT_EQ(y.info().count, 2u);
    const auto got = s.read(y);
    for (std::size_t i = 0; i < 2; ++i) {
      const Values part(v.begin() + static_cast<std::ptrdiff_t>(i * rows),
                        v.begin() + static_cast<std::ptrdiff_t>((i + 1) * rows));
      const auto due = product(part, m, columns);
      for (std::size_t c = 0; c < columns; ++c) ASSERT_EQ(got[i * 1024 + c], due[c]) << c;
      for (std::size_t c = columns; c < 1024 && y.info().rest == Rest::zeros; ++c)
        ASSERT_EQ(got[i * 1024 + c], 0u) << c;
    }
    // What lies behind the values does not matter.
    const Array dirty = s.with_remains(one);
    Values three = one;
    for (auto& x : three) x += 3;
    const auto masked = s.read(multiply(s.server, dirty, matrix));
    const auto due = product(three, m, columns);
    for (std::size_t c = 0; c < columns; ++c) ASSERT_EQ(masked[c], due[c]) << c;
  }
}

TEST(CircuitsBgvSlots, Diagonals) {
  for (const std::size_t count : {1u, 3u, 8u, 20u}) {
    KeyRequest request;
    request_diagonals(request, count, -7);
    Slots s(request);
    Values d = s.values(2 * count * 1024);
    const Values v = s.values(1024);
    std::fill_n(d.begin(), 1024, 0);  // a diagonal of zeros, and a map of nothing else if alone
    const SlotMap maps = encode_diagonals(s.server, d, count, -7);
    const auto results = multiply_maps(s.server, s.upload(v), maps);
    ASSERT_EQ(results.size(), 2u);
    for (std::size_t map = 0; map < 2; ++map) {
      const auto got = s.read(results[map]);
      for (std::size_t i = 0; i < 1024; ++i) {
        std::int64_t due = 0;
        for (std::size_t k = 0; k < count; ++k) {
          const std::size_t from = i / 512 * 512 + (i % 512 + 512 * 20 - 7 * k) % 512;
          due = static_cast<std::int64_t>(
              modulo(due + d[(map * count + k) * 1024 + i] * v[from] % std::int64_t{t}));
        }
        ASSERT_EQ(got[i], modulo(due)) << map << ", " << i;
      }
    }
    EXPECT_THROW(multiply(s.server, s.upload(v), maps), ShapeError);
  }
}

/// The same where each row of slots repeats: fewer words are stored, and results are right. One
/// that repeats with half of a row is stored whole.
TEST(CircuitsBgvSlots, DiagonalsThatRepeat) {
  constexpr std::size_t N = 1024, half = N / 2;
  for (const std::size_t count : {3u, 8u}) {
    KeyRequest request;
    request_diagonals(request, count, 1);
    Slots s(request);
    const Values v = s.values(N);
    std::size_t whole = 0;
    for (const std::size_t period : {512u, 256u, 128u, 16u, 2u}) {
      SCOPED_TRACE(std::to_string(count) + " diagonals of period " + std::to_string(period));
      Values d = s.values(count * N);
      for (std::size_t i = 0; i < d.size(); ++i) d[i] = d[i / half * half + i % period];
      const SlotMap map = encode_diagonals(s.server, d, count, 1);
      if (period == half) whole = map.bytes();
      EXPECT_EQ(map.bytes(), period > half / 4 ? whole : whole / half * period);
      const auto got = s.read(multiply_maps(s.server, s.upload(v), map)[0]);
      for (std::size_t i = 0; i < N; ++i) {
        std::int64_t due = 0;
        for (std::size_t k = 0; k < count; ++k)
          due = static_cast<std::int64_t>(
              modulo(due + d[k * N + i] * v[i / half * half + (i + k) % half] % std::int64_t{t}));
        ASSERT_EQ(got[i], modulo(due)) << i;
      }
    }
  }
}

/// Diagonals are encoded again, of what the host keeps, where their device has failed.
TEST(CircuitsBgvSlots, DiagonalsOutliveTheirDevice) {
  KeyRequest request;
  request_diagonals(request, 8, 1);
  for (const std::size_t period : {512u, 16u}) {
    SCOPED_TRACE(period);
    const auto weak = std::make_shared<test::Strain>(), firm = std::make_shared<test::Strain>();
    test::name_devices({test::strained_device("weak", weak), test::strained_device("firm", firm)});
    Slots s(request, test::named_devices);
    Values d = s.values(8 * 1024);
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = d[i / 512 * 512 + i % period];
    const SlotMap map = encode_diagonals(s.server, d, 8, 1);
    const Ciphertexts x = s.client.encrypt(s.values(1024), Packing::slots);
    const auto mapped = [&] { return s.read(multiply_maps(s.server, s.server.upload(x), map)[0]); };
    const auto due = mapped();
    weak->calls_left = 0;
    EXPECT_NO_THROW(s.server.upload(x));  // it is found to have failed
    ASSERT_EQ(s.server.failed_devices().size(), 1u);
    EXPECT_EQ(mapped(), due);
  }
}

/// Maps without a baby step have the rounding of the last division only.
TEST(CircuitsBgvSlots, DiagonalsAtGiantStepsAlone) {
  constexpr std::size_t count = 9;  // four baby steps
  KeyRequest request;
  request_diagonals(request, count, 1);
  Slots s(request);
  Values d(count * 1024);
  for (const std::size_t k : {0u, 4u, 8u})
    std::fill_n(d.begin() + std::ptrdiff_t(k * 1024), 1024, 1);
  const Values v = s.values(1024);
  const auto got =
      s.read(multiply_maps(s.server, s.upload(v), encode_diagonals(s.server, d, count))[0]);
  for (std::size_t i = 0; i < 1024; ++i) {
    std::int64_t due = 0;
    for (const std::size_t k : {0u, 4u, 8u}) due += v[i / 512 * 512 + (i + k) % 512];
    ASSERT_EQ(got[i], modulo(due)) << i;
  }
}

/// What lies behind the values of short vectors never counts as a value.
TEST(CircuitsBgvSlots, ShortVectorsMeetLongerOnes) {
  KeyRequest request;
  request_sum(request, toy());
  request_diagonals(request, 2, 1);
  const Slots s(request);
  const Array two = s.upload({1, 2}), five = s.upload({1, 1, 1, 1, 6});
  const auto starts = [&](const Array& a, std::vector<std::uint64_t> due, std::size_t at = 0) {
    due.resize(1024);
    const auto got = s.read(a);
    const auto first = got.begin() + static_cast<std::ptrdiff_t>(1024 * at);
    EXPECT_EQ(std::vector<std::uint64_t>(first, first + 1024), due);
  };
  // An integer goes to the values alone, and costs no product.
  const Array plus = two + 3;
  EXPECT_EQ(plus.info().rest, Rest::zeros);
  EXPECT_GT(plus.noise_budget(), two.noise_budget() - 2);
  starts(plus, {4, 5});
  starts(s.server.sub(plus, five), {3, 4, t - 1, t - 1, t - 6});
  starts(plus - 3, {1, 2});
  const Array remains = s.with_remains({1, 2});
  ASSERT_EQ(remains.info().rest, Rest::anything);
  ASSERT_EQ(s.read(remains)[2], 3u);
  for (const Array& a : {plus, remains}) {
    starts(a + five, {5, 6, 1, 1, 6});
    starts(s.server.sub(five, a), {t - 3, t - 4, 1, 1, 6});
    starts(a * five, {4, 5});
    starts(five * a, {4, 5});
    starts(s.server.add_plain(a, Values{1, 1, 1, 1, 6}), {5, 6, 1, 1, 6});
    starts(s.server.sub_plain(a, Values{1, 1, 1}), {3, 4, t - 1});
    starts(s.server.multiply_plain(a, Values{1, 1, 1}), {4, 5});
    starts(a + s.server.encode({0, 0, 0, 7}), {4, 5, 0, 7});
    starts(a * s.server.encode({2, 2, 2, 7}), {8, 10});
    starts(s.server.rotate(a, 1), [] {
      std::vector<std::uint64_t> out(512);
      out[0] = 5;
      out[511] = 4;
      return out;
    }());
    starts(s.server.inner_sum(a, 2), [] {
      std::vector<std::uint64_t> out(512);
      out[0] = 9;
      out[1] = 5;
      out[511] = 4;
      return out;
    }());
    Values diagonals(2048);
    std::fill_n(diagonals.begin() + 1024, 3, 1);
    starts(multiply_maps(s.server, a, encode_diagonals(s.server, diagonals, 2))[0], {5});
    EXPECT_EQ(s.read(sum(s.server, a + five))[0], 19u);
    const Array both = s.server.concatenate(std::vector<Array>{five, a});
    EXPECT_EQ(both.info().length, 5u);
    starts(both, {1, 1, 1, 1, 6});
    starts(both, {4, 5}, 1);
    EXPECT_EQ(s.read(sum(s.server, both))[1024], 9u);
  }
  EXPECT_LT((remains + five).noise_budget(), remains.noise_budget() - 10) << "a product is counted";
  // The host cannot multiply.
  const Ciphertexts a = s.server.download(remains), b = s.server.download(five);
  const std::vector<const Ciphertexts*> batches{&a, &b};
  EXPECT_THROW(concatenate(batches), ShapeError);
  EXPECT_EQ(concatenate(std::vector<const Ciphertexts*>{&a, &a}).info.rest, Rest::anything);
  // Of vectors over several ciphertexts the last one has slots behind the values.
  const Array longer = s.upload(Values(3000, 1), 1500) + 4;
  const auto values = s.read(longer);
  for (const std::size_t vector : {0u, 1u})
    for (std::size_t i = 0; i < 2048; ++i)
      ASSERT_EQ(values[2048 * vector + i], i < 1500 ? 5u : 0u) << i;
  EXPECT_EQ(longer.info().rest, Rest::zeros);
}

// Which of several sums meets which vector over several ciphertexts is not guessed.
TEST(CircuitsBgvSlots, SumsMeetVectorsOverSeveralCiphertexts) {
  KeyRequest request;
  request_sum(request, toy());
  const Slots s(request);
  const Array sums = sum(s.server, s.upload({1, 2, 3, 4}, 2));  // 3 and 7
  const Values ones(1500, 1), two_vectors(3000, 1);
  const Array longer = s.upload(ones, 1500), two_longer = s.upload(two_vectors, 1500);
  EXPECT_THROW(s.server.add(sums, longer), ShapeError);
  EXPECT_THROW(s.server.multiply(longer, sums), ShapeError);
  EXPECT_THROW(s.server.add_plain(sums, ones, 1500), ShapeError);
  EXPECT_THROW(s.server.multiply_plain(sums, s.server.encode(ones, Packing::slots, 1500)),
               ShapeError);
  EXPECT_THROW(s.server.concatenate(std::vector<Array>{sums, longer}), ShapeError);
  const Ciphertexts on_host = s.server.download(sums), long_on_host = s.server.download(longer);
  EXPECT_THROW(concatenate(std::vector<const Ciphertexts*>{&on_host, &long_on_host}), ShapeError);

  const std::vector<std::uint32_t> twice{0, 0, 1, 1};
  const Array repeated = s.server.take(sums, twice);
  const auto got = s.read(s.server.add(repeated, two_longer));
  for (std::size_t i = 0; i < 1500; ++i) {
    ASSERT_EQ(got[i], 4u) << i;
    ASSERT_EQ(got[2048 + i], 8u) << i;
  }
  EXPECT_EQ(s.server.concatenate(std::vector<Array>{repeated, longer}).info().count, 6u);
  const Ciphertexts as_often = take(on_host, twice);
  EXPECT_EQ(concatenate(std::vector<const Ciphertexts*>{&as_often, &long_on_host}).info.count, 6u);
}

TEST(CircuitsBgvSlots, SumsAndDots) {
  KeyRequest request;
  request_sum(request, toy());
  Slots s(request);
  for (const std::size_t length : {1u, 3u, 1024u, 2600u}) {
    SCOPED_TRACE(length);
    const Values v = s.values(2 * length), w = s.values(2 * length);
    const Array x = s.upload(v, length), y = s.upload(w, length);
    const auto check = [&](const Array& a, const auto& term, const char* what) {
      EXPECT_EQ(a.info().count, 2u) << what;
      const auto got = s.read(a);
      for (std::size_t i = 0; i < 2; ++i) {
        std::uint64_t due = 0;
        for (std::size_t k = 0; k < length; ++k) due = (due + modulo(term(i * length + k))) % t;
        for (std::size_t slot = 0; slot < 1024; ++slot)
          ASSERT_EQ(got[i * 1024 + slot], due) << what << ", " << slot;
      }
    };
    check(
        sum(s.server, x), [&](std::size_t i) { return v[i]; }, "sum");
    // What a scalar leaves behind the values does not count.
    check(
        sum(s.server, x + 5), [&](std::size_t i) { return v[i] + 5; }, "sum of x + 5");
    if (length < 1024) {
      const Values first(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(length));
      std::int64_t due = 0;
      for (const std::int64_t value : first) due += value + 3;
      EXPECT_EQ(s.read(sum(s.server, s.with_remains(first)))[0], modulo(due));
    }
    check(
        dot(s.server, x, y), [&](std::size_t i) { return v[i] * w[i]; }, "dot");
    check(
        dot(s.server, x, s.server.encode(w, Packing::slots, length)),
        [&](std::size_t i) { return v[i] * w[i]; }, "dot with plaintexts");
    // A sum has its value in all slots, whatever it meets.
    const Array total = sum(s.server, x);
    EXPECT_EQ(total.info().rest, Rest::same);
    EXPECT_EQ(s.read(sum(s.server, total)), s.read(total));
    if (length > 1024) continue;
    const Array centred = s.server.sub(x, total);
    EXPECT_EQ(centred.info().length, x.info().length);
    std::int64_t of_one[2] = {};
    for (std::size_t i = 0; i < 2 * length; ++i) of_one[i / length] += v[i];
    check(
        sum(s.server, centred),
        [&](std::size_t i) { return v[i] - of_one[i / length] % std::int64_t{t}; },
        "sum of x - sum(x)");
  }
}

TEST(CircuitsBgvSlots, Refusals) {
  KeyRequest request;
  request.rotations = {1};
  const Slots s(request);
  const Array x = s.upload({1, 2, 3});
  const SlotMap matrix = encode_matrix(s.server, Values{1, 2, 3, 4, 5, 6}, 3, 2);
  EXPECT_THROW(multiply(s.server, s.upload({1, 2}), matrix), ShapeError);
  EXPECT_THROW(multiply(s.server, x, SlotMap()), ShapeError);
  EXPECT_THROW(multiply_maps(s.server, x, matrix), ShapeError);
  EXPECT_THROW(encode_matrix(s.server, Values{1, 2}, 3, 2), ShapeError);
  EXPECT_THROW(encode_matrix(s.server, Values(1025), 1025, 1), ShapeError);
  EXPECT_THROW(encode_diagonals(s.server, Values(1023), 1, 1), ShapeError);
  EXPECT_THROW(dot(s.server, x, s.upload({1, 2})), ShapeError);
  const Array packed = s.server.upload(s.client.encrypt({1, 2, 3}, Packing::coefficients));
  EXPECT_THROW(multiply(s.server, packed, matrix), EncodingError);
  EXPECT_THROW(sum(s.server, packed), EncodingError);
  const auto named = [](const auto& call, const char* rotation) {
    test::expect_message<MissingKeyError>([&] { call(); }, {rotation});
  };
  named([&] { sum(s.server, x); },
        "rotation by 2 has no key: ask the client for rotations=[2]; the keys hold rotations 1");
  named([&] { multiply(s.server, x, matrix); }, "rotation by -1 has no key");
  // Vectors over several ciphertexts.
  const Array longer = s.upload(Values(1500, 1));
  EXPECT_THROW(s.server.rotate(longer, 1), ShapeError);
  EXPECT_THROW(s.server.add(longer, x), ShapeError);
  EXPECT_THROW(multiply(s.server, longer, matrix), ShapeError);
  EXPECT_THROW(s.server.take(longer, std::vector<std::uint32_t>{1}), ShapeError);
  const auto twice = s.read(longer + longer);
  EXPECT_EQ(twice[1499 % 1024], 2u);
  EXPECT_EQ(twice[1499], 2u);
  EXPECT_EQ(twice[1500], 0u);
}

TEST(CircuitsBgvSlots, Operators) {
  const Slots s(KeyRequest{});
  const Array a = s.upload({1, 2, 3}), b = s.upload({10, 20, 30});
  const Plaintexts p = s.server.encode({2, 0, 5});
  const auto first = [&](const Array& x) {
    auto values = s.read(x);
    values.resize(3);
    return values;
  };
  using Three = std::vector<std::uint64_t>;
  EXPECT_EQ(first(a + b), (Three{11, 22, 33}));
  EXPECT_EQ(first(b - a), (Three{9, 18, 27}));
  EXPECT_EQ(first(a * b), (Three{10, 40, 90}));
  EXPECT_EQ(first(-a), (Three{t - 1, t - 2, t - 3}));
  EXPECT_EQ(first(a + p), (Three{3, 2, 8}));
  EXPECT_EQ(first(b - p), (Three{8, 20, 25}));
  EXPECT_EQ(first(a * p), (Three{2, 0, 15}));
  EXPECT_EQ(first(2 * a + 1), (Three{3, 5, 7}));
  EXPECT_EQ(first(10 - a - 4), (Three{5, 4, 3}));
  EXPECT_EQ(
      first(a - std::numeric_limits<std::int64_t>::min()),
      first(s.server.sub(a, s.upload(Values(1024, std::numeric_limits<std::int64_t>::min())))));
  Array orphan;
  EXPECT_THROW(orphan + a, ShapeError);
  {
    const Slots gone{KeyRequest{}};
    orphan = gone.upload({1});
  }
  EXPECT_THROW(orphan + 1, DeviceError);
}

}  // namespace
}  // namespace whorl::bgv
