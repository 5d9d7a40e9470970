// Products of CKKS matrices that are both encrypted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "whorl/ckks/server.h"
#include "whorl/common.h"

namespace whorl::ckks {

/// The shape of products A·B, of `rows`×`side` and `side`×`side` values. A vector holds a matrix
/// row by row, or `matrices` of them: value (i, j) of matrix k is at (i·side + j)·matrices + k.
/// Other shapes are made of this one: rows and columns of zeros fill matrices up, and the rows of a
/// larger A go to several ciphertexts of a batch.
struct MatrixProduct {
  std::uint64_t side = 1;      ///< a power of two
  std::uint64_t rows = 1;      ///< a power of two, at most `side`
  std::uint64_t matrices = 1;  ///< a power of two

  /// Levels that a product takes.
  static constexpr unsigned depth = 2;
  std::uint64_t a_length() const { return rows * side * matrices; }  ///< of A, and of A·B
  std::uint64_t b_length() const { return side * side * matrices; }
};

/// The rotations whose keys a product takes: about 2·sqrt(side) + 2·sqrt(rows) + 3·sqrt(2·side),
/// and those of a sum if rows < side. ShapeError unless the numbers are powers of two as stated.
std::vector<std::int64_t> rotations_of(const MatrixProduct& shape);
/// Adds them to a request, with the key of relinearisation.
void request_matrix_product(KeyRequest& request, const MatrixProduct& shape);

/// What products of a shape are made with, encoded and on a server's devices. Copies share the
/// memory.
class EncodedMatrixProduct {
 public:
  const MatrixProduct& shape() const;
  unsigned level() const;     ///< operands are brought to this level; results are two lower
  std::size_t bytes() const;  ///< of the plaintexts on each device

 private:
  friend struct circuits::EncodedAccess<EncodedMatrixProduct>;
  struct Storage;
  std::shared_ptr<const Storage> storage_;
};

/// Encodes 3·side - 1 plaintexts for operands of `level`. ParameterError for a level outside
/// 2 … depth; ShapeError for a shape as above, and for one that a ciphertext does not hold.
EncodedMatrixProduct encode(const Server& server, const MatrixProduct& shape, unsigned level);

/// A·B of each pair of ciphertexts (or of one with each of the others), of A's length, two levels
/// below the encoded one. It takes about 2·rows + side rotations, 2·rows products of ciphertexts,
/// relinearised once, and rows·side products with plaintexts. ShapeError for vectors of other
/// lengths, NoiseError if an operand is below the level, MissingKeyError names a key that is
/// missing. (Jiang, Kim, Lauter, Song, CCS 2018, §3 and §4, at one level less: where they mask the
/// turned columns of A, here B's columns are chosen while they are turned, which takes the level
/// that A's permutation takes.)
Array multiply_matrices(const Server& server, const Array& a, const Array& b,
                        const EncodedMatrixProduct& product);

}  // namespace whorl::ckks
