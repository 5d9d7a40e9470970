// From complex values to residues, on every device: interpolation and rounding.
#include "ring/host/kernels.h"
#include "support/rns.h"
#include "support/test.h"

namespace whorl::backend {
namespace {

using test::Executor;
using test::get;
using test::put;
using Complex = std::complex<double>;

/// Coefficient k of the real polynomial with these values at zeta^(5^j), in long doubles.
long double coefficient(const Complex* values, std::uint32_t N, std::uint32_t k) {
  long double sum = 0;
  std::uint64_t e = k;  // 5^j·k modulo 2N
  for (std::uint32_t j = 0; j < N / 2; ++j, e = 5 * e % (2ULL * N)) {
    const long double angle = std::numbers::pi_v<long double> * e / N;
    sum += values[j].real() * std::cos(angle) + values[j].imag() * std::sin(angle);
  }
  return sum * 2 / N;
}

// Errors are far below what the entry states: as for errors that are random, not for the worst.
// Random values, equal ones, whose coefficients are as large as can be, and those of a power of X.
TEST(BackendInterpolation, PolynomialsWithTheValues) {
  test::Random random;
  test::on_each_device([&](const Executor& on) {
    for (std::uint32_t N = 256; N <= 1u << 17; N *= 2) {
      const ring::FftPlan plan(N);
      const auto queue = on.queue(2);
      const std::size_t batch = 3 + random.below(N > 4096 ? 1 : 3), M = plan.M(),
                        offset = random.below(2);
      SCOPED_TRACE("N = " + std::to_string(N) + ", batch " + std::to_string(batch));
      std::vector<Complex> in(offset + batch * M);
      const auto part = [&] { return static_cast<double>(random.between(-(1 << 30), 1 << 30)); };
      for (Complex& z : in) z = {part(), part()};
      Complex* const values = in.data() + offset;
      std::fill_n(values, M, Complex(0x1p30, -0x1p30));
      const auto degree = static_cast<std::uint32_t>(random.below(N));
      std::uint64_t e = degree;
      for (std::size_t j = 0; j < M; ++j, e = 5 * e % (2 * std::uint64_t{N}))
        values[M + j] = std::polar(0x1p30, std::numbers::pi * static_cast<double>(e) / N);
      const auto x = put(*queue, in);
      auto out = queue->allocate<double>(batch * N + 1);
      const auto to = out.slice().part(offset, batch * N);
      queue->fft().interpolate(plan, x.slice().part(offset, batch * M), to);
      const auto got = get<double>(*queue, to);
      for (std::size_t b = 0; b < batch; ++b) {
        double most = 0;
        for (std::size_t j = 0; j < M; ++j) most = std::max(most, std::abs(values[b * M + j]));
        std::vector<std::uint32_t> some = {0, N / 2, N - 1, degree};
        for (unsigned i = 0; i < 4; ++i)
          some.push_back(static_cast<std::uint32_t>(random.below(N)));
        for (const std::uint32_t k : some)
          ASSERT_LT(std::abs(got[b * N + k] - coefficient(values + b * M, N, k)), most * 0x1p-50)
              << "polynomial " << b << ", coefficient " << k;
      }
      EXPECT_NEAR(got[N + degree], 0x1p30, 1);
    }
  });
}

/// The butterflies that the contract states, a level of nodes after another.
std::vector<double> by_butterflies(const ring::FftPlan& plan, const Complex* values) {
  const std::uint32_t M = plan.M(), N = plan.N();
  const auto places = plan.results_at_powers_of_5();
  std::vector<Complex> z(M);
  for (std::uint32_t j = 0; j < M; ++j) z[places[j]] = values[j];
  for (std::uint32_t len = 2; len <= M; len *= 2)
    for (std::uint32_t at = 0; at < M; at += len) {
      // A node has the E of its first result.
      const Complex w =
          plan.roots()[std::uint64_t{plan.exponent(at)} * (len / 2) % (2 * std::uint64_t{N})];
      for (std::uint32_t i = at; i < at + len / 2; ++i) {
        Complex &u = z[i], &v = z[i + len / 2];
        const double re = u.real() - v.real(), im = u.imag() - v.imag();
        u = {u.real() + v.real(), u.imag() + v.imag()};
        v = {std::fma(im, w.imag(), re * w.real()), std::fma(-re, w.imag(), im * w.real())};
      }
    }
  std::vector<double> out(N);
  for (std::uint32_t j = 0; j < M; ++j) {
    out[j] = z[j].real() / M;
    out[j + M] = z[j].imag() / M;
  }
  return out;
}

TEST(BackendInterpolation, BitsAreThoseOfTheButterflies) {
  test::Random random;
  test::on_each_device([&](const Executor& on) {
    if (!on.gpu() && ring::simd_name() == "SCALAR") return;  // without fused multiply-adds
    for (std::uint32_t N = 256; N <= 1u << 17; N *= 2) {
      SCOPED_TRACE("N = " + std::to_string(N));
      const ring::FftPlan plan(N);
      const auto queue = on.queue(2);
      std::vector<Complex> in(2 * plan.M());
      const auto part = [&] {
        return static_cast<double>(random.between(-(1LL << 52), 1LL << 52));
      };
      for (Complex& z : in) z = {part(), part()};
      const auto x = put(*queue, in);
      auto out = queue->allocate<double>(2 * N);
      queue->fft().interpolate(plan, x.slice(), out.slice());
      const auto got = get(*queue, out);
      for (std::size_t b = 0; b < 2; ++b) {
        const auto due = by_butterflies(plan, in.data() + b * plan.M());
        ASSERT_TRUE(std::equal(due.begin(), due.end(), got.begin() + b * N));
      }
    }
  });
}

/// The integer next to scale·x, of two the even one, modulo q: in exact integers.
template <class Word>
Word rounded(double product, Word q) {
  const double low = std::floor(product), above = product - low;  // exact
  auto integer = static_cast<__int128>(low);
  if (above > 0.5 || (above == 0.5 && integer % 2 != 0)) ++integer;
  const auto modulus = static_cast<__int128>(q);
  return static_cast<Word>((integer % modulus + modulus) % modulus);
}

/// Numbers of all sizes, halves, and the largest there may be.
double number(double scale, test::Random& random) {
  switch (random.below(6)) {
    case 0:
      return (static_cast<double>(random.between(-1000, 1000)) + 0.5) / scale;
    case 1: {
      const double edges[] = {0.0, -0.0, -0x1p63, 0x1p63 - 1024, 1024 - 0x1p63, 0.5, -0.5, 1.5};
      return edges[random.below(8)] / scale;
    }
    default:
      return std::ldexp(static_cast<double>(random.between(-(1LL << 53), 1LL << 53)),
                        9 - static_cast<int>(random.below(63))) /
             scale;
  }
}

template <class Word>
void check_rounding(const Executor& on, test::Random& random) {
  for (int run = 0; run < 12; ++run) {
    const std::uint32_t N = 256u << random.below(4);
    const auto plan = test::random_rns_plan<Word>(N, 3, 2, 2, random);
    const ring::Basis basis = test::random_part(plan->all(), random);
    const std::uint32_t n = run % 2 ? N : 1u << random.below(std::bit_width(N));
    // As far apart as the coefficients that come in, or more.
    const std::uint32_t step = N / n << (run % 4 < 2 ? 0 : random.below(std::bit_width(n)));
    const std::size_t batch = 1 + random.below(4), offset = random.below(2);
    // Powers of two, so that x times the scale is the number that is meant, and others.
    const double scale = run % 3 ? std::ldexp(1.0, static_cast<int>(random.below(60)))
                                 : 1 + static_cast<double>(random.below(1000)) / 7;
    SCOPED_TRACE(test::describe(*plan) + ", basis " + basis.describe() + ", batch " +
                 std::to_string(batch) + ", n = " + std::to_string(n) +
                 ", step = " + std::to_string(step) + ", scale = " + std::to_string(scale));
    std::vector<double> in(batch * n);
    for (double& x : in) do
        x = number(scale, random);
      while (!(x * scale >= -0x1p63 && x * scale < 0x1p63));
    const auto queue = on.queue(2);
    const auto& ops = queue->template rns<Word>();
    const auto tables = ops.prepare(plan);
    const auto x = put(*queue, in);
    const std::size_t size = basis.size() * batch * N;
    auto out = put(*queue, std::vector<Word>(size + 2, 5));
    const auto to = out.slice().part(offset, size);
    ops.round(*tables, basis, scale, n, step, x.slice(), to);
    std::vector<Word> due(size + 2, 5);
    const auto moduli = plan->moduli_of(basis);
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t b = i / N % batch, j = i % N;
      due[offset + i] =
          j % step ? 0 : rounded(scale * in[b * n + j / (N / n)], moduli[i / (batch * N)].value());
    }
    ASSERT_TRUE(get(*queue, out) == due);
  }
}

TEST(BackendRounding, AgainstExactIntegers) {
  test::Random random;
  test::on_each_device([&](const Executor& on) {
    check_rounding<std::uint32_t>(on, random);
    check_rounding<std::uint64_t>(on, random);
  });
}

// Numbers that no integer of 64 bits is near leave residues nevertheless.
TEST(BackendRounding, WhatIsTooLargeLeavesResidues) {
  test::Random random;
  test::on_each_device([&](const Executor& on) {
    const auto plan = test::random_rns_plan<std::uint32_t>(256, 2, 1, 1, random);
    const auto queue = on.queue();
    const auto& ops = queue->rns<std::uint32_t>();
    const auto tables = ops.prepare(plan);
    std::vector<double> in(256, 0x1p63);
    in[1] = -0x1p80;
    in[2] = std::numeric_limits<double>::infinity();
    in[3] = std::numeric_limits<double>::quiet_NaN();
    const auto x = put(*queue, in);
    auto out = queue->allocate<std::uint32_t>(3 * 256);
    ops.round(*tables, plan->all(), 1.5, 256, 1, x.slice(), out.slice());
    const auto moduli = plan->moduli_of(plan->all());
    EXPECT_TRUE(queue->ring<std::uint32_t>().all_below(moduli, std::as_const(out).slice()));
  });
}

}  // namespace
}  // namespace whorl::backend
