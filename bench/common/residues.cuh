// Random residues, made on a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/runtime/error.h"
#include "backend/cuda/runtime/stream.h"
#include "common/differences.cuh"

namespace whorl::bench {

/// One in eight is q - 1, one is 0.
__global__ inline void fill_residues(const std::uint32_t* q, unsigned count, std::size_t row,
                                     std::size_t words, std::uint64_t seed, std::uint32_t* out) {
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words;
       i += std::size_t{gridDim.x} * blockDim.x) {
    std::uint64_t x = seed + i * 0x9e3779b97f4a7c15;  // splitmix64 (Steele, Lea, Flood 2014)
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
    const std::uint32_t modulus = q[i / row % count];
    const auto kind = static_cast<unsigned>(x % 8);
    out[i] = kind == 0   ? modulus - 1
             : kind == 1 ? 0
                         : static_cast<std::uint32_t>((x >> 3) % modulus);
  }
}

/// `words` words in rows of `row`, row r modulo q[r % count].
inline void fill_with_residues(const backend::cuda::Stream& stream, const std::uint32_t* q,
                               std::size_t count, std::size_t row, std::size_t words,
                               std::uint64_t seed, std::uint32_t* out) {
  fill_residues<<<grid_blocks, block_threads, 0, stream.handle()>>>(q, static_cast<unsigned>(count),
                                                                    row, words, seed << 32, out);
  backend::cuda::check_launch("fill_residues", grid_blocks, block_threads, 0);
}

}  // namespace whorl::bench
