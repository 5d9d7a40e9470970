// Linear maps of the slots of CKKS ciphertexts: products with matrices, discrete Fourier
// transforms, convolutions. (OpenFHE: EvalLinearTransform; Lattigo: lintrans.)
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "whorl/ckks/server.h"
#include "whorl/common.h"

namespace whorl::ckks {

/// A linear map by its diagonals: result_j = sum_k diagonals[k][j]·x_(j+k), with indices modulo
/// `period`. Few diagonals make a fast map, whatever its size.
struct LinearMap {
  /// A power of two, at least the length of the vectors, which are repeated with this period.
  std::uint64_t period = 1;
  /// How many values the result has. They repeat with the least power of two that is not below
  /// this number (ShapeError of encode); rows behind them are set to copies of the first ones.
  std::uint64_t length = 1;
  /// How many values operands must have; 0: any power of two that divides the period.
  std::uint64_t columns = 0;
  /// Every diagonal has `period` values. No two k are equal modulo the period.
  std::map<std::int64_t, std::vector<std::complex<double>>> diagonals;
  /// Whether baby and giant steps are chosen for few rotations, that is for small keys, and not for
  /// speed alone.
  bool few_rotations = false;
};

/// The product with a matrix of `rows`·`columns` values, row by row. It has at most as many
/// diagonals as the least power of two that is not below `columns`; those of zeros are left out.
/// ShapeError unless there are so many values, and at least one.
LinearMap matrix_map(std::span<const std::complex<double>> values, std::size_t rows,
                     std::size_t columns);

/// The rotations whose keys the map needs. Errors as of encode.
std::vector<std::int64_t> rotations_of(const LinearMap& map);

/// A linear map whose diagonals are encoded, and stay on a server's devices. Copies share the
/// memory. A diagonal whose values repeat after n' of N/2 slots, n' <= N/8, is stored as 2n' words
/// for each prime, in place of N.
class EncodedMap {
 public:
  unsigned level() const;            ///< operands are brought to this level
  std::uint64_t period() const;      ///< of operands, or a multiple of theirs
  std::size_t diagonals() const;     ///< how many plaintexts there are
  std::size_t key_switches() const;  ///< rotations that a product takes
  std::size_t bytes() const;         ///< of the plaintexts on each device

 private:
  friend struct circuits::EncodedAccess<EncodedMap>;
  struct Storage;
  std::shared_ptr<const Storage> storage_;
};

/// How a map is encoded.
struct MapOptions {
  /// That of the diagonals; 0 takes the level's, which gives results the canonical scale.
  double scale = 0;
  /// Whether it takes keys of KeyRequest::low_rotations for its level, or the least one above it
  /// that has all.
  bool low_rotations = false;
  /// Whether plaintexts are over as few primes as hold their coefficients, and are extended to all
  /// primes in each product, with the same bits. They take a part of the memory, and a product
  /// takes longer.
  bool compact = false;
};

/// Encodes a map for operands of `level`, at which it takes its place; the result is one level
/// lower. MissingKeyError if there are no keys for low_rotations, ShapeError for diagonals of
/// another length than the period, and for periods and lengths that do not fit; ParameterError for
/// level 0, for two diagonals of one place and for no diagonal; EncodingError for values that are
/// not finite or too large.
EncodedMap encode(const Server& server, const LinearMap& map, unsigned level,
                  const MapOptions& options = {});

/// The map of each vector, rescaled. Rotations are hoisted twice, in baby and giant steps
/// (Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux, EUROCRYPT 2021, §4). ShapeError if the vectors'
/// period does not divide the map's, or their length is not the number of columns, NoiseError if x
/// is below the map's level, MissingKeyError names a rotation that has no key.
Array apply(const Server& server, const Array& x, const EncodedMap& map);

}  // namespace whorl::ckks
