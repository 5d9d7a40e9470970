// Which FFT blind-rotation kernel for which key, batch and GPU.
#pragma once

#include <cstdint>
#include <string>

#include "backend/contract/blind_rotation.h"
#include "backend/cuda/kernels/accumulator.cuh"
#include "backend/cuda/kernels/bundle_form.h"
#include "backend/cuda/kernels/bundle_progress.cuh"
#include "backend/cuda/kernels/fft_words.h"
#include "backend/cuda/kernels/group_fft.cuh"
#include "backend/cuda/runtime/error.h"
#include "backend/cuda/runtime/stream.h"
#include "backend/cuda/tuning/unrolled_rotation.h"
#include "whorl/error.h"

namespace whorl::backend::cuda {

/// Calls body.operator()<Shape, ClusterShape>() with the GroupFft that serves N, and the one for a
/// ciphertext over several blocks, which takes more threads. 16 values a thread while they are at
/// most 64 a polynomial: one exchange a transform.
template <class Body>
void with_fft_shape(std::uint32_t N, const Body& body) {
  switch (N) {
    case 256:
      return body.template operator()<GroupFft<7, 3>, GroupFft<7, 2>>();
    case 512:
      return body.template operator()<GroupFft<8, 4>, GroupFft<8, 3>>();
    case 1024:
      return body.template operator()<GroupFft<9, 4>, GroupFft<9, 3>>();
    case 2048:
      return body.template operator()<GroupFft<10, 4>, GroupFft<10, 3>>();
    case 4096:
      return body.template operator()<GroupFft<11, 3>, GroupFft<11, 3>>();
    case 8192:
      return body.template operator()<GroupFft<12, 4>, GroupFft<12, 4>>();
    default:
      throw ParameterError("cuda: blind rotation has no kernel for N = " + std::to_string(N) +
                           "; N must be in 256 … 8192");
  }
}

/// The GroupFft with which GINX' kernels run: at N = 2048 with one digit a step they are 6 % faster
/// with pairs apart, rotate_fft_unrolled's 1 to 8 % slower.
template <class Shape>
using GinxShape = GroupFft<Shape::log_m, Shape::log_e, Pairs::apart>;

/// The GroupFft of linked workers: each scheduler of a multiprocessor has a warp, or two where a
/// transform takes one exchange more for that at most.
template <int log_m>
struct LinkedShapeOf {
  using type = GroupFft<log_m, log_m <= 9 ? 2 : 3>;
};
template <>
struct LinkedShapeOf<12> {
  using type = GroupFft<12, 4>;
};
template <class Shape>
using LinkedShape = typename LinkedShapeOf<Shape::log_m>::type;

/// Whether batches take the bundles of narrow keys with two digits from tensor cores, where a block
/// fits the GPU: for groups that form bundles in the loop.
template <class Shape>
constexpr bool has_tensor_kernel(BundleForm form, unsigned group) {
  const BundleSizes sizes = bundle_sizes(form);
  return Shape::threads == 32 && Shape::F == 2 && form != BundleForm::differences &&
         group >= sizes.least_in_loop && group <= sizes.most_in_loop;
}

/// Whether there are kernels that make bundles by tensor cores: for rings and groups of sets.
template <class Shape>
inline constexpr bool has_matrix_bundles = Shape::log_m == 9 || Shape::log_m == 10;
inline constexpr unsigned least_matrix_group = 3, most_matrix_group = 5;

/// A key as kernels read it. RotationKey is not known here: what includes this takes minutes to
/// compile.
struct FftKeyArrays {
  std::uint32_t N = 0;
  std::uint64_t Q = 0;
  unsigned keys = 1;
  unsigned group = 0;                         ///< coefficients a step of an unrolled key; 0: GINX
  BundleForm form = BundleForm::differences;  ///< of an unrolled key
  DeviceArray<std::uint8_t> values;
  DeviceArray<double> inverse_scale;
  DeviceArray<double2> tables, cluster_tables, linked_tables, roots;
  DeviceArray<GadgetRange> ranges;
  std::uint32_t range_count = 0, slots = 0, most_digits = 1;
  bool large = false;
  bool tensor = false;  ///< batches take launch_rotate_fft_tensor; values are tensor_fft_place's
  DeviceArray<BundleStep> steps;  ///< of an unrolled key
  std::size_t bundle_size = 0;    ///< complex values of a ciphertext's bundles
};

/// Whether tensor cores make the bundles of so many ciphertexts. They round in another order, so
/// that a batch that is spread in a given way takes them always or never.
inline bool makes_matrix_bundles(const Stream& stream, const FftKeyArrays& key,
                                 BlindRotation spread, std::uint32_t count) {
  bool exists = false;
  with_fft_shape(key.N, [&]<class Shape, class ClusterShape>() {
    exists = has_matrix_bundles<Shape> && key.form != BundleForm::block && !key.tensor &&
             key.group >= least_matrix_group && key.group <= most_matrix_group &&
             stream.gpu().has_clusters();  // chips and code from compute capability 9.0 on
  });
  return exists && (spread == BlindRotation::shared || (spread == BlindRotation::automatic &&
                                                        count >= BundleTuning::least_of_matrices));
}

/// Asks for so many percent of a multiprocessor's first-level cache as shared memory.
template <class Kernel>
void prefer_shared(Kernel kernel, int percent) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, percent),
        "cudaFuncSetAttribute: shared memory of a multiprocessor");
}

/// Rotates with `keys` keys a coefficient, 1 or 2. Each number and kind has a file.
template <int keys, FftWords words, class Word>
void launch_rotate_fft(const Stream& stream, const FftKeyArrays& key, BlindRotation spread,
                       const RotationBatch<Word>& batch);

/// Makes the bundles of all steps for `count` ciphertexts, (count, bundle_size), and tells
/// `progress`. Each form has a file for narrow keys, and one for wide ones.
template <BundleForm form, FftWords words>
void launch_make_fft_bundles(const Stream& stream, const FftKeyArrays& key,
                             const std::uint32_t* lwe, std::uint32_t n, std::uint32_t count,
                             double2* bundles, const BundleProgress& progress);
/// The same by tensor cores, of which `progress` counts other items (matrix_bundle_frequencies),
/// for all forms but `block` and where makes_matrix_bundles says so.
template <BundleForm form, FftWords words>
void launch_make_matrix_bundles(const Stream& stream, const FftKeyArrays& key,
                                const std::uint32_t* lwe, std::uint32_t n, std::uint32_t count,
                                double2* bundles, const BundleProgress& progress);
/// Whether the loop with bundles ahead of it fits the GPU's shared memory. Each kind has a file.
template <FftWords words>
bool linked_fits(const Stream& stream, const FftKeyArrays& key);
/// Returns how many ciphertexts launch_rotate_fft_linked takes at a time.
template <FftWords words>
std::uint32_t linked_at_once(const Stream& stream, const FftKeyArrays& key);
/// Rotates with bundles made ahead of the loop or beside it, for any group that there are keys of,
/// where linked_fits says so.
template <FftWords words, class Word>
void launch_rotate_fft_linked(const Stream& stream, const FftKeyArrays& key, BlindRotation spread,
                              const RotationBatch<Word>& batch);
/// Rotates with bundles formed in the loop, for groups from least_in_loop to most_in_loop of
/// BundleSizes. Each form and kind has a file.
template <BundleForm form, FftWords words, class Word>
void launch_rotate_fft_unrolled(const Stream& stream, const FftKeyArrays& key,
                                const RotationBatch<Word>& batch);
/// Whether launch_rotate_fft_tensor takes narrow keys with two digits on this GPU.
bool tensor_fits(const Stream& stream, std::uint32_t N, BundleForm form, unsigned group);
/// Rotates with bundles from tensor cores, for keys whose values lie as tensor_fft_place says.
void launch_rotate_fft_tensor(const Stream& stream, const FftKeyArrays& key,
                              const RotationBatch<std::uint32_t>& batch);
/// Returns how many ciphertexts launch_rotate_fft_tensor takes at a time.
std::uint32_t tensor_at_once(const Stream& stream);
/// Returns how many ciphertexts launch_rotate_fft_unrolled takes at a time.
template <BundleForm form, FftWords words>
std::uint32_t unrolled_at_once(const Stream& stream, const FftKeyArrays& key);

}  // namespace whorl::backend::cuda
