// Transforms, one polynomial at a time, for the SIMD width that is found at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ring/host/kernels.cpp"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"
#include "ring/host/fft-inl.h"
#include "ring/host/kernels.h"
#include "ring/host/ntt-inl.h"

HWY_BEFORE_NAMESPACE();
namespace whorl::ring {
namespace HWY_NAMESPACE {

template <class Word, Reduction reduction>
struct StoreReduced {
  Butterfly<Word, reduction> butterfly;
  Word* out;
  HWY_INLINE void operator()(std::size_t v, Vw<Word> x) const {
    hn::StoreU(butterfly.finish(x), Dw<Word>(), out + v * kWords<Word>);
  }
};
template <class Word, Reduction reduction>
void ntt_one(const NttTables<Word>& t, const Word* in, Word* out) {
  ntt_forward<Word, reduction, Order::standard>(
      t, LoadWords<Word>{in}, out,
      StoreReduced<Word, reduction>{Butterfly<Word, reduction>(t.q), out});
}
template <class Word, Reduction reduction>
void ntt_above(const NttTables<Word>& t, Word* data) {
  ntt_forward_above<Word, reduction>(t, LoadWords<Word>{data}, data);
}
template <class Word, Reduction reduction>
void ntt_block(const NttTables<Word>& t, std::size_t block, Word* data, const Ahead& ahead) {
  ntt_forward_block<Word, reduction, Order::standard>(
      t, block, ntt_block_number(t), data,
      StoreReduced<Word, reduction>{Butterfly<Word, reduction>(t.q), data}, LinesAhead(ahead));
}
std::size_t blocks_32(const NttTables<std::uint32_t>& t) { return ntt_block_number(t); }
std::size_t blocks_64(const NttTables<std::uint64_t>& t) { return ntt_block_number(t); }
template <class Word, Reduction reduction>
void intt_one(const NttTables<Word>& t, Word scale, Word scale_shoup, const Word* in, Word* out) {
  const Vw<Word> q = hn::Set(Dw<Word>(), t.q);
  ntt_inverse_scaled<Word, reduction, Order::standard>(
      t, ShoupFactor<Word>{scale, scale_shoup}, LoadWords<Word>{in}, out,
      [=](std::size_t v, Vw<Word> x)
          HWY_ATTR { hn::StoreU(reduce_once(x, q), Dw<Word>(), out + v * kWords<Word>); },
      BlockAhead<Word>{t, in, out});
}
void ntt_32(const NttTables<std::uint32_t>& t, const std::uint32_t* in, std::uint32_t* out) {
  lazy_butterflies(t.q) ? ntt_one<std::uint32_t, Reduction::lazy>(t, in, out)
                        : ntt_one<std::uint32_t, Reduction::full>(t, in, out);
}
void ntt_64(const NttTables<std::uint64_t>& t, const std::uint64_t* in, std::uint64_t* out) {
  ntt_one<std::uint64_t, Reduction::lazy>(t, in, out);
}
void above_32(const NttTables<std::uint32_t>& t, std::uint32_t* data) {
  lazy_butterflies(t.q) ? ntt_above<std::uint32_t, Reduction::lazy>(t, data)
                        : ntt_above<std::uint32_t, Reduction::full>(t, data);
}
void above_64(const NttTables<std::uint64_t>& t, std::uint64_t* data) {
  ntt_above<std::uint64_t, Reduction::lazy>(t, data);
}
void block_32(const NttTables<std::uint32_t>& t, std::size_t block, std::uint32_t* data,
              const Ahead& ahead) {
  lazy_butterflies(t.q) ? ntt_block<std::uint32_t, Reduction::lazy>(t, block, data, ahead)
                        : ntt_block<std::uint32_t, Reduction::full>(t, block, data, ahead);
}
void block_64(const NttTables<std::uint64_t>& t, std::size_t block, std::uint64_t* data,
              const Ahead& ahead) {
  ntt_block<std::uint64_t, Reduction::lazy>(t, block, data, ahead);
}
void intt_32(const NttTables<std::uint32_t>& t, std::uint32_t scale, std::uint32_t shoup,
             const std::uint32_t* in, std::uint32_t* out) {
  lazy_butterflies(t.q) ? intt_one<std::uint32_t, Reduction::lazy>(t, scale, shoup, in, out)
                        : intt_one<std::uint32_t, Reduction::full>(t, scale, shoup, in, out);
}
void intt_64(const NttTables<std::uint64_t>& t, std::uint64_t scale, std::uint64_t shoup,
             const std::uint64_t* in, std::uint64_t* out) {
  intt_one<std::uint64_t, Reduction::lazy>(t, scale, shoup, in, out);
}

void fft_one(const FftTables& t, const double* in, std::complex<double>* out, double* work) {
  const std::size_t M = t.M;
  fft_forward<Order::standard>(
      t,
      [=](std::size_t v) HWY_ATTR {
        const Df d;
        return Complex{hn::LoadU(d, in + v * kLanes), hn::LoadU(d, in + M + v * kLanes)};
      },
      work);
  for (std::size_t v = 0; v < t.vectors; ++v)
    for (std::size_t k = 0; k < kLanes; ++k)
      out[v * kLanes + k] = {work[2 * kLanes * v + k], work[2 * kLanes * v + kLanes + k]};
}
void ifft_one(const FftTables& t, const std::complex<double>* in, double* out, double* work) {
  for (std::size_t v = 0; v < t.vectors; ++v)
    for (std::size_t k = 0; k < kLanes; ++k) {
      work[2 * kLanes * v + k] = in[v * kLanes + k].real();
      work[2 * kLanes * v + kLanes + k] = in[v * kLanes + k].imag();
    }
  const std::size_t M = t.M;
  const double scale = 1.0 / static_cast<double>(M);
  fft_inverse(t, work, [=](std::size_t v, Complex x) HWY_ATTR {
    const Df d;
    hn::StoreU(hn::Mul(x.re, hn::Set(d, scale)), d, out + v * kLanes);
    hn::StoreU(hn::Mul(x.im, hn::Set(d, scale)), d, out + M + v * kLanes);
  });
}

unsigned doubles_in_vector() { return kLanes; }
unsigned words_in_vector(std::size_t bytes) {
  return static_cast<unsigned>(bytes == 4 ? kWords<std::uint32_t> : kWords<std::uint64_t>);
}
const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace whorl::ring
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace whorl::ring {

HWY_EXPORT(ntt_32);
HWY_EXPORT(ntt_64);
HWY_EXPORT(intt_32);
HWY_EXPORT(blocks_32);
HWY_EXPORT(blocks_64);
HWY_EXPORT(above_32);
HWY_EXPORT(above_64);
HWY_EXPORT(block_32);
HWY_EXPORT(block_64);
HWY_EXPORT(intt_64);
HWY_EXPORT(fft_one);
HWY_EXPORT(ifft_one);
HWY_EXPORT(doubles_in_vector);
HWY_EXPORT(words_in_vector);
HWY_EXPORT(target_name);

unsigned simd_doubles() { return HWY_DYNAMIC_DISPATCH(doubles_in_vector)(); }
unsigned simd_words(std::size_t word_bytes) {
  return HWY_DYNAMIC_DISPATCH(words_in_vector)(word_bytes);
}
std::string simd_name() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

#define WHORL_BY_WORD(kernel, ...)                         \
  if constexpr (sizeof(Word) == 4)                         \
    return HWY_DYNAMIC_DISPATCH(kernel##_32)(__VA_ARGS__); \
  else                                                     \
    return HWY_DYNAMIC_DISPATCH(kernel##_64)(__VA_ARGS__)

template <class Word>
void ntt_polynomial(const NttTables<Word>& tables, const Word* in, Word* out) {
  WHORL_BY_WORD(ntt, tables, in, out);
}
template <class Word>
std::size_t ntt_block_count(const NttTables<Word>& tables) {
  WHORL_BY_WORD(blocks, tables);
}
template <class Word>
void ntt_above_blocks(const NttTables<Word>& tables, Word* data) {
  WHORL_BY_WORD(above, tables, data);
}
template <class Word>
void ntt_block_of(const NttTables<Word>& tables, std::size_t block, Word* data,
                  const Ahead& ahead) {
  WHORL_BY_WORD(block, tables, block, data, ahead);
}
template <class Word>
void intt_scaled(const NttTables<Word>& tables, Word scale, Word shoup, const Word* in, Word* out) {
  WHORL_BY_WORD(intt, tables, scale, shoup, in, out);
}
template <class Word>
void intt_polynomial(const NttTables<Word>& tables, const Word* in, Word* out) {
  intt_scaled(tables, tables.inverse_N, tables.inverse_N_shoup, in, out);
}
#undef WHORL_BY_WORD

#define WHORL_INSTANTIATE(Word)                                                         \
  template void ntt_polynomial(const NttTables<Word>&, const Word*, Word*);             \
  template std::size_t ntt_block_count(const NttTables<Word>&);                         \
  template void ntt_above_blocks(const NttTables<Word>&, Word*);                        \
  template void ntt_block_of(const NttTables<Word>&, std::size_t, Word*, const Ahead&); \
  template void intt_scaled(const NttTables<Word>&, Word, Word, const Word*, Word*);    \
  template void intt_polynomial(const NttTables<Word>&, const Word*, Word*);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)

void fft_polynomial(const FftTables& tables, const double* in, std::complex<double>* out,
                    double* work) {
  const auto own = work ? nullptr : hwy::AllocateAligned<double>(std::size_t{2} * tables.M);
  HWY_DYNAMIC_DISPATCH(fft_one)(tables, in, out, work ? work : own.get());
}
void ifft_polynomial(const FftTables& tables, const std::complex<double>* in, double* out,
                     double* work) {
  const auto own = work ? nullptr : hwy::AllocateAligned<double>(std::size_t{2} * tables.M);
  HWY_DYNAMIC_DISPATCH(ifft_one)(tables, in, out, work ? work : own.get());
}

}  // namespace whorl::ring
#endif  // HWY_ONCE
