// The order of steps that a GPU writes for each ciphertext, on the host: the CPU's for
// automorphisms, and the digits of exponents for AP. No test here needs a GPU.
#include "backend/cpu/rotation_steps.h"
#include "backend/cuda/dispatch/rotation/walk_rules.h"
#include "support/test.h"

namespace whorl::backend {
namespace {

using test::Random;

/// n coefficients, of which the second half has another gadget.
RotationShape shape_of(RotationKind kind, unsigned group, std::uint32_t n, std::uint32_t N,
                       std::uint32_t unit) {
  RotationShape shape;
  shape.n = n;
  shape.N = N;
  shape.Q = math::ntt_primes(27, N, 1)[0];
  shape.kind = kind;
  shape.group = group;
  shape.unit = unit;
  shape.first_row = {0};
  unsigned keys = 1;
  if (kind == RotationKind::ap) {
    std::uint64_t left = 2ULL * N / unit;
    for (keys = 0; left > group; left = (left + group - 1) / group) keys += group - 1;
    keys += static_cast<unsigned>(left) - 1;
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    shape.gadgets.emplace_back(shape.Q, i < n / 2 ? 9 : 7, i < n / 2 ? 3 : 2);
    shape.step_keys.push_back(keys);
    shape.first_row.push_back(shape.first_row.back() +
                              std::size_t{2} * keys * shape.gadgets[i].digits());
  }
  shape.row_count = shape.first_row.back();
  if (kind == RotationKind::automorphism) {
    shape.automorphisms = group + 1;
    shape.row_count += std::size_t{shape.automorphisms} * shape.gadgets[0].digits();
  }
  return shape;
}

cuda::WalkNumbers numbers_of(const RotationShape& shape) {
  const std::uint32_t firsts[] = {0, shape.n / 2};
  return cuda::walk_numbers(shape, std::span(firsts).first(shape.n < 2 ? 1 : 2));
}

std::vector<cuda::WalkStep> automorphism_steps(const cuda::WalkNumbers& numbers,
                                               const std::uint32_t* lwe) {
  const auto& rules = std::get<cuda::AutomorphismRules>(numbers.rules);
  std::vector<std::uint16_t> head(rules.N, rules.none), tail(rules.N), next(rules.n);
  std::vector<cuda::WalkStep> steps(numbers.most + 1);
  const std::uint32_t count = rules.write(lwe, head.data(), tail.data(), next.data(), steps.data());
  EXPECT_LE(count, numbers.most);
  steps.resize(count);
  return steps;
}

void compare_walk(const RotationShape& shape, const std::vector<std::uint32_t>& lwe) {
  const cuda::WalkNumbers numbers = numbers_of(shape);
  const auto got = automorphism_steps(numbers, lwe.data());
  const auto expected = cpu::walk_of(shape, lwe.data());
  // The first automorphism, of the accumulator at the start, is not among the GPU's steps.
  ASSERT_EQ(got.size() + 1, expected.size());
  EXPECT_EQ(numbers.start_move, expected[0].inverse);
  for (std::size_t s = 0; s < got.size(); ++s) {
    const cpu::WalkStep& want = expected[s + 1];
    const std::size_t row =
        want.automorphism
            ? shape.first_row.back() + want.index * std::size_t{shape.gadgets[0].digits()}
            : shape.first_row[want.index];
    ASSERT_EQ(got[s].row, row) << "step " << s;
    ASSERT_EQ(got[s].inverse(), want.automorphism ? want.inverse : 0) << "step " << s;
    ASSERT_EQ(got[s].range(), want.automorphism || want.index < shape.n / 2 || shape.n < 2 ? 0 : 1)
        << "step " << s;
  }
}

TEST(CudaWalks, ThroughAutomorphismsAreTheCpus) {
  Random random;
  for (const std::uint32_t N : {256u, 1024u, 8192u})
    for (const unsigned window : {1u, 2u, 10u, 256u})
      for (const std::uint32_t n : {1u, 2u, 9u, 500u}) {
        const RotationShape shape = shape_of(RotationKind::automorphism, window, n, N, 1);
        SCOPED_TRACE("N = " + std::to_string(N) + ", window " + std::to_string(window) +
                     ", n = " + std::to_string(n));
        std::vector<std::uint32_t> lwe(n + 1);
        for (auto& a : lwe) a = static_cast<std::uint32_t>(random.below(2ULL * N)) | 1;
        compare_walk(shape, lwe);
        for (const std::uint32_t a : {1u, 2 * N - 1, 5u, 2 * N - 5, N + 1, N - 1}) {
          std::fill(lwe.begin(), lwe.end(), a);
          compare_walk(shape, lwe);
        }
        // As few exponents of a class as there can be: steps are as many as there can be.
        for (std::uint32_t i = 0; i < n; ++i) lwe[i] = (2 * (i * (N / n)) + 1) % (2 * N);
        compare_walk(shape, lwe);
        if (HasFatalFailure()) return;
      }
}

TEST(CudaWalks, CountEvenExponentsAsTheNextOddOnes) {
  Random random;
  const RotationShape shape = shape_of(RotationKind::automorphism, 10, 20, 256, 1);
  const cuda::WalkNumbers numbers = numbers_of(shape);
  std::vector<std::uint32_t> lwe(21);
  for (auto& a : lwe) a = static_cast<std::uint32_t>(random.below(512)) | 1;
  const auto odd = automorphism_steps(numbers, lwe.data());
  for (auto& a : lwe) a &= ~1u;
  const auto even = automorphism_steps(numbers, lwe.data());
  ASSERT_EQ(even.size(), odd.size());
  for (std::size_t s = 0; s < odd.size(); ++s) {
    EXPECT_EQ(even[s].row, odd[s].row);
    EXPECT_EQ(even[s].how, odd[s].how);
  }
}

TEST(CudaWalks, OfDigitsTakeTheKeysOfDigitsThatAreNot0) {
  Random random;
  for (const auto& [base, unit] : {std::pair{2u, 1u}, {8u, 1u}, {32u, 2u}, {23u, 4u}, {4096u, 1u}})
    for (const std::uint32_t N : {256u, 8192u}) {
      const std::uint32_t n = 7;
      const RotationShape shape = shape_of(RotationKind::ap, base, n, N, unit);
      const cuda::WalkNumbers numbers = numbers_of(shape);
      const auto& rules = std::get<cuda::DigitRules>(numbers.rules);
      std::vector<std::uint32_t> lwe(n + 1);
      for (auto& a : lwe) a = static_cast<std::uint32_t>(random.below(2ULL * N)) / unit * unit;
      lwe[0] = 0;
      lwe[1] = 2 * N - unit;
      std::vector<cuda::WalkStep> got, expected;
      for (std::uint32_t number = 0; number < rules.most(); ++number) {
        cuda::WalkStep step{};
        if (rules.step(lwe.data(), number, step)) got.push_back(step);
      }
      for (std::uint32_t i = 0; i < n; ++i) {
        std::uint32_t left = lwe[i] / unit;
        for (std::uint32_t place = 0; left != 0; ++place, left /= base) {
          if (left % base == 0) continue;
          const std::size_t key = std::size_t{place} * (base - 1) + left % base - 1;
          ASSERT_LT(key, shape.step_keys[i]);
          expected.push_back(
              {static_cast<std::uint32_t>(shape.first_row[i] + key * 2 * shape.gadgets[i].digits()),
               i < n / 2 ? 0u : 1u});
        }
      }
      ASSERT_EQ(got.size(), expected.size()) << "base " << base << ", N = " << N;
      for (std::size_t s = 0; s < got.size(); ++s) {
        ASSERT_EQ(got[s].row, expected[s].row) << "step " << s;
        ASSERT_EQ(got[s].how, expected[s].how) << "step " << s;
      }
    }
}

}  // namespace
}  // namespace whorl::backend
