// A batch of LWE ciphertexts under one key, and the evaluation keys that a server needs.
#pragma once

#include <cmath>
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

/// The secret key that ciphertexts are under. `lwe`: the LWE key, of n coefficients, modulo q; all
/// operations take these. `ring`: the ring key, of N coefficients, modulo Q, as rotations leave
/// their results: sums of these have the least noise, and gates and tables bring them to the LWE
/// key first.
enum class Under : std::uint8_t { lwe = 0, ring = 1 };

/// The integers that messages stand for lie in low … high.
struct MessageRange {
  std::int64_t low = 0, high = 0;
  static constexpr std::int64_t most = (std::int64_t{1} << 31) - 1;  ///< ends are -most … most
};

/// `count` ciphertexts (a, b) in Z_q^(n+1), row-major (count, n+1), b last: b - <a, s> = m·q/p + e.
/// Under the ring key Q and N stand in the place of q and n.
struct Ciphertexts {
  Parameters parameters;
  KeyId key_id;
  Encoding encoding;
  std::size_t count = 0;
  std::vector<std::uint32_t> data;  ///< the words, where they have 32 bits: see is_wide
  /// The seed that the a's are expanded from, so that files hold the seed and the b's only, and a
  /// server that takes them into lanes sends no more to its devices. Only fresh encryptions, and
  /// parts of them, have one. Row i of `a` is expand_uniform(seed, numbers[i]) mod q, or
  /// expand_uniform(seed, i) if `numbers` is empty. Code that changes `data` must clear the seed.
  std::optional<Seed> seed;
  /// Shape of the array, row-major; the product of its axes is `count`. No value means (count,).
  std::optional<Shape> shape{};
  /// Variance of the errors, in units of the variance of a bootstrapped ciphertext under the same
  /// key (the larger Parameters::noise().refreshed of the two transforms, or blind_rotation).
  /// Servers set it, and read it if there is
  /// no seed. Code that changes `data` must set it.
  double noise = 1;
  /// The seed was drawn for a whole batch: numbers[i] is the place in that batch of ciphertext i.
  /// An empty list means the places 0, 1, 2 …
  std::vector<std::uint32_t> numbers{};
  /// Whether these are weighted sums, which may share errors with any others. Otherwise equal
  /// ciphertexts have equal errors, and different ones independent errors.
  bool sum = false;
  /// What the server that made these knows besides, such as what was added up. Lost in files.
  /// Whoever changes `data` must clear it.
  std::shared_ptr<const Origin> origin{};
  /// The messages lie in 0 … largest. This may be p or more, up to 2p - 1, where the padding bit
  /// may be set. No value: nobody said, as in older files. Then sums are taken to be anything, so
  /// that the padding bit may be set; what has a seed is encrypted, and below p. Code that changes
  /// `data` must set it.
  std::optional<std::uint32_t> largest{};
  /// The same if messages of which nothing was known are bits, as gates take them to be. No value:
  /// `largest`.
  std::optional<std::uint32_t> as_bits{};
  /// The range that Server::with_range stated, or that follows from such ranges: message m stands
  /// for the only integer of the range that is m modulo p. No value: nobody stated one.
  std::optional<MessageRange> range{};
  Under under = Under::lwe;
  std::vector<std::uint64_t> wide{};  ///< the words in the place of `data`, where is_wide
  /// How many sectors messages may be from those that exact tables would have made, beside `noise`,
  /// but for a probability of 2^failure_log2. No value: no table on their way was not exact. Then
  /// files do not keep the probability. Servers set both; they do not count if there is a seed.
  std::optional<double> off{};
  double failure_log2 = -HUGE_VAL;

  /// Whether words have 64 bits: under the ring key, if Q is 2^31 or more.
  bool is_wide() const { return under == Under::ring && ring_word_bytes(parameters.Q()) == 8; }
  std::uint64_t modulus() const { return under == Under::lwe ? parameters.q() : parameters.Q(); }
  std::uint32_t dimension() const { return under == Under::lwe ? parameters.n() : parameters.N(); }
  std::size_t row() const { return std::size_t{dimension()} + 1; }
  /// Ciphertext i, where words have 32 bits.
  std::span<const std::uint32_t> operator[](std::size_t i) const {
    return {data.data() + i * row(), row()};
  }
};

/// What is known without a key: messages lie in 0 … this, which is p or more where the padding bit
/// may be set. RangeError if the batch says what its encoding cannot hold.
std::uint32_t largest_message(const Ciphertexts& ciphertexts);

/// What Array::error_bound and Array::failure_log2 say, of a batch.
std::uint32_t error_bound(const Ciphertexts& ciphertexts);
double failure_log2(const Ciphertexts& ciphertexts);

/// The ciphertexts at `indices`, in this order; an index may come several times. Fresh ciphertexts
/// keep their seed. ShapeError if an index is not below the count.
Ciphertexts take(const Ciphertexts& ciphertexts, std::span<const std::uint32_t> indices);
/// Joins batches to one, in sequence. Parts of one fresh batch keep its seed. EncodingError if the
/// encodings differ, or p integers do not hold all ranges; ShapeError if there is no batch;
/// ParameterMismatchError or KeyMismatchError if parameters or keys differ, or some are under the
/// ring key and others are not.
Ciphertexts concatenate(std::span<const Ciphertexts* const> batches);

/// The keys that a server gets: the b halves of the blind-rotation key and of the key-switching
/// key, and the seeds of their uniform halves. The words may lie in the contents of a file.
///
/// Blind-rotation key: rotation_key_rows() rows of N words mod Q, in coefficient form. The order of
/// rows is by LWE coefficient i, then key k, component c, and digit j from the lowest kept. Key 0
/// encrypts the indicator m = [s_i = 1]; key 1, which binary secrets do not have, encrypts m = [s_i
/// = -1]. Rows of component 0 encrypt -s_ring·m·g_j and are multiplied by digits of a; rows of
/// component 1 encrypt m·g_j and are multiplied by digits of b. The `a` half of row r is
/// expand_uniform(rotation_seed, r) mod Q. This holds for GINX; src/lattice/lwe/rotation_method.h
/// describes the keys of other rotations.
///
/// Key-switching key: key_switch_rows() words b mod Q_ks. The order of rows is by ring coefficient
/// i, then digit j from the lowest kept, and for kind `table` value v = 1 … the digit's bound. Row
/// r encrypts v·g_j·s_ring,i under the LWE key (v = 1 for `product`); its `a` half is the n words
/// of expand_uniform(switch_seed, r) mod Q_ks.
///
/// Each of small_modulus_gadgets has a blind-rotation key and a seed of its own, in the same order
/// of rows.
struct EvaluationKeys {
  struct RotationKey {
    Seed seed;
    WordArray b;
  };

  Parameters parameters;
  KeyId key_id;
  Seed rotation_seed;
  WordArray rotation_b;  ///< words of ring_word_bytes(Q)
  Seed switch_seed;
  WordArray switch_b;  ///< words of word_bytes_for(Q_ks)
  std::vector<RotationKey> small_modulus_rotations{};
  /// Bytes of all b halves and seeds, as they are sent, without the frame.
  std::size_t bytes() const {
    std::size_t sum = rotation_b.bytes() + switch_b.bytes() + 64;
    for (const RotationKey& key : small_modulus_rotations) sum += key.b.bytes() + key.seed.size();
    return sum;
  }
};

}  // namespace whorl::binfhe
