// Blind rotation on the CPU: which arithmetic, and samples of accumulators.
#include "backend/cpu/blind_rotate.h"
#include "backend/cpu/cpu_device.h"

namespace whorl::backend::cpu {

namespace {

template <class Word>
class CpuRotation final : public RotationOps<Word> {
 public:
  CpuRotation(const Queue& queue, const Host& host) : RotationOps<Word>(queue), host_(host) {}

 protected:
  using typename RotationOps<Word>::Batch;

  std::unique_ptr<RotationKey> make_key(const RotationShape& shape,
                                        const RowSource<Word>& rows) const override {
    return by(shape.arithmetic).prepare(shape, rows, host_.workers);
  }

  void run_rotations(const RotationKey& key, const Batch& batch) const override {
    const RotationBatch<Word> rotations{batch.lwe,      batch.luts, batch.index,
                                        batch.constant, batch.out,  batch.count};
    by(key.shape().arithmetic).rotate(key, rotations, host_.workers);
  }

  void run_extraction(std::uint64_t Q, std::uint32_t N, std::span<const std::uint32_t> offsets,
                      Word constant, std::size_t count, const Word* rlwe,
                      Word* out) const override {
    const math::Modulus<Word> q(static_cast<Word>(Q));
    host_.each(count * offsets.size(), 3 * std::size_t{N}, [&](std::size_t i) {
      const std::size_t k = offsets[i % offsets.size()];
      const Word* const a = rlwe + i / offsets.size() * 2 * N;
      Word* const to = out + i * (std::size_t{N} + 1);
      for (std::size_t j = 0; j <= k; ++j) to[j] = a[k - j];
      for (std::size_t j = k + 1; j < N; ++j) to[j] = q.neg(a[N + k - j]);
      to[N] = q.add(a[N + k], constant);
    });
  }

 private:
  static const BlindRotation<Word>& by(Arithmetic arithmetic) {
    return (arithmetic == Arithmetic::fft ? fft_rotation : ntt_rotation).template of<Word>();
  }

  Host host_;
};

}  // namespace

template <class Word>
std::shared_ptr<const RotationOps<Word>> make_rotation(const Queue& queue, const Host& host) {
  return std::make_shared<CpuRotation<Word>>(queue, host);
}
template std::shared_ptr<const RotationOps<std::uint32_t>> make_rotation(const Queue&, const Host&);
template std::shared_ptr<const RotationOps<std::uint64_t>> make_rotation(const Queue&, const Host&);

}  // namespace whorl::backend::cpu
