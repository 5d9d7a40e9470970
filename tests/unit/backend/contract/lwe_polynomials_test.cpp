// Rows of LWE ciphertexts as coefficients of polynomials, and rows from a seed.
#include "ring/ntt_plan.h"
#include "support/test.h"

namespace whorl::backend {
namespace {

using test::get;
using test::Int128;
using test::put;

using OnDevice = testing::TestWithParam<const char*>;
std::unique_ptr<Queue> tested(unsigned threads) {
  return open_queue(OnDevice::GetParam(), {threads, {}});
}

/// The integer that a coefficient of column `k` stands for.
Int128 coefficient(const LwePolynomials& rule, const std::vector<std::uint64_t>& in,
                   std::size_t vectors, std::size_t u, std::size_t lane, std::size_t k) {
  const std::size_t M = rule.weights.size();
  Int128 sum = k + 1 == rule.row ? static_cast<Int128>(rule.constant) : 0;
  for (std::size_t m = 0; m < M; ++m)
    if (u * M + m < vectors)
      sum += static_cast<Int128>(rule.weights[m]) *
             in[((u * M + m) * rule.length + lane) * rule.row + k];
  const auto q = static_cast<Int128>(rule.q), to = static_cast<Int128>(rule.to);
  const Int128 x = (static_cast<Int128>(test::reduce(sum, rule.q)) * to + q / 2) / q % to;
  return x < to / 2 ? x : x - to;
}

template <class In, class Out>
void check_polynomials(LwePolynomials rule, std::size_t vectors, std::size_t batch,
                       std::size_t first, std::size_t columns, test::Random& random) {
  SCOPED_TRACE("q = " + std::to_string(rule.q) + " to " + std::to_string(rule.to) + ", " +
               std::to_string(vectors) + " vectors of " + std::to_string(rule.length) +
               " rows of " + std::to_string(rule.row) + ", " + std::to_string(rule.weights.size()) +
               " together, " + std::to_string(batch) + " polynomials of " + std::to_string(rule.N) +
               ", columns " + std::to_string(first) + " + " + std::to_string(columns) + ", " +
               std::to_string(rule.primes.size()) + " primes");
  const auto values = random.residues<std::uint64_t>(vectors * rule.length * rule.row, rule.q);
  const std::vector<In> in(values.begin(), values.end());
  const std::size_t L = rule.length, gap = rule.N / (2 * L), primes = rule.primes.size();
  const auto bits = static_cast<unsigned>(std::countr_zero(L));
  std::vector<Out> expected(columns * primes * batch * rule.N, Out{0});
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t b = 0; b < batch; ++b)
      for (std::size_t i = 0; i < 2 * L; ++i) {
        const std::size_t lane = ring::bit_reverse(static_cast<std::uint32_t>(i % L), bits);
        const Int128 value = coefficient(rule, values, vectors, 2 * b + i / L, lane, first + c);
        for (std::size_t l = 0; l < primes; ++l)
          expected[((c * primes + l) * batch + b) * rule.N + gap * i] =
              static_cast<Out>(test::reduce(value, rule.primes[l]));
      }
  for (const unsigned threads : {1u, 3u}) {
    const auto device = tested(threads);
    // Neither begins at 16 bytes.
    std::vector<In> shifted(in.size() + 1);
    std::copy(in.begin(), in.end(), shifted.begin() + 1);
    const auto x = put(*device, shifted);
    auto y = put(*device, std::vector<Out>(expected.size() + 1, 7));
    device->lwe().to_polynomials(rule, first, columns, x.slice().part(1, in.size()),
                                 y.slice().part(1, expected.size()));
    auto got = get(*device, y);
    ASSERT_EQ(got[0], 7u);
    got.erase(got.begin());
    ASSERT_TRUE(got == expected);
  }
}

using BackendLwePolynomials = OnDevice;
INSTANTIATE_TEST_SUITE_P(Devices, BackendLwePolynomials, testing::ValuesIn(test::tested_devices()));

TEST_P(BackendLwePolynomials, AgainstTheFormula) {
  test::Random random;
  const auto power = [&](unsigned least, unsigned most) {
    return std::uint64_t{1} << (least + random.below(most - least + 1));
  };
  for (int i = 0; i < 40; ++i) {
    LwePolynomials rule;
    rule.q = power(4, 32);
    rule.to = std::min(rule.q, power(1, 22));
    rule.row = 1 + random.below(i % 4 == 0 ? 2049 : 90);
    rule.length = static_cast<std::uint32_t>(power(0, 7));
    rule.N = static_cast<std::uint32_t>(2 * rule.length * power(0, 3));
    rule.weights.resize(1 + random.below(i % 8 == 0 ? 16 : 5));
    for (auto& weight : rule.weights) weight = random.word();
    rule.constant = random.word();
    rule.primes.resize(1 + random.below(3));
    for (auto& prime : rule.primes)
      prime = random.below(4) == 0 ? std::max<std::uint64_t>(rule.to, 2)
                                   : (1ULL << 22) + random.below((1ULL << 31) - (1ULL << 22));
    // The last polynomials may lack vectors, or have none.
    const std::size_t batch = 1 + random.below(3), M = rule.weights.size(),
                      vectors = random.below(2 * batch * M + 1),
                      columns = 1 + random.below(std::min<std::size_t>(rule.row, 70)),
                      first = random.below(2) ? rule.row - columns
                                              : random.below(rule.row - columns + 1);
    check_polynomials<std::uint32_t, std::uint32_t>(rule, vectors, batch, first, columns, random);
    check_polynomials<std::uint64_t, std::uint32_t>(rule, vectors, batch, first, columns, random);
    LwePolynomials wide = rule;
    for (auto& prime : wide.primes) prime += 1ULL << (32 + random.below(28));
    check_polynomials<std::uint32_t, std::uint64_t>(wide, vectors, batch, first, columns, random);
    wide.q = power(33, 63);
    wide.to = std::min(wide.q, power(22, 31));
    check_polynomials<std::uint64_t, std::uint64_t>(wide, vectors, batch, first, columns, random);
    if (HasFatalFailure()) return;
  }
}

// Words beyond q stand for their residues, as words that wrap around do.
TEST_P(BackendLwePolynomials, WordsAreTakenModuloQ) {
  const auto device = tested(1);
  const LwePolynomials rule{1 << 10, 1 << 10, 2, 1, {3}, 5, 4, {(1 << 22) + 9}};
  const auto once = put(*device, std::vector<std::uint32_t>{7, 1000}),
             more = put(*device, std::vector<std::uint32_t>{7 + (5 << 10), 1000 + (1u << 31)});
  auto x = device->allocate<std::uint32_t>(8), y = device->allocate<std::uint32_t>(8);
  device->lwe().to_polynomials(rule, 0, 2, once.slice(), x.slice());
  device->lwe().to_polynomials(rule, 0, 2, more.slice(), y.slice());
  EXPECT_EQ(get(*device, x), get(*device, y));
  // 3·7; 3·1000 + 5 modulo 1024 is -67, and there is no second vector but its constant.
  EXPECT_EQ(get(*device, x),
            (std::vector<std::uint32_t>{21, 0, 0, 0, (1 << 22) + 9 - 67, 0, 5, 0}));
}

TEST_P(BackendLwePolynomials, WrongShapesAreRefused) {
  const auto device = tested(1);
  const LwePolynomials good{1 << 10, 1 << 8, 5, 4, {1, 2}, 5, 16, {12289, 40961}};
  const auto in = put(*device, std::vector<std::uint32_t>(std::size_t{4} * 4 * 5));
  auto out = device->allocate<std::uint32_t>(std::size_t{3} * 2 * 16);
  const auto run = [&](const LwePolynomials& rule, std::size_t first = 0, std::size_t columns = 3) {
    device->lwe().to_polynomials(rule, first, columns, in.slice(), out.slice());
  };
  EXPECT_NO_THROW(run(good));
  EXPECT_NO_THROW(run(good, 2));
  EXPECT_THROW(run(good, 3), ShapeError);
  EXPECT_THROW(run(good, 0, 2), ShapeError);  // no whole number of polynomials
  EXPECT_THROW(run(good, 0, 0), ShapeError);
  const auto refused = [&](const auto& change) {
    LwePolynomials rule = good;
    change(rule);
    EXPECT_THROW(run(rule), ParameterError);
  };
  refused([](LwePolynomials& r) { r.q = 1000; });
  refused([](LwePolynomials& r) { r.q = 1ULL << 33; });  // no word of 32 bits
  refused([](LwePolynomials& r) { r.to = 1 << 11; });
  refused([](LwePolynomials& r) { r.to = 1; });
  refused([](LwePolynomials& r) { r.to = 96; });
  refused([](LwePolynomials& r) { r.length = 3; });
  refused([](LwePolynomials& r) { r.length = 16; });
  refused([](LwePolynomials& r) { r.N = 24; });
  refused([](LwePolynomials& r) { r.weights.clear(); });
  refused([](LwePolynomials& r) { r.weights.resize(17); });
  refused([](LwePolynomials& r) { r.primes.clear(); });
  refused([](LwePolynomials& r) { r.primes[1] = 255; });
  refused([](LwePolynomials& r) { r.primes[1] = 1ULL << 33; });
  LwePolynomials rule = good;
  rule.row = 6;
  EXPECT_THROW(run(rule), ShapeError);
  rule = good;
  rule.weights = {1};  // four vectors are two polynomials
  EXPECT_THROW(run(rule), ShapeError);
  const auto other = tested(1);
  EXPECT_THROW(other->lwe().to_polynomials(good, 0, 3, in.slice(), out.slice()), DeviceError);
}

using BackendLweExpansion = OnDevice;
INSTANTIATE_TEST_SUITE_P(Devices, BackendLweExpansion, testing::ValuesIn(test::tested_devices()));

/// The rule of math/random.h, word by word: key = seed, nonce = number.
template <class Word>
void append_mask(const math::Seed& seed, std::uint64_t number, std::uint64_t q, std::size_t n,
                 std::vector<Word>& out) {
  math::Stream stream(seed, number);
  for (std::size_t kept = 0; kept < n;) {
    std::array<std::uint8_t, sizeof(Word)> bytes;
    stream.fill(bytes);
    Word word = 0;
    std::memcpy(&word, bytes.data(), sizeof(Word));
    word &= static_cast<Word>(~std::uint64_t{0} >> (64 - std::bit_width(q - 1)));
    if (word > q - 1) continue;
    out.push_back(word);
    ++kept;
  }
}

template <class Word>
void check_expansion(std::uint64_t q, std::size_t n, std::size_t count, test::Random& random) {
  const math::Seed seed = random.bytes<32>();
  const std::size_t row = n + 1;
  const std::uint64_t first = random.below(2) ? random.below(1000) : (1ULL << 32) - 3;
  std::vector<std::uint32_t> numbers = random.numbers(count, 1ULL << 32);
  if (random.below(2)) numbers.clear();
  SCOPED_TRACE("q = " + std::to_string(q) + ", words of " + std::to_string(8 * sizeof(Word)) +
               " bits, n = " + std::to_string(n) + ", " + std::to_string(count) + " rows, " +
               std::to_string(numbers.size()) + " numbers");
  const auto bodies = random.residues<Word>(count, q);
  std::vector<Word> expected;
  for (std::size_t r = 0; r < count; ++r) {
    append_mask<Word>(seed, numbers.empty() ? first + r : numbers[r], q, n, expected);
    expected.push_back(bodies[r]);
  }
  for (const unsigned threads : {1u, 3u}) {
    const auto device = tested(threads);
    const auto b = put(*device, bodies);
    const auto names = put(*device, numbers);
    auto out = device->allocate<Word>(count * row);
    device->lwe().expand<Word>({seed, q, row, first}, names.slice(), b.slice(), out.slice());
    ASSERT_TRUE(get(*device, out) == expected);
  }
}

TEST_P(BackendLweExpansion, RowsAreResiduesOfKeystreams) {
  test::Random random;
  for (int i = 0; i < 60; ++i) {
    const std::size_t n = i % 10 == 0 ? random.below(3) : random.below(i % 3 == 0 ? 2100 : 100),
                      count = 1 + random.below(60);
    const auto bits = static_cast<unsigned>(1 + random.below(32));
    check_expansion<std::uint32_t>(1ULL << bits, n, count, random);
    check_expansion<std::uint64_t>(1ULL << (bits + 31), n, count, random);
    // Just above a power of two half of all words are dropped, just below almost none.
    check_expansion<std::uint32_t>((1ULL << (bits - 1)) + 1, n, count, random);
    check_expansion<std::uint64_t>((1ULL << (bits + 30)) + 1, n, count, random);
    check_expansion<std::uint32_t>(std::max<std::uint64_t>(2, (1ULL << bits) - 1), n, count,
                                   random);
    check_expansion<std::uint64_t>((1ULL << (bits + 31)) - 59, n, count, random);
    if (HasFatalFailure()) return;
  }
  // As `W128_P128_M3` has it: a prime of 48 bits.
  check_expansion<std::uint64_t>((1ULL << 48) - 59, 2048, 33, random);
  check_expansion<std::uint64_t>(~std::uint64_t{0}, 2048, 5, random);
}

TEST_P(BackendLweExpansion, WrongShapesAreRefused) {
  const auto device = tested(1);
  const auto three = put(*device, std::vector<std::uint32_t>(3)),
             two = put(*device, std::vector<std::uint32_t>(2)),
             none = put(*device, std::vector<std::uint32_t>());
  auto out = device->allocate<std::uint32_t>(15);
  const auto run = [&](const LweExpansion& rule, const auto& numbers, const auto& bodies) {
    device->lwe().expand<std::uint32_t>(rule, numbers.slice(), bodies.slice(), out.slice());
  };
  EXPECT_NO_THROW(run({{}, 1 << 10, 5, 0}, none, three));
  EXPECT_NO_THROW(run({{}, 1ULL << 32, 5, 0}, three, three));
  EXPECT_THROW(run({{}, 1 << 10, 5, 0}, none, two), ShapeError);
  EXPECT_THROW(run({{}, 1 << 10, 5, 0}, two, three), ShapeError);
  EXPECT_THROW(run({{}, 1 << 10, 4, 0}, none, three), ShapeError);
  EXPECT_THROW(run({{}, 1 << 10, 0, 0}, none, three), ShapeError);
  EXPECT_THROW(run({{}, 1, 5, 0}, none, three), ParameterError);
  EXPECT_THROW(run({{}, 0, 5, 0}, none, three), ParameterError);
  EXPECT_THROW(run({{}, 1ULL << 33, 5, 0}, none, three), ParameterError);
  EXPECT_THROW(
      device->lwe().expand<std::uint32_t>({{}, 1 << 10, 5, 0}, none.slice(),
                                          std::as_const(out).slice().part(0, 3), out.slice()),
      ShapeError);
}

}  // namespace
}  // namespace whorl::backend
