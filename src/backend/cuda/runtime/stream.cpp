#include "backend/cuda/runtime/stream.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "backend/crew.h"
#include "backend/cuda/runtime/error.h"
#include "backend/cuda/runtime/kept_blocks.h"
#include "backend/parallel.h"
#include "whorl/error.h"

namespace whorl::backend::cuda {

namespace {

/// Pinned memory is used in pieces of this size, which copies take in turn.
constexpr std::size_t piece_bytes = std::size_t{1} << 20;
constexpr int pieces = 8;
/// More threads than this copy no faster than the bus.
constexpr unsigned most_copy_threads = 4;
static_assert(most_copy_threads <= pieces);

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
  unsigned copy_threads = 1;
  std::shared_ptr<const MemoryPool> pool;
  cudaStream_t handle = nullptr;
  std::uint8_t* pinned = nullptr;
  cudaEvent_t done[pieces] = {};
  int unused[pieces] = {};  ///< a ring: pieces that no thread has, the longest unused first
  int first_unused = 0, unused_count = 0;
  std::mutex mutex;
  std::shared_ptr<KeptBlocks> blocks;
  std::shared_ptr<Crew> crew;  ///< who helps to copy
  std::unique_ptr<LaunchQueue> launches;
  unsigned together = 0;  ///< how deep begin_together() is nested

  // Destructors cannot report; a lost device makes these calls fail, and there is nothing to keep.
  ~State() {
    int before = 0;
    cudaGetDevice(&before);
    cudaSetDevice(ordinal);
    if (blocks) blocks->close();
    if (handle) cudaStreamSynchronize(handle);
    launches.reset();
    for (const cudaEvent_t event : done)
      if (event) cudaEventDestroy(event);
    if (pinned) cudaFreeHost(pinned);
    if (handle) cudaStreamDestroy(handle);
    cudaSetDevice(before);
    cudaGetLastError();
  }

  void put_back(int piece) { unused[(first_unused + unused_count++) % pieces] = piece; }

  void need_pinned() {
    if (pinned) return;
    void* memory = nullptr;
    check(allocation_must_fail() ? cudaErrorMemoryAllocation
                                 : cudaHostAlloc(&memory, pieces * piece_bytes, 0),
          "cudaHostAlloc of " + std::to_string(pieces * piece_bytes) +
              " bytes of pinned host memory");
    pinned = static_cast<std::uint8_t*>(memory);
    for (int i = 0; i < pieces; ++i) put_back(i);
  }

  /// A piece of pinned memory while it lives; what was copied to or from it before is done.
  class Piece {
   public:
    explicit Piece(State& state) : state_(state) {
      const std::scoped_lock lock(state_.mutex);
      number_ = state_.unused[state_.first_unused];
      state_.first_unused = (state_.first_unused + 1) % pieces;
      --state_.unused_count;
    }
    ~Piece() {
      const std::scoped_lock lock(state_.mutex);
      state_.put_back(number_);
    }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;
    std::uint8_t* data() const { return state_.pinned + number_ * piece_bytes; }
    void wait() const { check(cudaEventSynchronize(state_.done[number_]), "cudaEventSynchronize"); }
    void record() const {
      check(cudaEventRecord(state_.done[number_], state_.handle), "cudaEventRecord");
    }

   private:
    State& state_;
    int number_;
  };

  /// Calls body(offset, size, piece) for all pieces of `bytes`.
  template <class Body>
  void in_pieces(std::size_t bytes, const Body& body) {
    const CurrentGpu of_caller(ordinal);
    need_pinned();
    const Workers workers{copy_threads, {}, crew};
    parallel_for((bytes + piece_bytes - 1) / piece_bytes, workers, [&](std::size_t k) {
      const CurrentGpu current(ordinal);
      const Piece piece(*this);
      piece.wait();
      body(k * piece_bytes, std::min(piece_bytes, bytes - k * piece_bytes), piece);
    });
  }
};

Stream::Stream(Gpu gpu, unsigned copy_threads)
    : gpu_(std::move(gpu)), state_(std::make_shared<State>()) {
  const CurrentGpu current(gpu_.ordinal);
  state_->ordinal = gpu_.ordinal;
  state_->copy_threads = std::clamp(copy_threads, 1u, most_copy_threads);
  state_->pool = MemoryPool::of(gpu_);
  check(cudaStreamCreateWithFlags(&state_->handle, cudaStreamNonBlocking),
        "cudaStreamCreate on " + gpu_.name());
  handle_ = state_->handle;
  state_->blocks = std::make_shared<KeptBlocks>(gpu_.ordinal, handle_);
  state_->pool->add(state_->blocks);
  state_->launches = std::make_unique<LaunchQueue>(handle_);
  state_->crew = std::make_shared<Crew>(state_->copy_threads - 1);
  for (cudaEvent_t& event : state_->done)
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
}

Stream::~Stream() = default;

void Stream::begin_together() const { ++state_->together; }

void Stream::end_together() const {
  if (--state_->together == 0) submit();
}

LaunchQueue& Stream::with_room() const {
  if (state_->launches->full()) submit();
  return *state_->launches;
}

void Stream::launched() const {
  if (state_->together == 0) return submit();
  // What is dropped from now on may be used by a kernel that is not launched yet.
  state_->blocks->hold();
}

void Stream::submit() const {
  if (state_->launches->empty()) return;
  struct Released {
    KeptBlocks& blocks;
    ~Released() { blocks.release(); }
  } const released{*state_->blocks};
  const CurrentGpu current(gpu_.ordinal);
  state_->launches->submit();
}

std::shared_ptr<void> Stream::allocate_bytes(std::size_t bytes) const {
  if (bytes == 0) return nullptr;
  const bool must_fail = allocation_must_fail();
  const std::size_t size = KeptBlocks::rounded(bytes);
  // So large ones are not kept: those dropped before go back to the pool first.
  if (size > KeptBlocks::largest_block) submit();
  void* memory = must_fail ? nullptr : state_->blocks->take(size);
  if (memory == nullptr) {
    const CurrentGpu current(gpu_.ordinal);
    const auto allocate = [&] {
      return must_fail
                 ? cudaErrorMemoryAllocation
                 : cudaMallocFromPoolAsync(&memory, size, state_->pool->handle(), state_->handle);
    };
    cudaError_t code = allocate();
    if (code == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      submit();
      state_->pool->take_back();
      code = allocate();
    }
    if (code == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw OutOfMemoryError(gpu_.name() + ": " + std::to_string(bytes) +
                             " bytes are needed at once, but " + std::to_string(free_memory()) +
                             " of " + std::to_string(gpu_.memory_bytes) +
                             " are free, so at most that many would fit");
    }
    check(code, "cudaMallocFromPoolAsync of " + std::to_string(size) + " bytes");
  }
  return {memory, [state = state_, size](void* p) { state->blocks->keep(p, size); }};
}

void Stream::copy_in(const void* host, void* device, std::size_t bytes) const {
  const auto* from = static_cast<const std::uint8_t*>(host);
  auto* to = static_cast<std::uint8_t*>(device);
  submit();
  state_->in_pieces(bytes, [&](std::size_t at, std::size_t size, const State::Piece& piece) {
    std::memcpy(piece.data(), from + at, size);
    check(cudaMemcpyAsync(to + at, piece.data(), size, cudaMemcpyHostToDevice, state_->handle),
          "cudaMemcpyAsync of " + std::to_string(size) + " bytes to " + gpu_.name());
    piece.record();
  });
}

void Stream::copy_out(const void* device, void* host, std::size_t bytes) const {
  const auto* from = static_cast<const std::uint8_t*>(device);
  auto* to = static_cast<std::uint8_t*>(host);
  submit();
  if (bytes > piece_bytes) wait();  // by one thread, not by all that copy
  state_->in_pieces(bytes, [&](std::size_t at, std::size_t size, const State::Piece& piece) {
    check(cudaMemcpyAsync(piece.data(), from + at, size, cudaMemcpyDeviceToHost, state_->handle),
          "cudaMemcpyAsync of " + std::to_string(size) + " bytes from " + gpu_.name());
    piece.record();
    piece.wait();
    std::memcpy(to + at, piece.data(), size);
  });
  check(cudaGetLastError(), "work before a copy from " + gpu_.name());
}

void Stream::copy_within(const void* from, void* to, std::size_t bytes) const {
  const CurrentGpu current(gpu_.ordinal);
  submit();
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, state_->handle),
        "cudaMemcpyAsync of " + std::to_string(bytes) + " bytes within " + gpu_.name());
}

void Stream::fill(void* device, int byte, std::size_t bytes) const {
  const CurrentGpu current(gpu_.ordinal);
  submit();
  check(cudaMemsetAsync(device, byte, bytes, state_->handle),
        "cudaMemsetAsync of " + std::to_string(bytes) + " bytes");
}

void Stream::trim() const {
  const CurrentGpu current(gpu_.ordinal);
  submit();
  state_->pool->take_back();
  state_->pool->trim();
}

std::size_t Stream::free_memory() const { return cuda::free_memory(gpu_) + state_->pool->kept(); }

void Stream::wait() const {
  const CurrentGpu current(gpu_.ordinal);
  submit();
  check(cudaStreamSynchronize(state_->handle), "cudaStreamSynchronize on " + gpu_.name());
}

}  // namespace whorl::backend::cuda
