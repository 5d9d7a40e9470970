#include "backend/cuda/dispatch/walks.h"

#include <limits>
#include <string>

#include "backend/cuda/dispatch/walk_key.h"
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
  const std::vector<GadgetRange> ranges = walk_ranges(shape);
  const auto bounded = [](std::size_t value, std::size_t most, const char* what) {
    if (value > most)
      throw RefusedError("cuda: a blind-rotation key with " + std::to_string(value) + " " + what +
                         " has no kernel; there may be " + std::to_string(most));
  };
  bounded(shape.row_count, std::numeric_limits<std::uint32_t>::max(), "rows");
  bounded(ranges.size(), 0xffff, "runs of gadgets");
  bounded(shape.n, AutomorphismRules::none, "LWE coefficients");
  std::vector<CoefficientKeys> keys;
  for (std::size_t range = 0; range < ranges.size(); ++range)
    for (std::uint32_t i = ranges[range].first; i < ranges[range].end; ++i)
      keys.push_back({static_cast<std::uint32_t>(shape.first_row[i]),
                      static_cast<std::uint16_t>(range),
                      static_cast<std::uint16_t>(2 * ranges[range].digits)});
  WalkTables out;
  out.keys = stream.upload(keys.data(), keys.size());
  if (shape.kind == RotationKind::ap) {
    DigitRules rules;
    rules.n = shape.n;
    rules.N = shape.N;
    rules.base = shape.group;
    for (std::uint64_t weight = shape.unit; weight < 2ULL * shape.N; weight *= shape.group)
      rules.weights[rules.places++] = static_cast<std::uint32_t>(weight);
    rules.keys = out.keys.data();
    out.most = rules.most();
    out.rules = rules;
    return out;
  }
  // Powers of 5 and of 5^-1 modulo 2N; the order of 5 is N/2.
  const std::uint32_t N = shape.N, mask = 2 * N - 1;
  std::uint32_t fifth = 5;
  while ((fifth * 5 & mask) != 1) fifth = fifth * 5 & mask;
  std::vector<std::uint16_t> logarithms(2 * N), inverses;
  for (std::uint32_t k = 0, power = 1; k < N / 2; ++k, power = power * 5 & mask)
    logarithms[power] = static_cast<std::uint16_t>(k);
  for (std::uint32_t k = 0, power = fifth; k < shape.group; ++k, power = power * fifth & mask)
    inverses.push_back(static_cast<std::uint16_t>(power));
  out.start_move = (0u - fifth) & mask;
  inverses.push_back(static_cast<std::uint16_t>(out.start_move));
  out.logarithms = stream.upload(logarithms.data(), logarithms.size());
  out.inverses = stream.upload(inverses.data(), inverses.size());
  AutomorphismRules rules;
  rules.n = shape.n;
  rules.N = N;
  rules.window = shape.group;
  rules.first_row = static_cast<std::uint32_t>(shape.first_row.back());
  rules.rows = static_cast<std::uint32_t>((shape.row_count - shape.first_row.back()) /
                                          shape.automorphisms);
  rules.keys = out.keys.data();
  rules.logarithms = out.logarithms.data();
  rules.inverses = out.inverses.data();
  out.most = rules.most();
  out.rules = rules;
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
    write_digit_walks<<<grid, threads, 0, stream.handle()>>>(*digits, lwe, count, steps, length);
    check_launch("write_digit_walks", grid, dim3(threads), 0);
    return;
  }
  const auto& rules = std::get<AutomorphismRules>(tables.rules);
  const std::size_t bytes = (2 * std::size_t{rules.N} + n) * sizeof(std::uint16_t);
  if (bytes > stream.gpu().shared_per_block)
    throw ParameterError("blind rotation by automorphisms with N = " + std::to_string(rules.N) +
                         " and n = " + std::to_string(n) + " needs " + std::to_string(bytes) +
                         " bytes of shared memory a block; " + stream.gpu().name() + " has " +
                         std::to_string(stream.gpu().shared_per_block));
  check(cudaFuncSetAttribute(write_automorphism_walks, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)),
        "cudaFuncSetAttribute: " + std::to_string(bytes) + " bytes of shared memory a block");
  write_automorphism_walks<<<count, 32, bytes, stream.handle()>>>(rules, lwe, tables.most, steps,
                                                                  length);
  check_launch("write_automorphism_walks", dim3(count), dim3(32), bytes);
}

}  // namespace whorl::backend::cuda
