// Blind rotation with the folded FFT.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/blind_rotate_fft.cpp"
#include "hwy/foreach_target.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "backend/cpu/fft_accumulator-inl.h"
#include "backend/cpu/rotation-inl.h"
#include "backend/cpu/rotation_keys.h"
#include "hwy/highway.h"
#include "ring/host/fft-inl.h"

HWY_BEFORE_NAMESPACE();
namespace whorl::backend::cpu {
namespace HWY_NAMESPACE {
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

/// X^e at the roots, as a product of one factor a vector and one a lane.
struct Monomial {
  const std::complex<double>* roots;
  const std::uint32_t* vector_exponent;
  std::uint32_t e, mask;
  Complex lane;
  HWY_INLINE void prepare(const FftRotationKey& key, std::uint32_t exponent) {
    roots = key.plan.roots().data();
    vector_exponent = key.tables.vector_exponent.data();
    e = exponent;
    mask = 2 * key.shape().N - 1;
    HWY_ALIGN double re[kLanes], im[kLanes];
    for (std::size_t k = 0; k < kLanes; ++k) {
      const auto w = roots[e * key.tables.lane_exponent[k] & mask];
      re[k] = w.real();
      im[k] = w.imag();
    }
    const Df d;
    lane = {hn::Load(d, re), hn::Load(d, im)};
  }
  HWY_INLINE Complex operator()(std::size_t v) const {
    const Df d;
    const auto w = roots[e * vector_exponent[v] & mask];
    return mul({hn::Set(d, w.real()), hn::Set(d, w.imag())}, lane);
  }
};

/// Fetches the next group's share of the key a few lines at a time, evenly over the work on this
/// one: a burst would wait for memory, which one ciphertext alone keeps busy nearly all the time.
/// They go into the second-level cache: two groups' shares would push the digits out of the first.
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

/// Vectors of a transform that go through a step together: one group of the widest vectors, or as
/// many groups as fill as much of the first-level cache. A group alone would wait for itself.
constexpr std::size_t block_vectors = kLanes < 8 ? 64 / kLanes : kLanes;

/// One step for a tile, block by block: finish the digits' transforms, multiply by the key, begin
/// the inverse transforms. A block's data stay in the first-level cache.
template <class Key, unsigned keys, class Ct>
HWY_NOINLINE void multiply_step(const FftRotationKey& key, const Key* HWY_RESTRICT step,
                                std::size_t rows, std::span<const Ct> tile) {
  const std::size_t count = tile.size();
  const ring::FftTables& tables = key.tables;
  const std::size_t row_doubles = 2 * tables.M;
  constexpr std::size_t group_doubles = kLanes * 2 * kLanes;
  constexpr std::size_t groups = block_vectors / kLanes, block_doubles = groups * group_doubles;
  const Df d;
  HWY_ALIGN double digits[2 * most_digits * block_doubles];
  HWY_ALIGN double products[2 * block_doubles];
  [[maybe_unused]] Monomial monomials[most_tile];
  if constexpr (keys == 2)
    for (std::size_t c = 0; c < count; ++c) monomials[c].prepare(key, 0u - tile[c].a);
  for (std::size_t block = 0; block < tables.vectors / block_vectors; ++block) {
    const std::size_t block_values = block_vectors * rows * keys * 4 * kLanes;
    const Key* block_key = step + block * block_values;
    FetchAhead<Key> fetch(block_key + block_values, block_values,
                          count * rows * (2 * groups + block_vectors));
    for (std::size_t c = 0; c < count; ++c) {
      if (tile[c].a == 0) continue;
      double* spectra = tile[c].digits + block * block_doubles;
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t group = 0; group < groups; ++group) {
          Complex x[kLanes];
          load_group(spectra + row * row_doubles + group * group_doubles, x);
          fetch.some();
          forward_group(tables, block * groups + group, x);
          fetch.some();
          store_group(x, digits + row * block_doubles + group * group_doubles);
        }
      const Key* k = block_key;
      for (std::size_t i = 0; i < block_vectors; ++i) {
        Complex sum[2 * keys];
        for (unsigned s = 0; s < 2 * keys; ++s) sum[s] = {hn::Zero(d), hn::Zero(d)};
        for (std::size_t row = 0; row < rows; ++row) {
          const Complex digit = load_complex(digits + row * block_doubles + 2 * kLanes * i);
          fetch.some();
          for (unsigned s = 0; s < 2 * keys; ++s, k += 2 * kLanes)
            multiply_add(sum[s], digit, load_key(k));
        }
        if constexpr (keys == 2) {
          const Complex monomial = monomials[c](block * block_vectors + i);
          sum[0] = sub(sum[0], mul(sum[2], monomial));
          sum[1] = sub(sum[1], mul(sum[3], monomial));
        }
        store_complex(sum[0], products + 2 * kLanes * i);
        store_complex(sum[1], products + block_doubles + 2 * kLanes * i);
      }
      for (unsigned component = 0; component < 2; ++component)
        for (std::size_t group = 0; group < groups; ++group) {
          Complex x[kLanes];
          load_group(products + component * block_doubles + group * group_doubles, x);
          inverse_group(tables, block * groups + group, x);
          store_group(x, spectra + component * row_doubles + group * group_doubles);
        }
    }
  }
}

/// Most keys of a bundle, exponents, and doubles of a vector's key that are converted once a tile.
constexpr unsigned most_keys = 256, most_exponents = 8, most_shared = 4096;

/// What the keys of a bundle are multiplied by at vector v: X^e, or X^e - 1.
HWY_INLINE void bundle_factors(const BundleStep& step, unsigned keys, const Monomial* monomials,
                               std::size_t v, double* factors) {
  const Df d;
  constexpr std::size_t size = 2 * kLanes;
  double* const of_set = factors - static_cast<std::ptrdiff_t>(step.first_set() * size);
  if (step.all()) store_complex({hn::Set(d, 1.0), hn::Zero(d)}, factors);
  for (unsigned t = 0; t < step.exponents; ++t) {
    const unsigned top = step.alone(t);
    const Complex monomial = monomials[t](v);
    store_complex(monomial, of_set + top * size);
    for (unsigned set = top + 1; step.sets() && set < 2 * top; ++set)
      store_complex(mul(load_complex(of_set + (set - top) * size), monomial), of_set + set * size);
  }
  for (unsigned k = 0; k < keys && !step.all(); ++k)
    hn::Store(hn::Sub(hn::Load(d, factors + k * size), hn::Set(d, 1.0)), d, factors + k * size);
}

/// Spectra of digits, kLanes values of each row at `digits`, times the bundle of `factors` and the
/// keys at `k`; in place of those of the first two rows.
template <class Key>
HWY_INLINE void multiply_bundle_at(const Key* k, std::size_t rows, unsigned keys,
                                   const double* factors, double* digits, std::size_t row_doubles) {
  const Df d;
  const Complex zero{hn::Zero(d), hn::Zero(d)};
  Complex sum[2] = {zero, zero};
  // Two rows at once (there are as many for either component): one alone has four sums, each of
  // which waits for its last addition.
  const std::size_t row_values = std::size_t{keys} * 4 * kLanes;
  for (std::size_t row = 0; row < rows; row += 2, k += row_values) {
    Complex first[2] = {zero, zero}, second[2] = {zero, zero};
    for (unsigned i = 0; i < keys; ++i, k += 4 * kLanes) {
      const Complex factor = load_complex(factors + 2 * kLanes * i);
      for (unsigned component = 0; component < 2; ++component) {
        const Key* const at = k + component * 2 * kLanes;
        multiply_add(first[component], factor, load_key(at));
        multiply_add(second[component], factor, load_key(at + row_values));
      }
    }
    const Complex digit = load_complex(digits + row * row_doubles);
    const Complex next = load_complex(digits + (row + 1) * row_doubles);
    for (unsigned component = 0; component < 2; ++component) {
      multiply_add(sum[component], digit, first[component]);
      multiply_add(sum[component], next, second[component]);
    }
  }
  store_complex(sum[0], digits);
  store_complex(sum[1], digits + row_doubles);
}

/// Does what multiply_step does, with the bundle of each ciphertext's own exponents, which is made
/// where it is used and never stored.
template <class Key, class Ct>
HWY_NOINLINE void multiply_bundles(const FftRotationKey& key, const Key* HWY_RESTRICT words,
                                   const BundleStep& step, std::span<const Ct> tile) {
  const ring::FftTables& tables = key.tables;
  const KeyBlock& block = key.blocks[step.block];
  const unsigned keys = block.keys;
  const std::size_t rows = block.rows, row_doubles = 2 * tables.M;
  constexpr std::size_t group_doubles = kLanes * 2 * kLanes;
  const std::size_t vector_values = rows * keys * 4 * kLanes;
  Monomial monomials[most_tile][most_exponents];
  for (std::size_t c = 0; c < tile.size(); ++c)
    for (unsigned t = 0; t < step.exponents; ++t)
      monomials[c][t].prepare(key, step.exponent(tile[c].lwe, t));
  HWY_ALIGN double factors[most_keys * 2 * kLanes];
  // Integers of the key become doubles once for all of a tile.
  HWY_ALIGN double doubles[std::is_same_v<Key, double> ? kLanes : most_shared];
  const bool shared =
      !std::is_same_v<Key, double> && tile.size() > 1 && vector_values <= most_shared;
  for (std::size_t group = 0; group < tables.vectors / kLanes; ++group) {
    const Key* k = words + group * kLanes * vector_values;
    FetchAhead<Key> fetch(k + kLanes * vector_values, kLanes * vector_values,
                          tile.size() * rows * 2 + kLanes);
    for (const auto& ct : tile) {
      if (ct.a == 0) continue;
      for (std::size_t row = 0; row < rows; ++row) {
        double* const spectrum = ct.digits + row * row_doubles + group * group_doubles;
        Complex x[kLanes];
        load_group(spectrum, x);
        fetch.some();
        forward_group(tables, group, x);
        fetch.some();
        store_group(x, spectrum);
      }
    }
    for (std::size_t i = 0; i < kLanes; ++i, k += vector_values) {
      fetch.some();
      if (shared)
        for (std::size_t at = 0; at < vector_values; at += 2 * kLanes)
          store_complex(load_key(k + at), doubles + at);
      for (std::size_t c = 0; c < tile.size(); ++c) {
        if (tile[c].a == 0) continue;
        bundle_factors(step, keys, monomials[c], group * kLanes + i, factors);
        double* const digits = tile[c].digits + group * group_doubles + 2 * kLanes * i;
        if (shared)
          multiply_bundle_at<double>(doubles, rows, keys, factors, digits, row_doubles);
        else
          multiply_bundle_at<Key>(k, rows, keys, factors, digits, row_doubles);
      }
    }
    for (const auto& ct : tile)
      for (unsigned component = 0; component < 2 && ct.a != 0; ++component) {
        double* const spectrum = ct.digits + component * row_doubles + group * group_doubles;
        Complex x[kLanes];
        load_group(spectrum, x);
        inverse_group(tables, group, x);
        store_group(x, spectrum);
      }
  }
}

/// What rotate_by asks of an arithmetic. Kept: how accumulators are.
template <class Kept>
class FftEngine {
 public:
  using Int = typename Kept::Int;
  using Ct = Carried<Kept, double>;
  static constexpr bool fractions = std::is_same_v<Kept, Fractions>;
  explicit FftEngine(const FftRotationKey& key)
      : key_(key), shape_(key.shape()), N_(shape_.N), M_(N_ / 2) {}

  void decompose(Ct& ct, unsigned component, const Int* values, const ring::Gadget& gadget) const {
    double* const out = ct.digits + component * gadget.digits() * N_;
    if constexpr (fractions)
      transform(FractionDigits{values, digits_of_unit(gadget)}, out);
    else if (shape_.raised())
      transform(DigitsOf<Int, WholeValue<Di<Int>>>{values, {}}, out);
    else
      for (unsigned j = 0; j < gadget.digits(); ++j)
        transform(DigitsOf<Int, OwnDigitOf<Di<Int>>>{values, {gadget, j}}, out + j * N_);
  }
  /// (X^a - 1)·ACC instead.
  void decompose_difference(Ct& ct, unsigned component, const ring::Gadget& gadget) const {
    double* const out = ct.digits + component * gadget.digits() * N_;
    Int* const acc = ct.acc[component];
    if constexpr (fractions) {
      rotate_minus_one(hn::ScalableTag<Int>(), acc, N_, ct.a, ct.rotated);
      transform(FractionDigits{ct.rotated, digits_of_unit(gadget)}, out);
    } else {
      const Int Q = static_cast<Int>(shape_.Q), half = static_cast<Int>(shape_.Q / 2);
      rotate_minus_one(hn::ScalableTag<Int>(), acc, N_, ct.a, Q, half,
                       static_cast<Int>(gadget.offset()), ct.rotated);
      for (unsigned j = 0; j < gadget.digits(); ++j)
        transform(DigitsOf<Int, DigitOf<Di<Int>>>{ct.rotated, {gadget, j}}, out + j * N_);
    }
  }
  /// Multiplies all of a tile by one block of GINX, which has so many `keys`.
  template <unsigned keys>
  void multiply(std::span<const Ct> tile, std::size_t block) const {
    const std::size_t rows = key_.blocks[block].rows, offset = key_.offset(block);
    if (key_.compact)
      multiply_step<std::int32_t, keys>(key_, key_.words.get() + offset, rows, tile);
    else
      multiply_step<double, keys>(key_, key_.doubles.get() + offset, rows, tile);
  }
  void multiply(Ct& ct, std::size_t block) const {
    ct.a = 1;  // something is to be done
    multiply<1>(std::span<const Ct>(&ct, 1), block);
  }
  void multiply_bundle(std::span<const Ct> tile, const BundleStep& step) const {
    const std::size_t offset = key_.offset(step.block);
    if (key_.compact)
      multiply_bundles<std::int32_t>(key_, key_.words.get() + offset, step, tile);
    else
      multiply_bundles<double>(key_, key_.doubles.get() + offset, step, tile);
  }
  void finish(Ct& ct, unsigned component, std::size_t block, Accumulate how) const {
    how == Accumulate::replace ? finish<Accumulate::replace>(ct, component, block)
                               : finish<Accumulate::add>(ct, component, block);
  }

 private:
  template <class Take>
  void transform(const Take& take, double* out) const {
    fft_forward_passes(key_.tables, LoadFolded<Take>{take, M_}, out);
  }
  double digits_of_unit(const ring::Gadget& gadget) const {
    return std::ldexp(static_cast<double>(shape_.Q), -32 - static_cast<int>(gadget.dropped()));
  }
  template <Accumulate how>
  void finish(Ct& ct, unsigned component, std::size_t block) const {
    Int* const acc = ct.acc[component];
    double* const spectrum = ct.digits + component * N_;
    if constexpr (fractions) {
      store(spectrum, PutFractions<how>{acc});
    } else {
      const double Q = static_cast<double>(shape_.Q), P = static_cast<double>(shape_.raised_by);
      const double scale = 1.0 / (key_.scale[block] * static_cast<double>(M_) * P);
      const bool wide = sizeof(Int) == 8;
      const double Q_high = wide ? static_cast<double>(shape_.Q & ~std::uint64_t{1023}) : Q;
      store(spectrum, PutResidues<Int, how>{
                          acc, N_, scale, 1.0 / Q, Q_high, static_cast<double>(shape_.Q & 1023),
                          static_cast<Int>(shape_.Q), static_cast<Int>(shape_.Q / 2)});
    }
  }
  template <class Put>
  void store(double* spectrum, const Put& put) const {
    fft_inverse_passes(key_.tables, spectrum, StoreFolded<Put>{put, M_});
  }

  const FftRotationKey& key_;
  const RotationShape& shape_;
  std::size_t N_, M_;
};

template <class Engine, class Ct>
void rotate_ginx(const Engine& engine, const RotationShape& shape, std::span<Ct> tile) {
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    for (Ct& ct : tile) {
      ct.a = ct.lwe[i];
      if (ct.a == 0) continue;  // multiplies by zero: nothing changes
      for (unsigned component = 0; component < 2; ++component)
        engine.decompose_difference(ct, component, shape.gadgets[i]);
    }
    if (shape.keys == 1)
      engine.template multiply<1>(tile, i);
    else
      engine.template multiply<2>(tile, i);
    for (Ct& ct : tile)
      for (unsigned component = 0; component < 2 && ct.a != 0; ++component)
        engine.finish(ct, component, i, Accumulate::add);
  }
}

template <class Word, class Kept>
void rotate_kept(const FftRotationKey& key, const RotationBatch<Word>& batch, std::size_t begin,
                 std::size_t count) {
  const RotationShape& shape = key.shape();
  Tile<Word, double, Kept> tile(shape, batch, begin, count);
  const FftEngine<Kept> engine(key);
  if (shape.kind == RotationKind::ginx && !shape.raised())
    rotate_ginx(engine, shape, tile.carried());
  else
    rotate_by(engine, shape, tile.carried());
  tile.write();
}
template <class Word>
void rotate_tile(const FftRotationKey& key, const RotationBatch<Word>& batch, std::size_t begin,
                 std::size_t count) {
  if constexpr (sizeof(Word) == 8)
    if (key.fractions()) return rotate_kept<Word, Fractions>(key, batch, begin, count);
  rotate_kept<Word, Residues<Word>>(key, batch, begin, count);
}

/// Spectrum, in internal order, of centred coefficients.
void key_spectrum(const ring::FftTables& tables, const double* coefficients, double* out) {
  const std::size_t M = tables.M;
  fft_forward<ring::Order::internal>(
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
void place_doubles(const double* spectrum, std::size_t vectors, long double scale,
                   std::size_t stride, double* out) {
  for (std::size_t v = 0; v < vectors; ++v, spectrum += 2 * kLanes, out += stride)
    for (std::size_t i = 0; i < 2 * kLanes; ++i) out[i] = static_cast<double>(spectrum[i] * scale);
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

namespace {

/// A row's coefficients, centred modulo Q; with a raised modulus, of which they are two residues,
/// modulo P·Q.
template <class Word>
class Centred {
  using Int = std::make_signed_t<Word>;
  using Wide = std::conditional_t<sizeof(Word) == 4, std::int64_t, __int128>;

 public:
  explicit Centred(const RotationShape& shape)
      : N_(shape.N),
        raised_(shape.raised()),
        Q_(static_cast<Int>(shape.Q)),
        half_(static_cast<Int>(shape.Q / 2)),
        q_(static_cast<Word>(shape.Q)),
        p_(static_cast<Word>(std::max<std::uint64_t>(shape.raised_by, 2))),
        inverse_P_(raised_ ? q_.inverse(q_.reduce(p_.value())) : 0) {}
  void operator()(const Word* row, double* out) const {
    for (std::size_t j = 0; j < N_; ++j) {
      if (!raised_) {
        const Int value = static_cast<Int>(row[j]);
        // The shift is -1 above half: a branch here would be mispredicted every other time.
        out[j] = static_cast<double>(value - (Q_ & ((half_ - value) >> (8 * sizeof(Int) - 1))));
        continue;
      }
      // x = x_P + P·((x_Q - x_P)/P modulo Q), of centred residues.
      const auto low = static_cast<Wide>(p_.centred(row[N_ + j]));
      const Word low_modulo_Q = q_.reduce(row[N_ + j]);
      const bool above = row[N_ + j] > p_.value() / 2;
      Word quotient = q_.mul(q_.sub(row[j], low_modulo_Q), inverse_P_);
      if (above) quotient = q_.add(quotient, 1);
      out[j] = static_cast<double>(low + static_cast<Wide>(p_.value()) *
                                             static_cast<Wide>(q_.centred(quotient)));
    }
  }

 private:
  std::size_t N_;
  bool raised_;
  Int Q_, half_;
  math::Modulus<Word> q_, p_;
  Word inverse_P_;
};

}  // namespace

template <class Word>
std::unique_ptr<RotationKey> prepare_fft_key(const RotationShape& shape,
                                             const RowSource<Word>& rows, const Workers& workers) {
  const FftRotationKernels& kernels = HWY_DYNAMIC_DISPATCH(fft_rotation_kernels)();
  auto key = std::make_unique<FftRotationKey>(shape, kernels.lanes);
  const std::size_t N = shape.N, lanes = key->tables.lanes, length = shape.row_words();
  const Centred<Word> centred(shape);

  parallel_for(key->blocks.size(), workers, [&](std::size_t b) {
    const KeyBlock& block = key->blocks[b];
    std::vector<Word> row(2 * length);
    auto coefficients = hwy::AllocateAligned<double>(N);
    const std::size_t places = std::size_t{block.rows} * block.keys * 2, values = places * N;
    auto spectra = hwy::AllocateAligned<double>(values);
    if (!coefficients || !spectra)
      throw OutOfMemoryError("blind-rotation key: the system gave no memory for a step");
    // Polynomials (row, key, component), 2·M = N doubles each, as the step is laid out.
    for (unsigned k = 0; k < block.keys; ++k)
      for (std::size_t polynomial = 0; polynomial < block.rows; ++polynomial) {
        rows(block.first + k * block.rows + polynomial, {row.data(), length},
             {row.data() + length, length});
        for (unsigned component = 0; component < 2; ++component) {
          centred(row.data() + component * length, coefficients.get());
          kernels.key_spectrum(key->tables, coefficients.get(),
                               spectra.get() + ((polynomial * block.keys + k) * 2 + component) * N);
        }
      }
    if (key->compact) {
      double largest = 0;
      for (std::size_t j = 0; j < values; ++j) largest = std::max(largest, std::abs(spectra[j]));
      key->scale[b] = 2147483647.0 / std::max(largest, 1.0);
    }
    const std::size_t base = key->offset(b), stride = places * 2 * lanes;
    for (std::size_t place = 0; place < places; ++place) {
      const double* spectrum = spectra.get() + place * N;
      const std::size_t at = base + place * 2 * lanes;
      const std::size_t vectors = key->tables.vectors;
      if (key->compact)
        kernels.place_words(spectrum, vectors, key->scale[b], stride, key->words.get() + at);
      else
        kernels.place_doubles(spectrum, vectors, key->unit(), stride, key->doubles.get() + at);
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
      key.shape().N * (2 * key.shape().most_digits() * sizeof(double) +
                       (key.fractions() ? 3 * sizeof(std::int32_t) : 5 * sizeof(Word)));
  each_tile(batch.count, bytes, workers, [&](std::size_t begin, std::size_t count) {
    kernels.rotate.of<Word>().tile(key, batch, begin, count);
  });
}

constexpr ByWord<BlindRotation> fft_rotation{
    {prepare_fft_key<std::uint32_t>, blind_rotate_fft<std::uint32_t>},
    {prepare_fft_key<std::uint64_t>, blind_rotate_fft<std::uint64_t>}};

}  // namespace whorl::backend::cpu
#endif  // HWY_ONCE
