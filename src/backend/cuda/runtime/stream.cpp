#include "backend/cuda/runtime/stream.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "backend/cuda/runtime/error.h"
#include "whorl/error.h"

namespace whorl::backend::cuda {

namespace {

/// Pinned memory comes in pieces of this size, two of which a copy fills in turn.
constexpr std::size_t piece_bytes = std::size_t{4} << 20;
constexpr int pieces = 2;

std::atomic<std::size_t> allocations_made{0}, failing_allocation{0};

bool allocation_must_fail() {
  return ++allocations_made == failing_allocation.load(std::memory_order_relaxed);
}

}  // namespace

std::size_t fail_allocation(std::size_t count) {
  const std::size_t made = allocations_made.exchange(0);
  failing_allocation = count;
  return made;
}

struct Stream::State {
  int ordinal = 0;
  cudaStream_t handle = nullptr;
  std::uint8_t* pinned[pieces] = {};
  cudaEvent_t done[pieces] = {};
  int next = 0;

  // Destructors cannot report; a lost device makes these calls fail, and there is nothing to keep.
  ~State() {
    int before = 0;
    cudaGetDevice(&before);
    cudaSetDevice(ordinal);
    if (handle) cudaStreamSynchronize(handle);
    for (int i = 0; i < pieces; ++i) {
      if (done[i]) cudaEventDestroy(done[i]);
      if (pinned[i]) cudaFreeHost(pinned[i]);
    }
    if (handle) cudaStreamDestroy(handle);
    cudaSetDevice(before);
    cudaGetLastError();
  }

  /// The next piece of pinned memory, free to be written.
  int take_piece() {
    const int i = next;
    next = (next + 1) % pieces;
    if (pinned[i]) {
      check(cudaEventSynchronize(done[i]), "cudaEventSynchronize");
      return i;
    }
    void* memory = nullptr;
    check(allocation_must_fail() ? cudaErrorMemoryAllocation
                                 : cudaHostAlloc(&memory, piece_bytes, cudaHostAllocDefault),
          "cudaHostAlloc of " + std::to_string(piece_bytes) + " bytes of pinned host memory");
    pinned[i] = static_cast<std::uint8_t*>(memory);
    return i;
  }
};

Stream::Stream(Gpu gpu) : gpu_(std::move(gpu)), state_(std::make_shared<State>()) {
  const CurrentGpu current(gpu_.ordinal);
  state_->ordinal = gpu_.ordinal;
  check(cudaStreamCreateWithFlags(&state_->handle, cudaStreamNonBlocking),
        "cudaStreamCreate on " + gpu_.name());
  handle_ = state_->handle;
  for (cudaEvent_t& event : state_->done)
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  // Freed memory stays with the process: the next batch needs the same again.
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, gpu_.ordinal), "cudaDeviceGetDefaultMemPool");
  std::uint64_t threshold = UINT64_MAX;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
        "cudaMemPoolSetAttribute");
}

Stream::~Stream() = default;

std::shared_ptr<void> Stream::allocate_bytes(std::size_t bytes) const {
  if (bytes == 0) return nullptr;
  const CurrentGpu current(gpu_.ordinal);
  void* memory = nullptr;
  cudaError_t code = allocation_must_fail() ? cudaErrorMemoryAllocation
                                            : cudaMallocAsync(&memory, bytes, state_->handle);
  if (code == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw OutOfMemoryError(gpu_.name() + ": " + std::to_string(bytes) + " bytes needed at once, " +
                           std::to_string(free_memory(gpu_)) + " of " +
                           std::to_string(gpu_.memory_bytes) +
                           " free: at most that many would fit");
  }
  check(code, "cudaMallocAsync of " + std::to_string(bytes) + " bytes");
  return {memory, [state = state_](void* p) {
            int before = 0;
            cudaGetDevice(&before);
            cudaSetDevice(state->ordinal);
            cudaFreeAsync(p, state->handle);
            cudaSetDevice(before);
          }};
}

void Stream::copy_in(const void* host, void* device, std::size_t bytes) const {
  const CurrentGpu current(gpu_.ordinal);
  const auto* from = static_cast<const std::uint8_t*>(host);
  auto* to = static_cast<std::uint8_t*>(device);
  for (std::size_t at = 0; at < bytes; at += piece_bytes) {
    const std::size_t size = std::min(piece_bytes, bytes - at);
    const int i = state_->take_piece();
    std::memcpy(state_->pinned[i], from + at, size);
    check(cudaMemcpyAsync(to + at, state_->pinned[i], size, cudaMemcpyHostToDevice, state_->handle),
          "cudaMemcpyAsync of " + std::to_string(size) + " bytes to " + gpu_.name());
    check(cudaEventRecord(state_->done[i], state_->handle), "cudaEventRecord");
  }
}

void Stream::copy_out(const void* device, void* host, std::size_t bytes) const {
  const CurrentGpu current(gpu_.ordinal);
  const auto* from = static_cast<const std::uint8_t*>(device);
  auto* to = static_cast<std::uint8_t*>(host);
  // The copy of one piece runs beside the host's emptying of the one before.
  std::uint8_t* arrived_to = nullptr;
  std::size_t arrived_size = 0;
  int arrived = -1;
  auto empty = [&] {
    if (arrived < 0) return;
    check(cudaEventSynchronize(state_->done[arrived]), "cudaEventSynchronize");
    std::memcpy(arrived_to, state_->pinned[arrived], arrived_size);
  };
  for (std::size_t at = 0; at < bytes; at += piece_bytes) {
    const std::size_t size = std::min(piece_bytes, bytes - at);
    const int i = state_->take_piece();
    check(
        cudaMemcpyAsync(state_->pinned[i], from + at, size, cudaMemcpyDeviceToHost, state_->handle),
        "cudaMemcpyAsync of " + std::to_string(size) + " bytes from " + gpu_.name());
    check(cudaEventRecord(state_->done[i], state_->handle), "cudaEventRecord");
    empty();
    arrived = i;
    arrived_to = to + at;
    arrived_size = size;
  }
  empty();
  check(cudaGetLastError(), "work before a copy from " + gpu_.name());
}

void Stream::fill(void* device, int byte, std::size_t bytes) const {
  const CurrentGpu current(gpu_.ordinal);
  check(cudaMemsetAsync(device, byte, bytes, state_->handle),
        "cudaMemsetAsync of " + std::to_string(bytes) + " bytes");
}

void Stream::trim() const {
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, gpu_.ordinal), "cudaDeviceGetDefaultMemPool");
  check(cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo 0 bytes on " + gpu_.name());
}

void Stream::wait() const {
  const CurrentGpu current(gpu_.ordinal);
  check(cudaStreamSynchronize(state_->handle), "cudaStreamSynchronize on " + gpu_.name());
}

}  // namespace whorl::backend::cuda
