// Packing against the values of polynomials at roots of unity.
#include "schemes/bgv/encoder.h"
#include "support/bgv_sets.h"
#include "support/test.h"

namespace whorl::bgv {
namespace {

using test::bgv_insecure;
using test::Clear;

/// Coefficients of the polynomial that packs `values`, in 0 … t - 1.
std::vector<std::uint64_t> polynomial(const Encoder& encoder, const Clear& values) {
  std::vector<std::int64_t> m(values.N);
  encoder.encode(values.as_signed(), values.packing, m);
  std::vector<std::uint64_t> out(values.N);
  for (std::size_t j = 0; j < m.size(); ++j) {
    const auto t = static_cast<std::int64_t>(values.t);
    EXPECT_LE(2 * std::abs(m[j]), t);
    out[j] = test::reduce(m[j], values.t);
  }
  return out;
}

TEST(BgvEncoder, SlotsAreValuesAtPowersOfARoot) {
  test::Random random;
  for (const std::uint64_t t : {12289ULL, 65537ULL, 786433ULL}) {
    const Parameters p = bgv_insecure({1024, t});
    const Encoder encoder(p);
    const Clear values = Clear::random(p, Packing::slots, 1, random);
    const auto m = polynomial(encoder, values);
    const std::uint64_t psi =
        ring::NttPlan<std::uint32_t>(1024, static_cast<std::uint32_t>(t)).psi();
    std::uint64_t e = 1;
    for (std::size_t column = 0; column < 512; ++column, e = e * 3 % 2048) {
      ASSERT_EQ(test::evaluate(m.data(), 1024, test::power(psi, e, t), t), values.values[column]);
      ASSERT_EQ(test::evaluate(m.data(), 1024, test::power(psi, 2048 - e, t), t),
                values.values[512 + column]);
    }
    auto back = m;
    encoder.decode(Packing::slots, back);
    EXPECT_EQ(back, values.values);
  }
}

TEST(BgvEncoder, AutomorphismsRotateAndSwap) {
  test::Random random;
  const Parameters p = bgv_insecure();
  const Encoder encoder(p);
  const Clear values = Clear::random(p, Packing::slots, 1, random);
  const auto m = polynomial(encoder, values);
  const auto moved = [&](std::uint32_t g) {
    std::vector<std::uint64_t> out(1024);
    for (std::uint32_t j = 0; j < 1024; ++j) {
      const std::uint64_t e = std::uint64_t{j} * g % 2048;
      out[e % 1024] = e < 1024 ? m[j] : (p.t() - m[j]) % p.t();
    }
    encoder.decode(Packing::slots, out);
    return out;
  };
  for (const std::int64_t columns : {0L, 1L, -1L, 5L, 511L, -511L, random.between(-2000, 2000)})
    EXPECT_EQ(moved(rotation_exponent(1024, columns)), values.rotated(columns).values) << columns;
  EXPECT_EQ(moved(2047), values.swapped().values);
}

TEST(BgvEncoder, RotationExponents) {
  test::Random random;
  for (std::uint32_t N = 1024; N <= 1u << 17; N *= 2) {
    EXPECT_EQ(rotation_exponent(N, 0), 1u);
    EXPECT_EQ(rotation_exponent(N, 1), 3u);
    EXPECT_EQ(rotation_exponent(N, N / 2), 1u);
    EXPECT_EQ(rotation_exponent(N, -std::int64_t{N} / 2), 1u);
    const std::int64_t c = random.between(-1'000'000, 1'000'000);
    EXPECT_EQ(std::uint64_t{rotation_exponent(N, c)} * rotation_exponent(N, -c) % (2 * N), 1u);
    EXPECT_EQ(std::uint64_t{rotation_exponent(N, c)} * 3 % (2 * N), rotation_exponent(N, c + 1));
    for (const std::int64_t edge :
         {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
      EXPECT_LT(rotation_exponent(N, edge), 2 * N);
  }
}

TEST(BgvEncoder, CoefficientsOfAnyModulus) {
  test::Random random;
  for (const std::uint64_t t :
       {2ULL, 3ULL, 4ULL, 256ULL, 257ULL, 65537ULL, 1000000ULL, 1000003ULL, (1ULL << 31) - 1}) {
    const Parameters p = bgv_insecure({1024, t});
    const Encoder encoder(p);
    const Clear values = Clear::random(p, Packing::coefficients, 1, random);
    auto m = polynomial(encoder, values);
    EXPECT_EQ(m, values.values) << t;
    encoder.decode(Packing::coefficients, m);
    EXPECT_EQ(m, values.values) << t;
  }
}

TEST(BgvEncoder, IntegersAreTakenModuloT) {
  constexpr auto low = std::numeric_limits<std::int64_t>::min(),
                 high = std::numeric_limits<std::int64_t>::max();
  for (const std::uint64_t t : {2ULL, 256ULL, 65537ULL, (1ULL << 31) - 1})
    for (const Packing packing : {Packing::slots, Packing::coefficients}) {
      const Parameters p = bgv_insecure({1024, t});
      if (packing == Packing::slots && !p.has_slots()) continue;
      const Encoder encoder(p);
      std::vector<std::int64_t> values(1024), m(1024);
      const std::int64_t edges[] = {low, low + 1, -65538, -65537, -1, 0, 1, 65536, 65537, high};
      for (std::size_t j = 0; j < 1024; ++j) values[j] = edges[j % 10];
      encoder.encode(values, packing, m);
      std::vector<std::uint64_t> back(1024);
      for (std::size_t j = 0; j < 1024; ++j) back[j] = test::reduce(m[j], t);
      encoder.decode(packing, back);
      for (std::size_t j = 0; j < 1024; ++j) ASSERT_EQ(back[j], test::reduce(values[j], t));
    }
}

TEST(BgvEncoder, Refusals) {
  const Encoder none(bgv_insecure({1024, 256})), slots(bgv_insecure());
  EXPECT_THROW(none.check(Packing::slots), EncodingError);
  EXPECT_NO_THROW(none.check(Packing::coefficients));
  EXPECT_NO_THROW(slots.check(Packing::slots));
  std::vector<std::uint64_t> m(1024);
  EXPECT_THROW(none.decode(Packing::slots, m), EncodingError);
  EXPECT_THROW(slots.rows(0, 0, Packing::slots), ShapeError);
  EXPECT_THROW(slots.rows(10, 3, Packing::slots), ShapeError);
  EXPECT_THROW(slots.rows(1025, 0, Packing::coefficients), ShapeError);
}

TEST(BgvEncoder, VectorsFallOnCiphertexts) {
  const Encoder encoder(bgv_insecure());
  std::vector<std::int64_t> values(3072);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
  const auto check = [&](std::size_t count, std::size_t length, std::size_t vectors,
                         std::size_t each, std::uint64_t kept) {
    const Rows rows = encoder.rows(count, length, Packing::slots);
    EXPECT_EQ(rows.vectors, vectors) << count << ", " << length;
    EXPECT_EQ(rows.each, each) << count << ", " << length;
    EXPECT_EQ(rows.kept(), kept) << count << ", " << length;
    std::vector<std::int64_t> all;
    for (std::size_t i = 0; i < rows.count(); ++i) {
      const auto row = rows.of(std::span(values).first(count), i);
      EXPECT_LE(row.size(), 1024u);
      all.insert(all.end(), row.begin(), row.end());
    }
    EXPECT_TRUE(std::ranges::equal(all, std::span(values).first(count))) << count << ", " << length;
  };
  check(3, 0, 1, 1, 3);
  check(1024, 0, 1, 1, 0);
  check(3072, 0, 3, 1, 0);
  check(1025, 0, 1, 2, 1025);
  check(12, 4, 3, 1, 4);
  check(3072, 1536, 2, 2, 1536);
  check(3072, 3072, 1, 3, 3072);
  // What is missing is zero.
  std::vector<std::int64_t> short_one(1024, 9), padded(1024, 9);
  std::vector<std::int64_t> full(1024);
  full[0] = 5;
  full[1] = -6;
  encoder.encode(std::vector<std::int64_t>{5, -6}, Packing::coefficients, short_one);
  EXPECT_EQ(short_one, full);
  encoder.encode(std::vector<std::int64_t>{5, -6}, Packing::slots, short_one);
  encoder.encode(full, Packing::slots, padded);
  EXPECT_EQ(short_one, padded);
}

}  // namespace
}  // namespace whorl::bgv
