// Launches with bundles from tensor cores.
#pragma once

#include "backend/cuda/dispatch/launch_rotation.cuh"
#include "backend/cuda/dispatch/rotation_fft_unrolled.cuh"
#include "backend/cuda/kernels/rotate_fft_tensor.cuh"

namespace whorl::backend::cuda {

/// One launch for the batch, C ciphertexts a block.
template <class Shape, BundleForm form, int m, int C>
void launch_tensor(const Stream& stream, const FftKeyArrays& key,
                   const RotationBatch<std::uint32_t>& batch) {
  launch_rotation(stream, rotate_fft_tensor<Shape, form, m, C>, unrolled_view_of<false>(key), batch,
                  C, 2 * C * Shape::threads, TensorFftMemory<TensorShape<Shape>, C>::bytes);
}

}  // namespace whorl::backend::cuda
