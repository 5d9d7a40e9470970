// Ring-LWE over RNS primes, from the secret's side: encryptions, phases, and the keys of hybrid key
// switching. What is encrypted is small integers as coefficients; what they mean, and what factor t
// errors have beside them (BGV: the plaintext modulus, CKKS: 1), is the scheme's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "lattice/rlwe/plan.h"
#include "lattice/rlwe/switch_key.h"
#include "math/random.h"
#include "math/sampling.h"
#include "math/secret.h"
#include "ring/host/transforms.h"
#include "whorl/common.h"
#include "whorl/word_array.h"

namespace whorl::lattice::rlwe {

/// A uniform ternary secret.
math::SecretVector<std::int32_t> random_ternary_secret(std::size_t N);
/// One of that many coefficients other than 0; ParameterError if there are more than N.
math::SecretVector<std::int32_t> random_sparse_secret(std::size_t N, std::uint32_t weight);
/// A copy of given coefficients. ShapeError unless there are N of them, RangeError unless all are
/// in -1 … 1. The time does not depend on which one is out of range.
math::SecretVector<std::int32_t> ternary_secret(std::size_t N,
                                                std::span<const std::int32_t> coefficients);

/// A ternary ring secret modulo each prime of a plan, in evaluation form. Decryption is c_0 + c_1·s
/// + c_2·s^2 + …, so that an encryption of zero is (-a·s + t·e, a). Rows of arrays over a basis
/// come in the order of its indices. For several threads, each with a stream of its own.
template <class Word>
class RnsSecret {
 public:
  /// `secret`: N coefficients in -1 … 1; sigma: of the errors.
  RnsSecret(std::shared_ptr<const ring::RnsPlan<Word>> plan, std::span<const std::int32_t> secret,
            double sigma);

  const ring::RnsPlan<Word>& plan() const { return *plan_; }
  const std::shared_ptr<const ring::RnsPlan<Word>>& shared_plan() const { return plan_; }

  /// b <- -a·s + t·e + m; a and b: (basis, N) in evaluation form; m: N integers, |t·e + m| < 2^62,
  /// or empty for 0. `b` may not be `a`.
  void encrypt(const ring::Basis& basis, std::uint64_t t, std::span<const Word> a,
               std::span<const std::int64_t> m, math::PrivateStream& stream,
               std::span<Word> b) const;

  /// out <- sum_k parts[k]·s^k, coefficient form, (basis, N). ciphertext: (parts, basis, N).
  void phase(const ring::Basis& basis, std::size_t parts, std::span<const Word> ciphertext,
             std::span<Word> out) const;

  /// The bodies b of a switching key from s'^power(X^g) to s, (digits, rows, N), s' being `from`'s
  /// secret (of the same plan) or, if null, s: row d encrypts P·s'^power(X^g) modulo the primes of
  /// digit d and 0 modulo the others, P being the product of the layout's special primes. The a
  /// halves are key_uniform's. ParameterError for a layout that does not fit the plan.
  WordArray switch_key_bodies(const ring::KeyLayout& layout, std::uint64_t t,
                              const SwitchSource& source, const math::Seed& seed, unsigned threads,
                              const Progress& progress, const RnsSecret* from = nullptr) const;

 private:
  std::shared_ptr<const ring::RnsPlan<Word>> plan_;
  std::vector<ring::HostNtt<Word>> ntts_;  ///< of each prime
  math::GaussianSampler error_;
  math::SecretVector<Word> secret_;  ///< (primes, N)
};

/// Ciphertexts on the host, (parts, basis, count, N) in evaluation form.
struct HostBatch {
  ring::Basis basis;
  std::size_t parts, count;
  WordArray words;
  /// How many primes `words` have, of which the first are those of `basis`; 0: no others.
  std::size_t held = 0;
};

/// Writes the N coefficients of message i.
using Encode = std::function<void(std::size_t i, std::span<std::int64_t> coefficients)>;

/// An RnsSecret with words of either size. Its methods work on batches, and spread them over
/// threads (0: all cores).
class Secret {
 public:
  Secret(const AnyPlan& plan, std::span<const std::int32_t> secret, double sigma);

  AnyPlan plan() const;

  /// Encryptions of `count` messages: (2, basis, count, N), the second part ciphertext_uniform's.
  WordArray encrypt(const ring::Basis& basis, std::uint64_t t, const Seed& seed, std::size_t count,
                    const Encode& encode, const Progress& progress = {},
                    unsigned threads = 0) const;
  /// b of a public key: (basis, N), an encryption of 0.
  WordArray public_key_body(const ring::Basis& basis, std::uint64_t t, const Seed& seed) const;

  /// phase·scale mod m, in 0 … m-1, (count, N), of phases in (-Q/2, Q/2): each is given to
  /// finish(i, residues) in place. ShapeError for words that are not such a batch, ParameterError
  /// unless 2 <= m < 2^61.
  std::vector<std::uint64_t> phases_modulo(
      const HostBatch& batch, std::uint64_t m, std::uint64_t scale,
      const std::function<void(std::size_t, std::span<std::uint64_t>)>& finish,
      const Progress& progress = {}, unsigned threads = 0) const;
  /// The coefficients of each phase, (count, N), rounded to doubles and given to finish(i, phase),
  /// which may change them. They must lie in (-Q/4, Q/4) of the batch's basis.
  void phases(const HostBatch& batch,
              const std::function<void(std::size_t, std::span<double>)>& finish,
              const Progress& progress = {}, unsigned threads = 0) const;
  /// log2 of the largest coefficient of each phase, -inf for 0. Not in constant time.
  std::vector<double> log2_phases(const HostBatch& batch, const Progress& progress = {},
                                  unsigned threads = 0) const;

  /// Keys of the plan's usual layout from each source to this secret, each under a seed of its own.
  /// Progress counts digits of all of them.
  std::vector<SwitchKeyData> switch_keys(std::span<const SwitchSource> sources, std::uint64_t t,
                                         unsigned threads, const Progress& progress) const;
  /// One of any layout. `from`: whose secret it leads from, of the same plan (ParameterError), or
  /// null for this one.
  SwitchKeyData switch_key(const ring::KeyLayout& layout, const SwitchSource& source,
                           std::uint64_t t, unsigned threads, const Progress& progress,
                           const Secret* from = nullptr) const;

 private:
  using Any = std::variant<RnsSecret<std::uint32_t>, RnsSecret<std::uint64_t>>;
  static Any make(const AnyPlan& plan, std::span<const std::int32_t> secret, double sigma);
  template <class Prepare>
  void each_phase(const HostBatch& batch, const Progress& progress, unsigned threads,
                  const Prepare& prepare) const;

  Any secret_;
};

}  // namespace whorl::lattice::rlwe
