// Rotations whose steps each ciphertext has in an order of its own: what the order follows from, on
// the device, and launches that write the steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>
#include <vector>

#include "backend/cuda/kernels/accumulator.cuh"
#include "backend/cuda/kernels/walk.h"
#include "backend/cuda/runtime/stream.h"

namespace whorl::backend::cuda {

/// These are the tables of a key by AP or automorphisms.
struct WalkTables {
  std::variant<DigitRules, AutomorphismRules> rules;
  DeviceArray<CoefficientKeys> keys;
  DeviceArray<std::uint16_t> logarithms, inverses;
  std::uint32_t start_move = 1;
  std::uint32_t most = 0;  ///< steps of a ciphertext

  bool automorphisms() const { return std::holds_alternative<AutomorphismRules>(rules); }
};

/// Enqueues the writing of the steps of `count` rows (a_1 … a_n, b).
void write_walks(const Stream& stream, const WalkTables& tables, std::uint32_t n,
                 const std::uint32_t* lwe, std::uint32_t count, WalkStep* steps,
                 std::uint32_t* length);

/// Calls body(walks, piece) for pieces of a batch, whose steps take up to 256 MB of device memory.
/// Pieces fill the GPU as often as that allows, and have at most `most_at_once` ciphertexts.
template <class Word, class Body>
void for_walks(const Stream& stream, const WalkTables& tables, std::uint32_t N,
               RotationBatch<Word> batch, std::uint32_t most_at_once, const Body& body) {
  constexpr std::size_t most_bytes = std::size_t{256} << 20;
  const std::size_t bytes = std::max<std::size_t>(tables.most, 1) * sizeof(WalkStep);
  const std::uint32_t wave = 8 * stream.gpu().multiprocessors;
  auto fits = static_cast<std::uint32_t>(
      std::min<std::size_t>(std::max<std::size_t>(most_bytes / bytes, 1), batch.count));
  if (fits < batch.count && fits > wave) fits -= fits % wave;
  const std::uint32_t at_once = std::min(fits, most_at_once);
  const auto steps = stream.allocate<WalkStep>(std::size_t{at_once} * tables.most);
  const auto length = stream.allocate<std::uint32_t>(at_once);
  while (batch.count != 0) {
    RotationBatch<Word> piece = batch;
    piece.count = std::min(at_once, batch.count);
    write_walks(stream, tables, batch.n, piece.lwe, piece.count, steps.data(), length.data());
    body(Walks{steps.data(), length.data(), tables.most, tables.start_move}, piece);
    batch.skip(piece.count, N);
  }
}

}  // namespace whorl::backend::cuda
