// Which FFT kernel for rotations in each ciphertext's own order of steps.
#pragma once

#include "backend/cuda/dispatch/rotation/rotation_fft_launch.h"
#include "backend/cuda/dispatch/rotation/walks.h"

namespace whorl::backend::cuda {

/// Rotates by AP or by automorphisms. Each kind of keys and of steps has a file.
template <FftWords words, WalkSteps steps, class Word>
void launch_rotate_fft_walk(const Stream& stream, const FftKeyArrays& key, const WalkTables& walks,
                            const RotationBatch<Word>& batch);

}  // namespace whorl::backend::cuda
