#include "backend/cuda/dispatch/rotation.h"

#include "backend/cuda/dispatch/rotation_fft.h"
#include "backend/cuda/dispatch/rotation_ntt.h"

namespace whorl::backend::cuda {

template <class Word>
std::unique_ptr<RotationKey> prepare_rotation_key(const Stream& stream, const RotationShape& shape,
                                                  const RowSource<Word>& rows, unsigned threads) {
  return shape.arithmetic == Arithmetic::fft ? prepare_fft_key(stream, shape, rows, threads)
                                             : prepare_ntt_key(stream, shape, rows, threads);
}

template <class Word>
void blind_rotate(const Stream& stream, const RotationKey& key, BlindRotation way,
                  std::size_t count, const std::uint32_t* lwe, const Word* luts, std::size_t tables,
                  const std::uint32_t* index, Word* out, std::uint32_t* bad_index) {
  if (count == 0) return;
  const CurrentGpu current(stream.gpu().ordinal);
  // Grids and indices are of 32 bits.
  constexpr std::size_t most = std::size_t{1} << 20;
  const RotationShape& shape = key.shape();
  for (std::size_t begin = 0; begin < count; begin += most) {
    const RotationBatch<Word> batch{lwe + begin * (shape.n + 1),
                                    luts,
                                    index + begin,
                                    out + begin * 2 * shape.N,
                                    bad_index,
                                    static_cast<std::uint32_t>(std::min(most, count - begin)),
                                    static_cast<std::uint32_t>(tables),
                                    shape.n};
    if (shape.arithmetic == Arithmetic::fft)
      blind_rotate_fft(stream, key, way, batch);
    else
      blind_rotate_ntt(stream, key, way, batch);
  }
}

#define WHORL_INSTANTIATE(Word)                                                                    \
  template std::unique_ptr<RotationKey> prepare_rotation_key(const Stream&, const RotationShape&,  \
                                                             const RowSource<Word>&, unsigned);    \
  template void blind_rotate(const Stream&, const RotationKey&, BlindRotation, std::size_t,        \
                             const std::uint32_t*, const Word*, std::size_t, const std::uint32_t*, \
                             Word*, std::uint32_t*);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)

}  // namespace whorl::backend::cuda
