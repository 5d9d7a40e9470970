// Sums of few rows of LWE ciphertexts each, on the CPU: some columns at a time, exact in 64 bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/lwe_sums.cpp"
#include "hwy/foreach_target.h"

#include "backend/cpu/lwe_sums.h"
#include "hwy/highway.h"

#ifndef WHORL_BACKEND_CPU_LWE_SUMS_ONCE
#define WHORL_BACKEND_CPU_LWE_SUMS_ONCE
#include <algorithm>
#include <cstdlib>
#include <utility>

namespace whorl::backend::cpu {

/// Columns that are summed together: some vectors of any target.
inline constexpr std::size_t sum_columns_at_once = 128;

}  // namespace whorl::backend::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace whorl::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// sums[j] += weight·x[j] modulo 2^64.
template <class Word>
HWY_INLINE void add_products(std::int64_t weight, const Word* HWY_RESTRICT x, std::size_t columns,
                             std::uint64_t* HWY_RESTRICT sums) {
  const hn::ScalableTag<std::uint64_t> d;
  const hn::Rebind<Word, decltype(d)> narrow;
  const auto w = static_cast<std::uint64_t>(weight);
  const auto factor = hn::Set(d, w);
  std::size_t j = 0;
  for (; j + hn::Lanes(d) <= columns; j += hn::Lanes(d)) {
    const auto word = [&] {
      if constexpr (sizeof(Word) == 4)
        return hn::PromoteTo(d, hn::LoadU(narrow, x + j));
      else
        return hn::LoadU(d, x + j);
    }();
    const auto product = weight == 1 ? word : hn::Mul(word, factor);
    hn::StoreU(hn::Add(hn::LoadU(d, sums + j), product), d, sums + j);
  }
  for (; j < columns; ++j) sums[j] += w * x[j];
}
void add_narrow(std::int64_t weight, const std::uint32_t* x, std::size_t columns,
                std::uint64_t* sums) {
  add_products(weight, x, columns, sums);
}
void add_wide(std::int64_t weight, const std::uint64_t* x, std::size_t columns,
              std::uint64_t* sums) {
  add_products(weight, x, columns, sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace whorl::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace whorl::backend::cpu {

HWY_EXPORT(add_narrow);
HWY_EXPORT(add_wide);

RowSums::RowSums(LweSumsShape shape)
    : LweSums(std::move(shape)),
      q_(this->shape().q),
      above_(((std::uint64_t{1} << 62) / this->shape().q + 1) * this->shape().q) {
  const LweSumsShape& of = this->shape();
  const auto q = static_cast<std::int64_t>(of.q);
  for (const LweTerm& term : of.terms) {
    const std::int64_t residue = (term.weight % q + q) % q;
    weights_.push_back(residue > q / 2 ? residue - q : residue);
  }
  for (std::size_t r = 0; r < of.count(); ++r) {
    unsigned __int128 most = 0;
    for (std::uint32_t k = of.begin[r]; k < of.begin[r + 1]; ++k)
      most += static_cast<unsigned __int128>(std::abs(weights_[k])) * (of.q - 1);
    small_.push_back(most < std::uint64_t{1} << 62);
  }
}

template <class Word>
void RowSums::sum(std::size_t r, std::span<const ConstWords> in, Word* out) const {
  const LweSumsShape& of = shape();
  if (!small_[r]) return sum_any(r, in, out);
  alignas(64) std::uint64_t sums[sum_columns_at_once];
  for (std::size_t at = 0; at < of.row; at += sum_columns_at_once) {
    const std::size_t columns = std::min(sum_columns_at_once, of.row - at);
    std::fill_n(sums, columns, above_);
    for (std::uint32_t k = of.begin[r]; k < of.begin[r + 1]; ++k) {
      const LweTerm& term = of.terms[k];
      const auto* const x = static_cast<const Word*>(in[term.input].data) + term.row * of.row + at;
      if constexpr (sizeof(Word) == 4)
        HWY_DYNAMIC_DISPATCH(add_narrow)(weights_[k], x, columns, sums);
      else
        HWY_DYNAMIC_DISPATCH(add_wide)(weights_[k], x, columns, sums);
    }
    for (std::size_t j = 0; j < columns; ++j) out[at + j] = static_cast<Word>(q_.reduce(sums[j]));
  }
  out[of.row - 1] = static_cast<Word>(q_.add(out[of.row - 1], of.constants[r]));
}

/// The same for weights that may be as large as q.
template <class Word>
void RowSums::sum_any(std::size_t r, std::span<const ConstWords> in, Word* out) const {
  const LweSumsShape& of = shape();
  std::vector<std::uint64_t> sums(of.row, 0);
  sums.back() = of.constants[r];
  for (std::uint32_t k = of.begin[r]; k < of.begin[r + 1]; ++k) {
    const LweTerm& term = of.terms[k];
    const auto* const x = static_cast<const Word*>(in[term.input].data) + term.row * of.row;
    const std::uint64_t factor =
        static_cast<std::uint64_t>(weights_[k]) + (weights_[k] < 0 ? of.q : 0);
    for (std::size_t j = 0; j < of.row; ++j) sums[j] = q_.add(sums[j], q_.mul(x[j], factor));
  }
  for (std::size_t j = 0; j < of.row; ++j) out[j] = static_cast<Word>(sums[j]);
}

template void RowSums::sum(std::size_t, std::span<const ConstWords>, std::uint32_t*) const;
template void RowSums::sum(std::size_t, std::span<const ConstWords>, std::uint64_t*) const;

}  // namespace whorl::backend::cpu
#endif  // HWY_ONCE
