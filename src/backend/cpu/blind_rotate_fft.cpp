// GINX blind rotation with the folded FFT.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/blind_rotate_fft.cpp"
#include "hwy/foreach_target.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "backend/cpu/rotation-inl.h"
#include "backend/cpu/rotation_keys.h"
#include "hwy/highway.h"
#include "ring/host/fft-inl.h"

HWY_BEFORE_NAMESPACE();
namespace whorl::backend::cpu {
namespace HWY_NAMESPACE {
// NOLINTNEXTLINE(google-build-using-namespace): each SIMD target has one of its own
using namespace ring::HWY_NAMESPACE;

template <class Int>
using Di = hn::Rebind<Int, Df>;

/// Integers -> doubles, exact for |x| < 2^53.
template <class Int>
HWY_INLINE Vf to_double(hn::Vec<Di<Int>> x) {
  const Df d;
  if constexpr (sizeof(Int) == 4)
    return hn::PromoteTo(d, x);
  else
    return hn::ConvertTo(d, x);
}
/// The nearest integer, for |x| < 2^31: adding 1.5·2^52 leaves it in the low half of the double.
HWY_INLINE hn::Vec<Di<std::int32_t>> round_to_int(Vf x) {
  const Df d;
  const hn::RebindToUnsigned<Df> du;
  const Di<std::uint32_t> du32;
  const auto bits = hn::BitCast(du, hn::Add(x, hn::Set(d, 0x1.8p52)));
  return hn::BitCast(Di<std::int32_t>(), hn::TruncateTo(du32, bits));
}
/// Digit j of folded values: the loader of the first FFT pass.
template <class Int>
struct LoadDigit {
  const Int* values;
  std::size_t M;
  DigitOf<Di<Int>> digit;
  HWY_INLINE Complex operator()(std::size_t v) const {
    return {to_double<Int>(digit(values + v * kLanes)),
            to_double<Int>(digit(values + M + v * kLanes))};
  }
};

/// Adds the rounded transform to an accumulator polynomial: the store of the last inverse pass.
/// Q = Q_high + Q_low, both doubles, so that subtracting multiples of a 54-bit Q is exact.
template <class Int>
struct AddTransform {
  Int* acc;
  std::size_t N;
  double scale, inverse_Q, Q_high, Q_low;
  Int Q, half;
  HWY_INLINE void one(std::size_t j, Vf x) const {
    const Df d;
    const Di<Int> di;
    if constexpr (sizeof(Int) == 4) {
      // The accumulator is added before reducing: sums stay below 2^52 and are exact.
      const auto before = hn::Load(di, acc + N + j);
      const Vf sum = hn::MulAdd(x, hn::Set(d, scale), to_double<Int>(before));
      const Vf k = hn::Round(hn::Mul(sum, hn::Set(d, inverse_Q)));
      const auto after = round_to_int(hn::NegMulAdd(k, hn::Set(d, Q_high), sum));
      hn::Store(after, di, acc + N + j);
      hn::Store(hn::Neg(after), di, acc + j);
    } else {
      x = hn::Mul(x, hn::Set(d, scale));
      const Vf k = hn::Round(hn::Mul(x, hn::Set(d, inverse_Q)));
      const Vf r = hn::NegMulAdd(k, hn::Set(d, Q_high), x);
      const auto rounded = hn::ConvertTo(di, hn::Round(hn::NegMulAdd(k, hn::Set(d, Q_low), r)));
      add_to_accumulator(di, acc, N, j, rounded, half, Q);
    }
  }
  HWY_INLINE void operator()(std::size_t v, Complex x) const {
    one(v * kLanes, x.re);
    one(N / 2 + v * kLanes, x.im);
  }
};

template <class Key>
HWY_INLINE Complex load_key(const Key* p) {
  if constexpr (std::is_same_v<Key, double>) {
    return load_complex(p);
  } else {
    const Di<std::int32_t> di;
    return {to_double<std::int32_t>(hn::Load(di, p)),
            to_double<std::int32_t>(hn::Load(di, p + kLanes))};
  }
}

HWY_INLINE void multiply_add(Complex& sum, Complex a, Complex b) {
  sum.re = hn::MulAdd(a.re, b.re, sum.re);
  sum.im = hn::MulAdd(a.re, b.im, sum.im);
  sum.re = hn::NegMulAdd(a.im, b.im, sum.re);
  sum.im = hn::MulAdd(a.im, b.re, sum.im);
}

/// X^-a at the roots, as a product of one factor a vector and one a lane.
struct Monomial {
  const std::complex<double>* roots;
  const std::uint32_t* vector_exponent;
  std::uint32_t minus_a, mask;
  Complex lane;
  HWY_INLINE void prepare(const FftRotationKey& key, std::uint32_t a) {
    roots = key.plan.roots().data();
    vector_exponent = key.tables.vector_exponent.data();
    minus_a = 0u - a;
    mask = 2 * key.shape().N - 1;
    HWY_ALIGN double re[kLanes], im[kLanes];
    for (std::size_t k = 0; k < kLanes; ++k) {
      const auto w = roots[minus_a * key.tables.lane_exponent[k] & mask];
      re[k] = w.real();
      im[k] = w.imag();
    }
    const Df d;
    lane = {hn::Load(d, re), hn::Load(d, im)};
  }
  HWY_INLINE Complex operator()(std::size_t v) const {
    const Df d;
    const auto w = roots[minus_a * vector_exponent[v] & mask];
    return mul({hn::Set(d, w.real()), hn::Set(d, w.imag())}, lane);
  }
};

/// Fetches the next group's share of the key a few lines at a time, evenly over the work on this
/// one: a burst would wait for memory, which one ciphertext alone keeps busy nearly all the time.
/// Into the second-level cache: two groups' shares would push the digits out of the first.
template <class Key>
struct FetchAhead {
  const Key *at, *end;
  std::size_t values;  ///< at each call
  FetchAhead(const Key* begin, std::size_t count, std::size_t calls)
      : at(begin), end(begin + count), values((count + calls - 1) / calls) {}
  HWY_INLINE void some() {
    constexpr std::size_t line = 64 / sizeof(Key);
    for (const Key* stop = std::min(end, at + values); at < stop; at += line)
      __builtin_prefetch(at, 0, 2);
  }
};

/// One step for a tile, group by group of kLanes vectors: finish the digits' transforms, multiply
/// by the key, begin the inverse transforms. A group's data stay in the first-level cache.
template <class Key, unsigned keys, class Word>
HWY_NOINLINE void multiply_step(const FftRotationKey& key, const Key* HWY_RESTRICT step,
                                std::size_t rows, std::span<const Carried<Word, double>> tile) {
  const std::size_t count = tile.size();
  const ring::FftTables& tables = key.tables;
  const std::size_t row_doubles = 2 * tables.M;
  constexpr std::size_t group_doubles = kLanes * 2 * kLanes;
  const Df d;
  HWY_ALIGN double digits[2 * most_digits * group_doubles];
  [[maybe_unused]] Monomial monomials[most_tile];
  if constexpr (keys == 2)
    for (std::size_t c = 0; c < count; ++c) monomials[c].prepare(key, tile[c].a);
  for (std::size_t group = 0; group < tables.vectors / kLanes; ++group) {
    const std::size_t group_values = kLanes * rows * keys * 4 * kLanes;
    const Key* group_key = step + group * group_values;
    FetchAhead<Key> fetch(group_key + group_values, group_values, count * rows * (kLanes + 2));
    for (std::size_t c = 0; c < count; ++c) {
      if (tile[c].a == 0) continue;
      double* spectra = tile[c].digits + group * group_doubles;
      for (std::size_t row = 0; row < rows; ++row) {
        Complex x[kLanes];
        load_group(spectra + row * row_doubles, x);
        fetch.some();
        forward_group(tables, group, x);
        fetch.some();
        store_group(x, digits + row * group_doubles);
      }
      HWY_ALIGN double products[2 * group_doubles];
      const Key* k = group_key;
      for (std::size_t i = 0; i < kLanes; ++i) {
        Complex sum[2 * keys];
        for (unsigned s = 0; s < 2 * keys; ++s) sum[s] = {hn::Zero(d), hn::Zero(d)};
        for (std::size_t row = 0; row < rows; ++row) {
          const Complex digit = load_complex(digits + row * group_doubles + 2 * kLanes * i);
          fetch.some();
          for (unsigned s = 0; s < 2 * keys; ++s, k += 2 * kLanes)
            multiply_add(sum[s], digit, load_key(k));
        }
        if constexpr (keys == 2) {
          const Complex monomial = monomials[c](group * kLanes + i);
          sum[0] = sub(sum[0], mul(sum[2], monomial));
          sum[1] = sub(sum[1], mul(sum[3], monomial));
        }
        store_complex(sum[0], products + 2 * kLanes * i);
        store_complex(sum[1], products + group_doubles + 2 * kLanes * i);
      }
      for (unsigned component = 0; component < 2; ++component) {
        Complex x[kLanes];
        load_group(products + component * group_doubles, x);
        inverse_group(tables, group, x);
        store_group(x, spectra + component * row_doubles);
      }
    }
  }
}

template <class Word>
void rotate_tile(const FftRotationKey& key, const RotationBatch<Word>& batch, std::size_t begin,
                 std::size_t count) {
  using Int = std::make_signed_t<Word>;
  const RotationShape& shape = key.shape();
  const std::size_t N = shape.N, M = N / 2;
  const Int Q = static_cast<Int>(shape.Q), half = static_cast<Int>(shape.Q / 2);
  const ring::FftTables& tables = key.tables;

  Tile<Word, double> tile(shape, batch, begin, count);
  const std::span<Carried<Word, double>> carried = tile.carried();

  const double Q_high = static_cast<double>(shape.Q & ~std::uint64_t{1023});
  const bool wide = sizeof(Word) == 8;
  AddTransform<Int> add{nullptr,
                        N,
                        0,
                        1.0 / static_cast<double>(shape.Q),
                        wide ? Q_high : static_cast<double>(shape.Q),
                        static_cast<double>(shape.Q & 1023),
                        Q,
                        half};

  for (std::uint32_t i = 0; i < shape.n; ++i) {
    const ring::Gadget& gadget = shape.gadgets[i];
    const unsigned digits = gadget.digits();
    for (auto& ct : carried) {
      ct.a = ct.lwe[i];
      if (ct.a == 0) continue;  // multiplies by zero: nothing changes
      for (unsigned component = 0; component < 2; ++component) {
        rotate_minus_one(hn::ScalableTag<Int>(), ct.acc[component], N, ct.a, Q, half,
                         static_cast<Int>(gadget.offset()), ct.rotated);
        for (unsigned j = 0; j < digits; ++j)
          fft_forward_passes(tables, LoadDigit<Int>{ct.rotated, M, {gadget, j}},
                             ct.digits + (component * digits + j) * 2 * M);
      }
    }
    const std::size_t rows = 2 * digits;
    const std::size_t offset = key.first[i] * 2 * N;
    if (key.compact) {
      if (shape.keys == 1)
        multiply_step<std::int32_t, 1, Word>(key, key.words.get() + offset, rows, carried);
      else
        multiply_step<std::int32_t, 2, Word>(key, key.words.get() + offset, rows, carried);
    } else {
      if (shape.keys == 1)
        multiply_step<double, 1, Word>(key, key.doubles.get() + offset, rows, carried);
      else
        multiply_step<double, 2, Word>(key, key.doubles.get() + offset, rows, carried);
    }
    add.scale = 1.0 / (key.scale[i] * static_cast<double>(M));
    for (auto& ct : carried) {
      if (ct.a == 0) continue;
      for (unsigned component = 0; component < 2; ++component) {
        add.acc = ct.acc[component];
        fft_inverse_passes(tables, ct.digits + component * 2 * M, add);
      }
    }
  }

  tile.write();
}

/// Spectrum, in internal order, of centred coefficients.
void key_spectrum(const ring::FftTables& tables, const double* coefficients, double* out) {
  const std::size_t M = tables.M;
  fft_forward<false>(
      tables,
      [=](std::size_t v) HWY_ATTR {
        const Df d;
        return Complex{hn::LoadU(d, coefficients + v * kLanes),
                       hn::LoadU(d, coefficients + M + v * kLanes)};
      },
      out);
}
/// Puts a spectrum into the key: its vector v at out + v·stride.
void place_words(const double* spectrum, std::size_t vectors, double scale, std::size_t stride,
                 std::int32_t* out) {
  const Df d;
  const Di<std::int32_t> di;
  const Vf bound = hn::Set(d, 2147483647.0);
  for (std::size_t v = 0; v < vectors; ++v, spectrum += 2 * kLanes, out += stride)
    for (std::size_t part = 0; part < 2 * kLanes; part += kLanes) {
      const Vf value = hn::Mul(hn::Load(d, spectrum + part), hn::Set(d, scale));
      hn::StoreU(round_to_int(hn::Clamp(value, hn::Neg(bound), bound)), di, out + part);
    }
}
void place_doubles(const double* spectrum, std::size_t vectors, std::size_t stride, double* out) {
  for (std::size_t v = 0; v < vectors; ++v, spectrum += 2 * kLanes, out += stride)
    std::copy_n(spectrum, 2 * kLanes, out);
}

constexpr FftRotationKernels fft_rotation_table{
    .lanes = kLanes,
    .rotate = {{rotate_tile<std::uint32_t>}, {rotate_tile<std::uint64_t>}},
    .key_spectrum = key_spectrum,
    .place_words = place_words,
    .place_doubles = place_doubles};
const FftRotationKernels& fft_rotation_kernels() { return fft_rotation_table; }

}  // namespace HWY_NAMESPACE
}  // namespace whorl::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace whorl::backend::cpu {

HWY_EXPORT(fft_rotation_kernels);

template <class Word>
std::unique_ptr<RotationKey> prepare_fft_key(const RotationShape& shape,
                                             const RowSource<Word>& rows, const Workers& workers) {
  const FftRotationKernels& kernels = HWY_DYNAMIC_DISPATCH(fft_rotation_kernels)();
  const bool compact = sizeof(Word) == 4;
  auto key = std::make_unique<FftRotationKey>(shape, kernels.lanes, compact);
  const std::size_t N = shape.N, lanes = key->tables.lanes;
  using Int = std::make_signed_t<Word>;
  const Int Q = static_cast<Int>(shape.Q), half = static_cast<Int>(shape.Q / 2);

  parallel_for(shape.n, workers, [&](std::size_t i) {
    std::vector<Word> row(2 * N);
    auto coefficients = hwy::AllocateAligned<double>(N);
    const std::size_t polynomials = 2 * shape.gadgets[i].digits();
    const std::size_t values = (key->first[i + 1] - key->first[i]) * 2 * N;
    auto spectra = hwy::AllocateAligned<double>(values);
    if (!coefficients || !spectra)
      throw OutOfMemoryError("blind-rotation key: the system gave no memory for a step");
    // Polynomials (row, key, component), 2·M = N doubles each, as the step is laid out.
    auto place_of = [&](std::size_t polynomial, unsigned k, unsigned component) {
      return (polynomial * shape.keys + k) * 2 + component;
    };
    for (unsigned k = 0; k < shape.keys; ++k)
      for (std::size_t polynomial = 0; polynomial < polynomials; ++polynomial) {
        rows(key->first[i] + k * polynomials + polynomial, {row.data(), N}, {row.data() + N, N});
        for (unsigned component = 0; component < 2; ++component) {
          for (std::size_t j = 0; j < N; ++j) {
            const Int value = static_cast<Int>(row[component * N + j]);
            // The shift is -1 above half: a branch here would be mispredicted every other time.
            coefficients[j] =
                static_cast<double>(value - (Q & ((half - value) >> (8 * sizeof(Int) - 1))));
          }
          kernels.key_spectrum(key->tables, coefficients.get(),
                               spectra.get() + place_of(polynomial, k, component) * N);
        }
      }
    if (compact) {
      double largest = 0;
      for (std::size_t j = 0; j < values; ++j) largest = std::max(largest, std::abs(spectra[j]));
      key->scale[i] = 2147483647.0 / std::max(largest, 1.0);
    }
    const std::size_t base = key->first[i] * 2 * N, stride = values / N * 2 * lanes;
    for (std::size_t place = 0; place < values / N; ++place) {
      const double* spectrum = spectra.get() + place * N;
      const std::size_t at = base + place * 2 * lanes;
      if (compact)
        kernels.place_words(spectrum, key->tables.vectors, key->scale[i], stride,
                            key->words.get() + at);
      else
        kernels.place_doubles(spectrum, key->tables.vectors, stride, key->doubles.get() + at);
    }
  });
  return key;
}

template <class Word>
void blind_rotate_fft(const RotationKey& any_key, const RotationBatch<Word>& batch,
                      const Workers& workers) {
  const auto& key = static_cast<const FftRotationKey&>(any_key);
  const FftRotationKernels& kernels = HWY_DYNAMIC_DISPATCH(fft_rotation_kernels)();
  check_lanes(key.tables.lanes, kernels.lanes, "doubles");
  const std::size_t bytes =
      key.shape().N * (2 * key.shape().most_digits() * sizeof(double) + 5 * sizeof(Word));
  each_tile(batch.count, bytes, workers, [&](std::size_t begin, std::size_t count) {
    kernels.rotate.of<Word>().tile(key, batch, begin, count);
  });
}

constexpr ByWord<BlindRotation> fft_rotation{
    {prepare_fft_key<std::uint32_t>, blind_rotate_fft<std::uint32_t>},
    {prepare_fft_key<std::uint64_t>, blind_rotate_fft<std::uint64_t>}};

}  // namespace whorl::backend::cpu
#endif  // HWY_ONCE
