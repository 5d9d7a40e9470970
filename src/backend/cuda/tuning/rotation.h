// Numbers of the blind-rotation kernels, measured on an H200 (sm_90):
// docs/performance/blind-rotation-gpu.md. `make tune-gpu` measures them again
// (bench/tune/rotation*.cu) and prints specialisations like those below. Values a thread and levels
// left to the product (the GroupFft or GroupNtt of a size) are not among them: keys are laid out by
// them, dispatch/rotation/rotation_fft_launch.h and rotation_ntt_launch.h. NTT kernels keep to no
// limit of registers.
#pragma once

#include <cstdint>

#include "backend/cuda/kernels/group_fft.cuh"
#include "backend/cuda/kernels/group_ntt.cuh"

namespace whorl::backend::cuda {

/// `shared`: ciphertexts a block when a batch fills the GPU; `…_blocks`: blocks a multiprocessor
/// that registers are limited for.
template <class Shape, int keys, bool wide, bool coarse>
struct FftRotationTuning {
  static constexpr int shared = Shape::threads >= 128 ? 1 : 2;
  static constexpr int shared_blocks = Shape::threads >= 64 ? 1 : 2, single_blocks = 1;
};
// N = 512, binary, narrow
template <>
struct FftRotationTuning<GroupFft<8, 4>, 1, false, false> {
  static constexpr int shared = 4, shared_blocks = 4, single_blocks = 12;
};
// N = 512, ternary, narrow
template <>
struct FftRotationTuning<GroupFft<8, 4>, 2, false, false> {
  static constexpr int shared = 4, shared_blocks = 3, single_blocks = 1;
};
// N = 1024, binary, narrow
template <>
struct FftRotationTuning<GroupFft<9, 4>, 1, false, false> {
  static constexpr int shared = 2, shared_blocks = 4, single_blocks = 1;
};
// N = 1024, ternary, narrow
template <>
struct FftRotationTuning<GroupFft<9, 4>, 2, false, false> {
  static constexpr int shared = 2, shared_blocks = 3, single_blocks = 1;
};
// N = 2048, binary, narrow
template <>
struct FftRotationTuning<GroupFft<10, 4>, 1, false, false> {
  static constexpr int shared = 1, shared_blocks = 3, single_blocks = 1;
};
// N = 2048, ternary, narrow
template <>
struct FftRotationTuning<GroupFft<10, 4>, 2, false, false> {
  static constexpr int shared = 2, shared_blocks = 1, single_blocks = 1;
};
// N = 4096, binary, narrow
template <>
struct FftRotationTuning<GroupFft<11, 3>, 1, false, false> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};
// N = 4096, ternary, narrow
template <>
struct FftRotationTuning<GroupFft<11, 3>, 2, false, false> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};
// N = 8192, binary, narrow
template <>
struct FftRotationTuning<GroupFft<12, 4>, 1, false, false> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};
// N = 512, binary, wide
template <>
struct FftRotationTuning<GroupFft<8, 4>, 1, true, false> {
  static constexpr int shared = 4, shared_blocks = 1, single_blocks = 12;
};
// N = 512, ternary, wide
template <>
struct FftRotationTuning<GroupFft<8, 4>, 2, true, false> {
  static constexpr int shared = 4, shared_blocks = 1, single_blocks = 12;
};
// N = 1024, binary, wide
template <>
struct FftRotationTuning<GroupFft<9, 4>, 1, true, false> {
  static constexpr int shared = 2, shared_blocks = 1, single_blocks = 1;
};
// N = 1024, ternary, wide
template <>
struct FftRotationTuning<GroupFft<9, 4>, 2, true, false> {
  static constexpr int shared = 2, shared_blocks = 1, single_blocks = 1;
};
// N = 2048, binary, wide
template <>
struct FftRotationTuning<GroupFft<10, 4>, 1, true, false> {
  static constexpr int shared = 1, shared_blocks = 3, single_blocks = 1;
};
// N = 2048, ternary, wide
template <>
struct FftRotationTuning<GroupFft<10, 4>, 2, true, false> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};
// N = 4096, binary, wide
template <>
struct FftRotationTuning<GroupFft<11, 3>, 1, true, false> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};
// N = 4096, ternary, wide
template <>
struct FftRotationTuning<GroupFft<11, 3>, 2, true, false> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};
// N = 512, binary, coarse
template <>
struct FftRotationTuning<GroupFft<8, 4>, 1, true, true> {
  static constexpr int shared = 2, shared_blocks = 8, single_blocks = 12;
};
// N = 512, ternary, coarse
template <>
struct FftRotationTuning<GroupFft<8, 4>, 2, true, true> {
  static constexpr int shared = 2, shared_blocks = 6, single_blocks = 1;
};
// N = 1024, binary, coarse
template <>
struct FftRotationTuning<GroupFft<9, 4>, 1, true, true> {
  static constexpr int shared = 2, shared_blocks = 4, single_blocks = 6;
};
// N = 1024, ternary, coarse
template <>
struct FftRotationTuning<GroupFft<9, 4>, 2, true, true> {
  static constexpr int shared = 2, shared_blocks = 4, single_blocks = 1;
};
// N = 2048, binary, coarse
template <>
struct FftRotationTuning<GroupFft<10, 4>, 1, true, true> {
  static constexpr int shared = 1, shared_blocks = 4, single_blocks = 3;
};
// N = 2048, ternary, coarse
template <>
struct FftRotationTuning<GroupFft<10, 4>, 2, true, true> {
  static constexpr int shared = 1, shared_blocks = 3, single_blocks = 1;
};
// N = 4096, binary, coarse
template <>
struct FftRotationTuning<GroupFft<11, 3>, 1, true, true> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};
// N = 4096, ternary, coarse
template <>
struct FftRotationTuning<GroupFft<11, 3>, 2, true, true> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};
// N = 8192, binary, coarse
template <>
struct FftRotationTuning<GroupFft<12, 4>, 1, true, true> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};
// N = 8192, ternary, coarse
template <>
struct FftRotationTuning<GroupFft<12, 4>, 2, true, true> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};

template <class Shape>
struct NttRotationTuning {
  static constexpr int shared = Shape::threads >= 256 ? 1 : 2;
};
// N = 512, NTT of 32 bits
template <>
struct NttRotationTuning<GroupNtt<std::uint32_t, 9, 4>> {
  static constexpr int shared = 2;
};
// N = 1024, NTT of 32 bits
template <>
struct NttRotationTuning<GroupNtt<std::uint32_t, 10, 4>> {
  static constexpr int shared = 1;
};
// N = 2048, NTT of 32 bits
template <>
struct NttRotationTuning<GroupNtt<std::uint32_t, 11, 3>> {
  static constexpr int shared = 1;
};
// N = 4096, NTT of 32 bits
template <>
struct NttRotationTuning<GroupNtt<std::uint32_t, 12, 4>> {
  static constexpr int shared = 1;
};
// N = 8192, NTT of 32 bits
template <>
struct NttRotationTuning<GroupNtt<std::uint32_t, 13, 4>> {
  static constexpr int shared = 1;
};
// N = 512, NTT of 64 bits
template <>
struct NttRotationTuning<GroupNtt<std::uint64_t, 9, 4>> {
  static constexpr int shared = 2;
};
// N = 1024, NTT of 64 bits
template <>
struct NttRotationTuning<GroupNtt<std::uint64_t, 10, 4>> {
  static constexpr int shared = 1;
};
// N = 2048, NTT of 64 bits
template <>
struct NttRotationTuning<GroupNtt<std::uint64_t, 11, 3>> {
  static constexpr int shared = 1;
};
// N = 4096, NTT of 64 bits
template <>
struct NttRotationTuning<GroupNtt<std::uint64_t, 12, 4>> {
  static constexpr int shared = 1;
};

}  // namespace whorl::backend::cuda
