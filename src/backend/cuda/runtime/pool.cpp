#include "backend/cuda/runtime/pool.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "backend/cuda/runtime/error.h"

namespace whorl::backend::cuda {

std::shared_ptr<const MemoryPool> MemoryPool::of(const Gpu& gpu) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<const MemoryPool>> pools;
  const std::scoped_lock lock(mutex);
  std::weak_ptr<const MemoryPool>& known = pools[gpu.ordinal];
  std::shared_ptr<const MemoryPool> pool = known.lock();
  if (!pool) known = pool = std::make_shared<const MemoryPool>(gpu);
  return pool;
}

MemoryPool::MemoryPool(const Gpu& gpu) {
  cudaMemPoolProps props = {};
  props.allocType = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id = gpu.ordinal;
  check(cudaMemPoolCreate(&handle_, &props), "cudaMemPoolCreate on " + gpu.name());
  std::uint64_t everything = UINT64_MAX;
  const cudaError_t code =
      cudaMemPoolSetAttribute(handle_, cudaMemPoolAttrReleaseThreshold, &everything);
  if (code != cudaSuccess) cudaMemPoolDestroy(handle_);
  check(code, "cudaMemPoolSetAttribute on " + gpu.name());
}

MemoryPool::~MemoryPool() {
  cudaMemPoolDestroy(handle_);
  cudaGetLastError();  // a lost device: there is nothing to keep
}

void MemoryPool::add(const std::shared_ptr<KeptBlocks>& blocks) const {
  const std::scoped_lock lock(mutex_);
  std::erase_if(streams_, [](const auto& each) { return each.expired(); });
  streams_.push_back(blocks);
}

std::vector<std::shared_ptr<KeptBlocks>> MemoryPool::streams() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<KeptBlocks>> out;
  for (const auto& each : streams_)
    if (auto blocks = each.lock()) out.push_back(std::move(blocks));
  return out;
}

void MemoryPool::take_back() const {
  for (const auto& each : streams()) each->give_back();
}

std::size_t MemoryPool::kept() const {
  std::uint64_t reserved = 0, used = 0;
  check(cudaMemPoolGetAttribute(handle_, cudaMemPoolAttrReservedMemCurrent, &reserved),
        "cudaMemPoolGetAttribute");
  check(cudaMemPoolGetAttribute(handle_, cudaMemPoolAttrUsedMemCurrent, &used),
        "cudaMemPoolGetAttribute");
  std::size_t out = static_cast<std::size_t>(reserved - used);
  for (const auto& each : streams()) out += each->bytes();
  return out;
}

void MemoryPool::trim() const { check(cudaMemPoolTrimTo(handle_, 0), "cudaMemPoolTrimTo 0 bytes"); }

}  // namespace whorl::backend::cuda
