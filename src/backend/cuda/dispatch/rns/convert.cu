#include "backend/cuda/dispatch/rns/convert.h"

#include <algorithm>
#include <string>

#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/kernels/convert_int8.cuh"
#include "backend/cuda/tuning/rns.h"
#include "whorl/error.h"

namespace whorl::backend::cuda {

namespace {

/// Limbs of a digit, or special primes, whose conversion keeps them in registers.
template <class Word>
inline constexpr unsigned most_in_registers = sizeof(Word) == 4 ? 16 : 8;

/// Calls f.template operator()<size>() for size = `wanted` in 1 … most.
template <unsigned most, unsigned size = 1, class F>
void for_limbs(unsigned wanted, const F& f) {
  if constexpr (size < most)
    if (wanted != size) return for_limbs<most, size + 1>(wanted, f);
  f.template operator()<size>();
}

/// Converts by INT8 tensor cores; no group has more than `most_targets` to convert to.
template <unsigned slots, unsigned columns>
void convert_bytes(const Stream& stream, std::size_t groups, std::size_t most_targets,
                   ConvertArguments<std::uint32_t> a) {
  constexpr std::size_t resident = int8_resident(columns), stride = int8_stride(slots);
  constexpr std::size_t in_block = int8_threads / 32 * 16 * columns;
  const std::size_t pieces = (a.row + in_block - 1) / in_block;
  const std::size_t capacity = resident * stream.gpu().multiprocessors;
  // Targets are divided, by eights, where there are too few blocks otherwise.
  const std::size_t eights = (most_targets + 7) / 8;
  const std::size_t divided = std::clamp<std::size_t>(capacity / (groups * pieces), 1, eights);
  const std::size_t target_bytes = stride * sizeof(std::uint32_t) + sizeof(uint2);
  const std::size_t at_once = std::min((eights + divided - 1) / divided * 8,
                                       (std::size_t{47} << 10) / target_bytes / 8 * 8);
  a.targets_a_block = static_cast<std::uint32_t>(at_once);
  a.target_blocks = static_cast<std::uint32_t>((most_targets + at_once - 1) / at_once);
  // As many blocks as run at once, each with as many pieces as the others.
  const std::size_t rows = groups * a.target_blocks;
  const std::size_t rounds = (pieces * rows + capacity - 1) / capacity;
  const dim3 grid(static_cast<unsigned>((pieces + rounds - 1) / rounds),
                  static_cast<unsigned>(rows));
  const std::size_t shared = at_once * target_bytes + 4 * slots * sizeof(RnsSource<std::uint32_t>);
  launch_chained(stream, "convert_rows_int8", convert_rows_int8<slots, columns>,
                 {grid, int8_threads, shared}, a);
}
template <unsigned columns>
void convert_bytes(const Stream& stream, std::size_t groups, std::size_t most_targets,
                   const ConvertArguments<std::uint32_t>& a) {
  switch (int8_slots(a.size)) {
    case 2:
      return convert_bytes<2, columns>(stream, groups, most_targets, a);
    case 3:
      return convert_bytes<3, columns>(stream, groups, most_targets, a);
    case 4:
      return convert_bytes<4, columns>(stream, groups, most_targets, a);
    default:
      return convert_bytes<5, columns>(stream, groups, most_targets, a);
  }
}

template <class Word>
Products products_for(const Conversions<Word>& conversions, std::size_t row, bool digits,
                      Products wanted) {
  if (conversions.byte_factors.size() == 0) return Products::words;
  if (wanted != Products::automatic) return wanted;
  const unsigned least =
      row <= tuning::small_row ? tuning::least_small_byte_limbs : tuning::least_byte_limbs;
  if (conversions.size < least) return Products::words;
  return row >= (digits ? tuning::least_wide_digit_row : tuning::least_wide_part_row)
             ? Products::bytes_by_more
             : Products::bytes;
}

}  // namespace

template <class Word>
void convert(const Stream& stream, const Conversions<Word>& conversions, std::size_t table,
             std::size_t groups, ConvertArguments<Word> a, Products wanted) {
  a.size = conversions.size;
  a.tables = conversions.targets;
  a.sources = conversions.sources.data() + table * conversions.size;
  const Products products = products_for(conversions, a.row, a.digit_limbs != 0, wanted);
  if constexpr (sizeof(Word) == 4)
    if (products != Products::words) {
      a.factors = conversions.byte_factors.data() +
                  table * conversions.targets * int8_stride(int8_slots(a.size));
      // The last digit has the fewest limbs of its own, or the first.
      std::size_t least_own = 0;
      if (a.digit_limbs != 0)
        least_own = groups == 1 ? a.rows.chain
                                : std::min(a.rows.chain + a.missing - (groups - 1) * a.digit_limbs,
                                           std::size_t{a.digit_limbs - a.missing});
      return products == Products::bytes
                 ? convert_bytes<2>(stream, groups, a.targets - least_own, a)
                 : convert_bytes<4>(stream, groups, a.targets - least_own, a);
    }
  a.factors = conversions.factors.data() +
              table * conversions.targets * factor_stride<Word>(conversions.size);
  const bool in_registers = a.size <= most_in_registers<Word>;
  const unsigned in_row = pieces(a.row, in_registers ? rns_width<Word> : 1);
  const std::size_t target_bytes = factor_stride<Word>(a.size) * sizeof(Word);
  // Each block of targets makes its digits anew: as few as give each multiprocessor some blocks.
  const std::size_t blocks = groups * in_row;
  const std::size_t enough = 8 * stream.gpu().multiprocessors;
  a.target_blocks = static_cast<std::uint32_t>(
      std::clamp<std::size_t>((enough + blocks - 1) / blocks, 1, a.targets));
  a.targets_a_block = (a.targets + a.target_blocks - 1) / a.target_blocks;
  if (in_registers)
    a.targets_a_block =
        std::min(a.targets_a_block, static_cast<std::uint32_t>((47u << 10) / target_bytes));
  a.target_blocks = (a.targets + a.targets_a_block - 1) / a.targets_a_block;
  const dim3 grid(in_row, static_cast<unsigned>(groups * a.target_blocks)), block(rns_threads);
  if (!in_registers) {
    const std::size_t shared = a.size * rns_threads * sizeof(Word);
    if (shared > stream.gpu().shared_per_block)
      throw ParameterError(
          "base conversion is from " + std::to_string(a.size) +
          " primes; this GPU's shared memory holds at most " +
          std::to_string(stream.gpu().shared_per_block / (rns_threads * sizeof(Word))));
    return launch_chained(stream, "convert_many_rows", convert_many_rows<Word>,
                          {grid, block, shared}, a);
  }
  const std::size_t shared = a.size * sizeof(RnsSource<Word>) + a.targets_a_block * target_bytes;
  for_limbs<most_in_registers<Word>>(a.size, [&]<unsigned size>() {
    if constexpr (sizeof(Word) == 4)
      if (conversions.largest <= (1u << 30))
        return launch_chained(stream, "convert_rows", convert_rows<Word, size, 4>,
                              {grid, block, shared}, a);
    launch_chained(stream, "convert_rows", convert_rows<Word, size, ProductSum<Word>::safe_terms>,
                   {grid, block, shared}, a);
  });
}

template void convert(const Stream&, const Conversions<std::uint32_t>&, std::size_t, std::size_t,
                      ConvertArguments<std::uint32_t>, Products);
template void convert(const Stream&, const Conversions<std::uint64_t>&, std::size_t, std::size_t,
                      ConvertArguments<std::uint64_t>, Products);

}  // namespace whorl::backend::cuda
