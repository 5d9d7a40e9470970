// The steps of blind rotation by each kind of key but GINX' own: what is multiplied by which key,
// for any arithmetic.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/contract/rotation.h"
#include "backend/cpu/blind_rotate.h"

namespace whorl::backend::cpu {

/// Rows of a key that are laid out together: of one step (GINX, unrolled, block) or one key.
struct KeyBlock {
  std::size_t first;  ///< row of the shape
  unsigned rows;      ///< of each key: digits of a, then of b; of an automorphism, of a alone
  unsigned keys;
};
/// Returns the keys in the order of their rows.
std::vector<KeyBlock> key_blocks(const RotationShape& shape);

/// A step of a rotation with automorphisms.
struct WalkStep {
  bool automorphism;
  std::uint32_t index;    ///< the LWE coefficient, or the number of the automorphism's key
  std::uint32_t inverse;  ///< of an automorphism X -> X^g: g^-1 modulo 2N
};
/// Lee et al. 2023, §3: exponents are ±5^k. X^s_i comes in where as many automorphisms X -> X^5 are
/// to follow as make it X^(a_i·s_i); one X -> X^-5 parts the negative ones, which are first, from
/// the others. Together they are X -> X^(-1/5), which is undone first. ShapeError for an even a_i.
std::vector<WalkStep> walk_of(const RotationShape& shape, const std::uint32_t* lwe);

/// What is done with a product: it is added to an accumulator, or takes its place.
enum class Accumulate : std::uint8_t { add, replace };

/// One step of an unrolled or block rotation, or of GINX with a raised modulus.
struct BundleStep {
  std::size_t block;
  std::uint32_t first;  ///< LWE coefficient
  unsigned exponents;   ///< those of coefficients first …; or, for GINX, a and -a
  RotationKind kind;
  /// Whether the bundle has X^0·K_0, and factors X^e instead of X^e - 1.
  bool all() const { return kind == RotationKind::unrolled_all; }
  /// Whether a key is for a set of exponents, and not for one.
  bool sets() const { return kind == RotationKind::unrolled || all(); }
  /// The place of the key of exponent t alone among those of all sets, where key 0 is `first_set`.
  unsigned alone(unsigned t) const { return sets() ? 1u << t : t + 1; }
  unsigned first_set() const { return all() ? 0 : 1; }
  /// Exponent number t of a ciphertext.
  std::uint32_t exponent(const std::uint32_t* lwe, unsigned t) const {
    return kind == RotationKind::ginx ? (t == 0 ? lwe[first] : 0u - lwe[first]) : lwe[first + t];
  }
};

/// The digits of all of ACC, or of a alone from other values.
template <class Engine, class Ct>
void decompose_all(const Engine& engine, const ring::Gadget& gadget, Ct& ct, std::size_t N) {
  for (unsigned component = 0; component < 2; ++component)
    engine.decompose(ct, component, ct.acc[component] + (Ct::Kept::doubled ? N : 0), gadget);
}

template <class Engine, class Ct>
void multiply_by_key(const Engine& engine, const RotationShape& shape, std::uint32_t i,
                     std::size_t block, Ct& ct) {
  decompose_all(engine, shape.gadgets[i], ct, shape.N);
  engine.multiply(ct, block);
  for (unsigned component = 0; component < 2; ++component)
    engine.finish(ct, component, block, Accumulate::replace);
}

template <class Engine, class Ct>
void rotate_by_digits(const Engine& engine, const RotationShape& shape, std::span<Ct> tile) {
  const unsigned base = shape.group;
  std::size_t before = 0;  // keys before coefficient i
  for (std::uint32_t i = 0; i < shape.n; before += shape.step_keys[i++]) {
    std::size_t place = before;
    for (std::uint64_t weight = shape.unit; weight < 2ULL * shape.N; weight *= base) {
      for (Ct& ct : tile)
        if (const std::size_t v = ct.lwe[i] / weight % base; v != 0)
          multiply_by_key(engine, shape, i, place + v - 1, ct);
      place += base - 1;
    }
  }
}

template <class Engine, class Ct>
void rotate_by_automorphisms(const Engine& engine, const RotationShape& shape, Ct& ct) {
  const std::size_t N = shape.N;
  const auto move = [&](unsigned component, std::uint32_t inverse) {
    permute<typename Ct::Kept>(ct.acc[component], N, inverse, ct.rotated);
  };
  for (bool first = true; const WalkStep& step : walk_of(shape, ct.lwe)) {
    if (!step.automorphism) {
      multiply_by_key(engine, shape, step.index, step.index, ct);
    } else if (first) {  // of (0, b): no key is needed
      move(1, step.inverse);
      set_values<typename Ct::Kept>(ct.rotated, N, ct.acc[1]);
    } else {
      const std::size_t block = shape.n + step.index;
      move(0, step.inverse);
      engine.decompose(ct, 0, ct.rotated, shape.gadgets[0]);
      move(1, step.inverse);
      set_values<typename Ct::Kept>(ct.rotated, N, ct.acc[1]);
      engine.multiply(ct, block);
      engine.finish(ct, 0, block, Accumulate::replace);
      engine.finish(ct, 1, block, Accumulate::add);
    }
    first = false;
  }
}

template <class Engine, class Ct>
void rotate_by_bundles(const Engine& engine, const RotationShape& shape, std::span<Ct> tile) {
  std::size_t block = 0;
  const std::uint32_t stride = shape.kind == RotationKind::ginx ? 1 : shape.group;
  for (std::uint32_t i = 0; i < shape.n; i += stride, ++block) {
    BundleStep step{block, i, shape.step_keys[i], shape.kind};
    const bool all = step.all();
    if (step.sets())
      step.exponents = static_cast<unsigned>(std::bit_width(shape.step_keys[i] - (all ? 1 : 0)));
    for (Ct& ct : tile) {
      ct.a = all ? 1 : 0;
      for (unsigned t = 0; t < step.exponents; ++t) ct.a |= step.exponent(ct.lwe, t);
      if (ct.a != 0) decompose_all(engine, shape.gadgets[i], ct, shape.N);
    }
    engine.multiply_bundle(tile, step);
    for (Ct& ct : tile)
      for (unsigned component = 0; component < 2 && ct.a != 0; ++component)
        engine.finish(ct, component, block, all ? Accumulate::replace : Accumulate::add);
  }
}

/// `engine` has decompose(ct, component, values, gadget): transformed digits of N values, of the
/// first component if this is 0; multiply(ct, block), and multiply_bundle(tile, step), which
/// leaves out those whose `a` is 0; finish(ct, component, block, how): adds the product's to ACC,
/// or puts it there.
template <class Engine, class Ct>
void rotate_by(const Engine& engine, const RotationShape& shape, std::span<Ct> tile) {
  switch (shape.kind) {
    case RotationKind::ap:
      return rotate_by_digits(engine, shape, tile);
    case RotationKind::automorphism:
      for (Ct& ct : tile) rotate_by_automorphisms(engine, shape, ct);
      return;
    default:
      return rotate_by_bundles(engine, shape, tile);
  }
}

}  // namespace whorl::backend::cpu
