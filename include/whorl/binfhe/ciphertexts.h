// A batch of LWE ciphertexts under one key, and the evaluation keys a server needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "whorl/binfhe/parameters.h"
#include "whorl/common.h"
#include "whorl/word_array.h"

namespace whorl::binfhe {

struct Origin;

/// `count` ciphertexts (a, b) in Z_q^(n+1), row-major (count, n+1), b last: b - <a, s> = m·q/p + e.
struct Ciphertexts {
  Parameters parameters;
  KeyId key_id;
  Encoding encoding;
  std::size_t count = 0;
  std::vector<std::uint32_t> data;
  /// Set on fresh encryptions and parts of them only: row i of `a` is expand_uniform(seed, i), so
  /// files carry the seed and the b's. Whoever changes `data` must clear it.
  std::optional<Seed> seed;
  /// Of the array that these are, row-major; their product is `count`. None: (count,).
  std::optional<Shape> shape{};
  /// Variance of the errors, in units of that of a bootstrapped ciphertext (the larger
  /// Parameters::noise().refreshed of the two transforms). Servers set it, and read it where there
  /// is no seed. Whoever changes `data` otherwise must say what it is.
  double noise = 1;
  /// Which numbers of the seed's batch these are: row i of `a` is expand_uniform(seed, numbers[i]).
  /// Empty: all from 0 on. See take().
  std::vector<std::uint32_t> numbers{};
  /// Whether these are weighted sums, which may share errors with any others. Otherwise equal
  /// ciphertexts have equal errors, and different ones independent errors.
  bool sum = false;
  /// What the server that made these knows besides, such as what was added up. Lost in files.
  /// Whoever changes `data` must clear it.
  std::shared_ptr<const Origin> origin{};

  std::size_t row() const { return parameters.n() + 1; }
  std::span<const std::uint32_t> operator[](std::size_t i) const {
    return {data.data() + i * row(), row()};
  }
};

/// Those at `indices`, in this order; any may come several times. Fresh ones keep their seed.
/// ShapeError for an index that is not below the count.
Ciphertexts take(const Ciphertexts& ciphertexts, std::span<const std::uint32_t> indices);
/// One batch of all in sequence. Parts of one fresh batch keep its seed. ParameterMismatchError,
/// KeyMismatchError; EncodingError for several encodings, ShapeError for no batch.
Ciphertexts concatenate(std::span<const Ciphertexts* const> batches);

/// What a server gets: b halves of the blind-rotation and key-switching keys and the seeds of their
/// uniform halves. Words may lie in the contents of a file.
///
/// Blind-rotation key: rotation_key_rows() rows of N words mod Q (coefficient form). Row order is
/// the order of use: LWE coefficient i; key k (0: indicator of s_i = 1, 1: of s_i = -1; binary has
/// only the first); component c (0: rows multiplying digits of a, encrypting -s_ring·m·g_j, 1: rows
/// multiplying digits of b, encrypting m·g_j); digit j from the lowest kept. The `a` half of row r
/// is expand_uniform(rotation_seed, r) mod Q. (Of GINX. Other rotations have other keys k:
/// src/lattice/lwe/rotation_method.h.)
///
/// Key-switching key: key_switch_rows() words mod Q_ks, the b's. Rows: ring coefficient i; digit j
/// from the lowest kept; for `table` value v = 1 … the digit's bound. Row r encrypts v·g_j·s_ring,i
/// under the LWE key; its `a` half is expand_uniform(switch_seed, r) mod Q_ks, n words.
struct EvaluationKeys {
  Parameters parameters;
  KeyId key_id;
  Seed rotation_seed;
  WordArray rotation_b;  ///< words of ring_word_bytes(Q)
  Seed switch_seed;
  WordArray switch_b;  ///< words of word_bytes_for(Q_ks)
  /// Bytes of the two b halves and seeds: what travels, without the frame.
  std::size_t bytes() const { return rotation_b.bytes() + switch_b.bytes() + 64; }
};

}  // namespace whorl::binfhe
