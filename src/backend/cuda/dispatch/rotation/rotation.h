// Blind rotation on a GPU: meanings as in the contract.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backend/contract/rotation.h"
#include "backend/cuda/kernels/bundle_form.h"
#include "backend/cuda/runtime/stream.h"
#include "backend/parallel.h"

namespace whorl::backend::cuda {

/// What the keys of an unrolled rotation form; none for other kinds.
inline std::optional<BundleForm> bundle_form(RotationKind kind) {
  switch (kind) {
    case RotationKind::unrolled:
      return BundleForm::differences;
    case RotationKind::unrolled_all:
      return BundleForm::all;
    case RotationKind::block:
      return BundleForm::block;
    default:
      return std::nullopt;
  }
}

/// The key is complete on the device when this returns: other streams may use it. Rows are made by
/// `workers`.
template <class Word>
std::unique_ptr<RotationKey> prepare_rotation_key(const Stream& stream, const RotationShape& shape,
                                                  const RowSource<Word>& rows,
                                                  const Workers& workers);

/// lwe (count, n+1), luts (tables, N), index (count) of tables, out (count, 2, N); with `constant`,
/// which is below Q, samples (count, N+1): RotationOps::rotate_extract of coefficient 0.
template <class Word>
void blind_rotate(const Stream& stream, const RotationKey& key, BlindRotation spread,
                  std::size_t count, const std::uint32_t* lwe, const Word* luts,
                  const std::uint32_t* index, std::optional<Word> constant, Word* out);

}  // namespace whorl::backend::cuda
