// Blind rotation on a GPU.
#include "backend/cuda/dispatch/rotation/rotation.h"

#include <optional>
#include <string>

#include "backend/cuda/dispatch/lwe/lwe.h"
#include "backend/cuda/queue.h"

namespace whorl::backend::cuda {

namespace {

/// RefusedError for unrolled keys that there are no kernels for.
void check_unrolled(const RotationShape& shape) {
  const std::optional<BundleForm> form = bundle_form(shape.kind);
  if (!form) return;
  if (shape.raised())
    throw RefusedError(
        "cuda: rotations by groups of coefficients have no kernel for a raised modulus");
  const BundleSizes sizes = bundle_sizes(*form);
  if (shape.group < sizes.least || shape.group > sizes.most)
    throw RefusedError("cuda: this kind of rotation has kernels for groups of " +
                       std::to_string(sizes.least) + " … " + std::to_string(sizes.most) +
                       " coefficients, not of " + std::to_string(shape.group));
}

template <class Word>
class CudaRotation final : public RotationOps<Word> {
 public:
  using typename RotationOps<Word>::Batch;
  explicit CudaRotation(const CudaQueue& queue) : RotationOps<Word>(queue), queue_(queue) {}

 protected:
  std::unique_ptr<RotationKey> make_key(const RotationShape& shape,
                                        const RowSource<Word>& rows) const override {
    check_unrolled(shape);
    return cuda::prepare_rotation_key(queue_.stream(), shape, rows, queue_.gpu().workers());
  }
  void run_rotations(const RotationKey& key, const Batch& batch) const override {
    cuda::blind_rotate(queue_.stream(), key, queue_.gpu().rotation(), batch.count, batch.lwe,
                       batch.luts, batch.index, batch.constant, batch.out);
  }
  void run_extraction(std::uint64_t Q, std::uint32_t N, std::span<const std::uint32_t> offsets,
                      Word constant, std::size_t count, const Word* rlwe,
                      Word* out) const override {
    cuda::sample_extract(queue_.stream(), Q, N, offsets, constant, count, rlwe, out);
  }

 private:
  const CudaQueue& queue_;
};

}  // namespace

void CudaQueue::offer_rotation() {
  offer<RotationOps<std::uint32_t>>(std::make_shared<CudaRotation<std::uint32_t>>(*this));
  offer<RotationOps<std::uint64_t>>(std::make_shared<CudaRotation<std::uint64_t>>(*this));
}

}  // namespace whorl::backend::cuda
