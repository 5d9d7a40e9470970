#include "lattice/rgsw.h"

#include <atomic>

#include "backend/parallel.h"
#include "lattice/lwe.h"

namespace whorl::lattice {

template <class Word>
RlweEncryptor<Word>::RlweEncryptor(std::span<const std::int32_t> secret, Word Q,
                                   const math::GaussianSampler& error)
    : plan_(std::make_shared<ring::NttPlan<Word>>(static_cast<std::uint32_t>(secret.size()), Q)),
      device_(backend::make_device("cpu", {1, {}})),
      error_(&error) {
  // Wiped when the last copy of the encryptor goes.
  secret_ = std::shared_ptr<backend::Buffer<Word>>(
      new backend::Buffer<Word>(device_->allocate<Word>(secret.size())),
      [](backend::Buffer<Word>* buffer) {
        volatile Word* words = buffer->slice().data;
        for (std::size_t i = 0; i < buffer->size(); ++i) words[i] = 0;
        delete buffer;
      });
  Word* values = secret_->slice().data;
  for (std::size_t i = 0; i < secret.size(); ++i)
    values[i] = static_cast<Word>(residue(secret[i], Q));
  const ring::NttPlan<Word>* plans[] = {plan_.get()};
  device_->ntt(plans, secret_->slice());
}

template <class Word>
void RlweEncryptor<Word>::encrypt_zero(std::span<const Word> a, std::span<Word> b,
                                       math::PrivateStream& stream) const {
  const std::size_t N = plan_->N(), rows = a.size() / N;
  const math::Modulus<Word>& q = plan_->modulus();
  const ring::NttPlan<Word>* plans[] = {plan_.get()};
  auto product = device_->allocate<Word>(a.size());
  device_->upload(a, product.slice());
  device_->ntt(plans, product.slice());
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = product.slice().part(r * N, N);
    device_->mul({&q, 1}, row, secret_->slice(), row);
  }
  device_->intt(plans, product.slice());
  std::vector<std::int32_t> errors(a.size());
  error_->sample(stream, errors);
  const Word* as = product.slice().data;
  for (std::size_t k = 0; k < a.size(); ++k)
    b[k] = q.add(as[k], static_cast<Word>(residue(errors[k], q.value())));
}

template class RlweEncryptor<std::uint32_t>;
template class RlweEncryptor<std::uint64_t>;

template <class Word>
WordArray rotation_key_bodies(std::span<const std::int32_t> lwe,
                              std::span<const std::int32_t> ring, Word Q,
                              std::span<const ring::Gadget> gadgets, unsigned keys,
                              const math::GaussianSampler& error, const math::Seed& seed,
                              unsigned threads,
                              const std::function<bool(std::size_t, std::size_t)>& progress) {
  const std::size_t N = ring.size(), n = lwe.size();
  std::vector<std::size_t> first(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) first[i + 1] = first[i] + 2 * keys * gadgets[i].digits();
  std::vector<Word> out(first[n] * N);
  const RlweEncryptor<Word> encryptor(ring, Q, error);
  const math::Modulus<Word>& q = encryptor.modulus();
  std::atomic<std::size_t> done{0};
  const backend::Workers workers{threads,
                                 [&] { return progress && !progress(done.load(), n); }};

  backend::parallel_for(n, workers, [&](std::size_t i) {
    math::PrivateStream stream("errors of a blind-rotation key");
    const std::size_t rows = first[i + 1] - first[i];
    std::vector<Word> a(rows * N);
    for (std::size_t r = 0; r < rows; ++r)
      math::expand_uniform<Word>(seed, first[i] + r, Q, {a.data() + r * N, N});
    Word* b = out.data() + first[i] * N;
    encryptor.encrypt_zero(a, {b, rows * N}, stream);
    const unsigned digits = gadgets[i].digits();
    for (unsigned k = 0; k < keys; ++k) {
      // 1 where s_i = 1 (first key) or s_i = -1 (second), without a branch on the secret.
      const std::uint32_t s = static_cast<std::uint32_t>(lwe[i]);
      const std::uint32_t difference = k == 0 ? s ^ 1u : ~s;
      const Word m = 1 - ((difference | (0u - difference)) >> 31);
      for (unsigned j = 0; j < digits; ++j) {
        const Word factor = m * static_cast<Word>(gadgets[i].factor(j));
        Word* minus_s = b + (k * 2 * digits + j) * N;
        for (std::size_t t = 0; t < N; ++t)
          minus_s[t] = q.sub(minus_s[t], q.mul(factor, static_cast<Word>(residue(ring[t], Q))));
        Word& constant = b[(k * 2 * digits + digits + j) * N];
        constant = q.add(constant, factor);
      }
    }
    ++done;
  });
  return WordArray(std::move(out));
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
