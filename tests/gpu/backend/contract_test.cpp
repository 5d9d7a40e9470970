// Every integer entry of the contract on random shapes: GPU against CPU, bit for bit.
#include "gpu/backend/rns_compare.h"
#include "whorl/word_array.h"

namespace whorl::test {
namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

using GpuContract = CpuAndGpu;

TEST_F(GpuContract, NttOfEveryLengthAndWord) {
  for (U32 N = 1 << 8; N <= 1 << 17; N *= 2)
    for (int i = 0; i < 4; ++i) {
      // Up to 2^20 coefficients a word; batches that fill a block, do not, and are one.
      const std::size_t limbs = 1 + random.below(4), most = std::max<std::size_t>(1, (1 << 18) / N);
      const std::size_t batch = i == 0 ? 1 : 1 + random.below(most);
      compare_ntt<U32>(two, N, limbs, batch, random);
      compare_ntt<U64>(two, N, limbs, batch, random);
      if (HasFatalFailure()) return;
    }
}

TEST_F(GpuContract, EveryElementwiseOperation) {
  for (int i = 0; i < 20; ++i) {
    const std::size_t each = i < 10 ? 1 + random.below(300) : 1 + random.below(100000);
    compare_elementwise<U32>(two, each, 1 + random.below(5), random);
    compare_elementwise<U64>(two, each, 1 + random.below(5), random);
    if (HasFatalFailure()) return;
  }
  compare_elementwise<U32>(two, 41, 70, random);  // more limbs than a launch takes
  compare_elementwise<U64>(two, 40, 70, random);
  compare_automorphism<U32>(two, 256, 70, 2, random);
  compare_automorphism<U64>(two, 256, 70, 2, random);
}

// Up to several launches of 512 polynomials, and more rows than a grid has.
TEST_F(GpuContract, TakeOfRandomShapes) {
  for (U32 N = 1 << 8; N <= 1 << 17; N *= 2) {
    const std::size_t most = std::max<std::size_t>(2, (1 << 18) / N);
    compare_take<U32>(two, 1 + random.below(5), N, 1 + random.below(most), 1 + random.below(most),
                      random);
    compare_take<U64>(two, 1 + random.below(5), N, 1 + random.below(most), 1 + random.below(most),
                      random);
    if (HasFatalFailure()) return;
  }
  compare_take<U32>(two, 2, 256, 3, 512, random);
  compare_take<U64>(two, 2, 256, 3, 1500, random);
  compare_take<U32>(two, 70000, 256, 1, 1, random);
}

TEST_F(GpuContract, AutomorphismsOfBothForms) {
  for (U32 N = 1 << 8; N <= 1 << 17; N *= 2) {
    const std::size_t batch = 1 + random.below(std::max<std::size_t>(1, (1 << 17) / N));
    compare_automorphism<U32>(two, N, 1 + random.below(3), batch, random);
    compare_automorphism<U64>(two, N, 1 + random.below(3), batch, random);
    if (HasFatalFailure()) return;
  }
}

TEST_F(GpuContract, SampleExtractOfEveryLength) {
  for (U32 N = 1 << 8; N <= 1 << 13; N *= 2)
    for (const std::size_t count : {std::size_t{1}, std::size_t{2} + random.below(200)}) {
      compare_extract<U32>(two, N, count, random);
      compare_extract<U64>(two, N, count, random);
      if (HasFatalFailure()) return;
    }
}

TEST_F(GpuContract, ModulusSwitchOfEveryPairOfWords) {
  auto modulus = [&](unsigned most_bits) {
    const auto bits = static_cast<unsigned>(2 + random.below(most_bits - 1));
    const U64 low = 1ULL << (bits - 1);
    return random.below(2) ? low : low + random.below(low);
  };
  for (int i = 0; i < 60; ++i) {
    const std::size_t row = i % 10 == 0 ? 1 : 1 + random.below(2500), rows = 1 + random.below(200);
    compare_modulus_switch<U32, U32>(two, modulus(32), modulus(32), row, rows, random);
    compare_modulus_switch<U32, U64>(two, modulus(32), modulus(58), row, rows, random);
    compare_modulus_switch<U64, U32>(two, modulus(58), modulus(32), row, rows, random);
    compare_modulus_switch<U64, U64>(two, modulus(58), modulus(58), row, rows, random);
    if (HasFatalFailure()) return;
  }
  // What the sets do, and the edges of words.
  compare_modulus_switch<U32, U64>(two, 134215681, 1 << 15, 1025, 300, random);
  compare_modulus_switch<U64, U64>(two, 18014398509404161, 1ULL << 35, 2049, 300, random);
  compare_modulus_switch<U64, U32>(two, 1 << 15, 2048, 557, 300, random);
  compare_modulus_switch<U32, U32>(two, 1ULL << 32, 1ULL << 32, 17, 3, random);
  compare_modulus_switch<U64, U32>(two, (1ULL << 60) - 93, 1ULL << 32, 17, 3, random);
  compare_modulus_switch<U64, U64>(two, (1ULL << 60) - 93, 1ULL << 40, 17, 3, random);
}

TEST_F(GpuContract, LinearUpToEightTerms) {
  for (int i = 0; i < 80; ++i) {
    compare_linear<U32>(two, 1 + random.below(1400), 1 + random.below(100), random.below(9),
                        random);
    compare_linear<U64>(two, 1 + random.below(1400), 1 + random.below(100), random.below(9),
                        random);
    if (HasFatalFailure()) return;
  }
  compare_linear<U32>(two, 77, 11, 40, random);  // more than a launch takes
  compare_linear<U64>(two, 78, 11, 40, random);
}

TEST_F(GpuContract, MatrixOfRandomShapes) {
  for (int i = 0; i < 40; ++i) {
    const std::size_t row = 1 + random.below(1100), rows = 1 + random.below(50);
    compare_matrix<U32>(two, row, rows, 1 + random.below(20), 1 + random.below(9), random);
    compare_matrix<U64>(two, row, rows, 1 + random.below(20), 1 + random.below(9), random);
    if (HasFatalFailure()) return;
  }
}

TEST_F(GpuContract, SumsOfRowsOfSeveralInputs) {
  for (int i = 0; i < 40; ++i) {
    const std::size_t row = 1 + random.below(2100), inputs = 1 + random.below(32);
    compare_sums<U32>(two, row, inputs, 1 + random.below(70), random);
    compare_sums<U64>(two, row, inputs, 1 + random.below(70), random);
    if (HasFatalFailure()) return;
  }
  compare_sums<U32>(two, 3, 2, 70000, random);  // more sums than a grid has rows of blocks
}

TEST_F(GpuContract, RowsAsCoefficientsOfPolynomials) {
  const auto shape = [](U64 q, U64 to, std::size_t row, U32 length, std::size_t together, U32 N,
                        std::size_t primes) {
    return backend::LwePolynomials{
        q, to, row, length, std::vector<U64>(together), 0, N, std::vector<U64>(primes)};
  };
  for (int i = 0; i < 40; ++i) {
    const auto length = static_cast<U32>(1U << random.below(10));
    const std::size_t row = 1 + random.below(1400), together = 1 + random.below(16),
                      vectors = 1 + random.below(3 * together),
                      columns = 1 + random.below(std::min<std::size_t>(row, 100)),
                      first = i % 2 ? row - columns : random.below(row - columns + 1);
    const U64 q = 1ULL << (4 + random.below(29)), to = std::min<U64>(q, 2ULL << random.below(22));
    const auto rule =
        shape(q, to, row, length, together, 2 * length << random.below(4), 1 + random.below(3));
    compare_polynomials<U32, U32>(two, rule, vectors, first, columns, random);
    compare_polynomials<U32, U64>(two, rule, vectors, first, columns, random);
    compare_polynomials<U64, U32>(two, rule, vectors, first, columns, random);
    compare_polynomials<U64, U64>(two, rule, vectors, first, columns, random);
    if (HasFatalFailure()) return;
  }
  // What lanes ask for, at the end of the rows, and an odd number of vectors.
  compare_polynomials<U32, U32>(two, shape(1 << 16, 1 << 16, 645, 1 << 13, 2, 1 << 14, 2), 7, 640,
                                5, random);
  compare_polynomials<U32, U32>(two, shape(1ULL << 32, 1 << 22, 2049, 1 << 11, 5, 1 << 12, 2), 11,
                                2017, 32, random);
}

TEST_F(GpuContract, RowsFromSeeds) {
  for (const std::size_t n : {0u, 1u, 15u, 16u, 17u, 644u, 2048u})
    for (const std::size_t count : {std::size_t{1}, 1 + random.below(500)}) {
      const auto bits = static_cast<unsigned>(1 + random.below(31));
      compare_expansion<U32>(two, 1ULL << (bits + 1), n, count, random);
      compare_expansion<U64>(two, 1ULL << (bits + 32), n, count, random);
      // Half of all words are dropped, some, or almost none.
      compare_expansion<U32>(two, (1ULL << bits) + 1, n, count, random);
      compare_expansion<U64>(two, (1ULL << (bits + 31)) + 1, n, count, random);
      compare_expansion<U32>(two, 3ULL << (bits - 1), n, count, random);
      compare_expansion<U64>(two, 3ULL << (bits + 30), n, count, random);
      compare_expansion<U32>(two, (1ULL << (bits + 1)) - 1, n, count, random);
      compare_expansion<U64>(two, (1ULL << (bits + 32)) - 59, n, count, random);
      if (HasFatalFailure()) return;
    }
}

TEST_F(GpuContract, CopyFromAnyPlaceToAny) {
  for (int i = 0; i < 20; ++i) {
    compare_copy<U32>(two, random.below(100000), random);
    compare_copy<U64>(two, random.below(100000), random);
    if (HasFatalFailure()) return;
  }
}

TEST_F(GpuContract, KeySwitchByTableAndProductInEveryWord) {
  for (const bool table : {false, true}) {
    auto n = [&] { return static_cast<U32>(16 + random.below(1300)); };
    auto count = [&] {
      const std::size_t some[] = {1, 2, 7, 64, 129, 1 + random.below(500)};
      return some[random.below(6)];
    };
    compare_key_switch<U16>(two, 1024, n(), 1 << 14, 7, 2, table, count(), random);
    compare_key_switch<U16>(two, 1024, n(), 1 << 15, 5, 3, table, count(), random);
    compare_key_switch<U16>(two, 512, n(), 1 << 15, 4, 3, table, count(), random);
    compare_key_switch<U16>(two, 2048, n(), 1 << 16, 4, 4, table, count(), random);
    compare_key_switch<U32>(two, 512, n(), 1 << 17, 6, 3, table, count(), random);
    compare_key_switch<U32>(two, 256, n(), 1ULL << 32, 7, 4, table, count(), random);
    compare_key_switch<U32>(two, 256, n(), 134215681, 5, 6, table, count(), random);
    compare_key_switch<U32>(two, 256, n(), 134215681, 5, 4, table, count(), random);
    compare_key_switch<U64>(two, 256, n(), 1ULL << 35, 5, 7, table, count(), random);
    compare_key_switch<U64>(two, 256, n(), 1ULL << 40, 8, 3, table, count(), random);
    compare_key_switch<U64>(two, 256, n(), (1ULL << 32) - 5, 6, 5, table, count(), random);
    compare_key_switch<U32>(two, 256, n(), 1ULL << 31, 7, 4, table, count(), random);
    compare_key_switch<U64>(two, 256, n(), (1ULL << 45) - 229, 3, 2, table, count(), random);
    compare_key_switch<U64>(two, 256, n(), 1 << 9, 1, 9, table, count(), random);  // wider than due
    if (!table) {
      compare_key_switch<U64>(two, 2048, 1305, 1ULL << 35, 5, 7, false, 100, random);
      compare_key_switch<U64>(two, 256, n(), 1ULL << 40, 16, 2, false, count(), random);
      compare_key_switch<U32>(two, 1024, 503, 1 << 20, 2, 8, false, 1000, random);
    }
    if (HasFatalFailure()) return;
  }
}

TEST_F(GpuContract, KeySwitchOfRandomShapes) {
  for (int i = 0; i < 70;) {
    const bool table = random.below(2) != 0, power = i % 6 != 0;
    const auto bits = static_cast<unsigned>(4 + random.below(power ? 59 : 57));
    const U64 Q_ks = power ? 1ULL << bits : (1ULL << bits) - 1 - random.below(1ULL << (bits - 1));
    const auto log_base = static_cast<unsigned>(1 + random.below(table ? 9 : 12));
    const unsigned most = std::min(8u, (bits + log_base - 1) / log_base);
    const auto digits = static_cast<unsigned>(1 + random.below(most));
    const auto N = static_cast<U32>(5 + random.below(296)),
               n = static_cast<U32>(1 + random.below(400));
    if ((std::size_t{table ? 1u << log_base : 1u} * digits * N * (n + 1)) >> 23 != 0) continue;
    const std::size_t count = 1 + random.below(300), word = word_bytes_for(Q_ks);
    if (word == 2)
      compare_key_switch<U16>(two, N, n, Q_ks, log_base, digits, table, count, random);
    else if (word == 4)
      compare_key_switch<U32>(two, N, n, Q_ks, log_base, digits, table, count, random);
    else
      compare_key_switch<U64>(two, N, n, Q_ks, log_base, digits, table, count, random);
    if (HasFatalFailure()) return;
    ++i;
  }
}

TEST_F(GpuContract, FftWithinRoundingOfTheCpu) {
  for (U32 N = 1 << 8; N <= 1 << 17; N *= 2) {
    const ring::FftPlan plan(N);
    const std::size_t batch = 1 + random.below(std::max<std::size_t>(1, (1 << 17) / N));
    SCOPED_TRACE("N = " + std::to_string(N) + ", batch " + std::to_string(batch));
    std::vector<double> in(batch * N);
    for (double& x : in) x = static_cast<double>(random.between(-(1 << 26), 1 << 26));
    auto both = [&](const backend::Queue& queue) {
      const auto x = put(queue, in);
      auto spectrum = queue.allocate<std::complex<double>>(batch * plan.M());
      auto back = queue.allocate<double>(in.size());
      queue.fft().fft(plan, x.slice(), spectrum.slice());
      queue.fft().ifft(plan, std::as_const(spectrum).slice(), back.slice());
      return std::pair(get(queue, spectrum), get(queue, back));
    };
    const auto [cpu_values, cpu_back] = both(*two.cpu);
    const auto [gpu_values, gpu_back] = both(*two.gpu);
    // log2 M + 1 levels, each a relative 2^-52 of a result of size 2^26·sqrt(N), at most 64 times
    // its mean size.
    const double bound = std::ldexp(1.0, 26 - 52 + 6) * std::sqrt(N) * 17;
    for (std::size_t i = 0; i < cpu_values.size(); ++i)
      ASSERT_LT(std::abs(gpu_values[i] - cpu_values[i]), bound) << "value " << i;
    for (std::size_t i = 0; i < in.size(); ++i)
      ASSERT_NEAR(gpu_back[i], in[i], std::ldexp(1.0, 26 - 52 + 6) * 17) << "coefficient " << i;
  }
}

// Every length, to places that do not begin at 16 bytes. The CPU beside a GPU has fused
// multiply-adds.
TEST_F(GpuContract, InterpolationOfEveryLength) {
  for (U32 N = 1 << 8; N <= 1 << 17; N *= 2) {
    const ring::FftPlan plan(N);
    const std::size_t batch = 1 + random.below(std::max<std::size_t>(1, (1 << 17) / N)),
                      offset = random.below(2);
    SCOPED_TRACE("N = " + std::to_string(N) + ", batch " + std::to_string(batch));
    std::vector<std::complex<double>> in(batch * plan.M());
    const auto part = [&] { return static_cast<double>(random.between(-(1LL << 52), 1LL << 52)); };
    for (auto& z : in) z = {part(), part()};
    expect_same(two, [&](const backend::Queue& queue) {
      const auto x = put(queue, in);
      auto out = queue.allocate<double>(batch * N + offset);
      const auto to = out.slice().part(offset, batch * N);
      queue.fft().interpolate(plan, x.slice(), to);
      return get<double>(queue, to);
    });
    if (HasFatalFailure()) return;
  }
}

template <class Word>
void compare_rounding(const Two& two, U32 N, Random& random) {
  const auto plan = random_rns_plan<Word>(N, 3, 2, 2, random);
  const ring::Basis basis = random_part(plan->all(), random);
  const RnsPair<Word> both(two, plan);
  for (const U32 n : {N, N >> random.below(8)}) {
    const std::size_t batch = 1 + random.below(std::max<std::size_t>(1, (1 << 17) / N));
    const U32 step = N / n << random.below(2);
    SCOPED_TRACE(describe(*plan) + ", basis " + basis.describe() + ", batch " +
                 std::to_string(batch) + ", n = " + std::to_string(n) +
                 ", step = " + std::to_string(step));
    // Up to 2^62, halves among them.
    std::vector<double> in(batch * n);
    for (double& x : in)
      x = std::ldexp(static_cast<double>(random.between(-(1LL << 53), 1LL << 53)),
                     -static_cast<int>(random.below(55)));
    const double scale = random.below(2) ? 0x1p9 : 1 + static_cast<double>(random.below(500)) / 7;
    both.same([&](const RnsOn<Word>& on) {
      const auto x = put(on.queue, in);
      const std::size_t size = basis.size() * batch * N;
      auto out = put(on.queue, std::vector<Word>(size + 1, 7));
      on.ops.round(*on.tables, basis, scale, n, step, x.slice(), out.slice().part(1, size));
      return get(on.queue, out);
    });
  }
}

TEST_F(GpuContract, RoundingOfEveryLength) {
  for (U32 N = 1 << 8; N <= 1 << 17; N *= 2) {
    compare_rounding<U32>(two, N, random);
    compare_rounding<U64>(two, N, random);
    if (HasFatalFailure()) return;
  }
}

// More limbs than a launch takes.
TEST_F(GpuContract, RoundingToManyLimbs) {
  const auto primes = math::ntt_primes(30, 256, 70);
  const std::vector<U32> all(primes.begin(), primes.end());
  const auto plan = std::make_shared<ring::RnsPlan<U32>>(256, std::span<const U32>(all).first(66),
                                                         std::span<const U32>(all).subspan(66), 33);
  std::vector<double> in(3 * 256);
  for (double& x : in) x = static_cast<double>(random.between(-(1LL << 50), 1LL << 50)) / 2;
  RnsPair<U32>(two, plan).same([&](const RnsOn<U32>& on) {
    const auto x = put(on.queue, in);
    auto out = on.queue.allocate<U32>(70 * in.size());
    on.ops.round(*on.tables, plan->all(), 1, 256, 1, x.slice(), out.slice());
    return get(on.queue, out);
  });
}

}  // namespace
}  // namespace whorl::test
