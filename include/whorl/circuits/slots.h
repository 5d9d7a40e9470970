// What is made of BGV's operations on slots: products with matrices in the clear, sums, dot
// products; and which keys they need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "whorl/bgv/ciphertexts.h"
#include "whorl/bgv/parameters.h"
#include "whorl/bgv/server.h"

namespace whorl::bgv {

/// A matrix in the clear, or linear maps given by their diagonals, encoded and uploaded once for
/// many vectors. Copies share the memory. What a device that fails held is encoded anew from the
/// host's memory.
class SlotMap {
 public:
  /// Of a matrix; 0 of diagonals.
  std::size_t rows() const;
  std::size_t columns() const;
  /// Results for each vector: 1 of a matrix, as many as maps were given by diagonals.
  std::size_t maps() const;
  /// Bytes on the devices. In the host's memory there are 8·N more for each diagonal that is not
  /// zero.
  std::size_t bytes() const;

 private:
  friend struct SlotMapAccess;
  struct Storage;
  std::shared_ptr<const Storage> storage_;
};

/// A matrix (rows, columns), row-major, taken modulo t; 1 … N of each. ShapeError.
SlotMap encode_matrix(const Server& server, std::span<const std::int64_t> values, std::size_t rows,
                      std::size_t columns);
/// Maps x -> sum_k diagonal_k · rotate(x, k·step), k below `count`, of diagonals (maps, count, N).
/// The maps share rotations of x. ShapeError unless `values` are a whole number of maps.
SlotMap encode_diagonals(const Server& server, std::span<const std::int64_t> values,
                         std::size_t count, std::int64_t step = 1);

/// x·M for each vector of x, which has as many values as the matrix has rows: x is packed in slots,
/// the result in the first `columns` of them. Baby and giant steps (Halevi and Shoup, CRYPTO 2018):
/// about 2·sqrt(d) rotations, d being the power of two from the smaller side on, and a few that
/// copy x or add up the result. Where the slots behind the values of x are not zeros and must be,
/// they are made so, which costs one more product with a plaintext.
/// ShapeError for vectors of another length (what was rotated counts as N values, of which the
/// first are taken); KeyMismatchError names the rotation that has no key.
Array multiply(const Server& server, const Array& x, const SlotMap& matrix);
/// The result of each map of diagonals; all N slots count.
std::vector<Array> multiply_maps(const Server& server, const Array& x, const SlotMap& diagonals);

/// The sum of each vector's values, in every slot; vectors over several ciphertexts give one.
/// Rotations by 1, 2, 4 … N/4 and the exchange of rows.
Array sum(const Server& server, const Array& x);
/// sum(x·y), of vectors of equal length. ShapeError.
Array dot(const Server& server, const Array& x, const Array& y);
Array dot(const Server& server, const Array& x, const Plaintexts& y);

/// Adds to a request the keys that products with a matrix of that shape need; with diagonals; sums
/// and dot products.
void request_matrix(KeyRequest& request, const Parameters& parameters, std::size_t rows,
                    std::size_t columns);
void request_diagonals(KeyRequest& request, std::size_t count, std::int64_t step = 1);
void request_sum(KeyRequest& request, const Parameters& parameters);

/// What a product with a matrix of that shape is made of, for plans.
struct MatrixSteps {
  std::size_t copies = 0;     ///< sums of the vector with itself, rotated, before the product
  std::size_t diagonals = 0;  ///< products with plaintexts, each of a rotation, and their sum …
  std::size_t maps = 0;       ///< … so many times, rows exchanged in the second
  std::size_t folds = 0;      ///< sums of the result with itself, rotated
  bool needs_zeros = false;   ///< whether the slots behind the vector must hold zeros
  bool leaves_zeros = false;  ///< whether those behind the result do
};
MatrixSteps steps_of_matrix(const Parameters& parameters, std::size_t rows, std::size_t columns);

}  // namespace whorl::bgv
