// Modulus switching, extraction, key switching and linear combinations of LWE ciphertexts.
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

Int128 floor_div(Int128 a, Int128 b) { return a / b - (a % b < 0 ? 1 : 0); }
/// floor(a/b + 1/2)
Int128 round_div(Int128 a, Int128 b) { return floor_div(2 * a + b, 2 * b); }

template <class In, class Out>
void check_modulus_switch(std::uint64_t from, std::uint64_t to, std::size_t row, unsigned centre,
                          bool in_place, test::Random& random) {
  SCOPED_TRACE("from " + std::to_string(from) + " to " + std::to_string(to) + ", row " +
               std::to_string(row) + (centre ? ", centred at 1/" + std::to_string(centre) : "") +
               (in_place ? ", in place" : ""));
  const std::size_t rows = random.below(4);
  const auto in = random.residues<In>(rows * row, from);
  std::vector<Out> expected;
  for (std::size_t r = 0; r < rows; ++r) {
    Int128 errors = 0;  // from·(sum of rounding errors)
    for (std::size_t k = 0; k + 1 < row; ++k) {
      const Int128 exact = static_cast<Int128>(in[r * row + k]) * to;
      const Int128 rounded = round_div(exact, from);
      errors += rounded * from - exact;
      expected.push_back(static_cast<Out>(test::reduce(rounded, to)));
    }
    const Int128 parts = centre == 0 ? 1 : centre;
    Int128 b = parts * static_cast<Int128>(in[r * row + row - 1]) * to;
    if (centre != 0) b += errors;
    expected.push_back(
        static_cast<Out>(test::reduce(round_div(b, parts * static_cast<Int128>(from)), to)));
  }
  const auto device = tested(2);
  auto x = put(*device, in);
  if constexpr (std::is_same_v<In, Out>) {
    if (in_place) {
      device->lwe().modulus_switch(from, to, row, centre, std::as_const(x).slice(), x.slice());
      ASSERT_TRUE(get(*device, x) == expected);
      return;
    }
  }
  auto y = device->template allocate<Out>(in.size());
  device->lwe().modulus_switch(from, to, row, centre, std::as_const(x).slice(), y.slice());
  ASSERT_TRUE(get(*device, y) == expected);
}

using BackendModulusSwitch = OnDevice;
INSTANTIATE_TEST_SUITE_P(Devices, BackendModulusSwitch, testing::ValuesIn(test::tested_devices()));

TEST_P(BackendModulusSwitch, AgainstExactRationals) {
  test::Random random;
  auto modulus = [&](unsigned most_bits) {
    const auto bits = static_cast<unsigned>(2 + random.below(most_bits - 1));
    const std::uint64_t low = 1ULL << (bits - 1);
    return random.below(2) ? low : low + random.below(low);
  };
  for (int i = 0; i < 400; ++i) {
    const unsigned centre =
        i % 2 != 0 ? 0 : 2 + static_cast<unsigned>(random.below(i % 4 == 0 ? 8 : 63));
    const std::size_t row = 1 + random.below(700);
    check_modulus_switch<std::uint32_t, std::uint32_t>(modulus(32), modulus(32), row, centre, false,
                                                       random);
    check_modulus_switch<std::uint32_t, std::uint64_t>(modulus(32), modulus(58), row, centre, false,
                                                       random);
    // Errors of up to 700 elements must add up to less than 2^63 to be centred.
    const unsigned most = centre != 0 ? 53 : 58;
    check_modulus_switch<std::uint64_t, std::uint32_t>(modulus(most), modulus(32), row, centre,
                                                       false, random);
    check_modulus_switch<std::uint64_t, std::uint64_t>(modulus(most), modulus(58), row, centre,
                                                       false, random);
  }
  // The edges of words, equal moduli, no mask at all.
  for (const unsigned centre : {0u, 2u, 4u, 64u}) {
    check_modulus_switch<std::uint32_t, std::uint32_t>(1ULL << 32, 1ULL << 32, 17, centre, false,
                                                       random);
    check_modulus_switch<std::uint64_t, std::uint32_t>((1ULL << 60) - 93, 1ULL << 32, 17, centre,
                                                       false, random);
    check_modulus_switch<std::uint64_t, std::uint64_t>((1ULL << 60) - 93, 1ULL << 40, 17, centre,
                                                       false, random);
    check_modulus_switch<std::uint32_t, std::uint32_t>(134215681, 134215681, 5, centre, false,
                                                       random);
    check_modulus_switch<std::uint32_t, std::uint32_t>(1024, 1024, 1, centre, false, random);
    check_modulus_switch<std::uint32_t, std::uint32_t>(1 << 10, 1 << 12, 9, centre, false, random);
  }
}

// Halves, all rounded up: the largest sum of errors that is taken, and the first that is not.
TEST_P(BackendModulusSwitch, TheLargestSumOfErrors) {
  const auto device = tested(2);
  const std::uint64_t from = 1ULL << 57, to = from / 2;
  const std::vector<std::uint64_t> most(128, from - 1), more(129, from - 1);
  auto x = put(*device, most), y = put(*device, more);
  device->lwe().modulus_switch(from, to, most.size(), 2, std::as_const(x).slice(), x.slice());
  // b of 2^57 - 1 is 2^56 - 1/2; 127 errors of a half each add half their sum, 31 3/4.
  const auto got = get(*device, x);
  EXPECT_EQ(got[0], 0u);
  EXPECT_EQ(got[127], 31u);
  EXPECT_THROW(
      device->lwe().modulus_switch(from, to, more.size(), 2, std::as_const(y).slice(), y.slice()),
      ParameterError);
  for (const unsigned centre : {1u, 65u})
    EXPECT_THROW(device->lwe().modulus_switch(1 << 20, 1 << 10, 129, centre,
                                              std::as_const(y).slice(), y.slice()),
                 ParameterError);
}

// The scheme rounds ciphertexts where they lie.
TEST_P(BackendModulusSwitch, InPlace) {
  test::Random random;
  for (int i = 0; i < 50; ++i)
    for (const unsigned centre : {0u, 2u, 5u}) {
      check_modulus_switch<std::uint32_t, std::uint32_t>(1 << 15, 2048, 1 + random.below(700),
                                                         centre, true, random);
      check_modulus_switch<std::uint64_t, std::uint64_t>((1ULL << 40) + 15, 1ULL << 20, 50, centre,
                                                         true, random);
      if (HasFatalFailure()) return;
    }
}

// b - <a, s> of the result keeps half the variance of rounding under a binary key, (1 + n/4)/12,
// and 1 - p of it under one of mean p. With 4,000 samples of a nearly normal error the variance is
// known within 2.3 % (one deviation); 15 % is beyond six (< 1e-8).
TEST_P(BackendModulusSwitch, CentringTakesTheMeanOfTheKeyOutOfTheError) {
  test::Random random;
  const std::size_t n = 600, rows = 4000;
  const std::uint64_t from = 1ULL << 25, to = 2048;
  const auto device = tested(2);
  // Uniform: the edges among random.residues() round almost without error.
  auto in = random.numbers(rows * (n + 1), from);
  const auto x = put(*device, in);
  auto y = device->allocate<std::uint32_t>(in.size());
  for (const auto& [centre, values] : {std::pair{0u, 2u}, {2u, 2u}, {4u, 4u}, {5u, 5u}}) {
    std::vector<std::int64_t> key(n);  // 1 once in `values` times
    for (auto& s : key) s = random.below(values) == 0 ? 1 : 0;
    device->lwe().modulus_switch(from, to, n + 1, centre, x.slice(), y.slice());
    const auto out = get(*device, y);
    double squares = 0, sum = 0, ones = 0;
    for (std::size_t k = 0; k < n; ++k) ones += static_cast<double>(key[k]);
    for (std::size_t r = 0; r < rows; ++r) {
      Int128 before = in[r * (n + 1) + n], after = out[r * (n + 1) + n];
      for (std::size_t k = 0; k < n; ++k) {
        before -= key[k] * Int128{in[r * (n + 1) + k]};
        after -= key[k] * Int128{out[r * (n + 1) + k]};
      }
      // after·from - before·to, centred modulo from·to, over from.
      const auto difference = test::centred(
          test::reduce(after * static_cast<Int128>(from) - before * static_cast<Int128>(to),
                       from * to),
          from * to);
      const double error = static_cast<double>(difference) / static_cast<double>(from);
      squares += error * error;
      sum += error;
    }
    const double mean = centre != 0 ? 1.0 / centre : 0;
    const double around = ones * (1 - 2 * mean) + n * mean * mean, expected = (1 + around) / 12;
    EXPECT_NEAR(squares / rows / expected, 1, 0.15) << "centre " << centre;
    EXPECT_LT(std::abs(sum / rows), 6 * std::sqrt(expected / rows));
  }
}

template <class Word>
void check_extract(std::uint32_t N, std::uint64_t Q, test::Random& random) {
  const std::size_t count = random.below(4);
  const auto in = random.residues<Word>(count * 2 * N, Q);
  const std::uint64_t constant = random.below(2) ? random.below(Q) : Q - 1;
  const auto device = tested(2);
  const auto x = put(*device, in);
  auto y = device->template allocate<Word>(count * (N + 1));
  device->rotation<Word>().extract(Q, N, constant, x.slice(), y.slice());
  const auto out = get(*device, y);
  std::vector<std::int64_t> s(N);
  for (auto& v : s) v = random.between(-1, 1);
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<Word> a(in.begin() + static_cast<std::ptrdiff_t>(i * 2 * N),
                              in.begin() + static_cast<std::ptrdiff_t>((i * 2 + 1) * N));
    // Coefficient 0 of b - a·s, plus the constant.
    const Int128 expected = Int128{in[(2 * i + 1) * N]} + constant - test::negacyclic(a, s)[0];
    Int128 phase = out[i * (N + 1) + N];
    for (std::size_t j = 0; j < N; ++j) {
      ASSERT_LT(out[i * (N + 1) + j], Q);
      phase -= s[j] * Int128{out[i * (N + 1) + j]};
    }
    ASSERT_EQ(test::reduce(phase, Q), test::reduce(expected, Q)) << "N = " << N << ", Q = " << Q;
  }
}

using BackendSampleExtract = OnDevice;
INSTANTIATE_TEST_SUITE_P(Devices, BackendSampleExtract, testing::ValuesIn(test::tested_devices()));

TEST_P(BackendSampleExtract, PhaseIsTheConstantCoefficient) {
  test::Random random;
  for (int i = 0; i < 10; ++i)
    for (const std::uint32_t N : {256u, 512u}) {
      check_extract<std::uint32_t>(N, 134215681, random);
      check_extract<std::uint32_t>(N, 2147473409, random);
      check_extract<std::uint64_t>(N, 134215681, random);
      check_extract<std::uint64_t>(N, 1152921504606830593, random);
    }
}

void check_key_switch(const test::Executor& on, std::uint32_t N, std::uint32_t n,
                      std::uint64_t Q_ks, unsigned log_base, unsigned digits, bool table,
                      test::Random& random) {
  SCOPED_TRACE("N = " + std::to_string(N) + ", n = " + std::to_string(n) +
               ", Q_ks = " + std::to_string(Q_ks) + ", log_base = " + std::to_string(log_base) +
               ", digits = " + std::to_string(digits) + (table ? ", table" : ", product"));
  const ring::Gadget gadget(Q_ks, log_base, digits);
  std::size_t per_coefficient = 0;
  std::vector<std::size_t> first;
  for (unsigned j = 0; j < digits; ++j) {
    first.push_back(per_coefficient);
    per_coefficient += table ? gadget.bound(j) : 1;
  }
  const std::size_t rows = N * per_coefficient;
  const auto key = random.residues<std::uint64_t>(rows * (n + 1), Q_ks);
  const std::size_t count = random.below(20);
  const auto in = random.residues<std::uint64_t>(count * (N + 1), Q_ks);
  std::vector<std::uint64_t> expected;
  for (std::size_t c = 0; c < count; ++c) {
    std::vector<Int128> sum(n + 1, 0);
    sum[n] = static_cast<Int128>(in[c * (N + 1) + N]);
    for (std::size_t i = 0; i < N; ++i)
      for (unsigned j = 0; j < digits; ++j) {
        const std::int64_t d = gadget.digit(test::centred(in[c * (N + 1) + i], Q_ks), j);
        if (d == 0) continue;
        const std::size_t row = i * per_coefficient + first[j] +
                                (table ? static_cast<std::size_t>(std::abs(d)) - 1 : 0);
        const Int128 factor = table ? (d > 0 ? 1 : -1) : d;
        for (std::size_t k = 0; k <= n; ++k)
          sum[k] -= factor * static_cast<Int128>(key[row * (n + 1) + k]);
      }
    for (const Int128 value : sum) expected.push_back(test::reduce(value, Q_ks));
  }
  const RowSource<std::uint64_t> source = [&](std::size_t r, std::span<std::uint64_t> a,
                                              std::span<std::uint64_t> b) {
    ASSERT_LT(r, rows);
    ASSERT_EQ(a.size(), n);
    ASSERT_EQ(b.size(), 1u);
    std::copy_n(key.begin() + static_cast<std::ptrdiff_t>(r * (n + 1)), n, a.begin());
    b[0] = key[r * (n + 1) + n];
  };
  for (const unsigned threads : {1u, 3u}) {
    const auto device = on.queue(threads);
    const auto prepared = device->lwe().prepare_switch_key({N, n, Q_ks, gadget, table}, source);
    const auto x = put(*device, in);
    auto y = device->allocate<std::uint64_t>(count * (n + 1));
    device->lwe().key_switch<std::uint64_t>(*prepared, x.slice(), y.slice());
    ASSERT_TRUE(get(*device, y) == expected);
  }
}

TEST(BackendKeySwitch, AgainstTheFormula) {
  test::Random random;
  test::on_each_device([&](const test::Executor& on) {
    for (const bool table : {false, true}) {
      auto dimension = [&] { return static_cast<std::uint32_t>(16 + random.below(90)); };
      check_key_switch(on, 256, dimension(), 1ULL << 14, 5, 3, table,
                       random);  // 16-bit words, exact
      check_key_switch(on, 256, dimension(), 1ULL << 15, 4, 3, table, random);  // 3 bits dropped
      check_key_switch(on, 128, dimension(), 1ULL << 16, 8, 2, table, random);
      check_key_switch(on, 128, dimension(), 1ULL << 17, 6, 3, table, random);  // 32-bit words
      check_key_switch(on, 128, dimension(), 1ULL << 32, 7, 4, table, random);
      check_key_switch(on, 128, dimension(), 1ULL << 35, 5, 7, table, random);  // 64-bit words
      check_key_switch(on, 128, dimension(), 1ULL << 40, 8, 3, table, random);
      check_key_switch(on, 64, dimension(), 134215681, 5, 6, table, random);  // Q itself
      check_key_switch(on, 64, dimension(), 134215681, 5, 4, table, random);
      check_key_switch(on, 64, dimension(), (1ULL << 45) - 229, 3, 2, table, random);
      check_key_switch(on, 64, dimension(), 1ULL << 9, 1, 9, table, random);  // base 2
      check_key_switch(on, 64, dimension(), 1ULL << 9, 1, 1, table, random);
      if (!table) check_key_switch(on, 64, dimension(), 1ULL << 40, 16, 2, table, random);
    }
  });
}

using BackendLweLinear = OnDevice;
INSTANTIATE_TEST_SUITE_P(Devices, BackendLweLinear, testing::ValuesIn(test::tested_devices()));

TEST_P(BackendLweLinear, AgainstBigIntegers) {
  test::Random random;
  for (int i = 0; i < 200; ++i) {
    const auto bits = static_cast<unsigned>(1 + random.below(32));
    const std::uint64_t q = random.below(2) ? 1ULL << bits : 2 + random.below((1ULL << bits));
    const std::size_t row = 1 + random.below(40), rows = random.below(5), terms = random.below(5);
    const auto device = tested(2);
    std::vector<std::vector<std::uint32_t>> in;
    std::vector<Buffer<std::uint32_t>> buffers;
    std::vector<Slice<const std::uint32_t>> slices;
    std::vector<std::int64_t> weights;
    for (std::size_t k = 0; k < terms; ++k) {
      in.push_back(random.residues<std::uint32_t>(rows * row, q));
      buffers.push_back(put(*device, in.back()));
      weights.push_back(random.below(4) == 0 ? (random.below(2) ? INT64_MAX : INT64_MIN)
                                             : random.between(-5, 5));
    }
    for (const auto& buffer : buffers) slices.push_back(buffer.slice());
    const std::uint64_t constant = random.below(2) ? random.below(q) : random.word();
    auto out = device->allocate<std::uint32_t>(rows * row);
    device->lwe().linear<std::uint32_t>(q, row, weights, slices, constant, out.slice());
    const auto got = get(*device, out);
    for (std::size_t j = 0; j < got.size(); ++j) {
      Int128 sum = (j + 1) % row == 0 ? static_cast<Int128>(constant) : 0;
      for (std::size_t k = 0; k < terms; ++k) sum += static_cast<Int128>(weights[k]) * in[k][j];
      ASSERT_EQ(got[j], test::reduce(sum, q)) << "q = " << q << ", row " << row << ", at " << j;
    }
  }
}

template <class Word>
void check_matrix(std::uint64_t q, std::int64_t largest, std::size_t inputs, std::size_t results,
                  std::size_t groups, std::size_t batch, std::size_t row, test::Random& random) {
  SCOPED_TRACE("q = " + std::to_string(q) + ", weights up to " + std::to_string(largest) + ", " +
               std::to_string(groups) + " times " + std::to_string(results) + " sums of " +
               std::to_string(inputs) + ", batches of " + std::to_string(batch) + " rows of " +
               std::to_string(row));
  const std::size_t size = batch * row;
  auto in = random.residues<Word>(groups * inputs * size, q);
  std::vector<std::int64_t> entries(results * inputs);
  for (auto& entry : entries)
    entry = random.below(9) != 0 ? random.between(-largest, largest)
            : random.below(2)    ? largest
                                 : -largest;
  // The largest sums, of either sign.
  if (random.below(4) == 0) {
    std::ranges::fill(in, static_cast<Word>(q - 1));
    std::ranges::fill(entries, random.below(2) ? largest : -largest);
  }
  std::vector<std::uint64_t> constants(results);
  for (auto& constant : constants) constant = random.below(2) ? random.below(q) : random.word();
  const auto device = tested(2);
  const auto there = put(*device, in);
  auto out = device->allocate<Word>(groups * results * size);
  device->lwe().matrix<Word>(q, row, entries, constants, there.slice(), out.slice(), groups);
  const auto got = get(*device, out);
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t r = 0; r < results; ++r)
      for (std::size_t j = 0; j < size; ++j) {
        Int128 sum = (j + 1) % row == 0 ? static_cast<Int128>(constants[r]) : 0;
        for (std::size_t k = 0; k < inputs; ++k)
          sum = (sum +
                 static_cast<Int128>(entries[r * inputs + k]) * in[(g * inputs + k) * size + j]) %
                static_cast<Int128>(q);
        ASSERT_EQ(got[(g * results + r) * size + j], test::reduce(sum, q))
            << "group " << g << ", sum " << r << ", at " << j;
      }
}

using BackendLweMatrix = OnDevice;
INSTANTIATE_TEST_SUITE_P(Devices, BackendLweMatrix, testing::ValuesIn(test::tested_devices()));

TEST_P(BackendLweMatrix, AgainstBigIntegers) {
  test::Random random;
  // Powers of two and others, of 32-bit words, with and without a spare bit, and of 64-bit ones.
  const std::uint64_t narrow[] = {2,     1024,      1ULL << 31,       1ULL << 32,
                                  12289, 134215681, (1ULL << 31) - 1, (1ULL << 32) - 5};
  const std::uint64_t wide[] = {1ULL << 35,        1ULL << 60,        34359754753,
                                18014398509404161, (1ULL << 60) - 93, (1ULL << 61) - 1};
  constexpr std::int64_t largest[] = {
      1, 7, 127, 128, 32767, 32768, 1 << 23, INT32_MAX, std::int64_t{1} << 31, INT64_MAX};
  for (int i = 0; i < 6; ++i)
    for (const std::int64_t most : largest) {
      const auto sizes = [&](const auto& check) {
        check(1 + random.below(80), 1 + random.below(11), 1 + random.below(3), 1 + random.below(3),
              1 + random.below(90));
      };
      sizes([&](auto... size) {
        check_matrix<std::uint32_t>(narrow[random.below(std::size(narrow))], most, size..., random);
      });
      sizes([&](auto... size) {
        check_matrix<std::uint64_t>(wide[random.below(std::size(wide))], most, size..., random);
      });
    }
  // Many inputs, so that sums are cut; rows of ring ciphertexts.
  check_matrix<std::uint32_t>(134215681, 255, 700, 3, 1, 1, 257, random);
  check_matrix<std::uint64_t>((1ULL << 60) - 93, INT32_MAX, 70, 5, 2, 1, 257, random);
  check_matrix<std::uint64_t>(18014398509404161, 127, 700, 3, 1, 1, 257, random);
  // Many results: other tiles on GPUs, with as many bytes as words and weights can have.
  check_matrix<std::uint32_t>(1024, 127, 130, 131, 2, 1, 70, random);
  check_matrix<std::uint32_t>(134215681, INT32_MAX, 130, 131, 2, 1, 70, random);
  check_matrix<std::uint64_t>(1ULL << 35, 127, 65, 131, 2, 1, 70, random);
  check_matrix<std::uint64_t>(18014398509404161, 32768, 65, 131, 2, 1, 70, random);
  check_matrix<std::uint64_t>((1ULL << 61) - 1, INT32_MAX, 65, 131, 2, 1, 70, random);
}

template <class Word>
void check_sums(std::uint64_t q, std::int64_t largest, test::Random& random) {
  backend::LweSumsShape shape{.q = q, .row = 1 + random.below(300), .word_bytes = sizeof(Word)};
  SCOPED_TRACE("q = " + std::to_string(q) + ", weights up to " + std::to_string(largest) +
               ", rows of " + std::to_string(shape.row));
  const auto device = tested(2);
  std::vector<std::vector<Word>> in;
  std::vector<Buffer<Word>> there;
  std::vector<Slice<const Word>> slices;
  for (std::size_t k = 0; k < 1 + random.below(shape.most_inputs); ++k) {
    shape.inputs.push_back(1 + random.below(5));
    in.push_back(random.residues<Word>(shape.inputs.back() * shape.row, q));
    if (random.below(4) == 0) std::ranges::fill(in.back(), static_cast<Word>(q - 1));
    there.push_back(put(*device, in.back()));
  }
  for (const auto& buffer : there) slices.push_back(buffer.slice());
  const std::size_t count = 1 + random.below(20);
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t k = random.below(7); k > 0; --k) {
      const auto input = static_cast<std::uint32_t>(random.below(in.size()));
      const auto row = static_cast<std::uint32_t>(random.below(shape.inputs[input]));
      shape.terms.push_back({input, row, random.between(-largest, largest)});
    }
    shape.begin.push_back(static_cast<std::uint32_t>(shape.terms.size()));
    shape.constants.push_back(random.below(2) ? random.below(q) : random.word());
  }
  const auto sums = device->lwe().prepare_sums(shape);
  const std::size_t first = random.below(count), some = 1 + random.below(count - first);
  auto out = device->allocate<Word>(some * shape.row);
  device->lwe().sums<Word>(*sums, first, some, slices, out.slice());
  const auto got = get(*device, out);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t r = first + i / shape.row, j = i % shape.row;
    Int128 sum = j + 1 == shape.row ? static_cast<Int128>(shape.constants[r]) : 0;
    for (std::uint32_t k = shape.begin[r]; k < shape.begin[r + 1]; ++k) {
      const backend::LweTerm& term = shape.terms[k];
      sum = (sum + static_cast<Int128>(term.weight) * in[term.input][term.row * shape.row + j]) %
            static_cast<Int128>(q);
    }
    ASSERT_EQ(got[i], test::reduce(sum, q)) << "sum " << r << ", at " << j;
  }
}

using BackendLweSums = OnDevice;
INSTANTIATE_TEST_SUITE_P(Devices, BackendLweSums, testing::ValuesIn(test::tested_devices()));

TEST_P(BackendLweSums, AgainstBigIntegers) {
  test::Random random;
  const std::uint64_t narrow[] = {2, 1ULL << 31, 1ULL << 32, 134215681, (1ULL << 32) - 5};
  const std::uint64_t wide[] = {12289, 1ULL << 60, 18014398509404161, (1ULL << 61) - 1};
  for (int i = 0; i < 20; ++i)
    for (const std::int64_t most : {std::int64_t{1}, std::int64_t{17}, INT64_MAX}) {
      check_sums<std::uint32_t>(narrow[random.below(std::size(narrow))], most, random);
      check_sums<std::uint64_t>(wide[random.below(std::size(wide))], most, random);
      if (HasFatalFailure()) return;
    }
}

TEST_P(BackendLweSums, Refusals) {
  const auto device = tested(1);
  const backend::LweSumsShape good{.q = 16,
                                   .row = 3,
                                   .inputs = {2, 1},
                                   .begin = {0, 1, 2},
                                   .terms = {{0, 1, 1}, {1, 0, 2}},
                                   .constants = {0, 5}};
  const auto refused = [&](auto change, const std::string& why) {
    backend::LweSumsShape shape = good;
    change(shape);
    test::expect_message([&] { device->lwe().prepare_sums(shape); }, {why});
  };
  refused([](auto& s) { s.q = 1ULL << 61; }, "outside [2, ");
  refused([](auto& s) { s.q = (1ULL << 32) + 1; }, "words of 32 bits");
  refused([](auto& s) { s.word_bytes = 2; }, "words of 2 bytes");
  refused([](auto& s) { s.row = 0; }, "no elements");
  refused([](auto& s) { s.inputs.resize(33, 1); }, "33 inputs; there may be 32");
  refused([](auto& s) { s.terms[0].row = 2; }, "row 2 of input 0");
  refused([](auto& s) { s.terms[1].input = 2; }, "row 0 of input 2");
  refused([](auto& s) { s.begin[1] = 3; }, "do not divide 2 terms");
  refused([](auto& s) { s.begin.pop_back(); }, "beginnings has 2 elements");
  const auto sums = device->lwe().prepare_sums(good);
  const auto a = put(*device, std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6}),
             b = put(*device, std::vector<std::uint32_t>{7, 8, 9});
  auto out = device->allocate<std::uint32_t>(6);
  const auto call = [&](std::size_t first, std::size_t count,
                        std::vector<Slice<const std::uint32_t>> in, std::size_t words) {
    device->lwe().sums<std::uint32_t>(*sums, first, count, in, out.slice().part(0, words));
  };
  call(0, 2, {a.slice(), b.slice()}, 6);
  EXPECT_EQ(get(*device, out), (std::vector<std::uint32_t>{4, 5, 6, 14, 0, 7}));
  EXPECT_THROW(call(1, 2, {a.slice(), b.slice()}, 6), ShapeError);
  EXPECT_THROW(call(0, 2, {a.slice(), b.slice()}, 5), ShapeError);
  EXPECT_THROW(call(0, 2, {a.slice()}, 6), ShapeError);
  EXPECT_THROW(call(0, 2, {b.slice(), a.slice()}, 6), ShapeError);
  const auto same = std::as_const(out).slice();
  EXPECT_THROW(call(0, 2, {same, b.slice()}, 6), ShapeError);
}

TEST_P(BackendLweMatrix, Refusals) {
  const auto device = tested(1);
  const std::int64_t entries[] = {1, 2, 3, 4};
  const std::uint64_t constants[] = {0, 0};
  auto in = device->allocate<std::uint32_t>(24), out = device->allocate<std::uint32_t>(24);
  const auto call = [&](std::size_t row, std::size_t groups) {
    device->lwe().matrix<std::uint32_t>(16, row, entries, constants, std::as_const(in).slice(),
                                        out.slice(), groups);
  };
  EXPECT_NO_THROW(call(4, 3));
  EXPECT_THROW(call(4, 2), ShapeError);
  EXPECT_THROW(call(4, 0), ShapeError);
  EXPECT_THROW(call(5, 1), ShapeError);
}

}  // namespace
}  // namespace whorl::backend
