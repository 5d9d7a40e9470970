// RNS operations on a GPU: meanings as in the contract, shapes being checked by the caller. Arrays
// begin at 16 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "backend/contract/rns.h"
#include "backend/cuda/dispatch/ntt_rows.h"
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

template <class Word>
class CudaRnsTables final : public RnsTables<Word> {
 public:
  CudaRnsTables(const Stream& stream, const TransformTables& transforms,
                std::shared_ptr<const ring::RnsPlan<Word>> plan, std::uint64_t plain_modulus);

  int ordinal;
  NttLimbs<Word> ntt;
  DeviceArray<RnsModulus<Word>> moduli;
  Conversions<Word> up;    ///< number digit·digit_limbs + limbs - 1: from a digit's first limbs
  Conversions<Word> down;  ///< from the special primes to the chain
  Conversions<Word> last;  ///< number l >= 1: from limb l to those before it
  DeviceArray<Twiddle<Word>> inverse_P;     ///< P^-1 modulo each limb
  DeviceArray<Twiddle<Word>> inverse_last;  ///< q_k^-1 modulo q_l at k·L + l, l < k
};

/// Values in Montgomery form as (digits, 2, L + K, N), a first: the order of rows in which inner
/// products read them.
template <class Word>
class CudaRnsSwitchKey final : public RnsSwitchKey<Word> {
 public:
  CudaRnsSwitchKey(const Stream& stream, const CudaRnsTables<Word>& tables,
                   const RnsRowSource<Word>& rows, const Workers& workers);
  std::size_t bytes() const override { return values.size() * sizeof(Word); }

  int ordinal;
  DeviceArray<Word> values;
};

template <class Word>
void rns_transform(const Stream& stream, const CudaRnsTables<Word>& tables, unsigned limbs,
                   bool with_special, bool forward, std::size_t parts, std::size_t batch,
                   Word* data);
/// The conversion's tables are uploaded with each call.
template <class Word>
void base_convert(const Stream& stream, const ring::BaseConversion<Word>& conversion,
                  std::uint32_t N, std::size_t batch, const Word* in, Word* out);
/// mod_up's base conversion alone: `in` (limbs, B, N) in coefficient form, each digit to all rows
/// of `out` (digits, limbs + special, B, N) but its own, which are copied from `own` (limbs, B, N).
template <class Word>
void convert_up(const Stream& stream, const CudaRnsTables<Word>& tables, unsigned limbs,
                std::size_t batch, const Word* in, const Word* own, Word* out,
                Products products = Products::automatic);
/// mod_down's: the special primes' rows (parts, special, B, N) to the chain's (parts, limbs, B, N).
template <class Word>
void convert_down(const Stream& stream, const CudaRnsTables<Word>& tables, unsigned limbs,
                  std::size_t parts, std::size_t batch, const Word* in, Word* out,
                  Products products = Products::automatic);
template <class Word>
void mod_up(const Stream& stream, const CudaRnsTables<Word>& tables, unsigned limbs,
            std::size_t batch, const Word* in, Word* out);
template <class Word>
void inner_product(const Stream& stream, const CudaRnsTables<Word>& tables,
                   const CudaRnsSwitchKey<Word>& key, unsigned limbs, std::uint32_t g,
                   std::size_t batch, const Word* digits, Word* out);
/// `added`: whole parts.
template <class Word>
void mod_down(const Stream& stream, const CudaRnsTables<Word>& tables, unsigned limbs,
              std::size_t parts, std::size_t batch, const Word* in, std::span<const Word> added,
              std::uint32_t g, Word* out);
template <class Word>
void rescale(const Stream& stream, const CudaRnsTables<Word>& tables, unsigned limbs,
             std::size_t parts, std::size_t batch, const Word* in, Word* out);
/// `one_b`: b has a batch of 1.
template <class Word>
void tensor(const Stream& stream, const CudaRnsTables<Word>& tables, unsigned limbs,
            std::size_t a_parts, std::size_t b_parts, std::size_t batch, bool one_b, const Word* a,
            const Word* b, Word* out);

}  // namespace whorl::backend::cuda
