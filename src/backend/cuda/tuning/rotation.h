// Numbers of the blind-rotation kernels, measured on an H200 (sm_90): docs/perf-log.md. `make
// tune-gpu` measures them again (bench/tune/rotation*.cu) and prints specialisations like those
// below. Values a thread and levels left to the product (the GroupFft or GroupNtt of a size) are
// no such numbers: keys are laid out by them, dispatch/rotation_fft_launch.h and
// rotation_ntt_launch.h. NTT kernels keep to no limit of registers.
#pragma once

#include "backend/cuda/kernels/group_fft.cuh"

namespace whorl::backend::cuda {

/// `shared`: ciphertexts a block when a batch fills the GPU; `…_blocks`: blocks a multiprocessor
/// that registers are limited for.
template <class Shape, int keys, bool wide, bool coarse>
struct FftRotationTuning {
  static constexpr int shared = Shape::threads >= 128 ? 1 : 2;
  static constexpr int shared_blocks = Shape::threads >= 64 ? 1 : 2, single_blocks = 1;
};
// N = 1024
template <>
struct FftRotationTuning<GroupFft<9, 4>, 1, false, false> {
  static constexpr int shared = 2, shared_blocks = 4, single_blocks = 4;
};
template <>
struct FftRotationTuning<GroupFft<9, 4>, 2, false, false> {
  static constexpr int shared = 2, shared_blocks = 3, single_blocks = 4;
};
// N = 2048
template <>
struct FftRotationTuning<GroupFft<10, 4>, 1, true, true> {
  static constexpr int shared = 1, shared_blocks = 4, single_blocks = 4;
};
template <>
struct FftRotationTuning<GroupFft<10, 4>, 2, true, true> {
  static constexpr int shared = 1, shared_blocks = 3, single_blocks = 3;
};

template <class Shape>
struct NttRotationTuning {
  static constexpr int shared = Shape::threads >= 256 ? 1 : 2;
};

}  // namespace whorl::backend::cuda
