// A matrix of residues times ciphertexts: which tile for which shape.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "backend/cuda/dispatch/launch.cuh"
#include "backend/cuda/dispatch/rns/rns.h"
#include "backend/cuda/kernels/rns_matrix.cuh"
#include "backend/cuda/tuning/rns.h"
#include "whorl/error.h"

namespace whorl::backend::cuda {

namespace {

template <unsigned a_thread, unsigned terms, bool twice, class Word>
void launch(const Stream& stream, MatrixArguments<Word> a, std::size_t rows, std::size_t parts) {
  using Tile = MatrixTile<Word, a_thread>;
  a.tiles = (a.outputs + Tile::outputs - 1) / Tile::outputs;
  const std::size_t blocks = a.tiles * (a.row / Tile::columns);
  if (blocks > std::numeric_limits<std::int32_t>::max())
    throw ShapeError("weighted_sums: " + std::to_string(a.outputs) + " outputs of " +
                     std::to_string(a.row) + " values are more than one launch makes");
  launch_chained(stream, "multiply_matrix", multiply_matrix<Word, a_thread, terms, twice>,
                 {dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(rows),
                       static_cast<unsigned>(parts)),
                  Tile::threads},
                 a);
}

template <unsigned terms, bool twice, class Word>
void launch_for(const Stream& stream, const MatrixArguments<Word>& a, std::size_t rows,
                std::size_t parts) {
  if (a.outputs <= tuning::most_few_outputs)
    launch<tuning::few_outputs_a_thread, terms, twice>(stream, a, rows, parts);
  else
    launch<tuning::outputs_a_thread<Word>, terms, twice>(stream, a, rows, parts);
}

}  // namespace

template <class Word>
void weighted_sums(const Stream& stream, const CudaRnsTables<Word>& tables,
                   const ring::Basis& basis, std::size_t parts, std::size_t count,
                   const CheckedSums<Word>& sums, Word* out) {
  const CurrentGpu current(stream.gpu().ordinal);
  const std::vector<unsigned> primes = basis.indices();
  const std::size_t N = tables.plan().N();
  MatrixArguments<Word> a = {};
  a.x = sums.x;
  a.weights = sums.weights;
  a.constants = sums.constants;
  a.out = out;
  a.moduli = tables.moduli.data();
  a.row = sums.columns * N;
  a.stride = sums.stride;
  a.first = sums.first * N;
  a.results = count * N;
  a.inputs = static_cast<std::uint32_t>(sums.inputs);
  a.outputs = static_cast<std::uint32_t>(sums.outputs);
  Word largest = 0;
  for (std::size_t r = 0; r < primes.size(); ++r) {
    a.prime[r] = static_cast<std::uint8_t>(primes[r]);
    largest = std::max(largest, tables.plan().moduli()[primes[r]].value());
  }
  if constexpr (sizeof(Word) == 4)
    if (largest < Word{1} << 30) return launch_for<8, true>(stream, a, primes.size(), parts);
  launch_for<ProductSum<Word>::safe_terms, false>(stream, a, primes.size(), parts);
}

template void weighted_sums(const Stream&, const CudaRnsTables<std::uint32_t>&, const ring::Basis&,
                            std::size_t, std::size_t, const CheckedSums<std::uint32_t>&,
                            std::uint32_t*);
template void weighted_sums(const Stream&, const CudaRnsTables<std::uint64_t>&, const ring::Basis&,
                            std::size_t, std::size_t, const CheckedSums<std::uint64_t>&,
                            std::uint64_t*);

}  // namespace whorl::backend::cuda
