// Which NTT kernel for rotations in each ciphertext's own order of steps, and with a raised
// modulus.
#pragma once

#include <cstdint>

#include "backend/cuda/dispatch/rotation/rotation_ntt_launch.h"
#include "backend/cuda/dispatch/rotation/walks.h"
#include "backend/cuda/runtime/stream.h"

namespace whorl::backend::cuda {

/// A limb's tables on the device.
template <class Word>
struct NttLimbArrays {
  Word q = 0, montgomery = 0, one_shoup = 0;
  DeviceArray<Twiddle<Word>> roots, inverse_roots;
  DeviceArray<Word> monomials;  ///< of GINX
};

/// A key as kernels read it; see NttWalkKeyView.
template <class Word>
struct NttWalkArrays {
  std::uint32_t N = 0;
  std::uint32_t slots = 0;  ///< most digits
  unsigned keys = 1;        ///< of GINX: a coefficient
  DeviceArray<Word> values;
  NttLimbArrays<Word> limbs[2];
  bool raised = false;
  Word covered = 0, inverse_P = 0, inverse_P_shoup = 0;
  DeviceArray<GadgetRange> ranges;
  WalkTables walks;  ///< not of GINX
};

/// Rotates by AP or by automorphisms, over one limb, or two with a raised modulus. Each has a file.
template <int limbs, WalkSteps walk, class Word>
void launch_rotate_ntt_walk(const Stream& stream, const NttWalkArrays<Word>& key,
                            const RotationBatch<Word>& batch);

/// Rotates by GINX with a raised modulus, with 1 or 2 keys a coefficient. Each word has a file.
template <class Word>
void launch_rotate_ntt_raised(const Stream& stream, const NttWalkArrays<Word>& key,
                              const RotationBatch<Word>& batch);

}  // namespace whorl::backend::cuda
