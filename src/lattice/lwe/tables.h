// Tables of blind rotations, on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "backend/contract/lwe.h"
#include "backend/contract/rotation.h"
#include "run/fleet.h"

namespace whorl::lattice::lwe {

/// Test vectors of a device, in the words of the ring.
using DeviceTables =
    std::variant<backend::PlacedTables<std::uint32_t>, backend::PlacedTables<std::uint64_t>>;

/// Test vectors (tables, N) modulo Q on the host, and which a ciphertext is rotated into.
class Tables {
 public:
  /// The constant polynomial `value`.
  Tables(std::uint32_t N, std::uint64_t Q, std::uint64_t value);
  /// value(table, coefficient) below Q; index[i] is the table of ciphertext i of the whole batch,
  /// and no index means table 0 for all.
  template <class Value>
  Tables(std::uint32_t N, std::uint64_t Q, std::size_t tables, std::span<const std::uint32_t> index,
         const Value& value)
      : Tables(N, Q, tables, index) {
    backend::with_word_bytes(word_bytes(), [&]<class Word>(Word) {
      std::vector<Word>& words = std::get<std::vector<Word>>(words_);
      for (std::size_t t = 0; t < tables; ++t)
        for (std::uint32_t j = 0; j < N; ++j) words[t * N + j] = static_cast<Word>(value(t, j));
    });
  }

  /// Puts all vectors, and the numbers of the whole batch's, on a device.
  DeviceTables placed(const backend::Queue& queue) const;

  unsigned word_bytes() const { return words_.index() == 0 ? 4 : 8; }
  /// The coefficient of the constant polynomial, if that is the only table: a device makes it
  /// itself.
  std::optional<std::uint64_t> constant() const { return constant_; }

  /// The test vectors that a range of the batch uses, each once, and the number of each
  /// ciphertext's vector among them. Nothing is returned if all are one constant polynomial.
  template <class Word>
  struct Used {
    std::span<const Word> vectors;
    std::vector<std::uint32_t> index;
    std::vector<Word> own;
  };
  template <class Word>
  Used<Word> used(run::Range range) const;

 private:
  Tables(std::uint32_t N, std::uint64_t Q, std::size_t tables,
         std::span<const std::uint32_t> index);

  std::uint32_t N_;
  std::variant<std::vector<std::uint32_t>, std::vector<std::uint64_t>> words_;
  std::vector<std::uint32_t> index_;
  std::optional<std::uint64_t> constant_;
};

}  // namespace whorl::lattice::lwe
