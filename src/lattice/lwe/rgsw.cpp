#include "lattice/lwe/rgsw.h"

#include <memory>

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
  math::WipedVector<std::int32_t> errors(N);
  for (std::size_t r = 0; r < b.size(); r += N) {
    error_->sample(stream, errors.span());
    encrypt_zero(a.subspan(r, N), b.subspan(r, N), errors.span());
  }
}

template <class Word>
void RlweEncryptor<Word>::encrypt_zero(std::span<const Word> a, std::span<Word> b,
                                       std::span<const std::int32_t> errors) const {
  const math::Modulus<Word>& q = modulus();
  ntt_.forward(a, b);
  for (std::size_t k = 0; k < b.size(); ++k) b[k] = q.mul_shoup(b[k], secret_[k], secret_shoup_[k]);
  ntt_.inverse(b);
  for (std::size_t k = 0; k < b.size(); ++k)
    b[k] = q.add(b[k], static_cast<Word>(residue(errors[k], q.value())));
}

template class RlweEncryptor<std::uint32_t>;
template class RlweEncryptor<std::uint64_t>;

}  // namespace whorl::lattice
