// What a blind rotation looks values up in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schemes/binfhe/pipeline.h"
#include "whorl/binfhe/lut.h"

namespace whorl::binfhe {

/// Phase offset in Z_2N that puts sums from `threshold` on into [0, N): -(threshold - 1/2)
/// sectors.
std::uint64_t threshold_offset(const Parameters& parameters, unsigned threshold, Encoding encoding);

/// Test vectors (tables, N), coefficient j being the value looked up for phases of j (half a sector
/// above the message's lower border): floor(j·sectors/2N) counts sectors of the half circle.
template <class Word>
std::vector<Word> test_vectors(const Parameters& parameters, std::span<const Lut> luts);

/// The test vectors that a piece of a batch uses, each once, and each ciphertext's number among
/// them.
template <class Word>
struct PieceTables {
  /// `whole` is the index of the whole batch, or empty for vector 0 throughout. `all` must outlive
  /// this.
  PieceTables(std::span<const Word> all, std::size_t N, std::span<const std::uint32_t> whole,
              Range range);

  std::span<const Word> vectors;
  std::vector<std::uint32_t> index;

 private:
  std::vector<Word> own_;
};

}  // namespace whorl::binfhe
