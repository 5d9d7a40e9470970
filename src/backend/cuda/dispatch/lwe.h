// LWE ciphertexts around the blind rotation, on a GPU: meanings as in the contract.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "backend/contract/lwe.h"
#include "backend/cuda/runtime/stream.h"
#include "backend/parallel.h"

namespace whorl::backend::cuda {

/// rlwe (count, 2, N), out (count, N+1); Word: uint32_t or uint64_t.
template <class Word>
void sample_extract(const Stream& stream, std::uint64_t Q, std::uint32_t N, std::uint64_t constant,
                    std::size_t count, const Word* rlwe, Word* out);

/// `count` rows; `out` may be `in` where the words are of one size.
template <class In, class Out>
void modulus_switch(const Stream& stream, std::uint64_t from, std::uint64_t to, std::size_t row,
                    bool centre, std::size_t count, const In* in, Out* out);

/// Word: uint16_t, uint32_t or uint64_t, at least word_bytes_for(Q_ks). Rows are made by
/// `workers`. The key is complete on the device when this returns: other streams may use it.
template <class Word>
std::unique_ptr<SwitchKey> prepare_switch_key(const Stream& stream, const SwitchShape& shape,
                                              const SwitchRows<Word>& rows, const Workers& workers);
void lwe_key_switch(const Stream& stream, const SwitchKey& key, std::size_t count,
                    const std::uint64_t* in, std::uint64_t* out);

/// out = sum_k weights[k]·in[k] + (0, …, 0, constant) modulo q; `out` may be one of `in`.
void lwe_linear(const Stream& stream, std::uint64_t q, std::size_t row,
                std::span<const std::int64_t> weights, std::span<const std::uint32_t* const> in,
                std::uint64_t constant, std::size_t count, std::uint32_t* out);

}  // namespace whorl::backend::cuda
