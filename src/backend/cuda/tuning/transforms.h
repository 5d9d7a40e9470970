// Which split, threads and kernels a transform takes, for each size; measured by `make tune-gpu`.
#pragma once

#include "backend/cuda/kernels/split.cuh"

namespace whorl::backend::cuda {

/// The kernels of one size, in the order of the forward transform.
struct TransformShape {
  int kernels = 1;
  KernelShape kernel[2];
};

/// Passes within one block, or a block of a cluster. `padding` is checked by tests to be free of
/// bank conflicts.
constexpr TransformShape one_kernel(Split split, int units, int log_cluster, int resident,
                                    Padding padding, int unit_gap = 0) {
  const int log_threads = split.log_n - split.log_e - log_cluster;
  return {
      1,
      {{split, 0, split.passes, log_threads, units, log_cluster, padding, unit_gap, resident}, {}}};
}
/// Pass 0 on its own, by blocks of 2^log_threads; then the others, each node in a block.
constexpr TransformShape two_kernels(Split split, int log_threads, int resident, int resident_rest,
                                     Padding padding) {
  const int log_rest = split.log_n - split.levels[0] - split.log_e;
  return {2,
          {{split, 0, 1, log_threads, 1, 0, {}, 0, resident},
           {split, 1, split.passes, log_rest, 1, 0, padding, 0, resident_rest}}};
}

/// 16 bytes after each 128: for 32-bit words, 64-bit words and complex doubles.
constexpr Padding rows32(int log_row2 = 31, int gap2 = 0) { return {5, 4, log_row2, gap2}; }
constexpr Padding rows64(int log_row2 = 31, int gap2 = 0) { return {4, 2, log_row2, gap2}; }

/// Whether the architecture has thread-block clusters, which is so from sm_90 on.
enum class Clusters { none, present };

// clang-format off: tables, a line a size.

/// The shape of an NTT with words of 4 or 8 bytes.
template <int word_bytes, Clusters clusters>
constexpr TransformShape ntt_shape(int log_n) {
  if constexpr (word_bytes == 4) {
    switch (log_n) {
      // split: log N, log values a thread, passes, levels     units, cluster, resident, padding
      case 8:
        return one_kernel({8, 4, 2, {4, 4}}, 8, 0, 8, rows32(), 16);
      case 9:
        return one_kernel({9, 5, 2, {4, 5}}, 8, 0, 6, rows32());
      case 10:
        return one_kernel({10, 5, 2, {5, 5}}, 4, 0, 6, rows32());
      case 11:
        return one_kernel({11, 5, 3, {3, 3, 5}}, 1, 0, 12, rows32());
      case 12:
        return one_kernel({12, 5, 3, {4, 3, 5}}, 1, 0, 6, rows32());
      case 13:
        return one_kernel({13, 5, 3, {4, 4, 5}}, 1, 0, 3, rows32());
      case 14:
        return one_kernel({14, 5, 3, {5, 4, 5}}, 1, 0, 2, rows32());
    }
    if constexpr (clusters == Clusters::present) switch (log_n) {
        case 15:
          return one_kernel({15, 5, 3, {5, 5, 5}}, 1, 2, 4, rows32());
        case 16:
          return one_kernel({16, 6, 3, {5, 5, 6}}, 1, 3, 4, {6, 4, 31, 0});
        case 17:
          return one_kernel({17, 5, 4, {5, 4, 4, 4}}, 1, 3, 2, rows32(8, 16));
      }
    switch (log_n) {
      // split                                          log threads, resident: first, rest, padding
      case 15:
        return two_kernels({15, 4, 4, {4, 4, 3, 4}}, 8, 5, 8, rows32());
      case 16:
        return two_kernels({16, 4, 4, {4, 4, 4, 4}}, 8, 5, 5, rows32(8, 16));
      default:
        return two_kernels({17, 5, 4, {5, 4, 3, 5}}, 8, 4, 6, rows32());
    }
  } else {
    switch (log_n) {
      case 8:
        return one_kernel({8, 4, 2, {4, 4}}, 8, 0, 5, rows64());
      case 9:
        return one_kernel({9, 4, 3, {3, 3, 3}}, 4, 0, 5, rows64());
      case 10:
        return one_kernel({10, 4, 3, {3, 3, 4}}, 1, 0, 12, rows64());
      case 11:
        return one_kernel({11, 4, 3, {4, 3, 4}}, 1, 0, 6, rows64());
      case 12:
        return one_kernel({12, 4, 3, {4, 4, 4}}, 1, 0, 3, rows64());
      case 13:
        return one_kernel({13, 4, 4, {3, 3, 3, 4}}, 1, 0, 1, rows64());
    }
    if constexpr (clusters == Clusters::present) switch (log_n) {
        case 14:
          return one_kernel({14, 4, 4, {4, 3, 3, 4}}, 1, 1, 1, rows64());
        case 15:
          return one_kernel({15, 4, 4, {4, 4, 3, 4}}, 1, 2, 1, rows64());
        case 16:
          return one_kernel({16, 4, 4, {4, 4, 4, 4}}, 1, 3, 1, rows64());
      }
    switch (log_n) {
      case 14:
        return two_kernels({14, 4, 4, {4, 3, 3, 4}}, 8, 2, 8, rows64());
      case 15:
        return two_kernels({15, 4, 4, {4, 4, 3, 4}}, 8, 2, 4, rows64());
      case 16:
        return two_kernels({16, 4, 4, {4, 4, 4, 4}}, 8, 2, 2, rows64());
      default:
        return two_kernels({17, 4, 5, {4, 3, 3, 3, 4}, 16}, 8, 2, 1, rows64());
    }
  }
}

/// While there are fewer transforms than multiprocessors, one goes over 2^k blocks where that is
/// faster: k, or 0. With the split of ntt_shape, whose tables it reads.
template <int word_bytes>
constexpr int few_ntt_cluster(int log_n) {
  if constexpr (word_bytes == 4) switch (log_n) {
      case 13:
        return 2;
      case 14:
      case 15:
        return 3;
    }
  return 0;
}

/// Points of the folded FFT: 2^log_m = N/2.
template <Clusters clusters>
constexpr TransformShape fft_shape(int log_m) {
  constexpr Padding octets{3, 1, 31, 0}, sixteens{4, 1, 31, 0};
  switch (log_m) {
    case 7:
      return one_kernel({7, 4, 2, {3, 4}}, 8, 0, 4, sixteens);
    case 8:
      return one_kernel({8, 4, 2, {4, 4}}, 8, 0, 4, sixteens);
    case 9:
      return one_kernel({9, 3, 3, {3, 3, 3}}, 1, 0, 10, octets);
    case 10:
      return one_kernel({10, 4, 3, {3, 3, 4}}, 1, 0, 8, sixteens);
    case 11:
      return one_kernel({11, 4, 3, {4, 3, 4}}, 1, 0, 4, sixteens);
    case 12:
      return one_kernel({12, 4, 3, {4, 4, 4}}, 1, 0, 2, sixteens);
  }
  if constexpr (clusters == Clusters::present) switch (log_m) {
      case 13:
        return one_kernel({13, 4, 4, {4, 3, 3, 3}}, 1, 1, 1, octets);
      case 14:
        return one_kernel({14, 4, 4, {4, 4, 3, 3}}, 1, 2, 1, octets);
      case 15:
        return one_kernel({15, 4, 4, {4, 4, 4, 3}}, 1, 3, 1, octets);
    }
  switch (log_m) {
    case 13:
      return two_kernels({13, 4, 4, {4, 3, 3, 3}}, 7, 4, 16, octets);
    case 14:
      return two_kernels({14, 4, 4, {4, 3, 3, 4}}, 7, 4, 8, sixteens);
    case 15:
      return two_kernels({15, 4, 4, {4, 4, 3, 4}}, 7, 4, 4, sixteens);
    default:
      return two_kernels({16, 4, 4, {4, 4, 4, 4}}, 7, 4, 2, sixteens);
  }
}

// clang-format on

/// Shapes as types, by which kernels are named. `clusters` counts only where it makes a difference.
template <int word_bytes, int log_n, Clusters clusters>
struct NttTuning {
  static constexpr bool by_cluster =
      ntt_shape<word_bytes, Clusters::present>(log_n).kernel[0].log_cluster > 0;
  static constexpr Clusters used = by_cluster ? clusters : Clusters::none;
  static constexpr TransformShape shape = ntt_shape<word_bytes, used>(log_n);
  using Canonical = NttTuning<word_bytes, log_n, used>;
};
template <int word_bytes, int log_n>
struct FewNttTuning {
  static constexpr KernelShape many = ntt_shape<word_bytes, Clusters::present>(log_n).kernel[0];
  static constexpr TransformShape shape =
      one_kernel(many.split, 1, few_ntt_cluster<word_bytes>(log_n), 4, many.padding);
  using Canonical = FewNttTuning;
};
template <int log_m, Clusters clusters>
struct FftTuning {
  static constexpr bool by_cluster = fft_shape<Clusters::present>(log_m).kernel[0].log_cluster > 0;
  static constexpr Clusters used = by_cluster ? clusters : Clusters::none;
  static constexpr TransformShape shape = fft_shape<used>(log_m);
  using Canonical = FftTuning<log_m, used>;
};
/// Kernel `index` of a tuning.
template <class Tuning, int index>
struct TunedKernel {
  static constexpr KernelShape shape = Tuning::Canonical::shape.kernel[index];
};

}  // namespace whorl::backend::cuda
