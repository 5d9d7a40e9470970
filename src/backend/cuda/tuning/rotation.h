// Numbers of the blind-rotation kernels, measured on an H200 (sm_90):
// docs/performance/blind-rotation-gpu.md. `make tune-gpu` measures them again
// (bench/tune/rotation*.cu) and prints specialisations like those below. Values a thread and levels
// left to the product (the GroupFft or GroupNtt of a size) are not among them: keys are laid out by
// them, dispatch/rotation/rotation_fft_launch.h and rotation_ntt_launch.h. NTT kernels keep to no
// limit of registers.
#pragma once

#include <cstdint>

#include "backend/cuda/kernels/fft_words.h"
#include "backend/cuda/kernels/group_fft.cuh"
#include "backend/cuda/kernels/group_ntt.cuh"

namespace whorl::backend::cuda {

/// `shared` is the number of ciphertexts a block when a batch fills the GPU; `…_blocks` is how many
/// blocks a multiprocessor registers are limited for.
template <class Shape, int keys, FftWords words>
struct FftRotationTuning {
  static constexpr int shared = Shape::threads >= 128 ? 1 : 2;
  static constexpr int shared_blocks = Shape::threads >= 64 ? 1 : 2, single_blocks = 1;
};
// N = 512, binary, narrow
template <>
struct FftRotationTuning<GroupFft<8, 4>, 1, FftWords::narrow> {
  static constexpr int shared = 4, shared_blocks = 4, single_blocks = 12;
};
// N = 512, ternary, narrow
template <>
struct FftRotationTuning<GroupFft<8, 4>, 2, FftWords::narrow> {
  static constexpr int shared = 4, shared_blocks = 3, single_blocks = 1;
};
// N = 1024, binary, narrow
template <>
struct FftRotationTuning<GroupFft<9, 4>, 1, FftWords::narrow> {
  static constexpr int shared = 2, shared_blocks = 4, single_blocks = 1;
};
// N = 1024, ternary, narrow
template <>
struct FftRotationTuning<GroupFft<9, 4>, 2, FftWords::narrow> {
  static constexpr int shared = 2, shared_blocks = 3, single_blocks = 1;
};
// N = 2048, binary, narrow
template <>
struct FftRotationTuning<GroupFft<10, 4>, 1, FftWords::narrow> {
  static constexpr int shared = 1, shared_blocks = 3, single_blocks = 1;
};
// N = 2048, ternary, narrow
template <>
struct FftRotationTuning<GroupFft<10, 4>, 2, FftWords::narrow> {
  static constexpr int shared = 2, shared_blocks = 1, single_blocks = 1;
};
// N = 4096, binary, narrow
template <>
struct FftRotationTuning<GroupFft<11, 3>, 1, FftWords::narrow> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};
// N = 4096, ternary, narrow
template <>
struct FftRotationTuning<GroupFft<11, 3>, 2, FftWords::narrow> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};
// N = 8192, binary, narrow
template <>
struct FftRotationTuning<GroupFft<12, 4>, 1, FftWords::narrow> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};
// N = 512, binary, wide
template <>
struct FftRotationTuning<GroupFft<8, 4>, 1, FftWords::wide> {
  static constexpr int shared = 4, shared_blocks = 1, single_blocks = 12;
};
// N = 512, ternary, wide
template <>
struct FftRotationTuning<GroupFft<8, 4>, 2, FftWords::wide> {
  static constexpr int shared = 4, shared_blocks = 1, single_blocks = 12;
};
// N = 1024, binary, wide
template <>
struct FftRotationTuning<GroupFft<9, 4>, 1, FftWords::wide> {
  static constexpr int shared = 2, shared_blocks = 1, single_blocks = 1;
};
// N = 1024, ternary, wide
template <>
struct FftRotationTuning<GroupFft<9, 4>, 2, FftWords::wide> {
  static constexpr int shared = 2, shared_blocks = 1, single_blocks = 1;
};
// N = 2048, binary, wide
template <>
struct FftRotationTuning<GroupFft<10, 4>, 1, FftWords::wide> {
  static constexpr int shared = 1, shared_blocks = 3, single_blocks = 1;
};
// N = 2048, ternary, wide
template <>
struct FftRotationTuning<GroupFft<10, 4>, 2, FftWords::wide> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};
// N = 4096, binary, wide
template <>
struct FftRotationTuning<GroupFft<11, 3>, 1, FftWords::wide> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};
// N = 4096, ternary, wide
template <>
struct FftRotationTuning<GroupFft<11, 3>, 2, FftWords::wide> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};
// N = 512, binary, one digit a step
template <>
struct FftRotationTuning<GroupFft<8, 4>, 1, FftWords::one_digit> {
  static constexpr int shared = 2, shared_blocks = 8, single_blocks = 12;
};
// N = 512, ternary, one digit a step
template <>
struct FftRotationTuning<GroupFft<8, 4>, 2, FftWords::one_digit> {
  static constexpr int shared = 2, shared_blocks = 6, single_blocks = 1;
};
// N = 1024, binary, one digit a step
template <>
struct FftRotationTuning<GroupFft<9, 4>, 1, FftWords::one_digit> {
  static constexpr int shared = 2, shared_blocks = 4, single_blocks = 6;
};
// N = 1024, ternary, one digit a step
template <>
struct FftRotationTuning<GroupFft<9, 4>, 2, FftWords::one_digit> {
  static constexpr int shared = 2, shared_blocks = 4, single_blocks = 1;
};
// N = 2048, binary, one digit a step
template <>
struct FftRotationTuning<GroupFft<10, 4>, 1, FftWords::one_digit> {
  static constexpr int shared = 1, shared_blocks = 4, single_blocks = 3;
};
// N = 2048, ternary, one digit a step
template <>
struct FftRotationTuning<GroupFft<10, 4>, 2, FftWords::one_digit> {
  static constexpr int shared = 1, shared_blocks = 3, single_blocks = 1;
};
// N = 4096, binary, one digit a step
template <>
struct FftRotationTuning<GroupFft<11, 3>, 1, FftWords::one_digit> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};
// N = 4096, ternary, one digit a step
template <>
struct FftRotationTuning<GroupFft<11, 3>, 2, FftWords::one_digit> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};
// N = 8192, binary, one digit a step
template <>
struct FftRotationTuning<GroupFft<12, 4>, 1, FftWords::one_digit> {
  static constexpr int shared = 1, shared_blocks = 1, single_blocks = 1;
};
// N = 8192, ternary, one digit a step
template <>
struct FftRotationTuning<GroupFft<12, 4>, 2, FftWords::one_digit> {
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
