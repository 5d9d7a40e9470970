// Which NTT blind-rotation kernel for which key, batch and GPU.
#pragma once

#include <cstdint>
#include <string>

#include "backend/contract/blind_rotation.h"
#include "backend/cuda/kernels/accumulator.cuh"
#include "backend/cuda/kernels/bundle_form.h"
#include "backend/cuda/kernels/group_ntt.cuh"
#include "backend/cuda/runtime/stream.h"
#include "whorl/error.h"

namespace whorl::backend::cuda {

/// Calls body.operator()<Shape, ClusterShape>() with the GroupNtt that serves N, and the one for a
/// ciphertext over several blocks, which takes more threads. As many values a thread as leave at
/// most two levels to the product, and at most 1,024 threads a ciphertext in one block.
template <class Word, class Body>
void with_ntt_shape(std::uint32_t N, const Body& body) {
  switch (N) {
    case 256:
      return body.template operator()<GroupNtt<Word, 8, 3>, GroupNtt<Word, 8, 2>>();
    case 512:
      return body.template operator()<GroupNtt<Word, 9, 4>, GroupNtt<Word, 9, 3>>();
    case 1024:
      return body.template operator()<GroupNtt<Word, 10, 4>, GroupNtt<Word, 10, 3>>();
    case 2048:
      return body.template operator()<GroupNtt<Word, 11, 3>, GroupNtt<Word, 11, 3>>();
    case 4096:
      return body.template operator()<GroupNtt<Word, 12, 4>, GroupNtt<Word, 12, 3>>();
    case 8192:
      return body.template operator()<GroupNtt<Word, 13, 4>, GroupNtt<Word, 13, 4>>();
    default:
      throw ParameterError("cuda: blind rotation has no kernel for N = " + std::to_string(N) +
                           "; N must be in 256 … 8192");
  }
}

/// A key as kernels read it. RotationKey is not known here: what includes this takes minutes to
/// compile.
template <class Word>
struct NttKeyArrays {
  std::uint32_t N = 0;
  Word Q = 0;
  unsigned keys = 1;
  unsigned group = 0;                         ///< coefficients a step of an unrolled key; 0: GINX
  BundleForm form = BundleForm::differences;  ///< of an unrolled key
  DeviceArray<Word> values, monomials;
  DeviceArray<Twiddle<Word>> roots, inverse_roots;
  DeviceArray<GadgetRange> ranges;
  std::uint32_t range_count = 0, slots = 0;
  Word montgomery = 0;
};

/// Rotates with `keys` keys a coefficient, 1 or 2. Each number and word has a file.
template <int keys, class Word>
void launch_rotate_ntt(const Stream& stream, const NttKeyArrays<Word>& key, BlindRotation spread,
                       const RotationBatch<Word>& batch);

/// Rotates with unrolled keys, of groups of bundle_sizes. Each form and word has a file.
template <BundleForm form, class Word>
void launch_rotate_ntt_unrolled(const Stream& stream, const NttKeyArrays<Word>& key,
                                const RotationBatch<Word>& batch);

}  // namespace whorl::backend::cuda
