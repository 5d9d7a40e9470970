// A GPU, and its queues: CUDA streams that offer the families of operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "backend/contract/lwe.h"
#include "backend/contract/rns.h"
#include "backend/contract/rotation.h"
#include "backend/cuda/dispatch/transforms/transforms.h"
#include "backend/cuda/runtime/gpu.h"
#include "backend/cuda/runtime/stream.h"
#include "backend/parallel.h"

namespace whorl::backend::cuda {

class CudaDevice final : public Device {
 public:
  CudaDevice(int ordinal, DeviceOptions options);

  std::string name() const override { return gpu_.name() + " (" + gpu_.model + ")"; }
  std::string memory() const override { return gpu_.name(); }
  unsigned threads() const override { return options_.threads; }
  /// While one hands results back and takes its next piece, two have work.
  unsigned queues() const override { return 3; }
  std::unique_ptr<Queue> open() const override;

  const Gpu& gpu() const { return gpu_; }
  const TransformTables& tables() const { return tables_; }
  BlindRotation rotation() const { return options_.rotation; }
  /// Returns the workers of the host's part in preparing keys.
  Workers workers() const { return {options_.threads, options_.interrupt}; }
  bool asked_to_stop() const { return options_.interrupt && options_.interrupt(); }

 private:
  Gpu gpu_;
  DeviceOptions options_;
  TransformTables tables_;
};

class CudaQueue final : public Queue {
 public:
  explicit CudaQueue(std::shared_ptr<const CudaDevice> device);

  const CudaDevice& gpu() const { return static_cast<const CudaDevice&>(device()); }
  const Stream& stream() const { return stream_; }

  std::size_t batch_limit(std::size_t bytes, std::size_t reserved) const override;
  void wait() const override { stream_.wait(); }
  void begin_together() const override {
    ++together_;
    stream_.begin_together();
  }
  void end_together() const override {
    --together_;
    stream_.end_together();
  }

 protected:
  std::shared_ptr<void> allocate_bytes(std::size_t bytes) const override {
    return stream_.allocate_bytes(bytes);
  }
  // Large ones ask in between whether to stop.
  void copy_in(const void* host, void* device, std::size_t bytes) const override;
  void copy_out(const void* device, void* host, std::size_t bytes) const override;
  void copy_within(const void* from, void* to, std::size_t bytes) const override;
  void fill_words(std::uint64_t value, unsigned word_bytes, std::size_t count,
                  void* out) const override;

 private:
  // Each in the file of its family.
  void offer_ring();
  void offer_rns();
  void offer_rotation();
  void offer_lwe();

  Stream stream_;
  mutable unsigned together_ = 0;  ///< how deep begin_together() is nested
};

}  // namespace whorl::backend::cuda
