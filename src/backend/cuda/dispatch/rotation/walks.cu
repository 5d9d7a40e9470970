#include "backend/cuda/dispatch/rotation/walks.h"

#include <string>

#include "backend/cuda/dispatch/rotation/launch_rotation.cuh"
#include "backend/cuda/dispatch/rotation/walk_key.h"
#include "backend/cuda/dispatch/rotation/walk_rules.h"
#include "backend/cuda/kernels/write_walks.cuh"
#include "backend/cuda/runtime/error.h"
#include "whorl/error.h"

namespace whorl::backend::cuda {

std::vector<GadgetRange> walk_ranges(const RotationShape& shape) {
  if (!shape.raised()) return gadget_ranges(shape);
  const auto bits = static_cast<unsigned>(std::bit_width(shape.Q));
  std::vector<GadgetRange> ranges = gadget_ranges(shape);
  for (GadgetRange& range : ranges) {
    range.log_base = bits;
    range.dropped = 0;
    range.offset = 0;
    // TorusAccumulator::single_digit has 32 bits, and is for Q below 2^31.
    range.factor_shift = bits < 32 ? 31 - bits : 0;
    range.factor = bits < 32 ? static_cast<std::int32_t>(shape.Q << range.factor_shift) : 0;
  }
  return ranges;
}

WalkTables walk_tables(const Stream& stream, const RotationShape& shape) {
  std::vector<std::uint32_t> firsts;
  for (const GadgetRange& range : gadget_ranges(shape)) firsts.push_back(range.first);
  const WalkNumbers numbers = walk_numbers(shape, firsts);
  WalkTables out;
  out.keys = stream.upload(numbers.keys.data(), numbers.keys.size());
  out.start_move = numbers.start_move;
  out.most = numbers.most;
  out.rules = numbers.rules;
  if (auto* digits = std::get_if<DigitRules>(&out.rules)) {
    digits->keys = out.keys.data();
    return out;
  }
  out.logarithms = stream.upload(numbers.logarithms.data(), numbers.logarithms.size());
  out.inverses = stream.upload(numbers.inverses.data(), numbers.inverses.size());
  auto& rules = std::get<AutomorphismRules>(out.rules);
  rules.keys = out.keys.data();
  rules.logarithms = out.logarithms.data();
  rules.inverses = out.inverses.data();
  return out;
}

std::vector<KeyRows> key_rows(const RotationShape& shape) {
  std::vector<KeyRows> keys;
  const bool apart = shape.kind == RotationKind::ap;
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    const unsigned rows = 2 * shape.gadgets[i].digits(), count = shape.step_keys[i];
    if (!apart) keys.push_back({shape.first_row[i], rows * count});
    for (unsigned k = 0; apart && k < count; ++k)
      keys.push_back({shape.first_row[i] + std::size_t{k} * rows, rows});
  }
  for (unsigned k = 0; k < shape.automorphisms; ++k) {
    const std::size_t rows = (shape.row_count - shape.first_row.back()) / shape.automorphisms;
    keys.push_back({shape.first_row.back() + k * rows, static_cast<unsigned>(rows)});
  }
  return keys;
}

void write_walks(const Stream& stream, const WalkTables& tables, std::uint32_t n,
                 const std::uint32_t* lwe, std::uint32_t count, WalkStep* steps,
                 std::uint32_t* length) {
  if (const auto* digits = std::get_if<DigitRules>(&tables.rules)) {
    constexpr unsigned threads = 128;
    const dim3 grid((count + threads / 32 - 1) / (threads / 32));
    return stream.launch("write_digit_walks", write_digit_walks, {grid, dim3(threads)}, *digits,
                         lwe, count, steps, length);
  }
  const auto& rules = std::get<AutomorphismRules>(tables.rules);
  const std::size_t bytes = (2 * std::size_t{rules.N} + n) * sizeof(std::uint16_t);
  if (bytes > stream.gpu().shared_per_block)
    throw ParameterError("blind rotation by automorphisms with N = " + std::to_string(rules.N) +
                         " and n = " + std::to_string(n) + " needs " + std::to_string(bytes) +
                         " bytes of shared memory a block; " + stream.gpu().name() + " has " +
                         std::to_string(stream.gpu().shared_per_block));
  allow_shared(stream, write_automorphism_walks, bytes);
  stream.launch("write_automorphism_walks", write_automorphism_walks,
                {dim3(count), dim3(32), bytes}, rules, lwe, tables.most, steps, length);
}

}  // namespace whorl::backend::cuda
