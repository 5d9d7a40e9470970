// GPUs as devices of the contract.
#pragma once

#include <memory>

#include "backend/ops.h"

namespace whorl::backend::cuda {

std::unique_ptr<Device> make_cuda_device(int ordinal, DeviceOptions options);

/// GPUs that this build's kernels run on; DeviceError says why there is none at all.
std::vector<int> usable_gpus();

/// One entry a GPU, or a single one that says why there is none.
std::vector<DeviceInfo> list_gpus();

}  // namespace whorl::backend::cuda
