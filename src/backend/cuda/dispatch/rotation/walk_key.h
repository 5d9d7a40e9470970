// Functions on the host for keys by AP, by automorphisms and with a raised modulus, of both
// arithmetics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/contract/rotation.h"
#include "backend/cuda/dispatch/rotation/rotation_key.h"
#include "backend/cuda/dispatch/rotation/walks.h"
#include "backend/parallel.h"

namespace whorl::backend::cuda {

/// Whether each ciphertext has an order of steps of its own.
inline bool has_walks(const RotationShape& shape) {
  return shape.kind == RotationKind::ap || shape.kind == RotationKind::automorphism;
}

/// gadget_ranges; with a raised modulus, where a digit is a whole coefficient, of that digit.
std::vector<GadgetRange> walk_ranges(const RotationShape& shape);

/// Makes the tables of AP and automorphisms. Throws RefusedError where walk_numbers does.
WalkTables walk_tables(const Stream& stream, const RotationShape& shape);

/// Rows of a key that are prepared together: those of one product, or of a step of GINX.
struct KeyRows {
  std::size_t first;
  unsigned count;
};
/// Returns the keys in the order of their rows.
std::vector<KeyRows> key_rows(const RotationShape& shape);

/// Calls body(keys begin … end, residues modulo Q, residues modulo P) for runs of some 4,096 rows,
/// which bounds the memory of preparation; each row has 2·N residues, of a and then of b. Those
/// modulo P are there for a raised modulus only. Rows are made by `workers`.
template <class Word, class Body>
void for_runs_of_keys(const RotationShape& shape, const std::vector<KeyRows>& keys,
                      const RowSource<Word>& rows, const Workers& workers, const Body& body) {
  constexpr std::size_t rows_at_once = 4096;
  const std::size_t N = shape.N;
  std::vector<Word> modulo_Q, modulo_P;
  for (std::size_t begin = 0, end = 0; begin < keys.size(); begin = end) {
    const std::size_t first = keys[begin].first;
    end = begin + 1;
    while (end < keys.size() && keys[end].first + keys[end].count - first <= rows_at_once) ++end;
    const std::size_t count = keys[end - 1].first + keys[end - 1].count - first;
    modulo_Q.resize(count * 2 * N);
    if (shape.raised()) modulo_P.resize(modulo_Q.size());
    parallel_for(count, workers, [&](std::size_t r) {
      Word* const to = modulo_Q.data() + r * 2 * N;
      if (!shape.raised()) return rows(first + r, {to, N}, {to + N, N});
      std::vector<Word> both(4 * N);
      rows(first + r, {both.data(), 2 * N}, {both.data() + 2 * N, 2 * N});
      for (std::size_t part = 0; part < 2; ++part) {
        const Word* const from = both.data() + part * 2 * N;
        std::copy_n(from, N, to + part * N);
        std::copy_n(from + N, N, modulo_P.data() + (2 * r + part) * N);
      }
    });
    body(begin, end, modulo_Q, modulo_P);
  }
}

}  // namespace whorl::backend::cuda
