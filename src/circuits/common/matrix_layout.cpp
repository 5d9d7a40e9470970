#include "circuits/common/matrix_layout.h"

#include <algorithm>
#include <bit>
#include <string>

#include "whorl/error.h"

namespace whorl::circuits {

Steps Steps::of(std::size_t count) {
  if (count <= 4) return {count, 1};
  const std::size_t babies = std::size_t{1} << ((std::bit_width(count - 1) + 1) / 2);
  return {babies, (count + babies - 1) / babies};
}

namespace {

void check_side(const char* side, std::size_t length, std::size_t slots) {
  if (length == 0 || length > slots)
    throw ShapeError(std::string("matrix: ") + std::to_string(length) + " " + side +
                     " are outside 1 … N = " + std::to_string(slots));
}

/// step, 2·step, … for at least `copies` of a block in a row of `most`.
std::vector<std::int64_t> doublings(std::size_t copies, std::size_t most, std::int64_t step) {
  std::vector<std::int64_t> out;
  for (std::size_t have = 1; have < std::min(copies, most); have *= 2) {
    out.push_back(step);
    step *= 2;
  }
  return out;
}

}  // namespace

MatrixLayout::MatrixLayout(std::uint32_t half, std::size_t rows, std::size_t columns)
    : half_(half), rows_(rows), columns_(columns) {
  check_side("rows", rows, 2 * half_);
  check_side("columns", columns, 2 * half_);
  const std::size_t n = std::min(rows, half_), m = std::min(columns, half_);
  wide_ = n <= m;
  d_ = std::bit_ceil(std::min(n, m));
  const auto period = static_cast<std::int64_t>(d_);
  const std::size_t most = half_ / d_;
  if (wide_)
    copies_ = doublings((m + d_ - 1 + d_ - 1) / d_, most, -period);
  else
    folds_ = doublings((n + d_ - 1 + d_ - 1) / d_, most, period);
  two_maps_ = rows > half_ && columns > half_;
  copies_rows_ = rows <= half_ && columns > half_;
  folds_rows_ = rows > half_ && columns <= half_;
}

std::vector<std::int64_t> MatrixLayout::diagonal(std::span<const std::int64_t> matrix,
                                                 std::size_t map, std::size_t k) const {
  std::vector<std::int64_t> out(2 * half_);
  for (std::size_t line = 0; line < 2; ++line) {
    // Which part of x this row of slots has, and which part of y it makes.
    const std::size_t from = copies_rows_ ? 0 : line;
    const std::size_t to = folds_rows_ ? 0 : map == 1 ? 1 - line : line;
    const std::size_t first_row = from * half_, first_column = to * half_;
    if (first_row >= rows_ || first_column >= columns_) continue;
    const std::size_t n = std::min(rows_ - first_row, half_),
                      m = std::min(columns_ - first_column, half_);
    const auto entry = [&](std::size_t r, std::size_t c) {
      return matrix[(first_row + r) * columns_ + first_column + c];
    };
    std::int64_t* const slots = out.data() + line * half_;
    if (wide_) {
      for (std::size_t c = 0; c < m; ++c)
        if (const std::size_t r = (c + k) % d_; r < n) slots[c] = entry(r, c);
    } else {
      for (std::size_t r = 0; r < n; ++r) {
        const std::size_t slot = (r + k) % half_;
        if (const std::size_t c = slot % d_; c < m) slots[slot] = entry(r, c);
      }
    }
  }
  return out;
}

std::vector<std::int64_t> MatrixLayout::rotations() const {
  std::vector<std::int64_t> out = rotations_of(d_, direction());
  out.insert(out.end(), copies_.begin(), copies_.end());
  out.insert(out.end(), folds_.begin(), folds_.end());
  return out;
}

std::vector<std::int64_t> rotations_of(std::size_t count, std::int64_t step) {
  const Steps steps = Steps::of(count);
  std::vector<std::int64_t> out;
  for (std::size_t b = 1; b < steps.babies; ++b) out.push_back(step * static_cast<std::int64_t>(b));
  for (std::size_t i = 1; i < steps.giants; ++i)
    out.push_back(step * static_cast<std::int64_t>(i * steps.babies));
  return out;
}

}  // namespace whorl::circuits
