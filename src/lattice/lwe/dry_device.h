// A device for dry runs of FHEW/TFHE: what needs keys is counted, and not done.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "backend/contract/device.h"

namespace whorl::lattice::lwe {

/// What a dry device was asked for, of one ciphertext each.
struct LweCounts {
  std::atomic<std::size_t> rotations = 0, key_switches = 0, sums = 0;
};

/// A CPU of one thread. Its keys have a shape only: their rows are not read. Blind rotations and
/// key switches give zeros.
std::shared_ptr<const backend::Device> dry_device(std::shared_ptr<LweCounts> counts);

}  // namespace whorl::lattice::lwe
