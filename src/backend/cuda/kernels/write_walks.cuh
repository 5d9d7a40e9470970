// Kernels that write each ciphertext's steps ahead of its rotation.
#pragma once

#include <cstdint>

#include "backend/cuda/kernels/walk.h"

namespace whorl::backend::cuda {

/// A warp a ciphertext.
__global__ void write_digit_walks(const DigitRules rules, const std::uint32_t* lwe,
                                  std::uint32_t count, WalkStep* steps, std::uint32_t* length) {
  const std::uint32_t ciphertext = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const std::uint32_t lane = threadIdx.x % 32, most = rules.n * rules.places;
  if (ciphertext >= count) return;
  const std::uint32_t* const own = lwe + std::uint64_t{ciphertext} * (rules.n + 1);
  WalkStep* const out = steps + std::uint64_t{ciphertext} * most;
  std::uint32_t written = 0;
  for (std::uint32_t first = 0; first < most; first += 32) {
    WalkStep step{};
    const bool there = first + lane < most && rules.step(own, first + lane, step);
    const std::uint32_t all = __ballot_sync(~0u, there);
    if (there) out[written + __popc(all & ((1u << lane) - 1))] = step;
    written += __popc(all);
  }
  if (lane == 0) length[ciphertext] = written;
}

/// A warp a ciphertext, of which one lane walks: shared memory for 2·N + n numbers of 16 bits.
__global__ void write_automorphism_walks(const AutomorphismRules rules, const std::uint32_t* lwe,
                                         std::uint32_t most, WalkStep* steps,
                                         std::uint32_t* length) {
  extern __shared__ std::uint16_t numbers[];
  for (std::uint32_t i = threadIdx.x; i < rules.N; i += blockDim.x) numbers[i] = rules.none;
  __syncthreads();
  if (threadIdx.x == 0)
    length[blockIdx.x] =
        rules.write(lwe + std::uint64_t{blockIdx.x} * (rules.n + 1), numbers, numbers + rules.N,
                    numbers + 2 * rules.N, steps + std::uint64_t{blockIdx.x} * most);
}

}  // namespace whorl::backend::cuda
