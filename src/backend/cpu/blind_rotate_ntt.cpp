// Blind rotation with the NTT: exact.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/blind_rotate_ntt.cpp"
#include "hwy/foreach_target.h"

#include <type_traits>

#include "backend/cpu/rotation-inl.h"
#include "backend/cpu/rotation_keys.h"
#include "hwy/highway.h"
#include "ring/host/ntt-inl.h"

HWY_BEFORE_NAMESPACE();
namespace whorl::backend::cpu {
namespace HWY_NAMESPACE {
// NOLINTNEXTLINE(google-build-using-namespace): each SIMD target has one of its own
using namespace ring::HWY_NAMESPACE;

template <class Word>
using SignedTag = hn::ScalableTag<std::make_signed_t<Word>>;

/// Digits as residues: the loader of the first NTT pass. `Take` takes them out of values.
template <class Word, class Take = DigitOf<SignedTag<Word>>>
struct LoadResidue {
  const std::make_signed_t<Word>* values;
  Take take;
  Word q;
  HWY_INLINE Vw<Word> operator()(std::size_t v) const {
    const Dw<Word> d;
    const auto x = hn::BitCast(d, take(values + v * kWords<Word>));
    return hn::Min(x, hn::Add(x, hn::Set(d, q)));  // negative digits look huge
  }
};

/// Adds a transform to an accumulator polynomial, or puts it there: the store of the last inverse
/// pass.
template <class Word, ring::Reduction reduction, Accumulate how>
struct PutResidues {
  using Int = std::make_signed_t<Word>;
  Int* acc;
  std::size_t N;
  Word q;
  HWY_INLINE void operator()(std::size_t v, Vw<Word> x) const {
    const Dw<Word> d;
    const SignedTag<Word> di;
    if constexpr (reduction == ring::Reduction::lazy) x = reduce_once(x, hn::Set(d, q));
    const Int half = static_cast<Int>(q / 2), Q = static_cast<Int>(q);
    const auto r = centre_once(di, hn::BitCast(di, x), half, Q);
    if constexpr (how == Accumulate::replace)
      set_accumulator(di, acc, N, v * kWords<Word>, r);
    else
      add_to_accumulator(di, acc, N, v * kWords<Word>, r, half, Q);
  }
};
/// The same of (x - [x]_P)/P, x being modulo P·Q: it gets x/P modulo Q and reads x modulo P.
template <class Word, ring::Reduction reduction, Accumulate how>
struct PutQuotients {
  PutResidues<Word, ring::Reduction::full, how> store;
  const Word* modulo_P;
  Word P, inverse_P, inverse_P_shoup;
  HWY_INLINE void operator()(std::size_t v, Vw<Word> x) const {
    const Dw<Word> d;
    const Vw<Word> q = hn::Set(d, store.q);
    if constexpr (reduction == ring::Reduction::lazy) x = reduce_once(x, q);
    const Vw<Word> r = hn::LoadU(d, modulo_P + v * kWords<Word>);
    // [x]_P is r - P above P/2, and -P/P is -1.
    const Vw<Word> above =
        hn::IfThenElseZero(hn::Gt(r, hn::Set(d, static_cast<Word>(P / 2))), hn::Set(d, Word{1}));
    const Vw<Word> part =
        reduce_once(mul_shoup_lazy(r, hn::Set(d, inverse_P), hn::Set(d, inverse_P_shoup), q), q);
    store(v, add_mod(sub_mod(x, part, q), above, q));
  }
};
template <class Word, ring::Reduction reduction>
struct StoreReduced {
  Word* out;
  Word q;
  HWY_INLINE void operator()(std::size_t v, Vw<Word> x) const {
    const Dw<Word> d;
    if constexpr (reduction == ring::Reduction::lazy) x = reduce_once(x, hn::Set(d, q));
    hn::Store(x, d, out + v * kWords<Word>);
  }
};

/// X^e at the roots, as a product of one factor a vector and one a lane, in Montgomery form.
template <class Word>
struct MonomialAt {
  HWY_ALIGN Word lane[kWords<Word>];
  const NttRotationLimb<Word>* limb;
  std::uint32_t e, mask;
  void prepare(const NttRotationLimb<Word>& of, std::uint32_t exponent) {
    limb = &of;
    e = exponent;
    mask = static_cast<std::uint32_t>(of.monomials.size() - 1);
    for (std::size_t k = 0; k < kWords<Word>; ++k)
      lane[k] = of.monomials[e * of.lane_exponent[k] & mask];
  }
  HWY_INLINE Vw<Word> operator()(std::uint32_t v, Vw<Word> q, Vw<Word> inverse) const {
    const Dw<Word> d;
    const Vw<Word> root = hn::Set(d, limb->monomials[e * limb->vector_exponent[v] & mask]);
    return mul_montgomery(root, hn::Load(d, lane), q, inverse);
  }
};

/// Transformed digits, `rows` polynomials, times a key of as many rows, and in place of the first
/// two.
template <class Word, unsigned keys>
HWY_NOINLINE void multiply_residues(const NttRotationLimb<Word>& limb, const Word* step,
                                    std::size_t rows, std::uint32_t a, Word* digits) {
  const Dw<Word> d;
  constexpr std::size_t lanes = kWords<Word>;
  const std::size_t N = limb.tables.N;
  const Vw<Word> q = hn::Set(d, limb.tables.q);
  const Vw<Word> inverse = hn::Set(d, limb.montgomery.inverse());
  [[maybe_unused]] MonomialAt<Word> monomial;
  if constexpr (keys == 2) monomial.prepare(limb, 0u - a);
  for (std::uint32_t v = 0; v < limb.tables.vectors; ++v) {
    Word* values = digits + v * lanes;
    const Word* k = step + v * rows * keys * 2 * lanes;
    Vw<Word> sum[2 * keys];
    for (unsigned s = 0; s < 2 * keys; ++s) sum[s] = hn::Zero(d);
    for (std::size_t row = 0; row < rows; ++row) {
      const Vw<Word> digit = hn::Load(d, values + row * N);
      for (unsigned s = 0; s < 2 * keys; ++s, k += lanes)
        sum[s] = add_mod(sum[s], mul_montgomery(digit, hn::Load(d, k), q, inverse), q);
    }
    if constexpr (keys == 2) {
      const Vw<Word> turn = monomial(v, q, inverse);
      sum[0] = sub_mod(sum[0], mul_montgomery(sum[2], turn, q, inverse), q);
      sum[1] = sub_mod(sum[1], mul_montgomery(sum[3], turn, q, inverse), q);
    }
    hn::Store(sum[0], d, values);
    hn::Store(sum[1], d, values + N);
  }
}

/// Most keys of a bundle, and exponents.
constexpr unsigned most_keys = 256, most_exponents = 8;

/// What the keys of a bundle are multiplied by at vector v: X^e, or X^e - 1, in Montgomery form.
template <class Word>
HWY_INLINE void bundle_factors(const BundleStep& step, unsigned keys,
                               const MonomialAt<Word>* monomials, std::uint32_t v, Vw<Word> q,
                               Vw<Word> inverse, Vw<Word> one, Word* factors) {
  const Dw<Word> d;
  constexpr std::size_t lanes = kWords<Word>;
  Word* const of_set = factors - static_cast<std::ptrdiff_t>(step.first_set() * lanes);
  if (step.all()) hn::Store(one, d, factors);
  for (unsigned t = 0; t < step.exponents; ++t) {
    const unsigned top = step.alone(t);
    const Vw<Word> monomial = monomials[t](v, q, inverse);
    hn::Store(monomial, d, of_set + top * lanes);
    for (unsigned set = top + 1; step.sets() && set < 2 * top; ++set)
      hn::Store(mul_montgomery(hn::Load(d, of_set + (set - top) * lanes), monomial, q, inverse), d,
                of_set + set * lanes);
  }
  for (unsigned k = 0; k < keys && !step.all(); ++k)
    hn::Store(sub_mod(hn::Load(d, factors + k * lanes), one, q), d, factors + k * lanes);
}

/// Digits of each of a tile times the bundle of its own exponents. The bundle is made where it is
/// used and never stored.
template <class Word>
HWY_NOINLINE void multiply_bundles(const NttRotationLimb<Word>& limb, const Word* words,
                                   const KeyBlock& block, const BundleStep& step,
                                   std::span<const Carried<Residues<Word>, Word>> tile,
                                   std::size_t at) {
  const Dw<Word> d;
  constexpr std::size_t lanes = kWords<Word>;
  using Sum = ProductSum<Word>;
  const std::size_t N = limb.tables.N;
  const unsigned keys = block.keys;
  const Vw<Word> q = hn::Set(d, limb.tables.q);
  const Vw<Word> inverse = hn::Set(d, limb.montgomery.inverse());
  const Vw<Word> one = hn::Set(d, limb.montgomery.to_montgomery(1));
  const auto most = static_cast<unsigned>(std::min<std::size_t>(keys, Sum::most(limb.tables.q)));
  MonomialAt<Word> monomials[most_tile][most_exponents];
  for (std::size_t c = 0; c < tile.size(); ++c)
    for (unsigned t = 0; t < step.exponents; ++t)
      monomials[c][t].prepare(limb, step.exponent(tile[c].lwe, t));
  HWY_ALIGN Word factors[most_keys * lanes];
  for (std::uint32_t v = 0; v < limb.tables.vectors; ++v) {
    const Word* const here = words + v * block.rows * keys * 2 * lanes;
    for (std::size_t c = 0; c < tile.size(); ++c) {
      if (tile[c].a == 0) continue;
      bundle_factors(step, keys, monomials[c], v, q, inverse, one, factors);
      Word* const values = tile[c].digits + at + v * lanes;
      Vw<Word> sum[2] = {hn::Zero(d), hn::Zero(d)};
      const Word* k = here;
      for (std::size_t row = 0; row < block.rows; ++row) {
        Vw<Word> bundle[2] = {hn::Zero(d), hn::Zero(d)};
        for (unsigned from = 0; from < keys; from += most) {
          Sum part[2];
          for (unsigned i = from; i < std::min(keys, from + most); ++i, k += 2 * lanes) {
            const auto factor = Sum::factor(hn::Load(d, factors + i * lanes));
            part[0].add(factor, hn::Load(d, k), q, inverse);
            part[1].add(factor, hn::Load(d, k + lanes), q, inverse);
          }
          for (unsigned s = 0; s < 2; ++s)
            bundle[s] = add_mod(bundle[s], part[s].reduce(q, inverse), q);
        }
        const Vw<Word> digit = hn::Load(d, values + row * N);
        for (unsigned s = 0; s < 2; ++s)
          sum[s] = add_mod(sum[s], mul_montgomery(digit, bundle[s], q, inverse), q);
      }
      hn::Store(sum[0], d, values);
      hn::Store(sum[1], d, values + N);
    }
  }
}

/// What rotate_by asks of an arithmetic.
template <class Word, ring::Reduction reduction>
class NttEngine {
 public:
  using Int = std::make_signed_t<Word>;
  using Ct = Carried<Residues<Word>, Word>;
  explicit NttEngine(const NttRotationKey<Word>& key)
      : key_(key), shape_(key.shape()), N_(shape_.N) {}

  void decompose(Ct& ct, unsigned component, const Int* values, const ring::Gadget& gadget) const {
    const unsigned digits = gadget.digits();
    for (unsigned j = 0; j < digits && !shape_.raised(); ++j)
      transform(0, values, OwnDigitOf<SignedTag<Word>>(gadget, j),
                ct.digits + (component * digits + j) * N_);
    if (!shape_.raised()) return;
    transform(0, values, WholeValue<SignedTag<Word>>(), ct.digits + component * N_);
    const Int P = static_cast<Int>(shape_.raised_by);
    if (shape_.Q / 2 >= shape_.raised_by) {
      for (std::size_t j = 0; j < N_; ++j) ct.rotated[j] = values[j] % P;
      values = ct.rotated;
    }
    transform(1, values, WholeValue<SignedTag<Word>>(), ct.digits + at(1) + component * N_);
  }
  void multiply(Ct& ct, std::size_t block) const {
    for (unsigned l = 0; l < key_.limbs.size(); ++l)
      multiply_residues<Word, 1>(key_.limbs[l], key_.limbs[l].words.get() + key_.offset(block),
                                 key_.blocks[block].rows, 0, ct.digits + at(l));
  }
  void multiply_bundle(std::span<const Ct> tile, const BundleStep& step) const {
    for (unsigned l = 0; l < key_.limbs.size(); ++l)
      multiply_bundles<Word>(key_.limbs[l], key_.limbs[l].words.get() + key_.offset(step.block),
                             key_.blocks[step.block], step, tile, at(l));
  }
  void finish(Ct& ct, unsigned component, std::size_t /*block*/, Accumulate how) const {
    how == Accumulate::replace ? finish<Accumulate::replace>(ct, component)
                               : finish<Accumulate::add>(ct, component);
  }

 private:
  /// Where limb l's digits begin.
  std::size_t at(unsigned l) const { return l * 2 * shape_.most_digits() * N_; }
  template <class Take>
  void transform(unsigned l, const Int* values, const Take& take, Word* out) const {
    const ring::NttTables<Word>& tables = key_.limbs[l].tables;
    ntt_forward<Word, reduction>(tables, LoadResidue<Word, Take>{values, take, tables.q}, out);
  }
  template <Accumulate how>
  void finish(Ct& ct, unsigned component) const {
    Word* const digits = ct.digits + component * N_;
    const ring::NttTables<Word>& tables = key_.limbs[0].tables;
    Int* const acc = ct.acc[component];
    if (!shape_.raised())
      return ntt_inverse<Word, reduction>(tables, digits,
                                          PutResidues<Word, reduction, how>{acc, N_, tables.q});
    const ring::NttTables<Word>& raised = key_.limbs[1].tables;
    Word* const modulo_P = digits + at(1);
    ntt_inverse<Word, reduction>(raised, modulo_P,
                                 StoreReduced<Word, reduction>{modulo_P, raised.q});
    ntt_inverse<Word, reduction>(
        tables, digits,
        PutQuotients<Word, reduction, how>{
            {acc, N_, tables.q}, modulo_P, raised.q, key_.inverse_P, key_.inverse_P_shoup});
  }

  const NttRotationKey<Word>& key_;
  const RotationShape& shape_;
  std::size_t N_;
};

template <class Word, ring::Reduction reduction>
void rotate_ginx(const NttRotationKey<Word>& key, std::span<Carried<Residues<Word>, Word>> tile) {
  using Int = std::make_signed_t<Word>;
  const RotationShape& shape = key.shape();
  const NttRotationLimb<Word>& limb = key.limbs[0];
  const std::size_t N = shape.N;
  const Int Q = static_cast<Int>(shape.Q), half = static_cast<Int>(shape.Q / 2);
  const Word q = limb.tables.q;
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    const ring::Gadget& gadget = shape.gadgets[i];
    const unsigned digits = gadget.digits();
    const Word* step = limb.words.get() + key.offset(i);
    for (auto& ct : tile) {
      ct.a = ct.lwe[i];
      if (ct.a == 0) continue;  // multiplies by zero: nothing changes
      for (unsigned component = 0; component < 2; ++component) {
        rotate_minus_one(SignedTag<Word>(), ct.acc[component], N, ct.a, Q, half,
                         static_cast<Int>(gadget.offset()), ct.rotated);
        for (unsigned j = 0; j < digits; ++j)
          ntt_forward<Word, reduction>(limb.tables, LoadResidue<Word>{ct.rotated, {gadget, j}, q},
                                       ct.digits + (component * digits + j) * N);
      }
      if (shape.keys == 1)
        multiply_residues<Word, 1>(limb, step, 2 * digits, ct.a, ct.digits);
      else
        multiply_residues<Word, 2>(limb, step, 2 * digits, ct.a, ct.digits);
      for (unsigned component = 0; component < 2; ++component)
        ntt_inverse<Word, reduction>(
            limb.tables, ct.digits + component * N,
            PutResidues<Word, reduction, Accumulate::add>{ct.acc[component], N, q});
    }
  }
}

template <class Word, ring::Reduction reduction>
void rotate_residue_tile(const NttRotationKey<Word>& key, const RotationBatch<Word>& batch,
                         std::size_t begin, std::size_t count) {
  const RotationShape& shape = key.shape();
  Tile<Word, Word> tile(shape, batch, begin, count, static_cast<unsigned>(key.limbs.size()));
  if (shape.kind == RotationKind::ginx && !shape.raised())
    rotate_ginx<Word, reduction>(key, tile.carried());
  else
    rotate_by(NttEngine<Word, reduction>(key), shape, tile.carried());
  tile.write();
}

template <class Word>
void rotate_residues(const NttRotationKey<Word>& key, const RotationBatch<Word>& batch,
                     std::size_t begin, std::size_t count) {
  if constexpr (sizeof(Word) == 4)
    for (const auto& limb : key.limbs)
      if (!lazy_butterflies(limb.tables.q))
        return rotate_residue_tile<Word, ring::Reduction::full>(key, batch, begin, count);
  rotate_residue_tile<Word, ring::Reduction::lazy>(key, batch, begin, count);
}
template <class Word>
void key_values(const ring::NttTables<Word>& tables, Word* data) {
  ntt_forward<Word, ring::Reduction::full>(tables, LoadWords<Word>{data}, data);
}

template <class Word>
constexpr NttRotationKernels<Word> ntt_table_of{.lanes = static_cast<unsigned>(kWords<Word>),
                                                .rotate = rotate_residues<Word>,
                                                .key_values = key_values<Word>};
constexpr ByWord<NttRotationKernels> ntt_table{ntt_table_of<std::uint32_t>,
                                               ntt_table_of<std::uint64_t>};
const ByWord<NttRotationKernels>& ntt_rotation_kernels() { return ntt_table; }

}  // namespace HWY_NAMESPACE
}  // namespace whorl::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace whorl::backend::cpu {

HWY_EXPORT(ntt_rotation_kernels);

namespace {

template <class Word>
const NttRotationKernels<Word>& kernels_of() {
  return HWY_DYNAMIC_DISPATCH(ntt_rotation_kernels)().template of<Word>();
}

}  // namespace

template <class Word>
std::unique_ptr<RotationKey> prepare_ntt_key(const RotationShape& shape,
                                             const RowSource<Word>& rows, const Workers& workers) {
  const NttRotationKernels<Word>& kernels = kernels_of<Word>();
  auto key = std::make_unique<NttRotationKey<Word>>(shape, kernels.lanes);
  const std::size_t N = shape.N, lanes = kernels.lanes, length = shape.row_words();
  std::vector<Word> factors;
  for (const auto& limb : key->limbs) {
    const math::Modulus<Word>& q = limb.plan.modulus();
    const Word inverse_P = factors.empty() ? key->inverse_P : Word{1};
    factors.push_back(limb.montgomery.to_montgomery(q.mul(limb.plan.inverse_N(), inverse_P)));
  }
  parallel_for(key->blocks.size(), workers, [&](std::size_t b) {
    const KeyBlock& block = key->blocks[b];
    auto row = hwy::AllocateAligned<Word>(2 * length);
    if (!row) throw OutOfMemoryError("blind-rotation key: the system gave no memory for a row");
    for (unsigned k = 0; k < block.keys; ++k)
      for (std::size_t polynomial = 0; polynomial < block.rows; ++polynomial) {
        rows(block.first + k * block.rows + polynomial, {row.get(), length},
             {row.get() + length, length});
        for (unsigned component = 0; component < 2; ++component)
          for (unsigned l = 0; l < key->limbs.size(); ++l) {
            const NttRotationLimb<Word>& limb = key->limbs[l];
            const math::Modulus<Word>& q = limb.plan.modulus();
            const Word factor_shoup = q.shoup(factors[l]);
            Word* const values = row.get() + component * length + l * N;
            kernels.key_values(limb.tables, values);
            Word* const base = limb.words.get() + key->offset(b);
            for (std::size_t v = 0; v < limb.tables.vectors; ++v) {
              Word* to =
                  base + (((v * block.rows + polynomial) * block.keys + k) * 2 + component) * lanes;
              for (std::size_t lane = 0; lane < lanes; ++lane)
                to[lane] = q.mul_shoup(values[v * lanes + lane], factors[l], factor_shoup);
            }
          }
      }
  });
  return key;
}

template <class Word>
void blind_rotate_ntt(const RotationKey& any_key, const RotationBatch<Word>& batch,
                      const Workers& workers) {
  const auto& key = static_cast<const NttRotationKey<Word>&>(any_key);
  const NttRotationKernels<Word>& kernels = kernels_of<Word>();
  check_lanes(key.lanes(), kernels.lanes, "words");
  const std::size_t bytes =
      key.shape().N * (2 * key.shape().most_digits() * key.limbs.size() + 5) * sizeof(Word);
  each_tile(batch.count, bytes, workers, [&](std::size_t begin, std::size_t count) {
    kernels.rotate(key, batch, begin, count);
  });
}

constexpr ByWord<BlindRotation> ntt_rotation{
    {prepare_ntt_key<std::uint32_t>, blind_rotate_ntt<std::uint32_t>},
    {prepare_ntt_key<std::uint64_t>, blind_rotate_ntt<std::uint64_t>}};

}  // namespace whorl::backend::cpu
#endif  // HWY_ONCE
