// RNS kernels of the CPU device, one stretch of coefficients at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/contract/rns_operands.h"
#include "ring/base_conversion.h"
#include "ring/host/ntt_tables.h"

namespace whorl::backend::cpu {

using ring::NttTables;

/// Coefficients of a stretch: the rows of a digit stay in the first-level cache.
inline constexpr std::size_t rns_stretch = 1024;

/// Results of so many bytes are not in a cache any more when the next operation reads them.
inline constexpr std::size_t bytes_past_caches = std::size_t{1} << 24;

/// One target modulus of a base conversion, and the place of its results.
template <class Word>
struct ConversionTarget {
  const math::Montgomery<Word>* modulus;
  const Word* factors;  ///< its row of BaseConversion::factors
  Word* out;            ///< residues
};

/// X -> X^g on values in evaluation form: W aligned values, W being the words of a vector, come
/// from W aligned values, reordered in one of W ways. (Value j is at psi^(2·brv(j) + 1): the low
/// bits of j are the exponent's high ones, which multiplication by g leaves among themselves, but
/// for a carry.)
template <class Word>
class EvaluationPermutation {
 public:
  EvaluationPermutation(std::uint32_t N, std::uint32_t g);
  struct Move {
    std::uint32_t from;   ///< the first of the W values that come
    std::uint32_t order;  ///< where in orders() it is said which goes where
  };
  const std::vector<Move>& moves() const { return moves_; }  ///< of N/W times W values
  const std::vector<Word>& orders() const { return orders_; }

 private:
  std::vector<Move> moves_;
  std::vector<Word> orders_;
};

/// Sums over k of x[k]·keys[i][k], for i < 2; keys in Montgomery form.
template <class Word>
struct KeyProducts {
  std::span<const Word* const> x;  ///< N values each
  const Word* const* keys[2];
  Word* out[2];
  bool past_caches = false;  ///< as in two_by_two
  bool unreduced = false;    ///< x has results of transform_block
};

/// What becomes of the results y of a forward transform, a row of N: (scale·x - y)·factor mod q,
/// and `added` too, if it is not null; that may be `out`. Factors have Shoup companions.
template <class Word>
struct DivisionEnd {
  const Word *x, *added;  ///< x: zeros, if it is null
  bool scales;
  Word scale, scale_shoup;  ///< if it scales
  Word factor, factor_shoup;
  Word* out;
};

/// A sum adds up such terms: N values, permuted if there is a permutation, times N others, or times
/// a weight in Montgomery form. Of the others 2^log_repeats neighbours are one word, if it is not
/// 0.
template <class Word>
struct Summand {
  const Word* x;
  const EvaluationPermutation<Word>* permutation;
  const Word* m;
  Word weight;
  unsigned log_repeats = 0;
};

/// A matrix times some rows of x: out[j] = sum_k weights[j·inputs + k]·x[k] + constants[j], each
/// x[k] and out[j] being so many words behind the one before it.
template <class Word>
struct MatrixOnRows {
  const Word* x;
  std::size_t inputs, x_stride;
  const Word *weights, *constants;  ///< reduced; constants: null if there are none
  std::size_t outputs, out_stride;
  Word* out;
  Word* scratch;  ///< inputs times as many words as a call makes
};

/// Rows of CheckedMasks.
template <class Word>
struct MaskedRows {
  std::span<const Word*const> high, low;
  std::span<const std::uint16_t> masks;
  std::span<Word* const> out;
  std::size_t at, part;  ///< of the words that are made, and of one part to the next: words
};

/// The kernels for one size of words. `count` is a multiple of 64 throughout.
template <class Word>
struct RnsKernels {
  /// The first step of a base conversion: y_l modulo from()[l], of residues x_l.
  void (*conversion_digits)(const ring::BaseConversion<Word>& conversion, std::size_t l,
                            const Word* in, std::size_t count, Word* y);
  /// The second: u, from all rows y_l.
  void (*conversion_quotients)(const ring::BaseConversion<Word>& conversion, const Word* const* y,
                               std::size_t count, Word* u);
  /// The third step, for several targets at once, so that each word is read once for all of them.
  /// `rows` are the rows of y, and then u.
  void (*conversion_sums)(const ring::BaseConversion<Word>& conversion,
                          std::span<const ConversionTarget<Word>> targets, const Word* const* rows,
                          std::size_t count);
  /// Block `block` of a forward transform after ntt_above_blocks. The first leaves results that are
  /// not reduced: they are below 4q where that is a word.
  void (*transform_block)(const NttTables<Word>& tables, std::size_t block, Word* data,
                          const ring::Ahead& ahead);
  void (*divide_block)(const NttTables<Word>& tables, std::size_t block, Word* data,
                       const DivisionEnd<Word>& end, const ring::Ahead& ahead);
  /// Digit j of residues.
  void (*decompose)(const DigitFields<Word>& rule, unsigned j, const Word* in, Word* out,
                    std::size_t count);
  /// out = sum_k a[k]·b[k] mod q.
  void (*sum_of_products)(const math::Montgomery<Word>& q, std::span<const Word* const> a,
                          std::span<const Word* const> b, Word* out, std::size_t count);
  /// The products of (a[0], a[1]) and (b[0], b[1]) as polynomials of degree 1. `past_caches`:
  /// results go to memory, without being read first; they must be aligned for every SIMD width.
  void (*two_by_two)(const math::Montgomery<Word>& q, const Word* const* a, const Word* const* b,
                     Word* const* out, std::size_t count, bool past_caches);
  /// Results at … at + count - 1 of N.
  void (*permute)(const EvaluationPermutation<Word>& permutation, const Word* in, Word* out,
                  std::size_t at, std::size_t count);
  /// The sums, mod q, at coefficients at … at + count - 1, the x[k] being permuted first if there
  /// is a permutation.
  void (*key_products)(const math::Montgomery<Word>& q, const KeyProducts<Word>& sums,
                       const EvaluationPermutation<Word>* permutation, std::size_t at,
                       std::size_t count);
  /// out = sum_k x[k]·m[k] mod q at coefficients at … at + count - 1, added to what `out` has there
  /// if `onto`; of no terms too.
  void (*sum_products)(const math::Montgomery<Word>& q, std::span<const Summand<Word>> terms,
                       bool onto, Word* out, std::size_t at, std::size_t count);
  /// The same of x[k]·weight[k], and of a constant.
  void (*sum_scaled)(const math::Montgomery<Word>& q, std::span<const Summand<Word>> terms,
                     Word constant, bool onto, Word* out, std::size_t at, std::size_t count);
  /// The first `count` words of each output of a matrix.
  void (*multiply_matrix)(const math::Montgomery<Word>& q, const MatrixOnRows<Word>& product,
                          std::size_t count);
  /// `count` words of each part of the outputs.
  void (*masked_tensors)(const math::Montgomery<Word>& q, const MaskedRows<Word>& of,
                         std::size_t count);
};

/// The kernels for this processor.
template <class Word>
const RnsKernels<Word>& rns_kernels();

}  // namespace whorl::backend::cpu
