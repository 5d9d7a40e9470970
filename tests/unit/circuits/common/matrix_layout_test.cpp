// Matrices on slots in the clear: what the layout says is x·M, whatever lies behind x.
#include "circuits/common/matrix_layout.h"

#include "support/test.h"

namespace whorl::circuits {
namespace {

using Slots = std::vector<std::int64_t>;

Slots rotated(const Slots& x, std::int64_t columns) {
  const auto half = static_cast<std::int64_t>(x.size() / 2);
  Slots out(x.size());
  for (std::int64_t j = 0; j < 2 * half; ++j)
    out[static_cast<std::size_t>(j)] =
        x[static_cast<std::size_t>(j / half * half + ((j % half + columns) % half + half) % half)];
  return out;
}
Slots swapped(Slots x) {
  std::rotate(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x;
}
Slots sum(Slots x, const Slots& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  return x;
}

/// As MatrixLayout says; notes rotations.
Slots product(const MatrixLayout& layout, const Slots& matrix, Slots x,
              std::set<std::int64_t>& steps) {
  if (layout.copies_rows()) x = sum(x, swapped(x));
  for (const std::int64_t r : layout.copies()) {
    x = sum(x, rotated(x, r));
    steps.insert(r);
  }
  Slots y(x.size());
  for (std::size_t map = 0; map < layout.maps(); ++map) {
    Slots out(x.size());
    for (std::size_t k = 0; k < layout.diagonals(); ++k) {
      const Slots diagonal = layout.diagonal(matrix, map, k);
      const Slots turned = rotated(x, layout.direction() * static_cast<std::int64_t>(k));
      for (std::size_t i = 0; i < out.size(); ++i) out[i] += diagonal[i] * turned[i];
    }
    y = sum(y, map == 1 ? swapped(out) : out);
  }
  for (const std::int64_t r : layout.folds()) {
    y = sum(y, rotated(y, r));
    steps.insert(r);
  }
  return layout.folds_rows() ? sum(y, swapped(y)) : y;
}

TEST(CircuitsMatrixLayout, IsTheProduct) {
  test::Random random;
  for (const std::uint32_t half : {4u, 16u, 64u})
    for (int trial = 0; trial < 60; ++trial) {
      std::size_t n = 1 + random.below(2 * half), m = 1 + random.below(2 * half);
      if (trial < 8) {
        n = trial & 1 ? half : trial & 4 ? 1 : 2 * half;
        m = trial & 2 ? half : trial & 4 ? 2 * half : 1;
      }
      SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(m) + " of " + std::to_string(half));
      const MatrixLayout layout(half, n, m);
      Slots matrix(n * m), x(2 * half);
      for (auto& v : matrix) v = random.between(-9, 9);
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = i < n || !layout.needs_zeros() ? random.between(-9, 9) : 0;
      std::set<std::int64_t> steps;
      const Slots y = product(layout, matrix, x, steps);
      for (std::size_t c = 0; c < m; ++c) {
        std::int64_t due = 0;
        for (std::size_t r = 0; r < n; ++r) due += x[r] * matrix[r * m + c];
        ASSERT_EQ(y[c], due) << c;
      }
      for (std::size_t c = m; c < y.size() && layout.leaves_zeros(); ++c) ASSERT_EQ(y[c], 0) << c;
      // No more rotations than baby and giant steps and doublings permit, and all are named.
      const auto named = layout.rotations();
      const std::set<std::int64_t> all(named.begin(), named.end());
      for (const std::int64_t step : steps) EXPECT_TRUE(all.contains(step)) << step;
      const Steps split = Steps::of(layout.diagonals());
      EXPECT_LE(layout.diagonals(), 2 * std::min({n, m, std::size_t{half}}));
      EXPECT_GE(split.babies * split.giants, layout.diagonals());
      const double root = std::sqrt(static_cast<double>(layout.diagonals()));
      EXPECT_LE(static_cast<double>(split.babies + split.giants), 3 * root + 1);
    }
}

TEST(CircuitsMatrixLayout, Refusals) {
  for (const std::size_t wrong : {0u, 33u}) {
    EXPECT_THROW(MatrixLayout(16, wrong, 1), ShapeError);
    EXPECT_THROW(MatrixLayout(16, 1, wrong), ShapeError);
  }
}

}  // namespace
}  // namespace whorl::circuits
