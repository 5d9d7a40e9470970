#include "backend/cpu/rotation_steps.h"

#include <algorithm>
#include <string>

#include "whorl/error.h"

namespace whorl::backend::cpu {

std::vector<KeyBlock> key_blocks(const RotationShape& shape) {
  std::vector<KeyBlock> blocks;
  const bool apart = shape.kind == RotationKind::ap;
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    const unsigned keys = shape.step_keys[i], rows = 2 * shape.gadgets[i].digits();
    if (keys == 0) continue;
    if (!apart) blocks.push_back({shape.first_row[i], rows, keys});
    for (unsigned k = 0; apart && k < keys; ++k)
      blocks.push_back({shape.first_row[i] + std::size_t{k} * rows, rows, 1});
  }
  const std::size_t steps = shape.first_row.back();
  for (unsigned k = 0; k < shape.automorphisms; ++k) {
    const std::size_t rows = (shape.row_count - steps) / shape.automorphisms;
    blocks.push_back({steps + k * rows, static_cast<unsigned>(rows), 1});
  }
  return blocks;
}

std::vector<WalkStep> walk_of(const RotationShape& shape, const std::uint32_t* lwe) {
  const std::uint32_t N = shape.N, mask = 2 * N - 1, none = shape.n;
  std::vector<std::uint32_t> inverse(N / 2 + 1);  // of powers of 5, whose order is N/2
  std::uint32_t fifth = 5;
  for (std::uint32_t next; (next = fifth * 5 & mask) != 1;) fifth = next;
  std::vector<std::uint32_t> logarithm(2 * N);
  for (std::uint32_t k = 0, up = 1, down = 1; k <= N / 2; ++k) {
    inverse[k] = down;
    if (k < N / 2) logarithm[up] = k;
    up = up * 5 & mask;
    down = down * fifth & mask;
  }
  // Coefficients of each class, in order: class k holds 5^k, class N/2 + k holds -5^k.
  std::vector<std::uint32_t> head(N, none), tail(N, none), next(shape.n, none);
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    const std::uint32_t a = lwe[i] & mask;
    if (a % 2 == 0)
      throw ShapeError("blind rotation by automorphisms: exponent " + std::to_string(i) + " is " +
                       std::to_string(a) + "; it must be odd");
    const bool negative = a % 4 == 3;  // powers of 5 are 1 modulo 4
    const std::uint32_t of = logarithm[negative ? 2 * N - a : a] + (negative ? N / 2 : 0);
    (head[of] == none ? head[of] : next[tail[of]]) = i;
    tail[of] = i;
  }
  std::vector<WalkStep> steps{{true, shape.group, (0u - inverse[1]) & mask}};
  std::uint32_t pending = 0;
  const auto walk = [&] {
    while (pending != 0) {
      const std::uint32_t step = std::min<std::uint32_t>(pending, shape.group);
      steps.push_back({true, step - 1, inverse[std::min(step, N / 2)]});
      pending -= step;
    }
  };
  for (const bool negative : {true, false}) {
    for (std::uint32_t k = N / 2; k-- > 0;) {
      for (std::uint32_t i = head[k + (negative ? N / 2 : 0)]; i != none; i = next[i]) {
        walk();
        steps.push_back({false, i, 1});
      }
      if (k != 0) ++pending;
    }
    walk();
    if (negative) steps.push_back({true, shape.group, (0u - inverse[1]) & mask});
  }
  return steps;
}

}  // namespace whorl::backend::cpu
