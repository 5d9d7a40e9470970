// Launches with bundles from tensor cores.
#pragma once

#include "backend/cuda/dispatch/rotation/launch_rotation.cuh"
#include "backend/cuda/dispatch/rotation/rotation_fft_unrolled.cuh"
#include "backend/cuda/kernels/rotate_fft_tensor.cuh"

namespace whorl::backend::cuda {

template <class Shape, BundleForm form, int m>
void launch_tensor(const Stream& stream, const FftKeyArrays& key,
                   const RotationBatch<std::uint32_t>& batch) {
  using Memory = TensorFftMemory<TensorShape<Shape>>;
  launch_rotation(stream, rotate_fft_tensor<Shape, form, m>,
                  unrolled_view_of<FftWords::narrow>(key), batch, Memory::C,
                  2 * Memory::C * Shape::threads, Memory::bytes);
}

}  // namespace whorl::backend::cuda
