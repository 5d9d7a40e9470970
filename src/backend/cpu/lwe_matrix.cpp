// Matrices of integers times LWE ciphertexts, exact modulo q: a panel of columns at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/lwe_matrix.cpp"
#include "hwy/foreach_target.h"

#include "backend/cpu/lwe_matrix.h"
#include "hwy/aligned_allocator.h"
#include "hwy/highway.h"

#ifndef WHORL_BACKEND_CPU_LWE_MATRIX_ONCE
#define WHORL_BACKEND_CPU_LWE_MATRIX_ONCE
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "whorl/error.h"

namespace whorl::backend::cpu {

/// Rows of the matrix whose sums stay in registers together.
inline constexpr std::size_t block_rows = 4;
/// Bytes of a row of a panel: some vectors of any target.
inline constexpr std::size_t panel_bytes = 256;
template <class Word>
inline constexpr std::size_t panel_words = panel_bytes / sizeof(Word);

/// Low bits of a 64-bit word that are multiplied on their own.
inline constexpr int limb_bits = 31;

/// How sums of a panel come about: 32-bit words that wrap around; 32-bit words below 2^31 in 64
/// bits; 64-bit words in two limbs.
enum class Sums { wrapping, single, limbs };

}  // namespace whorl::backend::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace whorl::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The low halves of 64-bit lanes, below 2^31, times a weight.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V multiply_halves(D d, V x, std::int32_t weight) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(d, static_cast<std::int32_t>(hn::GetLane(x)) * std::int64_t{weight});
#else
  const hn::Repartition<std::int32_t, D> d32;
  return hn::MulEven(hn::BitCast(d32, x), hn::Set(d32, weight));
#endif
}

/// Sums of a vector of columns: out[r] = sum_k weights[k·block_rows + r]·column(k), of which the
/// low halves count.
template <class D, class Column>
HWY_INLINE void sum_columns(D d, std::size_t inputs, const std::int32_t* weights,
                            const Column& column, std::int64_t* HWY_RESTRICT out,
                            std::size_t stride) {
  auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  for (std::size_t k = 0; k < inputs; ++k, weights += block_rows) {
    const auto x = column(k);
    s0 = hn::Add(s0, multiply_halves(d, x, weights[0]));
    s1 = hn::Add(s1, multiply_halves(d, x, weights[1]));
    s2 = hn::Add(s2, multiply_halves(d, x, weights[2]));
    s3 = hn::Add(s3, multiply_halves(d, x, weights[3]));
  }
  hn::StoreU(s0, d, out);
  hn::StoreU(s1, d, out + stride);
  hn::StoreU(s2, d, out + 2 * stride);
  hn::StoreU(s3, d, out + 3 * stride);
}

/// Modulo 2^32. panel (inputs, panel_words), out (block_rows, panel_words).
void multiply_wrapping(const std::int32_t* weights, std::size_t inputs, const std::uint32_t* panel,
                       std::uint32_t* out) {
  constexpr std::size_t words = panel_words<std::uint32_t>;
  const hn::ScalableTag<std::uint32_t> d;
  for (std::size_t j = 0; j < words; j += hn::Lanes(d)) {
    auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
    const std::int32_t* w = weights;
    for (std::size_t k = 0; k < inputs; ++k, w += block_rows) {
      const auto x = hn::LoadU(d, panel + k * words + j);
      s0 = hn::Add(s0, hn::Mul(x, hn::Set(d, static_cast<std::uint32_t>(w[0]))));
      s1 = hn::Add(s1, hn::Mul(x, hn::Set(d, static_cast<std::uint32_t>(w[1]))));
      s2 = hn::Add(s2, hn::Mul(x, hn::Set(d, static_cast<std::uint32_t>(w[2]))));
      s3 = hn::Add(s3, hn::Mul(x, hn::Set(d, static_cast<std::uint32_t>(w[3]))));
    }
    hn::StoreU(s0, d, out + j);
    hn::StoreU(s1, d, out + words + j);
    hn::StoreU(s2, d, out + 2 * words + j);
    hn::StoreU(s3, d, out + 3 * words + j);
  }
}

/// Words below 2^31: out (block_rows, 2, panel_words/2), even columns and odd ones.
void multiply_single(const std::int32_t* weights, std::size_t inputs, const std::uint32_t* panel,
                     std::int64_t* out) {
  constexpr std::size_t words = panel_words<std::uint32_t>;
  const hn::ScalableTag<std::int64_t> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t j = 0; j < words / 2; j += lanes) {
    const auto pair = [&](std::size_t k) {
      return hn::LoadU(du, reinterpret_cast<const std::uint64_t*>(panel + k * words) + j);
    };
    sum_columns(
        d, inputs, weights, [&](std::size_t k) { return hn::BitCast(d, pair(k)); }, out + j, words);
    sum_columns(
        d, inputs, weights,
        [&](std::size_t k) { return hn::BitCast(d, hn::ShiftRight<32>(pair(k))); },
        out + words / 2 + j, words);
  }
}

/// Words below 2^61: out (block_rows, 2, panel_words), sums of low limbs and of high ones.
void multiply_limbs(const std::int32_t* weights, std::size_t inputs, const std::uint64_t* panel,
                    std::int64_t* out) {
  constexpr std::size_t words = panel_words<std::uint64_t>;
  const hn::ScalableTag<std::int64_t> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto low = hn::Set(du, (std::uint64_t{1} << limb_bits) - 1);
  for (std::size_t j = 0; j < words; j += hn::Lanes(d)) {
    const auto word = [&](std::size_t k) { return hn::LoadU(du, panel + k * words + j); };
    sum_columns(
        d, inputs, weights, [&](std::size_t k) { return hn::BitCast(d, hn::And(word(k), low)); },
        out + j, 2 * words);
    sum_columns(
        d, inputs, weights,
        [&](std::size_t k) { return hn::BitCast(d, hn::ShiftRight<limb_bits>(word(k))); },
        out + words + j, 2 * words);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace whorl::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace whorl::backend::cpu {

HWY_EXPORT(multiply_wrapping);
HWY_EXPORT(multiply_single);
HWY_EXPORT(multiply_limbs);

namespace {

constexpr std::int64_t largest_weight = (std::int64_t{1} << 31) - 1;

/// x as it is, if it has at most 31 bits, or the residue next to 0.
std::int64_t smallest(std::int64_t x, std::uint64_t q) {
  if (x >= -largest_weight && x <= largest_weight) return x;
  const auto modulus = static_cast<std::int64_t>(q);
  const std::int64_t residue = (x % modulus + modulus) % modulus;
  return residue > modulus / 2 ? residue - modulus : residue;
}

}  // namespace

template <class Word>
class Matrix<Word>::Panels {
 public:
  Panels(std::uint64_t q, std::span<const std::int64_t> entries, std::size_t results)
      : q_(q), results_(results), inputs_(entries.size() / results) {
    const bool wraps = sizeof(Word) == 4 && std::has_single_bit(q);
    sums_ = wraps ? Sums::wrapping : sizeof(Word) == 4 ? Sums::single : Sums::limbs;
    weights_.resize((results + block_rows - 1) / block_rows * block_rows * inputs_);
    std::uint64_t most = 1;
    for (std::size_t r = 0; r < results; ++r)
      for (std::size_t k = 0; k < inputs_; ++k) {
        const std::int64_t w =
            wraps ? entries[r * inputs_ + k] : smallest(entries[r * inputs_ + k], q_.value());
        weights_[(r / block_rows * inputs_ + k) * block_rows + r % block_rows] =
            static_cast<std::int32_t>(w);
        if (!wraps) most = std::max(most, static_cast<std::uint64_t>(std::abs(w)));
      }
    // Sums of so many terms stay below 2^62 in absolute value.
    const std::uint64_t largest = sizeof(Word) == 4 ? q - 1 : (std::uint64_t{1} << limb_bits) - 1;
    terms_ = std::clamp<std::uint64_t>(((std::uint64_t{1} << 62) - 1) / most / largest, 1, inputs_);
    above_ = ((std::uint64_t{1} << 62) / q + 1) * q;
    shifted_ = (std::uint64_t{1} << limb_bits) % q;
  }

  /// Whether all weights fit, and words too.
  static bool serve(std::uint64_t q, std::span<const std::int64_t> entries) {
    if (sizeof(Word) == 4 && std::has_single_bit(q)) return true;
    if (q >= (sizeof(Word) == 4 ? std::uint64_t{1} << 31 : LweOps::modulus_bound)) return false;
    return std::all_of(entries.begin(), entries.end(), [&](std::int64_t x) {
      const std::int64_t w = smallest(x, q);
      return w >= -largest_weight && w <= largest_weight;
    });
  }

  /// Columns first … first + columns - 1, at most panel_words, of `size`.
  void multiply(const Word* in, std::size_t size, std::size_t first, std::size_t columns,
                Word* out) const {
    constexpr std::size_t words = panel_words<Word>;
    auto panel = hwy::AllocateAligned<Word>(inputs_ * words);
    if (!panel) throw OutOfMemoryError("a matrix times ciphertexts: no memory for a panel");
    for (std::size_t k = 0; k < inputs_; ++k) {
      std::copy_n(in + k * size + first, columns, panel.get() + k * words);
      std::fill_n(panel.get() + k * words + columns, words - columns, Word{0});
    }
    Word made[block_rows * words];
    for (std::size_t r = 0; r < results_; r += block_rows) {
      block(weights_.data() + r * inputs_, panel.get(), made);
      for (std::size_t i = 0; i < std::min(block_rows, results_ - r); ++i)
        std::copy_n(made + i * words, columns, out + (r + i) * size + first);
    }
  }

 private:
  /// made (block_rows, panel_words)
  void block(const std::int32_t* weights, const Word* panel, Word* made) const {
    constexpr std::size_t words = panel_words<Word>;
    if constexpr (sizeof(Word) == 4) {
      if (sums_ == Sums::wrapping) {
        HWY_DYNAMIC_DISPATCH(multiply_wrapping)(weights, inputs_, panel, made);
        const auto mask = static_cast<Word>(q_.value() - 1);
        for (std::size_t j = 0; j < block_rows * words; ++j) made[j] &= mask;
        return;
      }
    }
    std::fill_n(made, block_rows * words, Word{0});
    alignas(64) std::int64_t sums[2 * block_rows * words];
    for (std::size_t k = 0; k < inputs_; k += terms_) {
      const std::size_t some = std::min(terms_, inputs_ - k);
      const std::int32_t* const w = weights + k * block_rows;
      if constexpr (sizeof(Word) == 4)
        HWY_DYNAMIC_DISPATCH(multiply_single)(w, some, panel + k * words, sums);
      else
        HWY_DYNAMIC_DISPATCH(multiply_limbs)(w, some, panel + k * words, sums);
      for (std::size_t i = 0; i < block_rows; ++i)
        for (std::size_t j = 0; j < words; ++j) add(sums, i, j, made[i * words + j]);
    }
  }
  std::uint64_t residue(std::int64_t sum) const {
    return q_.reduce(static_cast<std::uint64_t>(sum) + above_);
  }
  void add(const std::int64_t* sums, std::size_t i, std::size_t j, Word& to) const {
    constexpr std::size_t words = panel_words<Word>;
    if constexpr (sizeof(Word) == 4) {
      const std::int64_t sum = sums[i * words + j % 2 * (words / 2) + j / 2];
      to = static_cast<Word>(q_.add(to, residue(sum)));
    } else {
      const std::int64_t* const at = sums + 2 * i * words + j;
      to = q_.add(to, q_.add(residue(at[0]), q_.mul(residue(at[words]), shifted_)));
    }
  }

  math::Modulus<std::uint64_t> q_;
  std::size_t results_, inputs_;
  Sums sums_;
  std::vector<std::int32_t> weights_;  ///< (blocks, inputs, block_rows)
  std::size_t terms_ = 1;
  std::uint64_t above_ = 0, shifted_ = 0;
};

template <class Word>
Matrix<Word>::Matrix(std::uint64_t q, std::span<const std::int64_t> entries, std::size_t results) {
  if (Panels::serve(q, entries)) panels_ = std::make_unique<const Panels>(q, entries, results);
}
template <class Word>
Matrix<Word>::~Matrix() = default;

template <class Word>
void Matrix<Word>::multiply(const Word* in, std::size_t size, std::size_t panel, Word* out) const {
  const std::size_t first = panel * panel_words<Word>;
  panels_->multiply(in, size, first, std::min(panel_words<Word>, size - first), out);
}
template <class Word>
std::size_t Matrix<Word>::panels(std::size_t size) {
  return (size + panel_words<Word> - 1) / panel_words<Word>;
}

template class Matrix<std::uint32_t>;
template class Matrix<std::uint64_t>;

}  // namespace whorl::backend::cpu
#endif  // HWY_ONCE
