// How blind rotations are spread over a device. This is a header of its own because kernels that
// take minutes to compile include it, and no other header of the contract.
#pragma once

#include <cstdint>

namespace whorl::backend {

/// Ways to spread blind rotations over a GPU's multiprocessors, for comparison; `automatic` takes
/// the one that is fastest for the batch. A CPU has one way and ignores it.
enum class BlindRotation : std::uint8_t {
  automatic,
  single,   ///< one ciphertext in a thread block
  cluster,  ///< one ciphertext over several thread blocks, a cluster where the GPU has them
  grid,     ///< the same, meeting in device memory as on GPUs without clusters
  shared    ///< several ciphertexts in a thread block, which read each step of the key together
};

}  // namespace whorl::backend
