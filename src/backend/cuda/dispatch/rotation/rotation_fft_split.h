// Blind rotation of one ciphertext over the eight blocks of a cluster, each of which has a quarter
// of the frequencies (rotate_fft_split.cuh): tables, and its launch.
#pragma once

#include "backend/contract/blind_rotation.h"
#include "backend/cuda/dispatch/rotation/rotation_fft_launch.h"
#include "backend/cuda/runtime/stream.h"

namespace whorl::backend::cuda {

/// The GroupFfts of a quarter of M = 2^log_m frequencies. Forward, a warp takes a digit or two,
/// since all wait for the last one; back, where one quarter is transformed alone, two warps do.
template <int log_m>
struct SplitShapes {
  static constexpr bool exist = false;
};
template <>
struct SplitShapes<9> {
  static constexpr bool exist = true;
  using Forward = GroupFft<7, 3>;
  using Back = GroupFft<7, 2>;
};
template <>
struct SplitShapes<10> {
  static constexpr bool exist = true;
  using Forward = GroupFft<8, 3>;
  using Back = GroupFft<8, 2>;
};

/// Tables of the shapes of a key; none where there is no kernel.
struct SplitTables {
  DeviceArray<double2> forward, back;
};
SplitTables split_tables(const Stream& stream, std::uint32_t N);

/// False where there is no such kernel for the key or the GPU, where it is not asked for, and with
/// `automatic` for batches that other kernels serve faster. Each number of keys and kind has a
/// file.
template <int keys, FftWords words, class Word>
bool launch_rotate_fft_split(const Stream& stream, const FftKeyArrays& key,
                             const SplitTables& tables, BlindRotation spread,
                             const RotationBatch<Word>& batch);

}  // namespace whorl::backend::cuda
