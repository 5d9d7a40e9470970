// The keys of an unrolled step, and what is made of them: one bundle that is multiplied once.
#pragma once

namespace whorl::backend::cuda {

/// What the bundle of a group of m LWE coefficients is; a_S is the sum of the a_i of a set S of
/// them.
enum class BundleForm : int {
  differences,  ///< sum of (X^a_S - 1)·K_S over the sets that are not empty; is added to ACC
  all,          ///< sum of X^a_S·K_S over all sets; replaces ACC
  block         ///< sum of (X^a_i - 1)·K_i over the coefficients; is added to ACC
};

constexpr unsigned bundle_keys(BundleForm form, unsigned m) {
  return form == BundleForm::all ? 1u << m : form == BundleForm::differences ? (1u << m) - 1 : m;
}

/// Keys of a step as tensor cores take them (rotate_fft_tensor.cuh): a multiple of four. Those that
/// a bundle lacks are zeros.
constexpr unsigned tensor_keys(BundleForm form, unsigned m) {
  return (bundle_keys(form, m) + 3) / 4 * 4;
}
/// Digits of keys that tensor cores take: with two parts, four rows.
inline constexpr unsigned tensor_digits = 2;

/// Coefficients of a group that there are kernels for: those that form a bundle where they multiply
/// with it, and all, of which the others form bundles ahead of the loop.
struct BundleSizes {
  unsigned least_in_loop, most_in_loop, least, most;
};
constexpr BundleSizes bundle_sizes(BundleForm form) {
  return form == BundleForm::block ? BundleSizes{3, 4, 2, 8} : BundleSizes{2, 3, 1, 6};
}

}  // namespace whorl::backend::cuda
