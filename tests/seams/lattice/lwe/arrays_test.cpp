// What LWE arrays must hold: moduli that are no powers of two, words of 64 bits, both dimensions,
// several coefficients of one rotation.
#include "support/lwe_operations.h"
#include "support/lwe_rig.h"
#include "support/strained_device.h"
#include "support/test.h"

namespace whorl::lattice::lwe {
namespace {

using test::words_of;
using Words = std::vector<std::uint64_t>;

/// Sums, rounding, take and join against the definition, on one device and several.
template <class Word>
void check_arrays(std::uint64_t q, std::uint64_t to, unsigned devices) {
  SCOPED_TRACE("q = " + std::to_string(q) + " on " + std::to_string(devices));
  test::Random random;
  const Evaluator evaluator(test::StrainedFleet(devices).fleet, nullptr, 1 << 10);
  const std::size_t n = 1 + random.below(40), row = n + 1, count = 20 + random.below(2000);
  const Form form{q, static_cast<std::uint32_t>(n), Under::lwe, sizeof(Word)};
  const auto x = random.residues<Word>(count * row, q), y = random.residues<Word>(count * row, q),
             z = random.residues<Word>(row, q);
  const Array a = evaluator.upload(form, count, x.data()),
              b = evaluator.upload(form, count, y.data()), c = evaluator.upload(form, 1, z.data());
  EXPECT_EQ(words_of(evaluator, a), Words(x.begin(), x.end()));

  using Wide = test::Int128;
  const auto sum = [&](Wide v, Wide w, Wide u, std::uint64_t constant) {
    Words out(count * row);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] =
          test::reduce(v * x[i] + w * y[i] + u * z[i % row] + (i % row == n ? constant : 0), q);
    return out;
  };
  const Array* in[] = {&a, &b, &c};
  const std::int64_t weights[] = {3, -5, 1};
  EXPECT_EQ(words_of(evaluator, linear(evaluator, weights, in, q - 1)), sum(3, -5, 1, q - 1));
  const std::int64_t entries[] = {1, 0, 2, -7, 4, 0};
  const std::uint64_t constants[] = {5, 0};
  const auto both = matrix(evaluator, entries, constants, in);
  EXPECT_EQ(words_of(evaluator, both.at(0)), sum(1, 0, 2, 5));
  EXPECT_EQ(words_of(evaluator, both.at(1)), sum(-7, 4, 0, 0));

  const Array rounded = modulus_switch(evaluator, a, to, 0);
  EXPECT_EQ(rounded.form().word_bytes, array_word_bytes(to));
  const auto scale = [&](std::uint64_t r) {
    const auto wide = static_cast<unsigned __int128>(r) * to * 2 + q;
    return static_cast<std::uint64_t>(wide / (2 * static_cast<unsigned __int128>(q)) % to);
  };
  const Words got = words_of(evaluator, rounded);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], scale(x[i])) << i;

  std::vector<std::uint32_t> index(1 + random.below(2 * count));
  Words picked;
  for (auto& i : index) {
    i = static_cast<std::uint32_t>(random.below(count));
    picked.insert(picked.end(), &x[i * row], &x[i * row] + row);
  }
  const Array some = evaluator.take(a, index);
  EXPECT_EQ(words_of(evaluator, some), picked);
  picked.insert(picked.end(), z.begin(), z.end());
  picked.insert(picked.end(), y.begin(), y.end());
  const Array parts[] = {some, c, b};
  EXPECT_EQ(words_of(evaluator, evaluator.join(parts)), picked);
}

TEST(LweArrays, AnyModulusEitherWord) {
  for (const unsigned devices : {1u, 2u, 3u}) {
    check_arrays<std::uint32_t>(1000003, 1 << 12, devices);
    check_arrays<std::uint32_t>(3'000'000'019, 1000, devices);
    check_arrays<std::uint64_t>(1ULL << 35, 1 << 20, devices);
    check_arrays<std::uint64_t>(18014398509404161, 1ULL << 40, devices);
    check_arrays<std::uint64_t>(12345, 999, devices);
  }
}

/// A rotation of one input from which several functions are read.
template <class Word>
void check_coefficients(unsigned bits) {
  test::LweRig<Word> rig(bits);
  constexpr std::uint32_t N = rig.N, n = rig.n;
  const std::uint64_t Q = rig.Q;
  const Evaluator evaluator(test::StrainedFleet(2).fleet, rig.on_host(), 1 << 14);

  const std::size_t count = 9;
  const auto rows = rig.random.template residues<std::uint32_t>(count * (n + 1), 2 * N);
  const Array exponents = evaluator.upload({2 * N, n, Under::lwe, 4}, count, rows.data());
  const std::uint64_t unit = Q / 64;
  // A table for each ciphertext: f(j) = unit·((j / 16 + t) mod 16).
  std::vector<std::uint32_t> index;
  for (std::uint32_t i = 0; i < count; ++i) index.push_back(count - 1 - i);
  const auto value = [&](std::size_t t, std::uint32_t j) { return unit * ((j / 16 + t) % 16); };
  const Tables tables(N, Q, count, index, value);
  const std::uint32_t offsets[] = {0, 5, N - 1};
  const auto found = rotate(evaluator, exponents, tables, offsets, 0);
  ASSERT_EQ(found.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k) {
    ASSERT_EQ(found[k].count(), count);
    ASSERT_EQ(found[k].form().word_bytes, ring_word_bytes(Q));
    const Array switched = modulus_switch(evaluator, found[k], 1 << 14, 0);
    EXPECT_EQ(switched.form().word_bytes, array_word_bytes(1 << 14));
    const auto words = words_of(evaluator, found[k]);
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<const std::uint64_t> row(&words[i * (N + 1)], N + 1);
      const std::uint64_t phase =
          (row[N] + Q - lwe_mask<std::uint64_t>(row.first(N), rig.ring_secret, Q)) % Q;
      // t·X^(<a,s> - b): coefficient k of it.
      const std::span<const std::uint32_t> in(&rows[i * (n + 1)], n + 1);
      const std::uint64_t turn =
          (lwe_mask<std::uint32_t>(in.first(n), rig.lwe_secret, 2 * N) + 2 * N - in[n]) % (2 * N);
      const std::uint64_t from = (offsets[k] + 2 * N - turn) % (2 * N);
      const std::uint64_t v = value(index[i], static_cast<std::uint32_t>(from % N));
      const std::uint64_t want = from < N ? v : (Q - v) % Q;
      const std::uint64_t off = (phase + Q - want) % Q;
      EXPECT_LT(std::min(off, Q - off), unit / 8) << "ciphertext " << i << ", offset " << k;
    }
  }
}

TEST(LweArrays, SeveralCoefficientsOfARotation) {
  check_coefficients<std::uint32_t>(27);
  // Between 2^31 and 2^32 ring elements, and what is extracted from them, have 64-bit words.
  check_coefficients<std::uint64_t>(32);
  check_coefficients<std::uint64_t>(50);
}

}  // namespace
}  // namespace whorl::lattice::lwe
