// A queue of work on one GPU. Everything is enqueued; a method that waits says so.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <type_traits>

#include "backend/cuda/runtime/gpu.h"
#include "backend/cuda/runtime/launch_queue.h"
#include "backend/cuda/runtime/pool.h"

namespace whorl::backend::cuda {

/// Device memory that returns to its stream, in stream order, when the last owner is destroyed, in
/// any thread.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(std::shared_ptr<void> storage, std::size_t size)
      : storage_(std::move(storage)), size_(size) {}
  T* data() const { return static_cast<T*>(storage_.get()); }
  std::size_t size() const { return size_; }

 private:
  std::shared_ptr<void> storage_;
  std::size_t size_ = 0;
};

/// A CUDA stream, its GPU, and pinned memory for copies. One thread at a time may use it.
class Stream {
 public:
  /// Copies between the caller's and pinned memory, which one core does slower than the bus, are
  /// made by up to `copy_threads` threads.
  explicit Stream(Gpu gpu, unsigned copy_threads = 1);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  const Gpu& gpu() const { return gpu_; }
  /// The CUDA stream, for other code that enqueues work. Kernels that wait in the launch queue are
  /// launched first.
  cudaStream_t handle() const {
    submit();
    return handle_;
  }

  /// Enqueues a kernel, under whose name a failing launch is reported: `name` must live on.
  template <class... Parameters>
  void launch(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape,
              const std::type_identity_t<Parameters>&... arguments) const {
    with_room().add(name, kernel, shape, arguments...);
    launched();
  }
  /// Kernels enqueued between these two calls are launched as one. The calls may be nested. The
  /// kernels wait until the outermost end, until another kind of call (handle(), a copy, wait()),
  /// or until there are LaunchQueue::most of them.
  void begin_together() const;
  void end_together() const;

  /// Uninitialised. OutOfMemoryError names the bytes needed and what is free.
  std::shared_ptr<void> allocate_bytes(std::size_t bytes) const;
  template <class T>
  DeviceArray<T> allocate(std::size_t count) const {
    return {allocate_bytes(count * sizeof(T)), count};
  }
  /// Device memory with a copy of host values, which may be changed as soon as this returns.
  template <class T>
  DeviceArray<T> upload(const T* from, std::size_t count) const {
    DeviceArray<T> out = allocate<T>(count);
    copy_in(from, out.data(), count * sizeof(T));
    return out;
  }

  /// Through pinned memory: returns when `host` has been read, not when it has arrived.
  void copy_in(const void* host, void* device, std::size_t bytes) const;
  /// Waits for all work before it, and for the copy.
  void copy_out(const void* device, void* host, std::size_t bytes) const;
  void copy_within(const void* from, void* to, std::size_t bytes) const;
  void fill(void* device, int byte, std::size_t bytes) const;
  /// Gives unused memory that the stream and its pool keep back to the driver.
  void trim() const;
  /// Bytes that an allocation could still get.
  std::size_t free_memory() const;
  /// Waits for all work so far; throws what went wrong in it.
  void wait() const;

 private:
  struct State;
  void submit() const;
  LaunchQueue& with_room() const;
  void launched() const;

  Gpu gpu_;
  cudaStream_t handle_ = nullptr;
  std::shared_ptr<State> state_;
};

/// Lets the `count`-th allocation of device or pinned memory from now on fail (1: the next), for
/// tests; 0 switches it off. Returns how many were made since the last call.
std::size_t fail_allocation(std::size_t count);

}  // namespace whorl::backend::cuda
