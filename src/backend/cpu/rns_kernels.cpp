// Base conversion and sums of products, written once for every SIMD width and both word sizes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/rns_kernels.cpp"
#include "hwy/foreach_target.h"

#include <algorithm>
#include <utility>

#include "backend/cpu/by_word.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/product_sums-inl.h"
#include "backend/cpu/rns_kernels.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "ring/host/ntt-inl.h"
#include "ring/host/words-inl.h"
#include "ring/ntt_plan.h"

HWY_BEFORE_NAMESPACE();
namespace whorl::backend::cpu {
namespace HWY_NAMESPACE {
// NOLINTNEXTLINE(google-build-using-namespace): each SIMD target has one of its own
using namespace ring::HWY_NAMESPACE;

template <class Word>
void digits_of(const ring::BaseConversion<Word>& conversion, std::size_t l, const Word* in,
               std::size_t count, Word* y) {
  const Dw<Word> d;
  const Vw<Word> q = hn::Set(d, conversion.from()[l].value()),
                 w = hn::Set(d, conversion.inverse()[l]),
                 s = hn::Set(d, conversion.inverse_shoup()[l]);
  for (std::size_t j = 0; j < count; j += kWords<Word>)
    hn::StoreU(reduce_once(mul_shoup_lazy_same(hn::LoadU(d, in + j), w, s, q), q), d, y + j);
}

template <class Word>
void quotients_of(const ring::BaseConversion<Word>& conversion, const Word* const* y,
                  std::size_t count, Word* u) {
  const Dw<Word> d;
  constexpr unsigned point = ring::BaseConversion<Word>::fraction_bits;
  const std::size_t L = conversion.from().size();
  const Word* const ratio = conversion.ratio().data();
  for (std::size_t j = 0; j < count; j += kWords<Word>) {
    Vw<Word> sum = hn::Set(d, Word{1} << (point - 1));
    for (std::size_t l = 0; l < L; ++l)
      sum = hn::Add(sum, mul_high_same(hn::LoadU(d, y[l] + j), hn::Set(d, ratio[l])));
    hn::StoreU(hn::ShiftRight<static_cast<int>(point)>(sum), d, u + j);
  }
}
template <std::size_t many, class Word>
void convert_some(const ConversionTarget<Word>* targets, Word largest, std::size_t terms,
                  const Word* const* rows, std::size_t count) {
  const Dw<Word> d;
  Terms chunk{terms, terms};
  const Word* factors[many];
  Word* out[many];
  Word q[many], inverse[many];
  for (std::size_t i = 0; i < many; ++i) {
    factors[i] = targets[i].factors;
    out[i] = targets[i].out;
    q[i] = targets[i].modulus->modulus().value();
    inverse[i] = targets[i].modulus->inverse();
    const Terms own = SumModulus<Word>::terms(q[i], largest);
    chunk = {HWY_MIN(chunk.first, own.first), HWY_MIN(chunk.next, own.next)};
  }
  for (std::size_t j = 0; j < count; j += kWords<Word>) {
    ProductSum<Word> sum[many];
    sum_terms(
        terms, chunk,
        [&](std::size_t k) HWY_ATTR {
          const Vw<Word> v = hn::LoadU(d, rows[k] + j);
          hwy::Prefetch(rows[k] + j + 4 * kWords<Word>);  // rows are more than hardware foresees
          for (std::size_t i = 0; i < many; ++i)
            sum[i].add_same(v, hn::Set(d, factors[i][k]), SumModulus<Word>(q[i], inverse[i]));
        },
        [&]() HWY_ATTR {
          for (std::size_t i = 0; i < many; ++i) sum[i].correct(SumModulus<Word>(q[i], inverse[i]));
        });
    for (std::size_t i = 0; i < many; ++i)
      hn::StoreU(sum[i].reduce(SumModulus<Word>(q[i], inverse[i])), d, out[i] + j);
  }
}
template <class Word, std::size_t... i>
void convert_so_many(std::size_t many, std::index_sequence<i...>,
                     const ConversionTarget<Word>* targets, Word largest, std::size_t terms,
                     const Word* const* rows, std::size_t count) {
  ((many == i + 1 ? convert_some<i + 1>(targets, largest, terms, rows, count) : void()), ...);
}
template <class Word>
void convert(const ring::BaseConversion<Word>& conversion,
             std::span<const ConversionTarget<Word>> targets, const Word* const* rows,
             std::size_t count) {
  const Word largest = conversion.largest();
  const std::size_t terms = conversion.from().size() + 1;
  // As many targets are taken at once as there are registers for their sums: sources are read less
  // often.
  constexpr std::size_t most = HWY_LANES(std::uint8_t) == 64 ? 8 : 4;
  const std::size_t passes = (targets.size() + most - 1) / most;
  for (std::size_t pass = 0; pass < passes; ++pass) {
    const std::size_t first = pass * targets.size() / passes,
                      last = (pass + 1) * targets.size() / passes;
    convert_so_many<Word>(last - first, std::make_index_sequence<most>(), &targets[first], largest,
                          terms, rows, count);
  }
}

template <class Word>
void products(const math::Montgomery<Word>& m, std::span<const Word* const> a,
              std::span<const Word* const> b, Word* out, std::size_t count) {
  const Dw<Word> d;
  const SumModulus<Word> modulus(m.modulus().value(), m.inverse());
  const Vw<Word> square = hn::Set(d, m.r_squared());
  const Terms chunk = SumModulus<Word>::terms(m.modulus().value(), m.modulus().value());
  for (std::size_t j = 0; j < count; j += kWords<Word>) {
    ProductSum<Word> sum;
    sum_terms(
        a.size(), chunk,
        [&](std::size_t k)
            HWY_ATTR { sum.add(hn::LoadU(d, a[k] + j), hn::LoadU(d, b[k] + j), modulus); },
        [&]() HWY_ATTR { sum.correct(modulus); });
    hn::StoreU(mul_montgomery(sum.reduce(modulus), square, modulus.q, modulus.inverse), d, out + j);
  }
}
template <class Word>
void products_of_two(const math::Montgomery<Word>& m, const Word* const* a, const Word* const* b,
                     Word* const* out, std::size_t count, bool past_caches) {
  const Dw<Word> d;
  const SumModulus<Word> modulus(m.modulus().value(), m.inverse());
  const Vw<Word> r = hn::Set(d, m.r()), r_shoup = hn::Set(d, m.modulus().shoup(m.r()));
  const auto store = [&](ProductSum<Word>& sum, Word* to) HWY_ATTR {
    const Vw<Word> result = sum.reduce(modulus);
    past_caches ? hn::Stream(result, d, to) : hn::StoreU(result, d, to);
  };
  // Two factors are taken to Montgomery form, below 2q, in place of three results out of it.
  const auto montgomery = [&](const Word* y) HWY_ATTR {
    return mul_shoup_lazy_same(hn::LoadU(d, y), r, r_shoup, modulus.q);
  };
  const Word *const a0 = a[0], *const a1 = a[1], *const b0 = b[0], *const b1 = b[1];
  Word *const low = out[0], *const middle = out[1], *const high = out[2];
  for (std::size_t j = 0; j < count; j += kWords<Word>) {
    const Vw<Word> x0 = hn::LoadU(d, a0 + j), x1 = hn::LoadU(d, a1 + j), y0 = montgomery(b0 + j),
                   y1 = montgomery(b1 + j);
    ProductSum<Word> sum[3];
    sum[0].add(x0, y0, modulus);
    sum[1].add(x0, y1, modulus);
    sum[1].add(x1, y0, modulus);  // 4q^2 < 2q·R
    sum[2].add(x1, y1, modulus);
    store(sum[0], low + j);
    store(sum[1], middle + j);
    store(sum[2], high + j);
  }
  if (past_caches) hwy::FlushStream();
}

template <class Word>
struct Permuted {
  const typename EvaluationPermutation<Word>::Move* moves;
  const Word* orders;
  /// Loads values j … of rows.
  HWY_INLINE auto at(std::size_t j) const {
    const Dw<Word> d;
    const auto move = moves[j / kWords<Word>];
    return [d, from = move.from,
            order = hn::IndicesFromVec(d, hn::LoadU(d, orders + move.order))](const Word* x)
               HWY_ATTR { return hn::TableLookupLanes(hn::LoadU(d, x + from), order); };
  }
  HWY_INLINE Vw<Word> operator()(const Word* x, std::size_t j) const { return at(j)(x); }
};
template <class Word>
struct InPlace {
  HWY_INLINE auto at(std::size_t j) const {
    return [j](const Word* x) HWY_ATTR { return hn::LoadU(Dw<Word>(), x + j); };
  }
};
template <class Word>
void permute(const EvaluationPermutation<Word>& permutation, const Word* in, Word* out,
             std::size_t at, std::size_t count) {
  const Permuted<Word> load{permutation.moves().data(), permutation.orders().data()};
  for (std::size_t j = at; j < at + count; j += kWords<Word>)
    hn::StoreU(load(in, j), Dw<Word>(), out + j);
}

/// `many`: of so many digits, which need no correction in between; 0: of any number.
template <std::size_t many, class Word, class Load>
HWY_INLINE void products_with_key(const math::Montgomery<Word>& m, const KeyProducts<Word>& sums,
                                  const Terms& chunk, const Load& load, std::size_t at,
                                  std::size_t count) {
  const Dw<Word> d;
  const SumModulus<Word> modulus(m.modulus().value(), m.inverse());
  const Word* const* const rows[] = {sums.x.data(), sums.keys[0], sums.keys[1]};
  const Word* some[3][HWY_MAX(many, 1)];
  for (std::size_t i = 0; i < 3; ++i) std::copy_n(rows[i], many, some[i]);
  for (std::size_t j = at; j < at + count; j += kWords<Word>) {
    const auto x = load.at(j);
    ProductSum<Word> sum[2];
    const auto add = [&](const Word* digit, const Word* b, const Word* a) HWY_ATTR {
      const Vw<Word> v = x(digit);
      sum[0].add(v, hn::LoadU(d, b + j), modulus);
      sum[1].add(v, hn::LoadU(d, a + j), modulus);
    };
    if constexpr (many > 0)
      for (std::size_t k = 0; k < many; ++k) add(some[0][k], some[1][k], some[2][k]);
    else
      sum_terms(
          sums.x.size(), chunk,
          [&](std::size_t k) HWY_ATTR { add(rows[0][k], rows[1][k], rows[2][k]); },
          [&]() HWY_ATTR {
            for (ProductSum<Word>& each : sum) each.correct(modulus);
          });
    for (int i = 0; i < 2; ++i) {
      const Vw<Word> result = sum[i].reduce(modulus);
      sums.past_caches ? hn::Stream(result, d, sums.out[i] + j)
                       : hn::StoreU(result, d, sums.out[i] + j);
    }
  }
  if (sums.past_caches) hwy::FlushStream();
}
template <class Word, class Load>
void key_sums_of(const math::Montgomery<Word>& m, const KeyProducts<Word>& sums, const Load& load,
                 std::size_t at, std::size_t count) {
  const Word q = m.modulus().value();
  const Terms chunk = SumModulus<Word>::terms(q, sums.unreduced && lazy_butterflies(q) ? 4 * q : q);
  switch (sums.x.size() <= chunk.first ? sums.x.size() : 0) {
    case 2:
      return products_with_key<2>(m, sums, chunk, load, at, count);
    case 3:
      return products_with_key<3>(m, sums, chunk, load, at, count);
    case 4:
      return products_with_key<4>(m, sums, chunk, load, at, count);
    default:
      return products_with_key<0>(m, sums, chunk, load, at, count);
  }
}
template <class Word>
void key_sums(const math::Montgomery<Word>& m, const KeyProducts<Word>& sums,
              const EvaluationPermutation<Word>* permutation, std::size_t at, std::size_t count) {
  if (permutation)
    key_sums_of(m, sums, Permuted<Word>{permutation->moves().data(), permutation->orders().data()},
                at, count);
  else
    key_sums_of(m, sums, InPlace<Word>(), at, count);
}

/// Values j … of a row in which 2^log_repeats neighbours are one word.
template <class Word>
HWY_INLINE Vw<Word> repeated(const Word* m, std::size_t j, unsigned log_repeats) {
  const Dw<Word> d;
  if (log_repeats == 0) return hn::LoadU(d, m + j);
  const Word* const first = m + (j >> log_repeats);
  if (std::size_t{1} << log_repeats >= kWords<Word>) return hn::Set(d, *first);
  const hn::RebindToSigned<Dw<Word>> places;
  return hn::GatherIndex(d, first,
                         hn::ShiftRightSame(hn::Iota(places, 0), static_cast<int>(log_repeats)));
}

/// Factors of a sum: weights, which are in Montgomery form, or values, which are not.
enum class Factors { weights, values };

template <Factors factors, class Word>
void sum_terms_of(const math::Montgomery<Word>& m, std::span<const Summand<Word>> terms,
                  Word constant, bool onto, Word* out, std::size_t at, std::size_t count) {
  const Dw<Word> d;
  const SumModulus<Word> modulus(m.modulus().value(), m.inverse());
  const Vw<Word> square = hn::Set(d, m.r_squared()), more = hn::Set(d, constant);
  const Terms chunk = SumModulus<Word>::terms(m.modulus().value(), m.modulus().value());
  for (std::size_t j = at; j < at + count; j += kWords<Word>) {
    ProductSum<Word> sum;
    sum_terms(
        terms.size(), chunk,
        [&](std::size_t k) HWY_ATTR {
          const Summand<Word>& term = terms[k];
          const EvaluationPermutation<Word>* const by = term.permutation;
          const Vw<Word> x = by ? Permuted<Word>{by->moves().data(), by->orders().data()}(term.x, j)
                                : hn::LoadU(d, term.x + j);
          if constexpr (factors == Factors::weights)
            sum.add_same(x, hn::Set(d, term.weight), modulus);
          else
            sum.add(x, repeated(term.m, j, term.log_repeats), modulus);
        },
        [&]() HWY_ATTR { sum.correct(modulus); });
    Vw<Word> result = sum.reduce(modulus);
    if constexpr (factors == Factors::weights)
      result = add_mod(result, more, modulus.q);
    else
      result = mul_montgomery(result, square, modulus.q, modulus.inverse);
    if (onto) result = add_mod(result, hn::LoadU(d, out + j), modulus.q);
    hn::StoreU(result, d, out + j);
  }
}

template <class Word>
void sum_by_values(const math::Montgomery<Word>& m, std::span<const Summand<Word>> terms, bool onto,
                   Word* out, std::size_t at, std::size_t count) {
  sum_terms_of<Factors::values, Word>(m, terms, 0, onto, out, at, count);
}

template <class Word, ring::Reduction reduction, class Finish>
HWY_INLINE void block_of(const NttTables<Word>& t, std::size_t block, Word* data,
                         const Finish& finish, const ring::Ahead& ahead) {
  ntt_forward_block<Word, reduction, ring::Order::standard>(t, block, ntt_block_number(t), data,
                                                            finish, LinesAhead(ahead));
}
template <class Word>
void transform_one_block(const NttTables<Word>& t, std::size_t block, Word* data,
                         const ring::Ahead& ahead) {
  const StoreWords<Word> finish{data};
  lazy_butterflies(t.q) ? block_of<Word, ring::Reduction::lazy>(t, block, data, finish, ahead)
                        : block_of<Word, ring::Reduction::full>(t, block, data, finish, ahead);
}

template <class Word, ring::Reduction reduction>
struct StoreQuotient {
  Butterfly<Word, reduction> butterfly;
  DivisionEnd<Word> end;
  HWY_INLINE void operator()(std::size_t v, Vw<Word> y) const {
    const Dw<Word> d;
    const std::size_t j = v * kWords<Word>;
    if constexpr (reduction == ring::Reduction::lazy) y = reduce_once(y, butterfly.two_q);
    Vw<Word> x = end.x ? hn::LoadU(d, end.x + j) : hn::Zero(d);
    if (end.scales) {
      x = butterfly.template product<ring::Twiddles::one>(x, hn::Set(d, end.scale),
                                                          hn::Set(d, end.scale_shoup));
      if constexpr (reduction == ring::Reduction::full) x = reduce_once(x, butterfly.q);
    }
    Vw<Word> r = reduce_once(
        butterfly.template product<ring::Twiddles::one>(
            butterfly.difference(x, y), hn::Set(d, end.factor), hn::Set(d, end.factor_shoup)),
        butterfly.q);
    if (end.added) r = add_mod(r, hn::LoadU(d, end.added + j), butterfly.q);
    hn::StoreU(r, d, end.out + j);
  }
};
template <class Word, ring::Reduction reduction>
void divide_block_of(const NttTables<Word>& t, std::size_t block, Word* data,
                     const DivisionEnd<Word>& end, const ring::Ahead& ahead) {
  const Butterfly<Word, reduction> butterfly(t.q);
  block_of<Word, reduction>(t, block, data, StoreQuotient<Word, reduction>{butterfly, end}, ahead);
}
template <class Word>
void divide_one_block(const NttTables<Word>& t, std::size_t block, Word* data,
                      const DivisionEnd<Word>& end, const ring::Ahead& ahead) {
  lazy_butterflies(t.q) ? divide_block_of<Word, ring::Reduction::lazy>(t, block, data, end, ahead)
                        : divide_block_of<Word, ring::Reduction::full>(t, block, data, end, ahead);
}

/// `many` outputs from number j on, of x that lies a vector of each input after the other.
template <std::size_t many, class Word>
void multiply_rows(const math::Montgomery<Word>& m, const MatrixOnRows<Word>& product,
                   std::size_t j, std::size_t count) {
  const Dw<Word> d;
  const SumModulus<Word> modulus(m.modulus().value(), m.inverse());
  const Vw<Word> square = hn::Set(d, m.r_squared());
  const Terms chunk = SumModulus<Word>::terms(m.modulus().value(), m.modulus().value());
  const std::size_t K = product.inputs;
  const Word* const weights = product.weights + j * K;
  for (std::size_t at = 0; at < count; at += kWords<Word>) {
    const Word* const x = product.scratch + at * K;
    ProductSum<Word> sum[many];
    sum_terms(
        K, chunk,
        [&](std::size_t k) HWY_ATTR {
          const Vw<Word> v = hn::LoadU(d, x + k * kWords<Word>);
          for (std::size_t i = 0; i < many; ++i)
            sum[i].add_same(v, hn::Set(d, weights[i * K + k]), modulus);
        },
        [&]() HWY_ATTR {
          for (std::size_t i = 0; i < many; ++i) sum[i].correct(modulus);
        });
    for (std::size_t i = 0; i < many; ++i) {
      const Vw<Word> product_of =
          mul_montgomery(sum[i].reduce(modulus), square, modulus.q, modulus.inverse);
      const Word more = product.constants == nullptr ? Word{0} : product.constants[j + i];
      hn::StoreU(add_mod(product_of, hn::Set(d, more), modulus.q), d,
                 product.out + (j + i) * product.out_stride + at);
    }
  }
}
template <class Word>
void multiply_matrix(const math::Montgomery<Word>& m, const MatrixOnRows<Word>& product,
                     std::size_t count) {
  const Dw<Word> d;
  // Rows that are a power of two apart would share a few sets of the caches.
  for (std::size_t k = 0; k < product.inputs; ++k)
    for (std::size_t at = 0; at < count; at += kWords<Word>)
      hn::StoreU(hn::LoadU(d, product.x + k * product.x_stride + at), d,
                 product.scratch + at * product.inputs + k * kWords<Word>);
  constexpr std::size_t many = 4;
  std::size_t j = 0;
  for (; j + many <= product.outputs; j += many) multiply_rows<many>(m, product, j, count);
  for (; j < product.outputs; ++j) multiply_rows<1>(m, product, j, count);
}

template <class Word>
void decompose(const DigitFields<Word>& rule, unsigned j, const Word* in, Word* out,
               std::size_t count) {
  const Dw<Word> d;
  const Vw<Word> q = hn::Set(d, rule.q), above = hn::Set(d, rule.above),
                 raise = hn::Set(d, rule.raise), mask = hn::Set(d, rule.mask(j)),
                 less = hn::Set(d, rule.less(j));
  const auto shift = static_cast<int>(rule.shift(j));
  for (std::size_t at = 0; at < count; at += kWords<Word>) {
    const Vw<Word> y = hn::Add(sub_mod(hn::LoadU(d, in + at), above, q), raise);
    hn::StoreU(sub_mod(hn::And(hn::ShiftRightSame(y, shift), mask), less, q), d, out + at);
  }
}

/// Sums of `groups` times four low arrays are one of sixteen for each group, which all masks share.
template <std::size_t groups, class Word>
void masked_tensors_of(const math::Montgomery<Word>& m, const MaskedRows<Word>& of,
                       std::size_t count) {
  const Dw<Word> d;
  constexpr std::size_t W = kWords<Word>, subsets = 16, most = 16;
  const SumModulus<Word> modulus(m.modulus().value(), m.inverse());
  const Vw<Word> square = hn::Set(d, m.r_squared());
  // The sum in the middle has two products for each of `high`.
  const Terms products = SumModulus<Word>::terms(m.modulus().value(), m.modulus().value()),
              chunk{products.first / 2, products.next / 2};
  const std::size_t H = of.high.size(), L = of.low.size();
  alignas(64) Word sums[groups * subsets * 2 * W], highs[most * 2 * W];
  for (std::size_t j = of.at; j < of.at + count; j += W) {
    const auto load = [&](const Word* from, std::size_t part) HWY_ATTR {
      const Word* const place = from + part * of.part + j;
      hwy::Prefetch(place + 64 / sizeof(Word));  // rows are more than hardware foresees
      return hn::LoadU(d, place);
    };
    for (std::size_t part = 0; part < 2; ++part) {
      for (std::size_t h = 0; h < H; ++h)
        hn::Store(load(of.high[h], part), d, highs + (2 * h + part) * W);
      for (std::size_t g = 0; g < groups; ++g) {
        Word* const table = sums + (g * subsets * 2 + part) * W;
        hn::Store(hn::Zero(d), d, table);
        for (std::size_t bit = 0; bit < 4; ++bit) {
          const std::size_t l = 4 * g + bit, half = std::size_t{1} << bit;
          const Vw<Word> x = l < L ? load(of.low[l], part) : hn::Zero(d);
          for (std::size_t i = 0; i < half; ++i)
            hn::Store(add_mod(hn::Load(d, table + i * 2 * W), x, modulus.q), d,
                      table + (half + i) * 2 * W);
        }
      }
    }
    for (std::size_t i = 0; i < of.out.size(); ++i) {
      const std::uint16_t* const masks = of.masks.data() + i * H;
      ProductSum<Word> sum[3];
      sum_terms(
          H, chunk,
          [&](std::size_t h) HWY_ATTR {
            const unsigned mask = masks[h];
            if (mask == 0) return;
            Vw<Word> s[2];
            for (std::size_t part = 0; part < 2; ++part)
              for (std::size_t g = 0; g < groups; ++g) {
                const std::size_t subset = g * subsets + (mask >> 4 * g & (subsets - 1));
                const Vw<Word> more = hn::Load(d, sums + (subset * 2 + part) * W);
                s[part] = g == 0 ? more : add_mod(s[part], more, modulus.q);
              }
            const Vw<Word> a0 = hn::Load(d, highs + 2 * h * W),
                           a1 = hn::Load(d, highs + (2 * h + 1) * W);
            sum[0].add(a0, s[0], modulus);
            sum[1].add(a0, s[1], modulus);
            sum[1].add(a1, s[0], modulus);
            sum[2].add(a1, s[1], modulus);
          },
          [&]() HWY_ATTR {
            for (ProductSum<Word>& each : sum) each.correct(modulus);
          });
      for (std::size_t part = 0; part < 3; ++part)
        hn::StoreU(mul_montgomery(sum[part].reduce(modulus), square, modulus.q, modulus.inverse), d,
                   of.out[i] + part * of.part + j);
    }
  }
}
template <class Word>
void masked_tensors(const math::Montgomery<Word>& m, const MaskedRows<Word>& of,
                    std::size_t count) {
  if (of.low.size() <= 4)
    masked_tensors_of<1>(m, of, count);
  else if (of.low.size() <= 8)
    masked_tensors_of<2>(m, of, count);
  else
    masked_tensors_of<4>(m, of, count);
}

template <class Word>
constexpr RnsKernels<Word> rns_table_of{.conversion_digits = digits_of<Word>,
                                        .conversion_quotients = quotients_of<Word>,
                                        .conversion_sums = convert<Word>,
                                        .transform_block = transform_one_block<Word>,
                                        .divide_block = divide_one_block<Word>,
                                        .decompose = decompose<Word>,
                                        .sum_of_products = products<Word>,
                                        .two_by_two = products_of_two<Word>,
                                        .permute = permute<Word>,
                                        .key_products = key_sums<Word>,
                                        .sum_products = sum_by_values<Word>,
                                        .sum_scaled = sum_terms_of<Factors::weights, Word>,
                                        .multiply_matrix = multiply_matrix<Word>,
                                        .masked_tensors = masked_tensors<Word>};
constexpr ByWord<RnsKernels> rns_table{rns_table_of<std::uint32_t>, rns_table_of<std::uint64_t>};
const ByWord<RnsKernels>& rns_kernels_by_word() { return rns_table; }

}  // namespace HWY_NAMESPACE
}  // namespace whorl::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace whorl::backend::cpu {

HWY_EXPORT(rns_kernels_by_word);

template <>
const RnsKernels<std::uint32_t>& rns_kernels() {
  return HWY_DYNAMIC_DISPATCH(rns_kernels_by_word)().narrow;
}
template <>
const RnsKernels<std::uint64_t>& rns_kernels() {
  return HWY_DYNAMIC_DISPATCH(rns_kernels_by_word)().wide;
}

namespace {

/// The bits of all i < count in reverse order; count is a power of two.
std::vector<std::uint32_t> reversed(std::uint32_t count) {
  std::vector<std::uint32_t> out(count);
  for (std::uint32_t half = 1; half < count; half *= 2)
    for (std::uint32_t i = 0; i < half; ++i) out[half + i] = out[i] + count / 2 / half;
  return out;
}

}  // namespace

template <class Word>
EvaluationPermutation<Word>::EvaluationPermutation(std::uint32_t N, std::uint32_t g) {
  const std::uint32_t W = simd_words(sizeof(Word)), count = N / W;
  const auto log_count = static_cast<unsigned>(std::bit_width(count) - 1);
  // j = W·high + low is at psi^e, e = 2·count·brv(low) + e0, e0 = 2·brv(high) + 1. Of g·e mod 2N,
  // the part below 2·count depends on e0 alone, and its carry turns the rest. All of these are
  // powers of two: words of 32 bits and shifts do.
  const std::vector<std::uint32_t> of_high = reversed(count), of_low = reversed(W);
  moves_.resize(count);
  for (std::uint32_t high = 0; high < count; ++high) {
    const std::uint32_t e = (2 * of_high[high] + 1) * g;
    moves_[high] = {of_high[(e >> 1) & (count - 1)] * W, ((e >> (log_count + 1)) & (W - 1)) * W};
  }
  orders_.resize(std::size_t{W} * W);
  for (std::uint32_t carry = 0; carry < W; ++carry)
    for (std::uint32_t low = 0; low < W; ++low)
      orders_[carry * W + low] = of_low[(carry + of_low[low] * g) & (W - 1)];
}

template class EvaluationPermutation<std::uint32_t>;
template class EvaluationPermutation<std::uint64_t>;

}  // namespace whorl::backend::cpu
#endif  // HWY_ONCE
