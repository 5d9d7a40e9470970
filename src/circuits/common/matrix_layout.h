// Where a matrix falls on the slots of a ciphertext: two rows of `half` slots that rotate together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace whorl::circuits {

/// How `count` rotations by 0, 1, … steps are made from short rotations (baby steps), of which
/// there are `babies`, and giant steps by multiples of `babies` (Halevi and Shoup, CRYPTO 2018,
/// §4). All baby steps share one decomposition, so they cost less; there are as many of them as
/// giant steps, or twice as many. Up to four rotations use baby steps only.
struct Steps {
  std::size_t babies = 1, giants = 1;

  static Steps of(std::size_t count);
};

/// y = x·M of a matrix (rows, columns), by diagonals (Halevi and Shoup, CRYPTO 2014, §4.3). Values
/// lie in slots 0 … 2·half - 1, the first half of them in the first row.
///
/// With n and m the rows and columns that fall on one row of slots, there are d diagonals, a power
/// of two of at least min(n, m):
/// - n <= m: x is repeated with period d first, in so many copies that d - 1 slots beyond the last
///   column have it. Diagonal k meets x rotated to the left by k.
/// - n > m: diagonal k meets x rotated to the right by k and adds up what belongs to columns that
///   are equal modulo d; the blocks of d slots are added to the first one afterwards.
/// A vector or a result of more than `half` values has its second part in the second row. What
/// leads from one row to the other is a map of its own, whose result's rows are exchanged; where
/// only x or only y has two rows, the exchange comes before or after a single map.
class MatrixLayout {
 public:
  /// ShapeError unless rows and columns are 1 … 2·half.
  MatrixLayout(std::uint32_t half, std::size_t rows, std::size_t columns);

  std::size_t diagonals() const { return d_; }
  /// Left (1) or right (-1): diagonal k meets x rotated by direction()·k.
  std::int64_t direction() const { return wide_ ? 1 : -1; }
  /// 1, or 2 with one whose result's rows are exchanged.
  std::size_t maps() const { return two_maps_ ? 2 : 1; }

  /// Before the map, x becomes x + rot(x, r) for each, in this order; the slots behind the values
  /// of x must hold zeros then. copies_rows() says whether x + (x with its rows exchanged) comes
  /// first.
  const std::vector<std::int64_t>& copies() const { return copies_; }
  bool copies_rows() const { return copies_rows_; }
  bool needs_zeros() const { return copies_rows_ || !copies_.empty(); }
  /// After the map, y becomes y + rot(y, r) for each, and then, if folds_rows(), y + (y with its
  /// rows exchanged).
  const std::vector<std::int64_t>& folds() const { return folds_; }
  bool folds_rows() const { return folds_rows_; }
  /// Whether the slots behind the values of y hold zeros.
  bool leaves_zeros() const { return folds_.empty() && !folds_rows_; }

  /// Diagonal k of map `map`, as 2·half slots; `matrix` is row-major.
  std::vector<std::int64_t> diagonal(std::span<const std::int64_t> matrix, std::size_t map,
                                     std::size_t k) const;
  /// All rotations of the product, with the baby and giant steps of Steps; and whether it exchanges
  /// rows.
  std::vector<std::int64_t> rotations() const;
  bool swaps() const { return copies_rows_ || folds_rows_ || two_maps_; }

 private:
  std::size_t half_, rows_, columns_, d_;
  bool wide_, two_maps_, copies_rows_, folds_rows_;
  std::vector<std::int64_t> copies_, folds_;
};

/// Rotations that a map of `count` diagonals takes, whose neighbours are `step` apart.
std::vector<std::int64_t> rotations_of(std::size_t count, std::int64_t step);

}  // namespace whorl::circuits
