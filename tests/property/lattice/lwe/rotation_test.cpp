// Blind rotation against exact integers, on every device, SIMD target, batch split, thread count
// and way to spread it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lattice/lwe/noise.h"
#include "math/primes.h"
#include "support/random.h"
#include "support/reference_rotation.h"
#include "support/rotation_shapes.h"
#include "support/targets.h"

namespace whorl::backend {
namespace {

using test::Executor;
using test::get;
using test::put;

struct Case {
  std::uint32_t n, N;
  unsigned bits;  ///< of Q
  unsigned keys;
  std::vector<std::pair<unsigned, unsigned>> ranges;  ///< log_base, digits, in turn
};

std::string describe(const Case& c) {
  std::string out = "n = " + std::to_string(c.n) + ", N = " + std::to_string(c.N) + ", Q of " +
                    std::to_string(c.bits) + " bits, keys = " + std::to_string(c.keys) +
                    ", gadgets";
  for (const auto& [log_base, digits] : c.ranges)
    out += " (" + std::to_string(log_base) + ", " + std::to_string(digits) + ")";
  return out;
}

template <class Word>
test::RotationRows<Word> random_key(const Case& c, Arithmetic arithmetic, test::Random& random) {
  test::RotationRows<Word> key;
  const std::uint64_t Q = math::ntt_primes(c.bits, c.N, 1)[0];
  std::vector<ring::Gadget> gadgets;
  for (std::uint32_t i = 0; i < c.n; ++i) {
    const auto& [log_base, digits] = c.ranges[i * c.ranges.size() / c.n];
    gadgets.emplace_back(Q, log_base, digits);
  }
  key.shape = test::ginx_shape(c.N, Q, c.keys, std::move(gadgets), arithmetic);
  for (std::size_t r = 0; r < key.shape.row_count; ++r) {
    key.a.push_back(random.residues<Word>(c.N, Q));
    key.b.push_back(random.residues<Word>(c.N, Q));
  }
  return key;
}

/// Exponents at random, and 0, N, 1, 2N - 1 among them.
std::vector<std::uint32_t> exponents(const Case& c, std::size_t count, test::Random& random) {
  std::vector<std::uint32_t> lwe(count * (c.n + 1));
  const std::uint32_t edges[] = {0, c.N, 1, 2 * c.N - 1, c.N - 1, c.N + 1};
  for (auto& a : lwe)
    a = random.below(3) == 0 ? edges[random.below(6)]
                             : static_cast<std::uint32_t>(random.below(2ULL * c.N));
  return lwe;
}

template <class Word>
std::vector<Word> rotate(const Queue& queue, const RotationKey& key,
                         const std::vector<std::uint32_t>& lwe, const std::vector<Word>& luts,
                         const std::vector<std::uint32_t>& index) {
  const auto x = put(queue, lwe);
  const auto tables = put(queue, luts);
  auto out = queue.allocate<Word>(index.size() * 2 * key.shape().N);
  queue.rotation<Word>().rotate(key, {x.slice(), tables.slice(), index}, out.slice());
  return get(queue, out);
}

/// blind_rotate_extract's samples are those of blind_rotate's accumulators.
template <class Word>
void check_samples(const Queue& queue, const RotationKey& key,
                   const std::vector<std::uint32_t>& lwe, const std::vector<Word>& luts,
                   const std::vector<std::uint32_t>& index, test::Random& random) {
  const std::uint64_t constant = random.below(key.shape().Q);
  const std::uint32_t N = key.shape().N;
  const auto x = put(queue, lwe);
  const auto tables = put(queue, luts);
  auto accumulators = queue.allocate<Word>(index.size() * 2 * N);
  queue.rotation<Word>().rotate(key, {x.slice(), tables.slice(), index}, accumulators.slice());
  auto two = queue.allocate<Word>(index.size() * (N + 1));
  queue.rotation<Word>().extract(key.shape().Q, N, constant, std::as_const(accumulators).slice(),
                                 two.slice());
  auto one = queue.allocate<Word>(index.size() * (N + 1));
  queue.rotation<Word>().rotate_extract(key, {x.slice(), tables.slice(), index}, constant,
                                        one.slice());
  EXPECT_TRUE(get(queue, one) == get(queue, two));
}

template <class Word>
void check_exact(const Case& c, std::size_t count, test::Random& random) {
  SCOPED_TRACE(describe(c));
  const auto key = random_key<Word>(c, Arithmetic::ntt, random);
  const auto lwe = exponents(c, count, random);
  const std::size_t tables = 3, row = c.n + 1;
  const auto luts = random.residues<Word>(tables * c.N, key.shape.Q);
  std::vector<std::uint32_t> index(count);
  for (auto& i : index) i = static_cast<std::uint32_t>(random.below(tables));
  std::vector<Word> expected;
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = luts.begin() + static_cast<std::ptrdiff_t>(index[i] * c.N);
    const auto one =
        test::reference_rotation<Word>(key,
                                       {lwe.begin() + static_cast<std::ptrdiff_t>(i * row),
                                        lwe.begin() + static_cast<std::ptrdiff_t>((i + 1) * row)},
                                       {begin, begin + c.N});
    expected.insert(expected.end(), one.begin(), one.end());
  }
  test::on_each_device([&](const Executor& on) {
    for (const auto& [name, way, device] : on.variants()) {
      const auto prepared = device->template rotation<Word>().prepare(key.shape, key.source());
      ASSERT_TRUE(rotate(*device, *prepared, lwe, luts, index) == expected) << name;
      check_samples(*device, *prepared, lwe, luts, index, random);
    }
  });
}

TEST(BackendBlindRotateNtt, ExactlyTheFormula) {
  test::Random random;
  using P = std::pair<unsigned, unsigned>;
  // Approximate and exact gadgets, one digit and many, several ranges.
  for (const unsigned keys : {1u, 2u}) {
    check_exact<std::uint32_t>({12, 256, 27, keys, {P{7, 3}}}, 11, random);
    check_exact<std::uint32_t>({8, 256, 27, keys, {P{9, 3}, P{7, 3}, P{13, 1}}}, 5, random);
    check_exact<std::uint32_t>({6, 512, 31, keys, {P{8, 4}, P{16, 1}, P{4, 7}}}, 3, random);
    check_exact<std::uint32_t>({6, 256, 30, keys, {P{30, 1}, P{2, 15}}}, 3, random);
    check_exact<std::uint32_t>({3, 1024, 27, keys, {P{7, 4}}}, 3, random);
    check_exact<std::uint32_t>({2, 2048, 28, keys, {P{10, 2}}}, 2, random);
    check_exact<std::uint64_t>({8, 256, 37, keys, {P{13, 2}, P{13, 3}}}, 9, random);
    check_exact<std::uint64_t>({6, 512, 50, keys, {P{25, 1}, P{25, 2}}}, 3, random);
    check_exact<std::uint64_t>({4, 256, 60, keys, {P{30, 2}, P{20, 2}}}, 3, random);
    check_exact<std::uint64_t>({4, 256, 32, keys, {P{6, 6}}}, 3, random);
    check_exact<std::uint64_t>({2, 2048, 54, keys, {P{27, 1}}}, 2, random);
    if (testing::Test::HasFatalFailure()) return;
  }
}

template <class Word>
void check_fft(const Case& c, test::Random& random) {
  SCOPED_TRACE(describe(c));
  // One step: after more, other digits follow from another rounding and only phases are close.
  const auto key = random_key<Word>(c, Arithmetic::fft, random);
  const std::uint64_t Q = key.shape.Q;
  const std::size_t count = 3;
  auto lwe = exponents(c, count, random);
  lwe[0] = 1;  // one that does something
  auto luts = random.residues<Word>(c.N, Q);
  test::avoid_ties(key.shape.gadgets[0], luts);
  const std::vector<std::uint32_t> index(count, 0);
  const ring::Gadget& gadget = key.shape.gadgets[0];
  double digit_squares = 0;
  for (unsigned j = 0; j < gadget.digits(); ++j) digit_squares += gadget.digit_mean_square(j);
  double variance = lattice::fft_rounding_variance(gadget, Q, c.N, c.keys, 0) + 1.0 / 12;
  if (Q < (1ULL << 31))
    variance += c.keys * 2.0 * c.N * digit_squares * lattice::key_spectrum_variance(Q, c.N, 32) +
                lattice::digit_spectrum_variance(gadget, Q, c.N, c.keys, 0);
  // The accumulator is 0 in its first half here: the average digit is smaller, never larger. The
  // constant of the rounding is known within a factor of 1.5. 2N·3 nearly normal errors beyond
  // eight deviations: < 1e-10.
  const double bound = 1.5 * 8 * std::sqrt(variance);
  std::vector<Word> expected;
  for (std::size_t i = 0; i < count; ++i) {
    const auto one =
        test::reference_rotation<Word>(key,
                                       {lwe.begin() + static_cast<std::ptrdiff_t>(i * 2),
                                        lwe.begin() + static_cast<std::ptrdiff_t>(i * 2 + 2)},
                                       luts);
    expected.insert(expected.end(), one.begin(), one.end());
  }
  test::on_each_device([&](const Executor& on) {
    for (const auto& [name, way, device] : on.variants()) {
      const auto prepared = device->template rotation<Word>().prepare(key.shape, key.source());
      const auto got = rotate(*device, *prepared, lwe, luts, index);
      double largest = 0;
      for (std::size_t j = 0; j < got.size(); ++j) {
        ASSERT_LT(got[j], Q);
        const auto difference = test::centred((got[j] + Q - expected[j]) % Q, Q);
        largest = std::max(largest, std::abs(static_cast<double>(difference)));
      }
      EXPECT_LE(largest, bound) << name;
    }
  });
  const auto cpu = backend::open_queue("cpu");  // on a GPU b is summed in another order
  const auto prepared = cpu->template rotation<Word>().prepare(key.shape, key.source());
  check_samples(*cpu, *prepared, lwe, luts, index, random);
}

TEST(BackendBlindRotateFft, OneStepIsCloseToTheFormula) {
  test::Random random;
  using P = std::pair<unsigned, unsigned>;
  for (const unsigned keys : {1u, 2u}) {
    check_fft<std::uint32_t>({1, 256, 27, keys, {P{7, 3}}}, random);
    check_fft<std::uint32_t>({1, 1024, 26, keys, {P{8, 2}}}, random);
    check_fft<std::uint32_t>({1, 2048, 31, keys, {P{10, 3}}}, random);
    check_fft<std::uint64_t>({1, 512, 34, keys, {P{12, 2}}}, random);
    check_fft<std::uint64_t>({1, 2048, 48, keys, {P{23, 1}}}, random);
    check_fft<std::uint64_t>({1, 2048, 54, keys, {P{27, 1}}}, random);
    check_fft<std::uint64_t>({1, 1024, 60, keys, {P{15, 4}}}, random);
  }
}

template <class Word>
void check_determinism(const Case& c, Arithmetic arithmetic, test::Random& random) {
  SCOPED_TRACE(describe(c));
  const auto key = random_key<Word>(c, arithmetic, random);
  const std::size_t count = 37, row = c.n + 1;
  const auto lwe = exponents(c, count, random);
  const auto luts = random.residues<Word>(2 * c.N, key.shape.Q);
  std::vector<std::uint32_t> index(count);
  for (auto& i : index) i = static_cast<std::uint32_t>(random.below(2));
  test::on_each_device([&](const Executor& on) {
    std::vector<Word> all;
    for (const auto& [name, way, device] : on.variants()) {
      // GPUs add up in an order that follows the way, and `automatic` takes one by the batch: with
      // doubles the bits are those of a way.
      if (on.gpu() && arithmetic == Arithmetic::fft) {
        if (way == BlindRotation::automatic) continue;
        all.clear();
      }
      const auto prepared = device->template rotation<Word>().prepare(key.shape, key.source());
      const auto whole = rotate(*device, *prepared, lwe, luts, index);
      if (all.empty()) all = whole;
      ASSERT_TRUE(whole == all) << name;
      for (std::size_t begin = 0; begin < count;) {
        const std::size_t size = std::min<std::size_t>(1 + random.below(9), count - begin);
        const auto part =
            rotate<Word>(*device, *prepared,
                         {lwe.begin() + static_cast<std::ptrdiff_t>(begin * row),
                          lwe.begin() + static_cast<std::ptrdiff_t>((begin + size) * row)},
                         luts,
                         {index.begin() + static_cast<std::ptrdiff_t>(begin),
                          index.begin() + static_cast<std::ptrdiff_t>(begin + size)});
        ASSERT_TRUE(std::equal(part.begin(), part.end(),
                               all.begin() + static_cast<std::ptrdiff_t>(begin * 2 * c.N)))
            << name << ", ciphertexts " << begin << " + " << size;
        begin += size;
      }
    }
  });
}

TEST(BackendBlindRotate, SameBitsForAnyBatchAndThreads) {
  test::Random random;
  using P = std::pair<unsigned, unsigned>;
  for (const Arithmetic arithmetic : {Arithmetic::ntt, Arithmetic::fft}) {
    check_determinism<std::uint32_t>({16, 256, 27, 2, {P{7, 3}, P{9, 2}}}, arithmetic, random);
    check_determinism<std::uint32_t>({16, 512, 26, 1, {P{8, 2}}}, arithmetic, random);
    check_determinism<std::uint64_t>({16, 256, 50, 1, {P{25, 1}}}, arithmetic, random);
    check_determinism<std::uint64_t>({16, 256, 37, 2, {P{13, 2}}}, arithmetic, random);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace whorl::backend
