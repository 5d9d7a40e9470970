// The last step of a division between any bases of an RNS plan. Rows as in rns.cuh.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/kernels/rns.cuh"

namespace whorl::backend::cuda {

/// With D the product of the primes that go and E that of those that come: E/D of a row that stays,
/// 1/D, both modulo the row's prime q, and the row's number before.
template <class Word>
struct DivisionRow {
  static constexpr std::uint32_t none = ~0u;  ///< of a row that comes
  Twiddle<Word> of_x, of_delta;
  Word q;
  std::uint32_t from;
};
template <class Word>
struct SetDivisionArguments {
  const Word *x, *delta, *added;  ///< (parts, x_rows, row), (parts, row_count, row)
  Word* out;                      ///< (parts, row_count, row)
  const DivisionRow<Word>* rows;
  std::size_t row;  ///< words
  std::uint32_t x_rows, row_count, added_parts, log_N, g;
};

/// out = x·E/D - delta/D, and `added` at X^g to the first parts, all in evaluation form; `added`
/// may be `out` if g = 1. Grid: pieces of a row, parts × rows. Bound by memory.
template <class Word>
__global__ void __launch_bounds__(rns_threads)
    divide_rows(const __grid_constant__ SetDivisionArguments<Word> a) {
  using Vector = RnsVector<Word>;
  const std::size_t vector = static_cast<std::size_t>(blockIdx.x) * rns_threads + threadIdx.x,
                    in_row = vector * rns_width<Word>;
  join_chain();
  if (in_row >= a.row) return;
  const std::uint32_t part = blockIdx.y / a.row_count, number = blockIdx.y - part * a.row_count;
  const DivisionRow<Word> row = a.rows[number];
  const std::size_t base = static_cast<std::size_t>(blockIdx.y) * a.row, at = base + in_row;
  const Vector delta = *reinterpret_cast<const Vector*>(a.delta + at);
  Vector x = {}, sum = {};
  if (row.from != DivisionRow<Word>::none)
    x = *reinterpret_cast<const Vector*>(
        a.x + (static_cast<std::size_t>(part) * a.x_rows + row.from) * a.row + in_row);
  if (part < a.added_parts) {
    if (a.g == 1) {
      sum = *reinterpret_cast<const Vector*>(a.added + at);
    } else {
      const std::size_t in_polynomial = in_row & ((std::size_t{1} << a.log_N) - 1);
      const Gathered<Word> gathered(static_cast<std::uint32_t>(in_polynomial), a.log_N, a.g);
      sum =
          gathered(*reinterpret_cast<const Vector*>(a.added + at - in_polynomial + gathered.block));
    }
  }
#pragma unroll
  for (unsigned k = 0; k < rns_width<Word>; ++k) {
    const Word quotient = sub_mod<Word>(
        mul_shoup<Word>(x.word[k], row.of_x.w, row.of_x.shoup, row.q),
        mul_shoup<Word>(delta.word[k], row.of_delta.w, row.of_delta.shoup, row.q), row.q);
    sum.word[k] = add_mod<Word>(sum.word[k], quotient, row.q);
  }
  store_vector<Word>(a.out + at, sum);
}

}  // namespace whorl::backend::cuda
