#include "lattice/lwe/rgsw.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "backend/parallel.h"
#include "lattice/lwe/keys.h"

namespace whorl::lattice {

namespace {

/// floor(w·2^bits/q) for a secret w below q, without dividing it: the quotient's bits one by one.
template <class Word>
Word secret_shoup(Word w, Word q) {
  Word quotient = 0;
  for (unsigned bit = 0; bit < 8 * sizeof(Word); ++bit) {
    const Word doubled = static_cast<Word>(2 * w);  // q < 2^(bits-1)
    const Word below = static_cast<Word>((doubled - q) >> (8 * sizeof(Word) - 1));
    quotient = static_cast<Word>(2 * quotient + (1 - below));
    w = static_cast<Word>(doubled - (q & (below - 1)));
  }
  return quotient;
}

}  // namespace

template <class Word>
RlweEncryptor<Word>::RlweEncryptor(std::span<const std::int32_t> secret, Word Q,
                                   const math::GaussianSampler& error)
    : ntt_(std::make_shared<const ring::NttPlan<Word>>(static_cast<std::uint32_t>(secret.size()),
                                                       Q)),
      secret_(secret.size()),
      secret_shoup_(secret.size()),
      error_(&error) {
  for (std::size_t i = 0; i < secret.size(); ++i)
    secret_[i] = static_cast<Word>(residue(secret[i], Q));
  ntt_.forward(secret_.span());
  for (std::size_t i = 0; i < secret.size(); ++i) secret_shoup_[i] = secret_shoup(secret_[i], Q);
}

template <class Word>
void RlweEncryptor<Word>::encrypt_zero(std::span<const Word> a, std::span<Word> b,
                                       math::PrivateStream& stream) const {
  const std::size_t N = ntt_.plan().N();
  const math::Modulus<Word>& q = modulus();
  math::WipedVector<std::int32_t> errors(N);
  for (std::size_t r = 0; r < b.size(); r += N) {
    const std::span<Word> row = b.subspan(r, N);
    ntt_.forward(a.subspan(r, N), row);
    for (std::size_t k = 0; k < N; ++k) row[k] = q.mul_shoup(row[k], secret_[k], secret_shoup_[k]);
    ntt_.inverse(row);
    error_->sample(stream, errors.span());
    for (std::size_t k = 0; k < N; ++k)
      row[k] = q.add(row[k], static_cast<Word>(residue(errors[k], q.value())));
  }
}

template class RlweEncryptor<std::uint32_t>;
template class RlweEncryptor<std::uint64_t>;

template <class Word>
WordArray rotation_key_bodies(std::span<const std::int32_t> lwe, std::span<const std::int32_t> ring,
                              Word Q, std::span<const ring::Gadget> gadgets, unsigned keys,
                              const math::GaussianSampler& error, const math::Seed& seed,
                              unsigned threads,
                              const std::function<bool(std::size_t, std::size_t)>& progress) {
  const std::size_t N = ring.size(), n = lwe.size();
  std::vector<std::size_t> first(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) first[i + 1] = first[i] + 2 * keys * gadgets[i].digits();
  // Not zeroed: every word is written.
  const auto out = std::make_shared_for_overwrite<Word[]>(first[n] * N);
  const RlweEncryptor<Word> encryptor(ring, Q, error);
  const math::Modulus<Word>& q = encryptor.modulus();
  std::atomic<std::size_t> done{0};
  const backend::Workers workers{threads, [&] { return progress && !progress(done.load(), n); }};

  backend::parallel_for(n, workers, [&](std::size_t i) {
    math::PrivateStream stream("errors of a blind-rotation key");
    const std::size_t rows = first[i + 1] - first[i];
    const std::span<Word> b{out.get() + first[i] * N, rows * N};
    math::expand_uniform_rows<Word>(seed, first[i], Q, {b.data(), rows, N, N});
    // (a, (a - m·g_j)·s + e) is an encryption of -m·g_j·s, (a, a·s + e + m·g_j) one of m·g_j.
    const unsigned digits = gadgets[i].digits();
    const auto for_each_message = [&](const auto& body) {
      for (unsigned k = 0; k < keys; ++k) {
        // 1 where s_i = 1 (first key) or s_i = -1 (second), without a branch on the secret.
        const std::uint32_t s = static_cast<std::uint32_t>(lwe[i]);
        const std::uint32_t difference = k == 0 ? s ^ 1u : ~s;
        const Word m = 1 - ((difference | (0u - difference)) >> 31);
        for (unsigned j = 0; j < digits; ++j)
          body((k * 2 * digits + j) * N, m * static_cast<Word>(gadgets[i].factor(j)));
      }
    };
    for_each_message([&](std::size_t row, Word message) { b[row] = q.sub(b[row], message); });
    encryptor.encrypt_zero(b, b, stream);
    for_each_message([&](std::size_t row, Word message) {
      Word& constant = b[row + digits * N];
      constant = q.add(constant, message);
    });
    ++done;
  });
  return WordArray(out, out.get(), first[n] * N, sizeof(Word));
}

template WordArray rotation_key_bodies(std::span<const std::int32_t>, std::span<const std::int32_t>,
                                       std::uint32_t, std::span<const ring::Gadget>, unsigned,
                                       const math::GaussianSampler&, const math::Seed&, unsigned,
                                       const std::function<bool(std::size_t, std::size_t)>&);
template WordArray rotation_key_bodies(std::span<const std::int32_t>, std::span<const std::int32_t>,
                                       std::uint64_t, std::span<const ring::Gadget>, unsigned,
                                       const math::GaussianSampler&, const math::Seed&, unsigned,
                                       const std::function<bool(std::size_t, std::size_t)>&);

}  // namespace whorl::lattice
