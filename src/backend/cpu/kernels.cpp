// Element-wise arithmetic, one stretch at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels.cpp"
#include "hwy/foreach_target.h"

#include "backend/cpu/kernels.h"
#include "hwy/highway.h"
#include "ring/host/words-inl.h"

HWY_BEFORE_NAMESPACE();
namespace whorl::backend::cpu {
namespace HWY_NAMESPACE {
// NOLINTNEXTLINE(google-build-using-namespace): each SIMD target has one of its own
using namespace ring::HWY_NAMESPACE;

/// A plain product is formed as (a·b/R)·R^2/R.
template <class Word>
void elementwise_odd(Elementwise op, const math::Montgomery<Word>& montgomery, const Word* a,
                     const Word* b, Word* out, std::size_t count) {
  const Dw<Word> d;
  const Vw<Word> q = hn::Set(d, montgomery.modulus().value()),
                 inverse = hn::Set(d, montgomery.inverse()),
                 square = hn::Set(d, montgomery.r_squared());
  auto product = [&](Vw<Word> x, Vw<Word> y) HWY_ATTR {
    return mul_montgomery(mul_montgomery(x, y, q, inverse), square, q, inverse);
  };
  auto one = [&](const Word* pa, const Word* pb, Word* po) HWY_ATTR {
    const Vw<Word> x = hn::LoadU(d, pa);
    Vw<Word> r = x;
    switch (op) {
      case Elementwise::add:
        r = add_mod(x, hn::LoadU(d, pb), q);
        break;
      case Elementwise::sub:
        r = sub_mod(x, hn::LoadU(d, pb), q);
        break;
      case Elementwise::neg:
        r = sub_mod(hn::Zero(d), x, q);
        break;
      case Elementwise::mul:
        r = product(x, hn::LoadU(d, pb));
        break;
      case Elementwise::mul_add:
        r = add_mod(hn::LoadU(d, po), product(x, hn::LoadU(d, pb)), q);
        break;
    }
    hn::StoreU(r, d, po);
  };
  constexpr std::size_t lanes = kWords<Word>;
  std::size_t j = 0;
  for (; j + lanes <= count; j += lanes) one(a + j, b + j, out + j);
  if (j < count) {  // the tail goes through a padded copy
    HWY_ALIGN Word ta[lanes] = {}, tb[lanes] = {}, to[lanes] = {};
    for (std::size_t k = 0; k < count - j; ++k) {
      ta[k] = a[j + k];
      tb[k] = b[j + k];
      to[k] = out[j + k];
    }
    one(ta, tb, to);
    for (std::size_t k = 0; k < count - j; ++k) out[j + k] = to[k];
  }
}
void elementwise_32(Elementwise op, const math::Montgomery<std::uint32_t>& montgomery,
                    const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out,
                    std::size_t count) {
  elementwise_odd(op, montgomery, a, b, out, count);
}
void elementwise_64(Elementwise op, const math::Montgomery<std::uint64_t>& montgomery,
                    const std::uint64_t* a, const std::uint64_t* b, std::uint64_t* out,
                    std::size_t count) {
  elementwise_odd(op, montgomery, a, b, out, count);
}

template <class Word>
void scale_by(Word modulus, Word w, Word w_shoup, const Word* a, Word* out, std::size_t count) {
  const Dw<Word> d;
  const Vw<Word> q = hn::Set(d, modulus), vw = hn::Set(d, w), vs = hn::Set(d, w_shoup);
  constexpr std::size_t lanes = kWords<Word>;
  std::size_t j = 0;
  for (; j + lanes <= count; j += lanes)
    hn::StoreU(reduce_once(mul_shoup_lazy_same(hn::LoadU(d, a + j), vw, vs, q), q), d, out + j);
  if (j < count) {
    HWY_ALIGN Word t[lanes] = {};
    for (std::size_t k = 0; k < count - j; ++k) t[k] = a[j + k];
    hn::Store(reduce_once(mul_shoup_lazy(hn::Load(d, t), vw, vs, q), q), d, t);
    for (std::size_t k = 0; k < count - j; ++k) out[j + k] = t[k];
  }
}
void scale_32(std::uint32_t q, std::uint32_t w, std::uint32_t s, const std::uint32_t* a,
              std::uint32_t* out, std::size_t count) {
  scale_by(q, w, s, a, out, count);
}
void scale_64(std::uint64_t q, std::uint64_t w, std::uint64_t s, const std::uint64_t* a,
              std::uint64_t* out, std::size_t count) {
  scale_by(q, w, s, a, out, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace whorl::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace whorl::backend::cpu {

HWY_EXPORT(elementwise_32);
HWY_EXPORT(elementwise_64);
HWY_EXPORT(scale_32);
HWY_EXPORT(scale_64);

namespace {

/// Even moduli have no Montgomery form; they are rare enough for scalar Barrett products.
template <class Word>
void elementwise_even(Elementwise op, const math::Modulus<Word>& q, const Word* a, const Word* b,
                      Word* out, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) switch (op) {
      case Elementwise::add:
        out[j] = q.add(a[j], b[j]);
        break;
      case Elementwise::sub:
        out[j] = q.sub(a[j], b[j]);
        break;
      case Elementwise::neg:
        out[j] = q.neg(a[j]);
        break;
      case Elementwise::mul:
        out[j] = q.mul(a[j], b[j]);
        break;
      case Elementwise::mul_add:
        out[j] = q.add(out[j], q.mul(a[j], b[j]));
        break;
    }
}

}  // namespace

template <class Word>
void elementwise(Elementwise op, const math::Modulus<Word>& q, const Word* a, const Word* b,
                 Word* out, std::size_t count) {
  if (q.value() % 2 == 0) return elementwise_even(op, q, a, b, out, count);
  const math::Montgomery<Word> montgomery(q);
  if constexpr (sizeof(Word) == 4)
    HWY_DYNAMIC_DISPATCH(elementwise_32)(op, montgomery, a, b, out, count);
  else
    HWY_DYNAMIC_DISPATCH(elementwise_64)(op, montgomery, a, b, out, count);
}
template void elementwise(Elementwise, const math::Modulus<std::uint32_t>&, const std::uint32_t*,
                          const std::uint32_t*, std::uint32_t*, std::size_t);
template void elementwise(Elementwise, const math::Modulus<std::uint64_t>&, const std::uint64_t*,
                          const std::uint64_t*, std::uint64_t*, std::size_t);

template <class Word>
void multiply_scalar(const math::Modulus<Word>& q, const Word* a, Word scalar, Word* out,
                     std::size_t count) {
  if constexpr (sizeof(Word) == 4)
    HWY_DYNAMIC_DISPATCH(scale_32)(q.value(), scalar, q.shoup(scalar), a, out, count);
  else
    HWY_DYNAMIC_DISPATCH(scale_64)(q.value(), scalar, q.shoup(scalar), a, out, count);
}
template void multiply_scalar(const math::Modulus<std::uint32_t>&, const std::uint32_t*,
                              std::uint32_t, std::uint32_t*, std::size_t);
template void multiply_scalar(const math::Modulus<std::uint64_t>&, const std::uint64_t*,
                              std::uint64_t, std::uint64_t*, std::size_t);

}  // namespace whorl::backend::cpu
#endif  // HWY_ONCE
