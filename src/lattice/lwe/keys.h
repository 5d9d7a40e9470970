// LWE encryption and the keys that switch LWE ciphertexts, from the secret's side.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "math/random.h"
#include "math/sampling.h"
#include "ring/gadget.h"
#include "whorl/word_array.h"

namespace whorl::lattice {

/// <a, s> modulo Q, in constant time, for Q a power of two or any modulus below 2^61.
template <class Word>
std::uint64_t lwe_mask(std::span<const Word> a, std::span<const std::int32_t> s, std::uint64_t Q);

/// x mod Q for |x| < Q, in constant time.
inline std::uint64_t residue(std::int64_t x, std::uint64_t Q) {
  return static_cast<std::uint64_t>(x) + (Q & static_cast<std::uint64_t>(x >> 63));
}

/// The b halves of an LWE key-switching key from `from` (N coefficients) to `to` (n), in the order
/// of whorl::binfhe::EvaluationKeys: row (i, j[, v]) encrypts v·g_j·from_i, its a half being
/// expand_uniform(seed, row). `progress(done, total)` is polled from the calling thread; false
/// stops. threads 0: all cores.
WordArray switch_key_bodies(std::span<const std::int32_t> from, std::span<const std::int32_t> to,
                            std::uint64_t Q_ks, const ring::Gadget& gadget, bool table,
                            const math::GaussianSampler& error, const math::Seed& seed,
                            unsigned threads,
                            const std::function<bool(std::size_t, std::size_t)>& progress);

}  // namespace whorl::lattice
