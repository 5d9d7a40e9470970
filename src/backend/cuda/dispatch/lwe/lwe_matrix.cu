// Matrices of integers times LWE ciphertexts: which kernel for which shape.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/lwe/key_switch_launch.cuh"
#include "backend/cuda/dispatch/lwe/lwe.h"
#include "backend/cuda/dispatch/lwe/strides.h"
#include "backend/cuda/kernels/lwe_matrix.cuh"
#include "backend/cuda/tuning/key_switch.h"
#include "backend/cuda/tuning/lwe.h"
#include "math/modulus.h"

namespace whorl::backend::cuda {

namespace {

std::uint64_t shoup(std::uint64_t factor, std::uint64_t q) {
  return static_cast<std::uint64_t>((math::Wide<std::uint64_t>{factor} << 64) / q);
}
MatrixModulus modulus_of(std::uint64_t q) {
  const std::uint64_t upper = (std::uint64_t{1} << 32) % q;
  return {q, ~std::uint64_t{0} / q, ((std::uint64_t{1} << 56) / q + 1) * q, upper, shoup(upper, q)};
}

/// Weights as they are, or as residues next to 0; none if some have more than 32 bits even so.
std::vector<std::int32_t> narrow(const LweMatrix& m) {
  std::vector<std::int32_t> out;
  out.reserve(m.entries.size());
  const auto fits = [](std::int64_t x) { return static_cast<std::int32_t>(x) == x; };
  const auto q = static_cast<std::int64_t>(m.q);
  for (std::int64_t x : m.entries) {
    if (!fits(x)) x = (x % q + q) % q;
    if (!fits(x)) x -= q;
    if (!fits(x)) return {};
    out.push_back(static_cast<std::int32_t>(x));
  }
  return out;
}

/// A linear combination for each result, of the inputs that are in it.
template <class Word>
void combine_each(const Stream& stream, const LweMatrix& m, const Word* in, Word* out) {
  const std::size_t inputs = m.inputs(), results = m.constants.size(), size = m.batch * m.row;
  for (std::size_t i = 0; i < m.groups * results; ++i) {
    const std::size_t group = i / results, r = i % results;
    std::vector<const Word*> from;
    std::vector<std::int64_t> weights;
    for (std::size_t k = 0; k < inputs; ++k) {
      const std::int64_t weight = m.entries[r * inputs + k];
      if (weight == 0) continue;
      from.push_back(in + (group * inputs + k) * size);
      weights.push_back(weight);
    }
    lwe_linear<Word>(stream, m.q, m.row, weights, from, m.constants[r] % m.q, m.batch,
                     out + i * size);
  }
}

/// The same by one launch for as many groups as a grid has rows, of few results and inputs.
template <class Word>
void combine_at_once(const Stream& stream, const LweMatrix& m, const Word* in, Word* out) {
  constexpr unsigned width = 16 / sizeof(Word);
  constexpr std::size_t most_groups = 65535;
  const std::size_t inputs = m.inputs(), results = m.constants.size(), size = m.batch * m.row;
  GroupArguments<Word> p{};
  p.q = m.q;
  p.barrett = ~std::uint64_t{0} / m.q;
  p.row = m.row;
  p.size = size;
  p.inputs = static_cast<unsigned>(inputs);
  p.results = static_cast<unsigned>(results);
  const auto modulus = static_cast<std::int64_t>(m.q);
  for (std::size_t r = 0; r < results; ++r) {
    p.constant[r] = static_cast<Word>(m.constants[r] % m.q);
    for (std::size_t k = 0; k < inputs; ++k) {
      const std::int64_t weight = m.entries[r * inputs + k];
      const auto factor = static_cast<std::uint64_t>((weight % modulus + modulus) % modulus);
      p.factor[r][k] = static_cast<Word>(factor);
      p.factor_shoup[r][k] =
          static_cast<Word>((math::Wide<std::uint64_t>{factor} << (8 * sizeof(Word))) / m.q);
    }
  }
  const bool vectors = size % width == 0 && aligned(in, 16) && aligned(out, 16);
  const unsigned blocks = blocks_for(stream, vectors ? size / width : size, lwe_threads);
  for (std::size_t g = 0; g < m.groups; g += most_groups) {
    const auto groups = static_cast<unsigned>(std::min(most_groups, m.groups - g));
    stream.launch("combine_groups", vectors ? combine_groups<Word, width> : combine_groups<Word, 1>,
                  urgent(dim3(blocks, groups), dim3(lwe_threads)), p, in + g * inputs * size,
                  out + g * results * size);
  }
}

template <class Word, unsigned planes, unsigned m_tiles>
void multiply_by_tiles(const Stream& stream, const LweMatrix& m,
                       std::span<const std::int32_t> weights, const Word* in, Word* out) {
  constexpr unsigned columns = tuning::warp_columns[planes], stages = tuning::product_stages;
  using Tile = ProductTile<planes, columns, m_tiles>;
  const std::size_t inputs = m.inputs(), results = m.constants.size(), size = m.batch * m.row;
  const auto k_blocks = static_cast<unsigned>((inputs + k_block - 1) / k_block);
  const std::size_t padded = (results + Tile::block_m - 1) / Tile::block_m * Tile::block_m;
  PlaneLayout layout{planes, columns, 0};
  layout.column_blocks =
      static_cast<unsigned>((size + layout.block_columns() - 1) / layout.block_columns());
  const std::size_t group_planes = k_blocks * layout.all_rows() * k_block;
  const std::size_t at_once = std::clamp<std::size_t>(tuning::expanded_bytes / group_planes, 1,
                                                      std::min<std::size_t>(m.groups, 65535));

  unsigned limbs = 1;
  for (const std::int32_t w : weights) limbs = std::max(limbs, weight_limbs(w));
  const auto there = stream.upload(weights.data(), weights.size());
  std::vector<std::uint64_t> reduced;
  for (const std::uint64_t constant : m.constants) reduced.push_back(constant % m.q);
  const auto constants = stream.upload(reduced.data(), reduced.size());
  const std::size_t limb_bytes = padded * k_blocks * k_block;
  const auto expanded = stream.allocate<std::uint8_t>(limbs * limb_bytes);
  const dim3 expand(k_blocks, static_cast<unsigned>((padded + 63) / 64));
  for (unsigned l = 0; l < limbs; ++l)
    stream.launch("expand_weights", expand_weights, urgent(expand, dim3(256)), there.data(),
                  results, inputs, padded, l, expanded.data() + l * limb_bytes);

  auto* kernel = multiply_matrix_planes<Word, planes, columns, stages, m_tiles>;
  const std::size_t shared = product_shared_bytes(planes, columns, stages, m_tiles);
  allow_shared(stream, kernel, shared);
  const auto of_words = stream.allocate<std::uint8_t>(at_once * group_planes);
  for (std::size_t g = 0; g < m.groups; g += at_once) {
    const std::size_t groups = std::min(at_once, m.groups - g);
    const dim3 lay(k_blocks, static_cast<unsigned>((size + 31) / 32),
                   static_cast<unsigned>(groups));
    stream.launch("lay_out_planes", lay_out_planes<Word>, urgent(lay, dim3(256)),
                  in + g * inputs * size, static_cast<unsigned>(size), std::size_t{0}, inputs,
                  layout, of_words.data(), group_planes);
    MatrixArguments<Word> p{expanded.data(),
                            of_words.data(),
                            group_planes,
                            constants.data(),
                            out + g * results * size,
                            results,
                            padded,
                            m.row,
                            static_cast<unsigned>(size),
                            layout.column_blocks,
                            k_blocks,
                            modulus_of(m.q),
                            1 % m.q,
                            shoup(1 % m.q, m.q),
                            true};
    const dim3 grid(layout.column_blocks, static_cast<unsigned>(padded / Tile::block_m),
                    static_cast<unsigned>(groups));
    for (unsigned l = 0; l < limbs; ++l, p.weights += limb_bytes, p.first = false) {
      stream.launch("multiply_matrix_planes", kernel, urgent(grid, dim3(product_threads), shared),
                    p);
      p.limb = static_cast<std::uint64_t>(math::Wide<std::uint64_t>{p.limb} * 256 % m.q);
      p.limb_shoup = shoup(p.limb, m.q);
    }
  }
}

/// Small matrices have tiles of fewer results. GPUs with little shared memory combine.
template <class Word, unsigned planes>
void multiply(const Stream& stream, const LweMatrix& m, std::span<const std::int32_t> weights,
              const Word* in, Word* out) {
  constexpr std::size_t shared = product_shared_bytes(planes, tuning::warp_columns[planes],
                                                      tuning::product_stages, large_m_tiles);
  if (shared > stream.gpu().shared_per_block)
    combine_each(stream, m, in, out);
  else if (m.constants.size() <= tuning::small_product_batch)
    multiply_by_tiles<Word, planes, small_m_tiles>(stream, m, weights, in, out);
  else
    multiply_by_tiles<Word, planes, large_m_tiles>(stream, m, weights, in, out);
}

}  // namespace

template <class Word>
void lwe_matrix(const Stream& stream, const LweMatrix& m, const Word* in, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const std::size_t inputs = m.inputs(), size = m.batch * m.row;
  const auto planes = static_cast<unsigned>(std::bit_width(m.q - 1) + 7) / 8;
  static_assert(tuning::least_results <= most_combined_results);
  if (inputs <= most_linear_inputs && m.constants.size() < tuning::least_results)
    return combine_at_once(stream, m, in, out);
  // Bounds of the kernels.
  const std::vector<std::int32_t> weights =
      inputs > std::size_t{most_matrix_k_blocks} * k_block || size > std::size_t{65535} * 32
          ? std::vector<std::int32_t>()
          : narrow(m);
  if (weights.empty()) return combine_each(stream, m, in, out);
  if constexpr (sizeof(Word) == 4)
    planes <= 2 ? multiply<Word, 2>(stream, m, weights, in, out)
                : multiply<Word, 4>(stream, m, weights, in, out);
  else if (planes <= 5)
    multiply<Word, 5>(stream, m, weights, in, out);
  else if (planes <= 7)
    multiply<Word, 7>(stream, m, weights, in, out);
  else
    multiply<Word, 8>(stream, m, weights, in, out);
}
template void lwe_matrix(const Stream&, const LweMatrix&, const std::uint32_t*, std::uint32_t*);
template void lwe_matrix(const Stream&, const LweMatrix&, const std::uint64_t*, std::uint64_t*);

}  // namespace whorl::backend::cuda
