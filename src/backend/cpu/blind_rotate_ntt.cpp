// GINX blind rotation with the NTT: exact.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/blind_rotate_ntt.cpp"
#include "hwy/foreach_target.h"

#include "backend/cpu/blind_rotate.h"
#include "backend/cpu/rotation-inl.h"
#include "backend/key_memory.h"
#include "hwy/highway.h"
#include "ring/host/ntt-inl.h"

#ifndef WHORL_BACKEND_CPU_BLIND_ROTATE_NTT_ONCE
#define WHORL_BACKEND_CPU_BLIND_ROTATE_NTT_ONCE
#include <type_traits>

namespace whorl::backend::cpu {

/// Values of the key at the roots, times N^-1, in Montgomery form, in the order of use: LWE
/// coefficient, vector v, digit polynomial (component, digit), key, component of the result.
template <class Word>
class NttRotationKey final : public RotationKey {
 public:
  NttRotationKey(RotationShape shape, unsigned lanes)
      : RotationKey(std::move(shape)),
        plan(this->shape().N, static_cast<Word>(this->shape().Q)),
        tables(plan, lanes),
        montgomery(plan.modulus()),
        first(this->shape().first_row),
        words(first.back() * 2 * this->shape().N, "blind-rotation key"),
        monomials(2 * this->shape().N) {
    Word power = montgomery.to_montgomery(1);
    const Word psi = montgomery.to_montgomery(plan.psi());
    for (Word& value : monomials) {
      value = power;
      power = montgomery.mul(power, psi);
    }
    const unsigned bits = static_cast<unsigned>(std::bit_width(this->shape().N) - 1);
    auto exponent = [&](std::uint32_t i) { return 2 * ring::bit_reverse(i, bits) + 1; };
    for (std::uint32_t v = 0; v < tables.vectors; ++v)
      vector_exponent.push_back(exponent(v / lanes * lanes * lanes + v % lanes));
    for (unsigned k = 0; k < lanes; ++k) lane_exponent.push_back(exponent(k * lanes) - 1);
  }
  std::size_t bytes() const override { return first.back() * 2 * this->shape().N * sizeof(Word); }

  ring::NttPlan<Word> plan;
  ring::NttTables<Word> tables;
  math::Montgomery<Word> montgomery;
  const std::vector<std::size_t>& first;  ///< row of each LWE coefficient: the shape's
  KeyMemory<Word> words;
  std::vector<Word> monomials;  ///< psi^e, e < 2N, in Montgomery form
  std::vector<std::uint32_t> vector_exponent, lane_exponent;
};

}  // namespace whorl::backend::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace whorl::backend::cpu {
namespace HWY_NAMESPACE {
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

template <class Word>
struct CarriedResidues {
  std::make_signed_t<Word>* acc[2];
  std::make_signed_t<Word>* rotated;
  Word* values;  ///< transformed digits; results overwrite the first two polynomials
  const std::uint32_t* lwe;
  std::uint32_t a;
};

template <class Word, unsigned keys>
HWY_NOINLINE void multiply_residues(const NttRotationKey<Word>& key, const Word* step,
                                    std::size_t rows, const CarriedResidues<Word>& ct) {
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
    Word* values = ct.values + v * lanes;
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
  const std::size_t own_values = 2 * shape.most_digits() * N;
  auto values = hwy::AllocateAligned<Word>(count * own_values);
  auto ints = hwy::AllocateAligned<Int>(count * 5 * N);
  if (!values || !ints) throw OutOfMemoryError("blind rotation: no memory for a tile");
  std::vector<CarriedResidues<Word>> tile(count);
  for (std::size_t c = 0; c < count; ++c) {
    Int* own = ints.get() + c * 5 * N;
    tile[c] = {{own, own + 2 * N},
               own + 4 * N,
               values.get() + c * own_values,
               batch.lwe + (begin + c) * (shape.n + 1),
               0};
    start_accumulator(shape, batch.luts + batch.index[begin + c] * N, tile[c].lwe[shape.n],
                      tile[c].acc);
  }
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    const ring::Gadget& gadget = shape.gadgets[i];
    const unsigned digits = gadget.digits();
    const Word* step = key.words.get() + key.first[i] * 2 * N;
    for (auto& ct : tile) {
      ct.a = ct.lwe[i];
      if (ct.a == 0) continue;  // multiplies by zero: nothing changes
      for (unsigned component = 0; component < 2; ++component) {
        rotate_minus_one(SignedTag<Word>(), ct.acc[component], N, ct.a, Q, half,
                         static_cast<Int>(gadget.offset()), ct.rotated);
        for (unsigned j = 0; j < digits; ++j)
          ntt_forward<Word, lazy>(key.tables, LoadResidue<Word>{ct.rotated, {gadget, j}, q},
                                  ct.values + (component * digits + j) * N);
      }
      if (shape.keys == 1)
        multiply_residues<Word, 1>(key, step, 2 * digits, ct);
      else
        multiply_residues<Word, 2>(key, step, 2 * digits, ct);
      for (unsigned component = 0; component < 2; ++component)
        ntt_inverse<Word, lazy>(key.tables, ct.values + component * N,
                                AddResidues<Word, lazy>{ct.acc[component], N, q});
    }
  }
  for (std::size_t c = 0; c < count; ++c) write_accumulator(shape, tile[c].acc, batch, begin + c);
}

void rotate_residues_32(const NttRotationKey<std::uint32_t>& key,
                        const RotationBatch<std::uint32_t>& batch, std::size_t begin,
                        std::size_t count) {
  if (key.tables.q < (1u << 30))
    rotate_residue_tile<std::uint32_t, true>(key, batch, begin, count);
  else
    rotate_residue_tile<std::uint32_t, false>(key, batch, begin, count);
}
void rotate_residues_64(const NttRotationKey<std::uint64_t>& key,
                        const RotationBatch<std::uint64_t>& batch, std::size_t begin,
                        std::size_t count) {
  rotate_residue_tile<std::uint64_t, true>(key, batch, begin, count);
}
unsigned ntt_lanes(std::size_t word_bytes) {
  return static_cast<unsigned>(word_bytes == 4 ? kWords<std::uint32_t> : kWords<std::uint64_t>);
}
void key_values_32(const ring::NttTables<std::uint32_t>& tables, std::uint32_t* data) {
  ntt_forward<std::uint32_t, false>(tables, LoadWords<std::uint32_t>{data}, data);
}
void key_values_64(const ring::NttTables<std::uint64_t>& tables, std::uint64_t* data) {
  ntt_forward<std::uint64_t, false>(tables, LoadWords<std::uint64_t>{data}, data);
}

}  // namespace HWY_NAMESPACE
}  // namespace whorl::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace whorl::backend::cpu {

HWY_EXPORT(rotate_residues_32);
HWY_EXPORT(rotate_residues_64);
HWY_EXPORT(ntt_lanes);
HWY_EXPORT(key_values_32);
HWY_EXPORT(key_values_64);

namespace {

void rotate_any(const NttRotationKey<std::uint32_t>& key, const RotationBatch<std::uint32_t>& batch,
                std::size_t begin, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(rotate_residues_32)(key, batch, begin, count);
}
void rotate_any(const NttRotationKey<std::uint64_t>& key, const RotationBatch<std::uint64_t>& batch,
                std::size_t begin, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(rotate_residues_64)(key, batch, begin, count);
}
void key_values(const ring::NttTables<std::uint32_t>& tables, std::uint32_t* data) {
  HWY_DYNAMIC_DISPATCH(key_values_32)(tables, data);
}
void key_values(const ring::NttTables<std::uint64_t>& tables, std::uint64_t* data) {
  HWY_DYNAMIC_DISPATCH(key_values_64)(tables, data);
}

}  // namespace

template <class Word>
std::unique_ptr<RotationKey> prepare_ntt_key(const RotationShape& shape,
                                             const RowSource<Word>& rows, const Workers& workers) {
  auto key =
      std::make_unique<NttRotationKey<Word>>(shape, HWY_DYNAMIC_DISPATCH(ntt_lanes)(sizeof(Word)));
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
          key_values(key->tables, values);
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
  if (key.tables.lanes != HWY_DYNAMIC_DISPATCH(ntt_lanes)(sizeof(Word)))
    throw DeviceError("the key was prepared for vectors of " + std::to_string(key.tables.lanes) +
                      " words, the device now uses " +
                      std::to_string(HWY_DYNAMIC_DISPATCH(ntt_lanes)(sizeof(Word))));
  const std::size_t bytes = key.shape().N * (2 * key.shape().most_digits() + 5) * sizeof(Word);
  const std::size_t tile = rotation_tile(batch.count, bytes, workers.threads);
  parallel_for((batch.count + tile - 1) / tile, workers, [&](std::size_t t) {
    rotate_any(key, batch, t * tile, std::min(tile, batch.count - t * tile));
  });
}

template std::unique_ptr<RotationKey> prepare_ntt_key(const RotationShape&,
                                                      const RowSource<std::uint32_t>&,
                                                      const Workers&);
template std::unique_ptr<RotationKey> prepare_ntt_key(const RotationShape&,
                                                      const RowSource<std::uint64_t>&,
                                                      const Workers&);
template void blind_rotate_ntt(const RotationKey&, const RotationBatch<std::uint32_t>&,
                               const Workers&);
template void blind_rotate_ntt(const RotationKey&, const RotationBatch<std::uint64_t>&,
                               const Workers&);

}  // namespace whorl::backend::cpu
#endif  // HWY_ONCE
