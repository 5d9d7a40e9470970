// GINX blind rotation with the NTT: exact.
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

/// Digit j as a residue: the loader of the first NTT pass.
template <class Word>
struct LoadResidue {
  const std::make_signed_t<Word>* values;
  DigitOf<SignedTag<Word>> digit;
  Word q;
  HWY_INLINE Vw<Word> operator()(std::size_t v) const {
    const Dw<Word> d;
    const auto x = hn::BitCast(d, digit(values + v * kWords<Word>));
    return hn::Min(x, hn::Add(x, hn::Set(d, q)));  // negative digits look huge
  }
};

/// Adds a transform to an accumulator polynomial: the store of the last inverse pass.
template <class Word, bool lazy>
struct AddResidues {
  using Int = std::make_signed_t<Word>;
  Int* acc;
  std::size_t N;
  Word q;
  HWY_INLINE void operator()(std::size_t v, Vw<Word> x) const {
    const Dw<Word> d;
    const SignedTag<Word> di;
    if constexpr (lazy) x = reduce_once(x, hn::Set(d, q));
    const Int half = static_cast<Int>(q / 2), Q = static_cast<Int>(q);
    const auto r = centre_once(di, hn::BitCast(di, x), half, Q);
    add_to_accumulator(di, acc, N, v * kWords<Word>, r, half, Q);
  }
};

template <class Word, unsigned keys>
HWY_NOINLINE void multiply_residues(const NttRotationKey<Word>& key, const Word* step,
                                    std::size_t rows, const Carried<Word, Word>& ct) {
  const Dw<Word> d;
  constexpr std::size_t lanes = kWords<Word>;
  const std::size_t N = key.shape().N;
  const std::uint32_t mask = 2 * key.shape().N - 1;
  const Vw<Word> q = hn::Set(d, key.tables.q);
  const Vw<Word> inverse = hn::Set(d, key.montgomery.inverse());
  Vw<Word> lane_root = hn::Zero(d);
  if constexpr (keys == 2) {
    HWY_ALIGN Word root[lanes];
    for (std::size_t k = 0; k < lanes; ++k)
      root[k] = key.monomials[(0u - ct.a) * key.lane_exponent[k] & mask];
    lane_root = hn::Load(d, root);
  }
  for (std::uint32_t v = 0; v < key.tables.vectors; ++v) {
    Word* values = ct.digits + v * lanes;
    const Word* k = step + v * rows * keys * 2 * lanes;
    Vw<Word> sum[2 * keys];
    for (unsigned s = 0; s < 2 * keys; ++s) sum[s] = hn::Zero(d);
    for (std::size_t row = 0; row < rows; ++row) {
      const Vw<Word> digit = hn::Load(d, values + row * N);
      for (unsigned s = 0; s < 2 * keys; ++s, k += lanes)
        sum[s] = add_mod(sum[s], mul_montgomery(digit, hn::Load(d, k), q, inverse), q);
    }
    if constexpr (keys == 2) {
      const Vw<Word> root = hn::Set(d, key.monomials[(0u - ct.a) * key.vector_exponent[v] & mask]);
      const Vw<Word> monomial = mul_montgomery(root, lane_root, q, inverse);
      sum[0] = sub_mod(sum[0], mul_montgomery(sum[2], monomial, q, inverse), q);
      sum[1] = sub_mod(sum[1], mul_montgomery(sum[3], monomial, q, inverse), q);
    }
    hn::Store(sum[0], d, values);
    hn::Store(sum[1], d, values + N);
  }
}

template <class Word, bool lazy>
void rotate_residue_tile(const NttRotationKey<Word>& key, const RotationBatch<Word>& batch,
                         std::size_t begin, std::size_t count) {
  using Int = std::make_signed_t<Word>;
  const RotationShape& shape = key.shape();
  const std::size_t N = shape.N;
  const Int Q = static_cast<Int>(shape.Q), half = static_cast<Int>(shape.Q / 2);
  const Word q = key.tables.q;
  Tile<Word, Word> tile(shape, batch, begin, count);
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    const ring::Gadget& gadget = shape.gadgets[i];
    const unsigned digits = gadget.digits();
    const Word* step = key.words.get() + key.first[i] * 2 * N;
    for (auto& ct : tile.carried()) {
      ct.a = ct.lwe[i];
      if (ct.a == 0) continue;  // multiplies by zero: nothing changes
      for (unsigned component = 0; component < 2; ++component) {
        rotate_minus_one(SignedTag<Word>(), ct.acc[component], N, ct.a, Q, half,
                         static_cast<Int>(gadget.offset()), ct.rotated);
        for (unsigned j = 0; j < digits; ++j)
          ntt_forward<Word, lazy>(key.tables, LoadResidue<Word>{ct.rotated, {gadget, j}, q},
                                  ct.digits + (component * digits + j) * N);
      }
      if (shape.keys == 1)
        multiply_residues<Word, 1>(key, step, 2 * digits, ct);
      else
        multiply_residues<Word, 2>(key, step, 2 * digits, ct);
      for (unsigned component = 0; component < 2; ++component)
        ntt_inverse<Word, lazy>(key.tables, ct.digits + component * N,
                                AddResidues<Word, lazy>{ct.acc[component], N, q});
    }
  }
  tile.write();
}

template <class Word>
void rotate_residues(const NttRotationKey<Word>& key, const RotationBatch<Word>& batch,
                     std::size_t begin, std::size_t count) {
  if constexpr (sizeof(Word) == 4)
    if (key.tables.q >= (1u << 30))
      return rotate_residue_tile<Word, false>(key, batch, begin, count);
  rotate_residue_tile<Word, true>(key, batch, begin, count);
}
template <class Word>
void key_values(const ring::NttTables<Word>& tables, Word* data) {
  ntt_forward<Word, false>(tables, LoadWords<Word>{data}, data);
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
  const std::size_t N = shape.N, lanes = key->tables.lanes;
  const math::Modulus<Word>& modulus = key->plan.modulus();
  const Word factor = key->montgomery.to_montgomery(key->plan.inverse_N());
  const Word factor_shoup = modulus.shoup(factor);
  parallel_for(shape.n, workers, [&](std::size_t i) {
    auto row = hwy::AllocateAligned<Word>(2 * N);
    const std::size_t polynomials = 2 * shape.gadgets[i].digits();
    Word* base = key->words.get() + key->first[i] * 2 * N;
    for (unsigned k = 0; k < shape.keys; ++k)
      for (std::size_t polynomial = 0; polynomial < polynomials; ++polynomial) {
        rows(key->first[i] + k * polynomials + polynomial, {row.get(), N}, {row.get() + N, N});
        for (unsigned component = 0; component < 2; ++component) {
          Word* values = row.get() + component * N;
          kernels.key_values(key->tables, values);
          for (std::size_t v = 0; v < key->tables.vectors; ++v) {
            Word* to =
                base + (((v * polynomials + polynomial) * shape.keys + k) * 2 + component) * lanes;
            for (std::size_t lane = 0; lane < lanes; ++lane)
              to[lane] = modulus.mul_shoup(values[v * lanes + lane], factor, factor_shoup);
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
  check_lanes(key.tables.lanes, kernels.lanes, "words");
  const std::size_t bytes = key.shape().N * (2 * key.shape().most_digits() + 5) * sizeof(Word);
  each_tile(batch.count, bytes, workers, [&](std::size_t begin, std::size_t count) {
    kernels.rotate(key, batch, begin, count);
  });
}

constexpr ByWord<BlindRotation> ntt_rotation{
    {prepare_ntt_key<std::uint32_t>, blind_rotate_ntt<std::uint32_t>},
    {prepare_ntt_key<std::uint64_t>, blind_rotate_ntt<std::uint64_t>}};

}  // namespace whorl::backend::cpu
#endif  // HWY_ONCE
