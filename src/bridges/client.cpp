#include "whorl/bridges/client.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "bridges/output.h"
#include "bridges/packing.h"
#include "lattice/lwe/keys.h"
#include "lattice/rlwe/secret.h"
#include "math/memory.h"
#include "math/modulus.h"
#include "math/random.h"
#include "math/sampling.h"
#include "math/secret.h"
#include "schemes/ckks/derived.h"

namespace whorl::bridges {

namespace rlwe = lattice::rlwe;

namespace {

/// Encryptions of the LWE key's coefficients under `secret`, whose dimension is the ring's,
/// (n, primes, dimension): LweInputKeys::b, CompressionKeys::b.
WordArray packing_bodies(const std::vector<std::uint64_t>& of_primes, const binfhe::Client& from,
                         std::span<const std::int32_t> secret, double sigma, const Seed& seed,
                         unsigned threads, const Progress& progress) {
  const std::span<const std::int32_t> lwe = from.secret_key().lwe();
  const std::size_t n = lwe.size(), rows = of_primes.size(), N = secret.size();
  const rlwe::AnyPlan plan =
      rlwe::make_plan(static_cast<std::uint32_t>(N), of_primes, {}, static_cast<unsigned>(rows));
  // 1. Of zeros.
  const WordArray zeros =
      rlwe::Secret(plan, secret, sigma)
          .encrypt(
              ring::Basis::range(0, static_cast<unsigned>(rows)), 1, seed, n,
              [](std::size_t, std::span<std::int64_t> m) { std::ranges::fill(m, 0); }, progress,
              threads);
  // 2. A constant polynomial has equal values.
  const std::vector<std::uint64_t> factor =
      packing_factor(of_primes, packed_modulus(from.parameters()));
  return std::visit(
      [&]<class Word>(const std::shared_ptr<const ring::RnsPlan<Word>>& primes) {
        const std::size_t size = rows * n * N;
        const auto out = math::unfilled<Word>(size);
        for (std::size_t j = 0; j < n; ++j)
          for (std::size_t l = 0; l < rows; ++l) {
            const math::Modulus<Word>& q = primes->moduli()[l];
            const Word s = q.mul(static_cast<Word>(factor[l]), q.from_signed(lwe[j]));
            const Word* const zero = zeros.as<Word>().data() + (l * n + j) * N;
            Word* const to = out.get() + (j * rows + l) * N;
            for (std::size_t i = 0; i < N; ++i) to[i] = q.add(zero[i], s);
          }
        return WordArray(out, out.get(), size, sizeof(Word));
      },
      plan);
}

/// A polynomial of the subring in the ring of N coefficients.
math::SecretVector<std::int32_t> widened(const math::SecretVector<std::int32_t>& secret,
                                         std::size_t N) {
  math::SecretVector<std::int32_t> out(N);
  const std::size_t n = secret.span().size();
  for (std::size_t i = 0; i < n; ++i) out[i * (N / n)] = secret[i];
  return out;
}

}  // namespace

LweInputKeys lwe_input_keys(const ckks::Client& to, const binfhe::Client& from, unsigned threads,
                            const Progress& progress) {
  const ckks::Parameters& p = to.parameters();
  const Packing packing(p);
  return math::with_memory_for("keys of LWE ciphertexts", [&]() -> LweInputKeys {
    const math::SecretVector<std::int32_t> secret = rlwe::random_ternary_secret(packing.dimension);
    const double sigma = p.literal().sigma;
    const Seed seed = math::random_seed();
    WordArray b =
        packing_bodies(packing.primes, from, secret.span(), sigma, seed, threads, progress);
    const math::SecretVector<std::int32_t> wide = widened(secret, p.N());
    const rlwe::Secret own(any_plan_of(p), to.secret_key().coefficients(), sigma),
        inner(own.plan(), wide.span(), sigma);
    rlwe::SwitchKeyData key = own.switch_key(packing.switching, {1, 1}, 1, threads, {}, &inner);
    return {p,    to.key_id(),  from.parameters(), from.key_id(),
            seed, std::move(b), key.seed,          std::move(key.b)};
  });
}

LweOutputKeys lwe_output_keys(const ckks::Client& from, const binfhe::Client& to, unsigned threads,
                              const Progress& progress) {
  const ckks::Parameters& p = from.parameters();
  const Packing packing(p);
  return math::with_memory_for("keys for LWE output", [&]() -> LweOutputKeys {
    const math::SecretVector<std::int32_t> secret = rlwe::random_ternary_secret(packing.dimension);
    const double sigma = p.literal().sigma;
    const math::SecretVector<std::int32_t> wide = widened(secret, p.N());
    const rlwe::Secret own(any_plan_of(p), from.secret_key().coefficients(), sigma),
        inner(own.plan(), wide.span(), sigma);
    rlwe::SwitchKeyData key = inner.switch_key(packing.switching, {1, 1}, 1, threads, {}, &own);
    const backend::SwitchShape shape = output_switch(packing, to.parameters());
    const Seed seed = math::random_seed();
    WordArray b = lattice::switch_key_bodies(
        secret.span(), to.secret_key().lwe(), shape.Q_ks, shape.gadget, shape.table,
        math::GaussianSampler(to.parameters().literal().sigma_lwe), seed, threads, progress);
    return {p,    from.key_id(), to.parameters(), to.key_id(), key.seed, std::move(key.b),
            seed, std::move(b)};
  });
}

CompressionKeys compression_keys(const binfhe::Client& client, unsigned threads,
                                 const Progress& progress) {
  const binfhe::Parameters& p = client.parameters();
  return math::with_memory_for("compression keys", [&]() -> CompressionKeys {
    const Seed seed = math::random_seed();
    return {p, client.key_id(), seed,
            packing_bodies({p.Q()}, client, client.secret_key().ring(), p.literal().sigma_ring,
                           seed, threads, progress)};
  });
}

std::size_t lwe_input_key_bytes(const ckks::Parameters& to, const binfhe::Parameters& from) {
  const Packing packing(to);
  return packing.words(from) * to.word_bytes() + packing.primes.size() * to.N() * to.word_bytes() +
         64;
}

}  // namespace whorl::bridges
