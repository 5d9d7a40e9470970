#include "whorl/circuits/ckks/matrices.h"

#include "support/ckks_party.h"
#include "support/test.h"
#include "whorl/ckks/client.h"

namespace whorl::ckks {
namespace {

using test::Complexes;

struct Party : test::CkksParty {
  Party(const test::CkksShape& of, const MatrixProduct& shape)
      : CkksParty(test::ckks_insecure(of), request(shape)) {}
  static KeyRequest request(const MatrixProduct& shape) {
    KeyRequest out;
    request_matrix_product(out, shape);
    return out;
  }
};

/// The product of matrices in clear, of vectors that hold them as MatrixProduct says.
Complexes in_clear(const MatrixProduct& s, const Complexes& a, const Complexes& b,
                   std::size_t first_a, std::size_t first_b) {
  Complexes out(s.a_length());
  for (std::size_t i = 0; i < s.rows; ++i)
    for (std::size_t j = 0; j < s.side; ++j)
      for (std::size_t k = 0; k < s.side; ++k)
        for (std::size_t m = 0; m < s.matrices; ++m)
          out[(i * s.side + j) * s.matrices + m] += a[first_a + (i * s.side + k) * s.matrices + m] *
                                                    b[first_b + (k * s.side + j) * s.matrices + m];
  return out;
}

void expect(const Party& party, const MatrixProduct& shape, std::size_t as, std::size_t bs,
            unsigned level) {
  SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.side << ", " << shape.matrices
                                  << " matrices, " << as << " and " << bs << " ciphertexts");
  std::mt19937_64 random(shape.side + shape.rows);
  const Complexes a = test::random_complexes(random, as * shape.a_length()),
                  b = test::random_complexes(random, bs * shape.b_length());
  const EncodedMatrixProduct product = encode(party.server, shape, level);
  const Array y = multiply_matrices(party.server, party.upload(a, shape.a_length()),
                                    party.upload(b, shape.b_length()), product);
  const std::size_t count = std::max(as, bs);
  EXPECT_EQ(y.info().count, count);
  EXPECT_EQ(y.info().level, level - MatrixProduct::depth);
  EXPECT_EQ(y.info().scale, party.server.parameters().scale(y.info().level));
  EXPECT_EQ(y.info().length, shape.a_length());
  Complexes want;
  for (std::size_t i = 0; i < count; ++i) {
    const Complexes one = in_clear(shape, a, b, as == 1 ? 0 : i * shape.a_length(),
                                   bs == 1 ? 0 : i * shape.b_length());
    want.insert(want.end(), one.begin(), one.end());
  }
  test::expect_as_stated(y, party.values(y), want);
}

TEST(CkksMatrices, SquareOnesOfEverySize) {
  for (const std::uint64_t side : {1u, 2u, 4u, 8u, 16u}) {
    const MatrixProduct shape{side, side};
    expect(Party({40}, shape), shape, 1, 1, 3);
  }
  expect(Party({28}, {8, 8}), {8, 8}, 1, 1, 2);
  expect(Party({50, 64}, {8, 8}), {8, 8}, 1, 1, 3);
}

TEST(CkksMatrices, FewerRowsAndSeveralMatrices) {
  for (const MatrixProduct& shape : {MatrixProduct{8, 2},
                                     {8, 1},
                                     {16, 8},
                                     {4, 4, 8},
                                     {8, 4, 4},
                                     {1, 1, 16},
                                     {2, 1, 2},
                                     {16, 16, 2}})
    expect(Party({40}, shape), shape, 1, 1, 3);
}

TEST(CkksMatrices, Batches) {
  const MatrixProduct shape{4, 2};
  const Party party({40}, shape);
  expect(party, shape, 3, 3, 3);
  expect(party, shape, 3, 1, 2);
  expect(party, shape, 1, 2, 2);
}

TEST(CkksMatrices, ProductsOfProducts) {
  const MatrixProduct shape{4, 4};
  const Party party({.scale_bits = 40, .depth = 4}, shape);
  std::mt19937_64 random(1);
  const Complexes a = test::random_complexes(random, 16);
  const Array x = party.upload(a, 16);
  const Array square = multiply_matrices(party.server, x, x, encode(party.server, shape, 4));
  const Array cube = multiply_matrices(party.server, square, x, encode(party.server, shape, 2));
  EXPECT_EQ(cube.info().level, 0u);
  const Complexes want = in_clear(shape, in_clear(shape, a, a, 0, 0), a, 0, 0),
                  got = party.values(cube);
  EXPECT_LT(test::worst(got, want), 1e-5);
}

TEST(CkksMatrices, FewKeys) {
  // 64 × 64: 16 rotations turn A, 14 B, one brings rows back, the others permute A.
  EXPECT_LE(rotations_of(MatrixProduct{64, 64}).size(), 60u);
  EXPECT_LE(rotations_of(MatrixProduct{64, 1}).size(), 52u);
  EXPECT_TRUE(rotations_of(MatrixProduct{1, 1, 4}).empty());
}

template <class Error, class F>
void expect_refusal(const std::string& part, const F& f) {
  test::expect_message<Error>([&] { f(); }, {part});
}

TEST(CkksMatrices, WhatCannotBeRightIsRefused) {
  const MatrixProduct shape{4, 4};
  const Party party({40}, shape);
  const EncodedMatrixProduct product = encode(party.server, shape, 3);
  const Array x = party.upload(Complexes(16), 16);
  const auto multiply = [&](const Array& a, const Array& b) {
    static_cast<void>(multiply_matrices(party.server, a, b, product));
  };
  const auto encoded = [&](const MatrixProduct& s, unsigned level) {
    static_cast<void>(encode(party.server, s, level));
  };
  expect_refusal<ShapeError>("8 values; they must have 16",
                             [&] { multiply(x, party.upload(Complexes(8), 8)); });
  expect_refusal<ShapeError>("a batch of 2 ciphertexts meets 3", [&] {
    multiply(party.upload(Complexes(32), 16), party.upload(Complexes(48), 16));
  });
  expect_refusal<NoiseError>("second operand at level 2",
                             [&] { multiply(x, party.server.lower(x, 2)); });
  expect_refusal<ParameterError>("level = 1", [&] { encoded(shape, 1); });
  expect_refusal<ParameterError>("level = 4", [&] { encoded(shape, 4); });
  expect_refusal<ShapeError>("3 columns", [&] { encoded({3, 1}, 2); });
  expect_refusal<ShapeError>("8 rows", [&] { encoded({4, 8}, 2); });
  expect_refusal<ShapeError>("0 matrices", [&] { encoded({4, 4, 0}, 2); });
  expect_refusal<ShapeError>("512 slots", [&] { encoded({32, 32}, 2); });
  expect_refusal<ShapeError>("not encoded",
                             [] { static_cast<void>(EncodedMatrixProduct().level()); });
  const Party other({40}, {2, 2});
  const Array y = other.upload(Complexes(16), 16);
  const EncodedMatrixProduct there = encode(other.server, shape, 3);
  expect_refusal<MissingKeyError>(
      "rotation by", [&] { static_cast<void>(multiply_matrices(other.server, y, y, there)); });
  expect_refusal<DeviceError>("another server", [&] { multiply(x, y); });
}

}  // namespace
}  // namespace whorl::ckks
