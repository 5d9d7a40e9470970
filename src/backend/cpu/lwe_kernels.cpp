// Modulus switching and key switching of LWE ciphertexts.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/lwe_kernels.cpp"
#include "hwy/foreach_target.h"

#include "backend/cpu/kernels.h"
#include "hwy/aligned_allocator.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#ifndef WHORL_BACKEND_CPU_LWE_KERNELS_ONCE
#define WHORL_BACKEND_CPU_LWE_KERNELS_ONCE
#include <algorithm>
#include <bit>
#include <vector>

namespace whorl::backend::cpu {

/// Rows of n+1 words in the narrowest word that holds a residue. For a power of two Q_ks sums wrap in the word; for another Q_ks they are kept in 64 bits, unreduced.
class CpuSwitchKey final : public SwitchKey {
 public:
  explicit CpuSwitchKey(SwitchShape shape)
      : SwitchKey(std::move(shape)),
        wraps(std::has_single_bit(shape_.Q_ks)),
        word_bytes(!wraps || shape_.Q_ks > (1ULL << 32) ? 8 : shape_.Q_ks > (1ULL << 16) ? 4 : 2),
        row_words(shape_.n + 1) {
    for (unsigned j = 0; j < shape_.gadget.digits(); ++j) {
      first.push_back(per_coefficient);
      per_coefficient += shape_.table ? shape_.gadget.bound(j) : 1;
    }
    rows = shape_.N * per_coefficient;
    storage = hwy::AllocateAligned<std::uint8_t>(bytes() + 64);  // a vector may be read past the end
    if (!storage)
      throw OutOfMemoryError("key-switching key: " + std::to_string(bytes()) +
                             " bytes could not be allocated");
  }
  std::size_t bytes() const override { return rows * row_words * word_bytes; }
  template <class Word>
  Word* row(std::size_t r) const {
    return reinterpret_cast<Word*>(storage.get()) + r * row_words;
  }

  bool wraps;
  std::size_t word_bytes, row_words;
  std::vector<std::size_t> first;  ///< row of each digit's first value within a coefficient
  std::size_t per_coefficient = 0, rows = 0;
  hwy::AlignedFreeUniquePtr<std::uint8_t[]> storage;
};

}  // namespace whorl::backend::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace whorl::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// out += row·factor, in the word's own arithmetic; `out` is padded to whole vectors.
template <class Word>
HWY_INLINE void add_row(const Word* HWY_RESTRICT row, std::size_t words, Word factor,
                        Word* HWY_RESTRICT out) {
  if constexpr (sizeof(Word) == 8) {  // no 64-bit vector product before AVX-512DQ
    for (std::size_t k = 0; k < words; ++k) out[k] += factor * row[k];
  } else {
    const hn::ScalableTag<Word> d;
    const auto f = hn::Set(d, factor);
    for (std::size_t k = 0; k < words; k += hn::Lanes(d))
      hn::Store(hn::Add(hn::Load(d, out + k), hn::Mul(hn::LoadU(d, row + k), f)), d, out + k);
  }
}
template <class Word>
HWY_INLINE void add_signed_row(const Word* HWY_RESTRICT row, std::size_t words, bool negate,
                               Word* HWY_RESTRICT out) {
  const hn::ScalableTag<Word> d;
  if (negate)
    for (std::size_t k = 0; k < words; k += hn::Lanes(d))
      hn::Store(hn::Sub(hn::Load(d, out + k), hn::LoadU(d, row + k)), d, out + k);
  else
    for (std::size_t k = 0; k < words; k += hn::Lanes(d))
      hn::Store(hn::Add(hn::Load(d, out + k), hn::LoadU(d, row + k)), d, out + k);
}

template <class Word>
void switch_tile(const CpuSwitchKey& key, const std::uint64_t* in, std::uint64_t* out,
                 std::size_t count) {
  const SwitchShape& shape = key.shape();
  const std::size_t N = shape.N, words = key.row_words;
  const std::size_t stride = (words + 31) / 32 * 32;
  const unsigned digits = shape.gadget.digits();
  auto sums = hwy::AllocateAligned<Word>(count * stride);
  if (!sums) throw OutOfMemoryError("key switching: no memory for a tile");
  std::fill_n(sums.get(), count * stride, Word{0});
  const std::int64_t Q = static_cast<std::int64_t>(shape.Q_ks);
  std::vector<std::int32_t> digit(count * digits), ahead(count * digits);
  auto decompose = [&](std::size_t i, std::vector<std::int32_t>& to) {
    for (std::size_t c = 0; c < count; ++c) {
      std::int64_t a = static_cast<std::int64_t>(in[c * (N + 1) + i]);
      if (a > Q / 2) a -= Q;
      for (unsigned j = 0; j < digits; ++j)
        to[c * digits + j] = static_cast<std::int32_t>(shape.gadget.digit(a, j));
    }
  };
  auto row_of = [&](std::size_t i, unsigned j, std::int32_t value) {
    const std::size_t at = i * key.per_coefficient + key.first[j];
    return key.row<Word>(shape.table ? at + static_cast<std::size_t>(std::abs(value)) - 1 : at);
  };
  decompose(0, ahead);
  for (std::size_t i = 0; i < N; ++i) {
    digit.swap(ahead);
    if (i + 1 < N) {
      decompose(i + 1, ahead);
      if (shape.table)  // rows are looked up at random: fetch the next ones now
        for (std::size_t c = 0; c < count; ++c)
          for (unsigned j = 0; j < digits; ++j)
            if (ahead[c * digits + j] != 0) {
              const auto* row =
                  reinterpret_cast<const std::uint8_t*>(row_of(i + 1, j, ahead[c * digits + j]));
              for (std::size_t byte = 0; byte < words * sizeof(Word); byte += 64)
                hwy::Prefetch(row + byte);
            }
    }
    for (unsigned j = 0; j < digits; ++j)
      for (std::size_t c = 0; c < count; ++c) {
        const std::int32_t value = digit[c * digits + j];
        if (value == 0) continue;
        Word* sum = sums.get() + c * stride;
        if (shape.table)
          add_signed_row(row_of(i, j, value), words, value > 0, sum);
        else
          add_row(row_of(i, j, value), words, static_cast<Word>(-static_cast<std::int64_t>(value)),
                  sum);
      }
  }
  for (std::size_t c = 0; c < count; ++c) {
    sums[c * stride + shape.n] += static_cast<Word>(in[c * (N + 1) + N]);
    for (std::size_t k = 0; k <= shape.n; ++k) {
      const Word sum = sums[c * stride + k];
      std::uint64_t residue = sum & (shape.Q_ks - 1);
      if (!key.wraps) {
        const std::int64_t r = static_cast<std::int64_t>(sum) % Q;
        residue = static_cast<std::uint64_t>(r < 0 ? r + Q : r);
      }
      out[c * (shape.n + 1) + k] = residue;
    }
  }
}

void key_switch_tile(const CpuSwitchKey& key, const std::uint64_t* in, std::uint64_t* out,
                     std::size_t count) {
  if (key.word_bytes == 2)
    switch_tile<std::uint16_t>(key, in, out, count);
  else if (key.word_bytes == 4)
    switch_tile<std::uint32_t>(key, in, out, count);
  else
    switch_tile<std::uint64_t>(key, in, out, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace whorl::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace whorl::backend::cpu {

HWY_EXPORT(key_switch_tile);

namespace {

template <class Word>
void store_row(const CpuSwitchKey& key, std::size_t r, std::span<const std::uint64_t> a,
               std::uint64_t b) {
  Word* row = key.row<Word>(r);
  for (std::size_t k = 0; k < a.size(); ++k) row[k] = static_cast<Word>(a[k]);
  row[a.size()] = static_cast<Word>(b);
}

/// floor((x·to + from/2)/from) mod to, for x < from.
template <class Wide>
std::uint64_t round_scaled(std::uint64_t x, std::uint64_t from, std::uint64_t to) {
  return static_cast<std::uint64_t>((static_cast<Wide>(x) * to + from / 2) / from % to);
}

template <class Wide, class In, class Out>
void switch_row(std::uint64_t from, std::uint64_t to, bool centre, std::span<const In> in,
                std::span<Out> out) {
  const std::size_t last = in.size() - 1;
  for (std::size_t k = 0; k < last; ++k)
    out[k] = static_cast<Out>(round_scaled<Wide>(in[k], from, to));
  if (!centre) {
    out[last] = static_cast<Out>(round_scaled<Wide>(in[last], from, to));
    return;
  }
  // Rounding errors are multiples of 1/from; `sum` holds from·(their sum), each in (-from/2, from/2].
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < last; ++k) {
    const Wide remainder = (static_cast<Wide>(in[k]) * to + from / 2) % from;
    sum += static_cast<std::int64_t>(from / 2) - static_cast<std::int64_t>(remainder);
  }
  // round((b·to + sum/2)/from), made positive by adding a multiple of to.
  const Wide turns = static_cast<Wide>(last / 2 / to + 1);
  const Wide numerator = 2 * static_cast<Wide>(in[last]) * to + from + 2 * turns * to * from +
                         static_cast<Wide>(sum);
  out[last] = static_cast<Out>(numerator / (2 * static_cast<Wide>(from)) % to);
}

}  // namespace

template <class In, class Out>
void switch_modulus_row(std::uint64_t from, std::uint64_t to, bool centre, std::span<const In> in,
                        std::span<Out> out) {
  if (from == to && !centre) {
    std::transform(in.begin(), in.end(), out.begin(), [](In x) { return static_cast<Out>(x); });
  } else if (std::bit_width(from) + std::bit_width(to) +
                 std::bit_width(static_cast<std::uint64_t>(in.size())) <
             62) {
    switch_row<std::uint64_t>(from, to, centre, in, out);
  } else {
    switch_row<unsigned __int128>(from, to, centre, in, out);
  }
}
template void switch_modulus_row(std::uint64_t, std::uint64_t, bool, std::span<const std::uint32_t>,
                                 std::span<std::uint32_t>);
template void switch_modulus_row(std::uint64_t, std::uint64_t, bool, std::span<const std::uint32_t>,
                                 std::span<std::uint64_t>);
template void switch_modulus_row(std::uint64_t, std::uint64_t, bool, std::span<const std::uint64_t>,
                                 std::span<std::uint64_t>);
template void switch_modulus_row(std::uint64_t, std::uint64_t, bool, std::span<const std::uint64_t>,
                                 std::span<std::uint32_t>);

std::unique_ptr<SwitchKey> prepare_switch_key(const SwitchShape& shape,
                                              const RowSource<std::uint64_t>& rows,
                                              const Workers& workers) {
  auto key = std::make_unique<CpuSwitchKey>(shape);
  const double sum_bits = std::bit_width(shape.Q_ks) + shape.gadget.log_base() +
                          std::bit_width(std::uint64_t{shape.N} * shape.gadget.digits());
  if (!key->wraps && sum_bits > 62)
    throw ParameterError("key switching modulo Q_ks = " + std::to_string(shape.Q_ks) +
                         ", not a power of two, needs sums of " + std::to_string(sum_bits) +
                         " bits; 62 fit");
  const std::size_t per_coefficient = key->per_coefficient;
  parallel_for(shape.N, workers, [&](std::size_t i) {
    std::vector<std::uint64_t> a(shape.n);
    for (std::size_t r = i * per_coefficient; r < (i + 1) * per_coefficient; ++r) {
      std::uint64_t b = 0;
      rows(r, a, {&b, 1});
      if (key->word_bytes == 2)
        store_row<std::uint16_t>(*key, r, a, b);
      else if (key->word_bytes == 4)
        store_row<std::uint32_t>(*key, r, a, b);
      else
        store_row<std::uint64_t>(*key, r, a, b);
    }
  });
  return key;
}

void key_switch(const SwitchKey& any_key, const std::uint64_t* in, std::uint64_t* out,
                std::size_t count, const Workers& workers) {
  const auto& key = dynamic_cast<const CpuSwitchKey&>(any_key);
  const std::size_t N = key.shape().N, n = key.shape().n;
  const std::size_t tile = std::clamp<std::size_t>(
      (count + workers.threads - 1) / std::max(1u, workers.threads), 1, 8);
  parallel_for((count + tile - 1) / tile, workers, [&](std::size_t t) {
    const std::size_t begin = t * tile, size = std::min(tile, count - begin);
    HWY_DYNAMIC_DISPATCH(key_switch_tile)
    (key, in + begin * (N + 1), out + begin * (n + 1), size);
  });
}

}  // namespace whorl::backend::cpu
#endif  // HWY_ONCE
