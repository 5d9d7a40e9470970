#include "whorl/bridges/client.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "bridges/output.h"
#include "bridges/packing.h"
#include "bridges/products_noise.h"
#include "lattice/lwe/keys.h"
#include "lattice/lwe/rotation_method.h"
#include "lattice/rlwe/secret.h"
#include "math/memory.h"
#include "math/modulus.h"
#include "math/random.h"
#include "math/sampling.h"
#include "math/secret.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/packed.h"
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

namespace {

/// s(X^g), in constant time.
math::SecretVector<std::int64_t> substituted(std::span<const std::int32_t> secret,
                                             std::uint32_t g) {
  const std::size_t N = secret.size();
  math::SecretVector<std::int64_t> out(N);
  for (std::size_t i = 0; i < N; ++i) {
    const std::size_t place = i * g % (2 * N);
    const std::int64_t value = secret[i];
    out[place % N] = place < N ? value : -value;
  }
  return out;
}

/// s^2, in constant time.
math::SecretVector<std::int64_t> squared(std::span<const std::int32_t> secret) {
  const std::size_t N = secret.size();
  math::SecretVector<std::int64_t> out(N);
  for (std::size_t i = 0; i < N; ++i)
    for (std::size_t j = 0; j < N; ++j) {
      const std::int64_t product = std::int64_t{secret[i]} * secret[j];
      out[(i + j) % N] += i + j < N ? product : -product;
    }
  return out;
}

}  // namespace

ProductKeys product_keys(const binfhe::Client& client, unsigned threads, const Progress& progress) {
  const binfhe::Parameters& p = client.parameters();
  check_multiplies(p);
  return math::with_memory_for("product keys", [&]() -> ProductKeys {
    ProductKeys keys{p, client.key_id(), math::random_seed(), {}, math::random_seed(), {}};
    const std::span<const std::int32_t> ring = client.secret_key().ring();
    const double sigma = p.literal().sigma_ring;
    const backend::RotationShape shape =
        binfhe::rotation_shape(second_rotation(p), p.literal().transform);
    keys.rotation_b = backend::with_word_bytes(ring_word_bytes(p.Q()), [&]<class Word>(Word) {
      return lattice::lwe::RotationMethod::generate<Word>(shape, client.secret_key().lwe(), ring,
                                                          math::GaussianSampler(sigma),
                                                          keys.rotation_seed, threads, progress);
    });
    // Rows of one message after the other.
    const ring::Gadget gadget = switch_gadget_of_products(p);
    std::vector<math::SecretVector<std::int64_t>> messages;
    for (std::uint32_t power = 2; power <= p.N(); power *= 2)
      messages.push_back(substituted(ring, power + 1));
    messages.push_back(squared(ring));
    const WordArray both =
        rlwe::Secret(binfhe::ring_plan(p), ring, sigma)
            .encrypt(
                ring::Basis::range(0, 1), 1, keys.ring_seed, product_key_rows(p),
                [&](std::size_t row, std::span<std::int64_t> m) {
                  const math::SecretVector<std::int64_t>& message = messages[row / gadget.digits()];
                  const unsigned shift = gadget.shift(static_cast<unsigned>(row % gadget.digits()));
                  for (std::size_t i = 0; i < m.size(); ++i)
                    m[i] = message[i] * (std::int64_t{1} << shift);
                },
                {}, threads);
    // The second halves follow from the seed.
    backend::with_word_bytes(static_cast<unsigned>(both.word_bytes()), [&]<class Word>(Word) {
      const std::span<const Word> bodies = both.as<Word>().first(both.size() / 2);
      keys.ring_b = WordArray(std::vector<Word>(bodies.begin(), bodies.end()));
    });
    return keys;
  });
}

std::size_t lwe_input_key_bytes(const ckks::Parameters& to, const binfhe::Parameters& from) {
  const Packing packing(to);
  return packing.words(from) * to.word_bytes() + packing.primes.size() * to.N() * to.word_bytes() +
         64;
}

}  // namespace whorl::bridges
