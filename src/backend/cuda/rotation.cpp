// Blind rotation on a GPU.
#include "backend/cuda/dispatch/rotation.h"

#include "backend/cuda/dispatch/lwe.h"
#include "backend/cuda/queue.h"

namespace whorl::backend::cuda {

namespace {

/// RefusedError for unrolled keys that there are no kernels for.
void check_unrolled(const RotationShape& shape) {
  if (shape.kind == RotationKind::unrolled_all || shape.raised())
    throw RefusedError(std::string("cuda: unrolled rotations have no kernel for ") +
                       (shape.raised() ? "a raised modulus" : "keys of all sets"));
  const unsigned most = most_group(shape.arithmetic);
  if (shape.group < 2 || shape.group > most)
    throw RefusedError("cuda: unrolled rotations have kernels for groups of 2 … " +
                       std::to_string(most) + " coefficients by this transform, not of " +
                       std::to_string(shape.group));
}

template <class Word>
class CudaRotation final : public RotationOps<Word> {
 public:
  using typename RotationOps<Word>::Batch;
  explicit CudaRotation(const CudaQueue& queue) : RotationOps<Word>(queue), queue_(queue) {}

 protected:
  std::unique_ptr<RotationKey> make_key(const RotationShape& shape,
                                        const RowSource<Word>& rows) const override {
    if (shape.kind == RotationKind::unrolled || shape.kind == RotationKind::unrolled_all)
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
