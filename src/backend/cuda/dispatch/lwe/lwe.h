// LWE ciphertexts around the blind rotation, on a GPU: meanings as in the contract.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>

#include "backend/contract/lwe.h"
#include "backend/cuda/runtime/stream.h"
#include "backend/parallel.h"

namespace whorl::backend::cuda {

/// rlwe (count, 2, N), out (count, offsets, N+1); Word: uint32_t or uint64_t.
template <class Word>
void sample_extract(const Stream& stream, std::uint64_t Q, std::uint32_t N,
                    std::span<const std::uint32_t> offsets, std::uint64_t constant,
                    std::size_t count, const Word* rlwe, Word* out);

/// `count` rows; `out` may be `in` where the words are of one size.
template <class In, class Out>
void modulus_switch(const Stream& stream, std::uint64_t from, std::uint64_t to, std::size_t row,
                    unsigned centre, std::size_t count, const In* in, Out* out);

/// Writes rows first … first + count - 1 of a key-switching key, row first + r at r·stride words.
using SwitchRowWriter =
    std::function<void(std::size_t first, std::size_t count, void* out, std::size_t stride)>;
/// Words of 2, 4 or 8 bytes, at least word_bytes_for(Q_ks). Rows are made by `workers`. The key is
/// complete on the device when this returns: other streams may use it.
std::unique_ptr<SwitchKey> prepare_switch_key(const Stream& stream, const SwitchShape& shape,
                                              unsigned word_bytes, const SwitchRowWriter& rows,
                                              const Workers& workers);
template <class Word>
std::unique_ptr<SwitchKey> prepare_switch_key(const Stream& stream, const SwitchShape& shape,
                                              const SwitchRows<Word>& rows,
                                              const Workers& workers) {
  const SwitchRowWriter writer = [&](std::size_t first, std::size_t count, void* out,
                                     std::size_t stride) {
    rows(first, count, static_cast<Word*>(out), stride);
  };
  return prepare_switch_key(stream, shape, sizeof(Word), writer, workers);
}
/// Kernels work on words of 32 bits if Q_ks fits them; other words are converted.
template <class Word>
void lwe_key_switch(const Stream& stream, const SwitchKey& key, std::size_t count, const Word* in,
                    Word* out);

/// out = sum_k weights[k]·in[k] + (0, …, 0, constant) modulo q; `out` may be one of `in`. q up to
/// 2^32 for 32-bit words, below 2^61 for 64-bit ones.
template <class Word>
void lwe_linear(const Stream& stream, std::uint64_t q, std::size_t row,
                std::span<const std::int64_t> weights,
                std::type_identity_t<std::span<const Word* const>> in, std::uint64_t constant,
                std::size_t count, Word* out);

// In lwe_matrix.cu.

/// What LweOps::matrix multiplies by.
struct LweMatrix {
  std::uint64_t q;
  std::size_t row, batch, groups;
  std::span<const std::int64_t> entries;     ///< (results, inputs)
  std::span<const std::uint64_t> constants;  ///< a result each
  std::size_t inputs() const { return entries.size() / constants.size(); }
};
/// in (groups, inputs, batch, row), out (groups, results, batch, row), apart.
template <class Word>
void lwe_matrix(const Stream& stream, const LweMatrix& matrix, const Word* in, Word* out);

// In lwe_sums.cu.

/// The terms are on the device when this returns: other streams may use them.
std::unique_ptr<LweSums> prepare_sums(const Stream& stream, LweSumsShape shape);
/// Sums first … first + count - 1; `sums` are of prepare_sums, for these words.
template <class Word>
void lwe_sums(const Stream& stream, const LweSums& sums, std::size_t first, std::size_t count,
              std::type_identity_t<std::span<const Word* const>> in, Word* out);

// In lwe_polynomials.cu.

/// Columns first … first + columns - 1 of `vectors` vectors as `batch` polynomials each.
template <class In, class Out>
void lwe_to_polynomials(const Stream& stream, const LwePolynomials& rule, std::size_t first,
                        std::size_t columns, std::size_t vectors, std::size_t batch, const In* in,
                        Out* out);
/// `numbers`: null if there are none.
template <class Word>
void lwe_expand(const Stream& stream, const LweExpansion& rule, std::size_t count,
                const std::uint32_t* numbers, const Word* bodies, Word* out);

}  // namespace whorl::backend::cuda
