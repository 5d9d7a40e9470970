// RNS operations on a GPU: meanings as in the contract, shapes being checked by the caller. Arrays
// begin at 16 bytes. Chains, the first limbs with or without the special primes, have kernels of
// their own (rns.cu); other bases go through the general ones (rns_sets.cu). The bits are the same.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "backend/contract/rns.h"
#include "backend/cuda/dispatch/transforms/ntt_rows.h"
#include "backend/cuda/runtime/stream.h"
#include "backend/parallel.h"
#include "ring/base_conversion.h"

namespace whorl::backend::cuda {

template <class Word>
struct RnsModulus;
template <class Word>
struct RnsSource;

/// Conversions to the same moduli from at most `size`, as kernels read them (kernels/rns.cuh and
/// convert_int8.cuh).
template <class Word>
struct Conversions {
  unsigned size = 0, targets = 0;
  Word largest = 0;  ///< source modulus
  DeviceArray<RnsSource<Word>> sources;
  DeviceArray<Word> factors, byte_factors;  ///< the latter where tensor cores may be used
};

/// How a base conversion multiplies; forced for comparison, with the same bits.
enum class Products : std::uint8_t {
  automatic,
  words,          ///< wide products of words
  bytes,          ///< products of bytes on INT8 tensor cores, 32 coefficients a warp
  bytes_by_more,  ///< the same, 64 a warp
};

/// The conversions of a chain's divisions with one plain modulus.
template <class Word>
struct ChainDivision {
  Conversions<Word> down;  ///< from the special primes to the chain
  Conversions<Word> last;  ///< number l >= 1: from limb l to those before it
};
/// What transforms and products over any basis need.
template <class Word>
struct BasisTables {
  NttLimbs<Word> ntt;
  DeviceArray<RnsModulus<Word>> moduli;
};
/// A division between any bases: from the dropped primes, their values times the product of the
/// taken ones, to all that stay or come. A row becomes (x - what is converted)·factor.
template <class Word>
struct SetDivision {
  Conversions<Word> conversion;
  DeviceArray<Twiddle<Word>> factors;  ///< of each row
  DeviceArray<std::uint32_t> from;     ///< as in NttDivision
};

/// The divisions of chains are made with the plan, the others at their first use. All are kept.
template <class Word>
class CudaRnsTables final : public RnsTables<Word> {
 public:
  CudaRnsTables(const Stream& stream, const TransformTables& transforms,
                std::shared_ptr<const ring::RnsPlan<Word>> plan);

  NttLimbs<Word> ntt;
  DeviceArray<RnsModulus<Word>> moduli;
  Conversions<Word> up;  ///< number digit·digit_limbs + limbs - 1: from a digit's first limbs
  DeviceArray<Twiddle<Word>> inverse_P;     ///< P^-1 modulo each limb
  DeviceArray<Twiddle<Word>> inverse_last;  ///< q_k^-1 modulo q_l at k·L + l, l < k

  const ChainDivision<Word>& chain_division(const Stream& stream, std::uint64_t t) const;
  const BasisTables<Word>& of(const Stream& stream, const ring::Basis& basis) const;
  const Conversions<Word>& conversion(const Stream& stream, const ring::Basis& from,
                                      const ring::Basis& to, ring::Lift lift) const;
  /// Returns the conversions from each digit to all of extension.to, in order.
  const Conversions<Word>& conversions(const Stream& stream, const Extension& extension) const;
  const SetDivision<Word>& division(const Stream& stream, const Division& division) const;

 private:
  struct Bases {
    ring::Basis from, to;
    ring::Lift lift;
    std::uint64_t t;
    auto operator<=>(const Bases&) const = default;
  };
  /// The value of `key`. If there is none, it is made, and the call waits until it is complete,
  /// since other streams may use it.
  template <class Key, class Value, class Make>
  const Value& kept(const Stream& stream, std::map<Key, Value>& values, const Key& key,
                    const Make& make) const;

  mutable std::mutex mutex_;
  mutable std::map<std::uint64_t, ChainDivision<Word>> chain_divisions_;
  mutable std::map<ring::Basis, BasisTables<Word>> bases_;
  mutable std::map<Bases, Conversions<Word>> conversions_;
  mutable std::map<std::tuple<ring::Basis, ring::Basis, std::vector<ring::Basis>, ring::Lift>,
                   Conversions<Word>>
      extensions_;
  mutable std::map<Bases, SetDivision<Word>> divisions_;
};

template <class Word>
class CudaConversion final : public Conversion<Word> {
 public:
  CudaConversion(const Stream& stream, const ring::BaseConversion<Word>& rule);

  Conversions<Word> tables;
};

/// Values in Montgomery form as (digits, 2, rows, N), a first: the order of rows in which inner
/// products read them.
template <class Word>
class CudaRnsSwitchKey final : public RnsSwitchKey<Word> {
 public:
  CudaRnsSwitchKey(const Stream& stream, const CudaRnsTables<Word>& tables,
                   const ring::KeyLayout& layout, const RnsRowSource<Word>& rows,
                   const Workers& workers);
  std::size_t bytes() const override { return values.size() * sizeof(Word); }

  bool usual;  ///< of the plan's usual layout
  DeviceArray<Word> values;
};

template <class Word>
void rns_transform(const Stream& stream, const CudaRnsTables<Word>& tables,
                   const ring::Basis& basis, bool forward, std::size_t parts, std::size_t batch,
                   const Word* in, Word* out);
template <class Word>
void base_convert(const Stream& stream, const CudaConversion<Word>& conversion, std::uint32_t N,
                  std::size_t batch, const Word* in, Word* out);
/// The base conversion of an extension of a chain of `limbs` alone: `in` (limbs, B, N) in
/// coefficient form, each digit to all rows of `out` (digits, limbs + special, B, N) but its own,
/// which are copied from `own` (limbs, B, N).
template <class Word>
void convert_up(const Stream& stream, const CudaRnsTables<Word>& tables, unsigned limbs,
                std::size_t batch, const Word* in, const Word* own, Word* out,
                Products products = Products::automatic);
/// That of a division by the special primes: their rows (parts, special, B, N) to the chain's
/// (parts, limbs, B, N).
template <class Word>
void convert_down(const Stream& stream, const CudaRnsTables<Word>& tables, std::uint64_t t,
                  unsigned limbs, std::size_t parts, std::size_t batch, const Word* in, Word* out,
                  Products products = Products::automatic);
template <class Word>
void extend(const Stream& stream, const CudaRnsTables<Word>& tables, const Extension& extension,
            std::size_t batch, const Word* in, Word* out);
/// In rns_digits.cu.
template <class Word>
void decompose(const Stream& stream, const CudaRnsTables<Word>& tables, const ring::Basis& basis,
               const ring::Gadget& gadget, std::size_t parts, std::size_t batch, const Word* in,
               Word* out);
/// `added`: what is added to the first `added_parts` parts, or null; then all, `onto` what is
/// there.
template <class Word>
void inner_product(const Stream& stream, const CudaRnsTables<Word>& tables,
                   const CudaRnsSwitchKey<Word>& key, const InnerProduct& product,
                   std::size_t batch, const Word* digits, std::size_t added_parts,
                   const CheckedScaling<Word>* added, bool onto, Word* out);
/// Digits of an extension that are its primes in sequence, all but the first and the last as large.
struct DigitSequence {
  unsigned digit_limbs;  ///< of the largest
  unsigned missing;      ///< how many limbs the first has less
  bool usual = false;    ///< those of the plan's usual key
};
/// The digits with which switched_product works; nothing for others.
template <class Word>
std::optional<DigitSequence> products_of(const CudaRnsTables<Word>& tables,
                                         const Extension& extension);
/// Switches a product (rns_products.cu).
template <class Word>
void switched_product(const Stream& stream, const CudaRnsTables<Word>& tables,
                      const CudaRnsSwitchKey<Word>& key, const Extension& extension,
                      const DigitSequence& sequence, const InnerProduct& product, std::size_t batch,
                      const CheckedFactors<Word>& factors, Word* out);
/// Makes inner products with several keys of one layout, to one place after another (rns_sets.cu).
template <class Word>
void inner_products(const Stream& stream, const CudaRnsTables<Word>& tables,
                    std::span<const TurnedKey<Word>> terms, const InnerProduct& product,
                    std::size_t batch, const Word* digits, std::size_t added_parts,
                    const CheckedScaling<Word>* added, Word* out);
/// `added`: null, or as in the contract. In rns_sets.cu.
/// `added` has two parts.
template <class Word>
void sums_of_turned_products(const Stream& stream, const CudaRnsTables<Word>& tables,
                             std::span<const TurnedProduct<Word>> terms,
                             const InnerProduct& product, const SumLayout& layout,
                             std::size_t batch, const Word* digits,
                             const CheckedScaling<Word>& added, bool onto, Word* out);
/// How many sums one launch of it makes.
inline constexpr std::size_t turned_sums_a_launch = 4;
template <class Word>
void sum_of_inner_products(const Stream& stream, const CudaRnsTables<Word>& tables,
                           std::span<const TurnedKey<Word>> terms, const InnerProduct& product,
                           std::size_t batch, std::size_t of, std::size_t first, const Word* digits,
                           const Word* added, bool onto, Word* out);
/// `added`: whole parts.
template <class Word>
void divide(const Stream& stream, const CudaRnsTables<Word>& tables, const Division& division,
            std::size_t parts, std::size_t batch, const Word* in, std::span<const Word> added,
            std::uint32_t g, Word* out);
/// `one_b`: b has a batch of 1.
template <class Word>
void tensor(const Stream& stream, const CudaRnsTables<Word>& tables, const ring::Basis& basis,
            std::size_t a_parts, std::size_t b_parts, std::size_t batch, bool one_b, const Word* a,
            const Word* b, const TensorEnd<Word>& end, Word* out);
// In rns_sums.cu.
template <class Word>
void sums_of_products(const Stream& stream, const CudaRnsTables<Word>& tables,
                      const ring::Basis& basis, const SumLayout& sums, std::size_t batch,
                      std::span<const CheckedProduct<Word>> terms, bool onto, Word* out);
template <class Word>
void combine(const Stream& stream, const CudaRnsTables<Word>& tables, const ring::Basis& basis,
             std::size_t parts, std::size_t batch, std::span<const CheckedScaling<Word>> terms,
             std::span<const Word> constant, bool onto, Word* out);
// In rns_matrix.cu.
template <class Word>
void weighted_sums(const Stream& stream, const CudaRnsTables<Word>& tables,
                   const ring::Basis& basis, std::size_t parts, std::size_t count,
                   const CheckedSums<Word>& sums, Word* out);
// In rns_masked.cu. Its arrays may begin anywhere.
template <class Word>
void masked_tensors(const Stream& stream, const CudaRnsTables<Word>& tables,
                    const ring::Basis& basis, std::size_t batch, const CheckedMasks<Word>& of);

}  // namespace whorl::backend::cuda
