#include "backend/cuda/dispatch/rotation/rotation.h"

#include "backend/cuda/dispatch/rotation/rotation_fft.h"
#include "backend/cuda/dispatch/rotation/rotation_fft_walk.h"
#include "backend/cuda/dispatch/rotation/rotation_ntt.h"
#include "backend/cuda/dispatch/rotation/rotation_ntt_walk.h"
#include "backend/cuda/dispatch/rotation/walk_key.h"

namespace whorl::backend::cuda {

template <class Word>
std::unique_ptr<RotationKey> prepare_rotation_key(const Stream& stream, const RotationShape& shape,
                                                  const RowSource<Word>& rows,
                                                  const Workers& workers) {
  if (has_walks(shape) || shape.raised())
    return shape.arithmetic == Arithmetic::fft ? prepare_fft_walk_key(stream, shape, rows, workers)
                                               : prepare_ntt_walk_key(stream, shape, rows, workers);
  return shape.arithmetic == Arithmetic::fft ? prepare_fft_key(stream, shape, rows, workers)
                                             : prepare_ntt_key(stream, shape, rows, workers);
}

template <class Word>
void blind_rotate(const Stream& stream, const RotationKey& key, BlindRotation spread,
                  std::size_t count, const std::uint32_t* lwe, const Word* luts,
                  const std::uint32_t* index, std::optional<Word> constant, Word* out) {
  if (count == 0) return;
  const CurrentGpu current(stream.gpu().ordinal);
  // Grids and indices are of 32 bits.
  constexpr std::size_t most = std::size_t{1} << 20;
  const RotationShape& shape = key.shape();
  const std::size_t row = constant ? shape.N + 1 : 2 * shape.N;
  for (std::size_t begin = 0; begin < count; begin += most) {
    const RotationBatch<Word> batch{lwe + begin * (shape.n + 1),
                                    luts,
                                    index + begin,
                                    out + begin * row,
                                    static_cast<std::uint32_t>(std::min(most, count - begin)),
                                    shape.n,
                                    constant.has_value(),
                                    constant.value_or(0)};
    if (has_walks(shape) || shape.raised())
      shape.arithmetic == Arithmetic::fft ? blind_rotate_fft_walk(stream, key, spread, batch)
                                          : blind_rotate_ntt_walk(stream, key, batch);
    else if (shape.arithmetic == Arithmetic::fft)
      blind_rotate_fft(stream, key, spread, batch);
    else
      blind_rotate_ntt(stream, key, spread, batch);
  }
}

#define WHORL_INSTANTIATE(Word)                                                             \
  template std::unique_ptr<RotationKey> prepare_rotation_key(                               \
      const Stream&, const RotationShape&, const RowSource<Word>&, const Workers&);         \
  template void blind_rotate(const Stream&, const RotationKey&, BlindRotation, std::size_t, \
                             const std::uint32_t*, const Word*, const std::uint32_t*,       \
                             std::optional<Word>, Word*);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)

}  // namespace whorl::backend::cuda
