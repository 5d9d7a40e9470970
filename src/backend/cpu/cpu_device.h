// The CPU as a device of the contract. Its families split batches over threads and call the
// kernels.
#pragma once

#include <memory>

#include "backend/contract/device.h"
#include "backend/contract/lwe.h"
#include "backend/contract/ring.h"
#include "backend/contract/rns.h"
#include "backend/contract/rotation.h"
#include "backend/cpu/resources.h"

namespace whorl::backend::cpu {

DeviceKind kind();

/// Makes the family for a queue of the CPU.
template <class Word>
std::shared_ptr<const RingOps<Word>> make_ring(const Queue& queue, const Host& host);
template <class Word>
std::shared_ptr<const RnsOps<Word>> make_rns(const Queue& queue, const Host& host);
template <class Word>
std::shared_ptr<const RotationOps<Word>> make_rotation(const Queue& queue, const Host& host);
std::shared_ptr<const FftOps> make_fft(const Queue& queue, const Host& host);
std::shared_ptr<const LweOps> make_lwe(const Queue& queue, const Host& host);

}  // namespace whorl::backend::cpu
