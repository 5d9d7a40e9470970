// Modulus switching and key switching of LWE ciphertexts.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/lwe_kernels.cpp"
#include "hwy/foreach_target.h"

#include "backend/cpu/kernels.h"
#include "backend/key_memory.h"
#include "hwy/aligned_allocator.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "whorl/word_array.h"

#ifndef WHORL_BACKEND_CPU_LWE_KERNELS_ONCE
#define WHORL_BACKEND_CPU_LWE_KERNELS_ONCE
#include <algorithm>
#include <bit>
#include <vector>

namespace whorl::backend::cpu {

/// Rows of n+1 words in the narrowest word that holds a residue. For a power of two Q_ks sums wrap
/// in the word; for another Q_ks they are kept in 64 bits, unreduced.
class CpuSwitchKey final : public SwitchKey {
 public:
  explicit CpuSwitchKey(SwitchShape shape)
      : SwitchKey(std::move(shape)),
        wraps(std::has_single_bit(this->shape().Q_ks)),
        word_bytes(wraps ? word_bytes_for(this->shape().Q_ks) : 8),
        row_words(this->shape().n + 1) {
    const ring::Gadget& gadget = this->shape().gadget;
    for (unsigned j = 0; j < gadget.digits(); ++j) {
      first.push_back(per_coefficient);
      per_coefficient += this->shape().table ? gadget.bound(j) : 1;
    }
    rows = this->shape().N * per_coefficient;
    storage = {bytes() + 64, "key-switching key"};  // a vector may be read past the end
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
  KeyMemory<std::uint8_t> storage;
};

}  // namespace whorl::backend::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace whorl::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// a·b in the word's own arithmetic.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V multiply_words([[maybe_unused]] D d, V a, V b) {
#if HWY_TARGET == HWY_AVX3
  return hn::Mul(a, b);
#elif HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(hn::TFromD<D>) == 8) {  // no such instruction before AVX-512
    const hn::Repartition<std::uint32_t, D> d32;
    const V low = hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, b));
    const V cross =
        hn::Add(hn::MulEven(hn::BitCast(d32, hn::ShiftRight<32>(a)), hn::BitCast(d32, b)),
                hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, hn::ShiftRight<32>(b))));
    return hn::Add(low, hn::ShiftLeft<32>(cross));
  } else {
    return hn::Mul(a, b);
  }
#else
  return V(static_cast<hn::TFromD<D>>(a.raw * b.raw));
#endif
}

/// Key rows of one ring coefficient that a ciphertext picks: multiplied by `factor`, or, from a
/// table, added (`plus`) and subtracted (`minus`).
template <class Word>
struct PickedRows {
  const Word *rows[64], *minus[64];
  Word factor[64];
  unsigned count = 0, minus_count = 0;
};

/// Whether the rows of a key are those of a table of multiples, or are multiplied by digits.
enum class Rows { looked_up, multiplied };

/// out += sum of the picked rows, reading and writing `out` once; it is padded to whole vectors.
template <class Word, Rows kind>
HWY_INLINE void add_rows(const PickedRows<Word>& picked, std::size_t words, Word* out) {
  const hn::ScalableTag<Word> d;
  for (std::size_t k = 0; k < words; k += hn::Lanes(d)) {
    auto sum = hn::Load(d, out + k);
    for (unsigned j = 0; j < picked.count; ++j) {
      const auto row = hn::LoadU(d, picked.rows[j] + k);
      sum = hn::Add(sum, kind == Rows::looked_up
                             ? row
                             : multiply_words(d, row, hn::Set(d, picked.factor[j])));
    }
    if constexpr (kind == Rows::looked_up)
      for (unsigned j = 0; j < picked.minus_count; ++j)
        sum = hn::Sub(sum, hn::LoadU(d, picked.minus[j] + k));
    hn::Store(sum, d, out + k);
  }
}

/// The same modulo a Q_ks that is not a power of two, each product reduced: such sets are for tests
/// of others' parameters, not for speed.
template <class Word>
void add_rows_reduced(const PickedRows<Word>& picked, std::size_t words, const SwitchShape& shape,
                      Word* out) {
  const math::Modulus<std::uint64_t> q(shape.Q_ks);
  for (unsigned j = 0; j < picked.count; ++j) {
    const auto factor =
        shape.table ? 1 : q.from_signed(static_cast<std::int64_t>(picked.factor[j]));
    for (std::size_t k = 0; k < words; ++k)
      out[k] = static_cast<Word>(q.add(out[k], q.mul(factor, picked.rows[j][k])));
  }
  for (unsigned j = 0; j < picked.minus_count; ++j)
    for (std::size_t k = 0; k < words; ++k)
      out[k] = static_cast<Word>(q.sub(out[k], picked.minus[j][k]));
}

/// Word: of the key's rows and of sums; Residue: of ciphertexts.
template <class Word, class Residue>
void switch_tile(const CpuSwitchKey& key, const Residue* in, Residue* out, std::size_t count) {
  const SwitchShape& shape = key.shape();
  const std::size_t N = shape.N, words = key.row_words;
  const std::size_t stride = (words + 31) / 32 * 32;
  const unsigned digits = shape.gadget.digits();
  auto sums = hwy::AllocateAligned<Word>(count * stride);
  if (!sums) throw OutOfMemoryError("key switching: the system gave no memory for a tile");
  std::fill_n(sums.get(), count * stride, Word{0});
  const std::int64_t Q = static_cast<std::int64_t>(shape.Q_ks);
  // Rows are looked up at random: they are fetched some coefficients ahead, more for a small tile.
  constexpr std::size_t slots = 8;
  const std::size_t ahead = count >= slots ? 1 : slots - 1;
  std::vector<std::int32_t> all_digits(slots * count * digits);
  auto digits_of = [&](std::size_t i) { return all_digits.data() + i % slots * count * digits; };
  auto row_of = [&](std::size_t i, unsigned j, std::int32_t value) {
    const std::size_t at = i * key.per_coefficient + key.first[j];
    return key.row<Word>(shape.table ? at + static_cast<std::size_t>(std::abs(value)) - 1 : at);
  };
  auto decompose = [&](std::size_t i) {
    std::int32_t* to = digits_of(i);
    for (std::size_t c = 0; c < count; ++c) {
      std::int64_t a = static_cast<std::int64_t>(in[c * (N + 1) + i]);
      if (a > Q / 2) a -= Q;
      for (unsigned j = 0; j < digits; ++j, ++to) {
        *to = static_cast<std::int32_t>(shape.gadget.digit(a, j));
        if (!shape.table || *to == 0) continue;
        const auto* row = reinterpret_cast<const std::uint8_t*>(row_of(i, j, *to));
        for (std::size_t byte = 0; byte < words * sizeof(Word); byte += 64)
          hwy::Prefetch(row + byte);
      }
    }
  };
  for (std::size_t i = 0; i < std::min(ahead, N); ++i) decompose(i);
  for (std::size_t i = 0; i < N; ++i) {
    if (i + ahead < N) decompose(i + ahead);
    const std::int32_t* digit = digits_of(i);
    for (std::size_t c = 0; c < count; ++c) {
      PickedRows<Word> picked;
      for (unsigned j = 0; j < digits; ++j) {
        const std::int32_t value = digit[c * digits + j];
        if (value == 0) continue;
        const Word* row = row_of(i, j, value);
        if (shape.table && value > 0) {
          picked.minus[picked.minus_count++] = row;
        } else {
          picked.factor[picked.count] = static_cast<Word>(-static_cast<std::int64_t>(value));
          picked.rows[picked.count++] = row;
        }
      }
      if (!key.wraps)
        add_rows_reduced(picked, words, shape, sums.get() + c * stride);
      else if (shape.table)
        add_rows<Word, Rows::looked_up>(picked, words, sums.get() + c * stride);
      else
        add_rows<Word, Rows::multiplied>(picked, words, sums.get() + c * stride);
    }
  }
  for (std::size_t c = 0; c < count; ++c) {
    Word& body = sums[c * stride + shape.n];
    const std::uint64_t b = in[c * (N + 1) + N];
    body = key.wraps ? static_cast<Word>(body + b)
                     : static_cast<Word>((std::uint64_t{body} + b) % shape.Q_ks);
    for (std::size_t k = 0; k <= shape.n; ++k)
      out[c * (shape.n + 1) + k] = static_cast<Residue>(
          key.wraps ? sums[c * stride + k] & (shape.Q_ks - 1) : sums[c * stride + k]);
  }
}

void key_switch_tile(const CpuSwitchKey& key, ConstWords in, Words out, std::size_t begin,
                     std::size_t count) {
  with_word_bytes(in.bytes, [&]<class Residue>(Residue) {
    with_word_bytes<2>(static_cast<unsigned>(key.word_bytes), [&]<class Word>(Word) {
      switch_tile<Word>(key, static_cast<const Residue*>(in.data) + begin * (key.shape().N + 1),
                        static_cast<Residue*>(out.data) + begin * (key.shape().n + 1), count);
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace whorl::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace whorl::backend::cpu {

HWY_EXPORT(key_switch_tile);

namespace {

/// Rows first … first + count - 1 of the key, in its own words: Word.
template <class Word, class In>
void store_rows(const CpuSwitchKey& key, const SwitchRows<In>& rows, std::size_t first,
                std::size_t count) {
  if constexpr (sizeof(In) == sizeof(Word)) {
    rows(first, count, key.row<Word>(first), key.row_words);
  } else {
    std::vector<In> words(count * key.row_words);
    rows(first, count, words.data(), key.row_words);
    std::transform(words.begin(), words.end(), key.row<Word>(first),
                   [](In x) { return static_cast<Word>(x); });
  }
}

/// floor((x·to + from/2)/from) mod to, for x < from.
template <class Wide>
std::uint64_t round_scaled(std::uint64_t x, std::uint64_t from, std::uint64_t to) {
  return static_cast<std::uint64_t>((static_cast<Wide>(x) * to + from / 2) / from % to);
}

/// `out` may be `in`.
template <class Wide, class In, class Out>
void switch_row(std::uint64_t from, std::uint64_t to, unsigned centre, std::span<const In> in,
                std::span<Out> out) {
  const std::size_t last = in.size() - 1;
  // Rounding errors are multiples of 1/from; `sum` is from times their sum, each in (-from/2,
  // from/2].
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < last; ++k) {
    const Wide shifted = static_cast<Wide>(in[k]) * to + from / 2;
    const Wide rounded = shifted / from;
    sum +=
        static_cast<std::int64_t>(from / 2) - static_cast<std::int64_t>(shifted - rounded * from);
    out[k] = static_cast<Out>(rounded % to);
  }
  if (centre == 0) {
    out[last] = static_cast<Out>(round_scaled<Wide>(in[last], from, to));
    return;
  }
  // round((b·to + sum/centre)/from), made positive by adding a multiple of to.
  const Wide turns = static_cast<Wide>(last) / 2 / to + 1;
  const Wide numerator =
      centre * (2 * static_cast<Wide>(in[last]) * to + from + 2 * turns * to * from) +
      2 * static_cast<Wide>(sum);
  out[last] = static_cast<Out>(numerator / (2 * static_cast<Wide>(centre) * from) % to);
}

}  // namespace

template <class In, class Out>
void switch_modulus_row(std::uint64_t from, std::uint64_t to, unsigned centre,
                        std::span<const In> in, std::span<Out> out) {
  if (from == to && centre == 0) {
    std::transform(in.begin(), in.end(), out.begin(), [](In x) { return static_cast<Out>(x); });
  } else if (std::bit_width(from) + std::bit_width(to) +
                 std::bit_width(static_cast<std::uint64_t>(in.size())) + std::bit_width(centre) <
             62) {
    switch_row<std::uint64_t>(from, to, centre, in, out);
  } else {
    switch_row<unsigned __int128>(from, to, centre, in, out);
  }
}
template void switch_modulus_row(std::uint64_t, std::uint64_t, unsigned,
                                 std::span<const std::uint32_t>, std::span<std::uint32_t>);
template void switch_modulus_row(std::uint64_t, std::uint64_t, unsigned,
                                 std::span<const std::uint32_t>, std::span<std::uint64_t>);
template void switch_modulus_row(std::uint64_t, std::uint64_t, unsigned,
                                 std::span<const std::uint64_t>, std::span<std::uint64_t>);
template void switch_modulus_row(std::uint64_t, std::uint64_t, unsigned,
                                 std::span<const std::uint64_t>, std::span<std::uint32_t>);

template <class Word>
std::unique_ptr<SwitchKey> prepare_switch_key(const SwitchShape& shape,
                                              const SwitchRows<Word>& rows,
                                              const Workers& workers) {
  auto key = std::make_unique<CpuSwitchKey>(shape);
  const std::size_t per_coefficient = key->per_coefficient;
  parallel_for(shape.N, workers, [&](std::size_t i) {
    const std::size_t first = i * per_coefficient;
    if (key->word_bytes == 2)
      store_rows<std::uint16_t>(*key, rows, first, per_coefficient);
    else if (key->word_bytes == 4)
      store_rows<std::uint32_t>(*key, rows, first, per_coefficient);
    else
      store_rows<std::uint64_t>(*key, rows, first, per_coefficient);
  });
  return key;
}
template std::unique_ptr<SwitchKey> prepare_switch_key(const SwitchShape&,
                                                       const SwitchRows<std::uint16_t>&,
                                                       const Workers&);
template std::unique_ptr<SwitchKey> prepare_switch_key(const SwitchShape&,
                                                       const SwitchRows<std::uint32_t>&,
                                                       const Workers&);
template std::unique_ptr<SwitchKey> prepare_switch_key(const SwitchShape&,
                                                       const SwitchRows<std::uint64_t>&,
                                                       const Workers&);

void key_switch(const SwitchKey& any_key, ConstWords in, Words out, std::size_t count,
                const Workers& workers) {
  const auto& key = static_cast<const CpuSwitchKey&>(any_key);
  // Ciphertexts that meet each row of the key together, so that it is fetched once for all: as many
  // as leave their sums in the second-level cache.
  const std::size_t fits =
      std::clamp<std::size_t>((192u << 10) / (key.shape().n * key.word_bytes), 1, 64);
  const std::size_t share = (count + workers.threads - 1) / std::max(1u, workers.threads);
  const std::size_t tile = std::clamp<std::size_t>(share, 1, fits);
  parallel_for((count + tile - 1) / tile, workers, [&](std::size_t t) {
    const std::size_t begin = t * tile;
    HWY_DYNAMIC_DISPATCH(key_switch_tile)(key, in, out, begin, std::min(tile, count - begin));
  });
}

}  // namespace whorl::backend::cpu
#endif  // HWY_ONCE
