// GPUs as devices of the contract.
#pragma once

#include "backend/contract/device.h"

namespace whorl::backend::cuda {

/// "cuda" (the first GPU), "cuda:K", "cuda:0,1", "cuda:all". Its list has one entry a GPU, or a
/// single one that says why there is none.
DeviceKind kind();

}  // namespace whorl::backend::cuda
