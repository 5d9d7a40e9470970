// Circuits on BGV's slots: products with matrices that are not encrypted, sums, dot products; and
// the keys that they need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "whorl/bgv/ciphertexts.h"
#include "whorl/bgv/parameters.h"
#include "whorl/bgv/server.h"
#include "whorl/common.h"

namespace whorl::bgv {

/// A matrix that is not encrypted, or linear maps given by their diagonals. It is encoded and
/// uploaded once for many vectors. Copies share the memory. If a device fails, the part that it
/// held is encoded again from the host's memory.
class SlotMap {
 public:
  /// Rows and columns of the matrix; 0 if the object was made from diagonals.
  std::size_t rows() const;
  std::size_t columns() const;
  /// Results for each vector: 1 for a matrix, else the number of maps.
  std::size_t maps() const;
  /// Bytes on the devices: N words for each diagonal and prime, or 2n' where both rows of a
  /// diagonal's slots repeat after n' columns, 1 <= n' <= N/8. The host's memory holds another 8·N
  /// bytes for each diagonal that is not zero.
  std::size_t bytes() const;

 private:
  friend struct circuits::EncodedAccess<SlotMap>;
  struct Storage;
  std::shared_ptr<const Storage> storage_;
};

/// Encodes a matrix (rows, columns), given row by row; values are reduced modulo t. ShapeError
/// unless rows and columns are in 1 … N and `values` has rows·columns numbers.
SlotMap encode_matrix(const Server& server, std::span<const std::int64_t> values, std::size_t rows,
                      std::size_t columns);
/// Encodes linear maps x -> sum_k diagonal_k · rotate(x, k·step) with 0 <= k < count. `values` are
/// the diagonals, of shape (maps, count, N). The maps share rotations of x. ShapeError unless
/// `values` are a whole number of maps.
SlotMap encode_diagonals(const Server& server, std::span<const std::int64_t> values,
                         std::size_t count, std::int64_t step = 1);

/// x·M for each vector of x. A vector is packed in slots and has as many values as the matrix has
/// rows; the result is in the first `columns` slots. The product takes about 2·sqrt(d) rotations in
/// baby and giant steps (Halevi and Shoup, CRYPTO 2018). Here d is the smaller side rounded up to a
/// power of two. A few more rotations repeat x or add up parts of the result. If the slots behind
/// the values of x must hold zeros and do not, a product with one more plaintext makes them zero.
/// ShapeError for vectors of another length. A vector that was rotated has N values; the matrix
/// takes the first ones. MissingKeyError names a rotation that has no key.
Array multiply(const Server& server, const Array& x, const SlotMap& matrix);
/// The result of each map that `diagonals` holds. All N slots of x take part.
std::vector<Array> multiply_maps(const Server& server, const Array& x, const SlotMap& diagonals);

/// Returns, for each ciphertext that a vector takes, a batch of them, as vectors of N values. The
/// last one has the values that are left.
std::vector<Array> parts(const Server& server, const Array& x);

/// The sum of each vector's values, in every slot. A vector that takes several ciphertexts gives
/// one ciphertext. It uses the rotations by 1, 2, 4 … N/4 and the exchange of rows.
Array sum(const Server& server, const Array& x);
/// sum(x·y) for vectors of equal length (ShapeError).
Array dot(const Server& server, const Array& x, const Array& y);
Array dot(const Server& server, const Array& x, const Plaintexts& y);

/// These functions add keys to a request: for products with a matrix of that shape, for maps given
/// by diagonals, and for sums and dot products.
void request_matrix(KeyRequest& request, const Parameters& parameters, std::size_t rows,
                    std::size_t columns);
void request_diagonals(KeyRequest& request, std::size_t count, std::int64_t step = 1);
void request_sum(KeyRequest& request, const Parameters& parameters);

}  // namespace whorl::bgv
