#include "lattice/rns_rlwe.h"

#include <algorithm>
#include <atomic>

#include "backend/parallel.h"
#include "lattice/lwe/keys.h"
#include "ring/automorphism.h"

namespace whorl::lattice {

namespace {

/// x mod q in [0, q) for |x| < 2^62; no branch.
template <class Word>
Word small_residue(const math::Modulus<Word>& q, std::int64_t x) {
  return q.from_signed(x);
}

}  // namespace

template <class Word>
RnsSecret<Word>::RnsSecret(std::shared_ptr<const ring::RnsPlan<Word>> plan,
                           std::span<const std::int32_t> secret, std::uint64_t t,
                           const math::GaussianSampler& error)
    : plan_(std::move(plan)),
      t_(t),
      error_(&error),
      ntts_(ring::host_ntts<Word>(plan_)),
      secret_(plan_->moduli().size() * plan_->N()) {
  const std::size_t N = plan_->N();
  for (std::size_t l = 0; l < plan_->moduli().size(); ++l) {
    for (std::size_t j = 0; j < N; ++j)
      secret_[l * N + j] = small_residue(plan_->moduli()[l], secret[j]);
    ntts_[l].forward(secret_.span().subspan(l * N, N));
  }
}

template <class Word>
void RnsSecret<Word>::encrypt(unsigned limbs, bool with_special, std::span<const Word> a,
                              std::span<const std::int64_t> m, math::PrivateStream& stream,
                              std::span<Word> b) const {
  const std::size_t N = plan_->N(), rows = limbs + (with_special ? plan_->special() : 0);
  math::WipedVector<std::int32_t> errors(N);
  error_->sample(stream, errors.span());
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t limb = r < limbs ? r : plan_->limbs() + r - limbs;
    const math::Modulus<Word>& q = plan_->moduli()[limb];
    for (std::size_t j = 0; j < N; ++j)
      b[r * N + j] =
          small_residue(q, static_cast<std::int64_t>(t_) * errors[j] + (m.empty() ? 0 : m[j]));
    ntts_[limb].forward(b.subspan(r * N, N));
    const Word* const s = secret_.data() + limb * N;
    for (std::size_t j = 0; j < N; ++j)
      b[r * N + j] = q.sub(b[r * N + j], q.mul(a[r * N + j], s[j]));
  }
}

template <class Word>
void RnsSecret<Word>::phase(unsigned limbs, std::size_t parts, std::span<const Word> ciphertext,
                            std::span<Word> out) const {
  const std::size_t N = plan_->N(), part = limbs * N;
  for (std::size_t l = 0; l < limbs; ++l) {
    const math::Modulus<Word>& q = plan_->moduli()[l];
    const Word* const s = secret_.data() + l * N;
    for (std::size_t j = 0; j < N; ++j) {
      const std::size_t at = l * N + j;
      Word sum = ciphertext[(parts - 1) * part + at];
      for (std::size_t k = parts - 1; k > 0; --k)
        sum = q.add(q.mul(sum, s[j]), ciphertext[(k - 1) * part + at]);
      out[at] = sum;
    }
    ntts_[l].inverse(out.subspan(l * N, N));
  }
}

template <class Word>
WordArray RnsSecret<Word>::switch_key_bodies(
    std::uint32_t g, unsigned power, const math::Seed& seed, unsigned threads,
    const std::function<bool(std::size_t, std::size_t)>& progress) const {
  const std::size_t N = plan_->N(), rows = plan_->moduli().size(), digits = plan_->digits();
  const unsigned L = plan_->limbs();
  std::vector<std::uint32_t> from;
  if (g != 1) from = ring::evaluation_permutation(plan_->N(), g);
  // Not zeroed: every word is written.
  const auto out = std::make_shared_for_overwrite<Word[]>(digits * rows * N);
  std::atomic<std::size_t> done{0};
  const backend::Workers workers{threads,
                                 [&] { return progress && !progress(done.load(), digits); }};
  backend::parallel_for(digits, workers, [&](std::size_t digit) {
    math::PrivateStream stream("errors of a switching key");
    std::vector<Word> a(rows * N);
    key_uniform<Word>(*plan_, seed, static_cast<unsigned>(digit), a);
    Word* const b = out.get() + digit * rows * N;
    encrypt(L, true, a, {}, stream, {b, rows * N});
    const std::size_t first = digit * plan_->digit_limbs();
    for (std::size_t l = first; l < std::min<std::size_t>(L, first + plan_->digit_limbs()); ++l) {
      const math::Modulus<Word>& q = plan_->moduli()[l];
      const Word* const s = secret_.data() + l * N;
      const Word P = plan_->P(static_cast<unsigned>(l));
      for (std::size_t j = 0; j < N; ++j) {
        const Word x = s[from.empty() ? j : from[j]];
        Word source = q.mul(P, x);
        for (unsigned k = 1; k < power; ++k) source = q.mul(source, x);
        b[l * N + j] = q.add(b[l * N + j], source);
      }
    }
    ++done;
  });
  return WordArray(out, out.get(), digits * rows * N, sizeof(Word));
}

template <class Word>
void key_uniform(const ring::RnsPlan<Word>& plan, const math::Seed& seed, unsigned digit,
                 std::span<Word> a) {
  const std::size_t N = plan.N(), rows = plan.moduli().size();
  for (std::size_t l = 0; l < rows; ++l)
    math::expand_uniform<Word>(seed, digit * rows + l, plan.moduli()[l].value(),
                               a.subspan(l * N, N));
}

template <class Word>
void ciphertext_uniform(const ring::RnsPlan<Word>& plan, const math::Seed& seed, std::size_t row,
                        unsigned limbs, std::span<Word> a) {
  const std::size_t N = plan.N();
  for (std::size_t l = 0; l < limbs; ++l)
    math::expand_uniform<Word>(seed, row * plan.limbs() + l, plan.moduli()[l].value(),
                               a.subspan(l * N, N));
}

template <class Word>
backend::RnsRowSource<Word> key_rows(const ring::RnsPlan<Word>& plan, const math::Seed& seed,
                                     std::span<const Word> bodies) {
  return [&plan, seed, bodies](unsigned digit, std::span<Word> a, std::span<Word> b) {
    key_uniform<Word>(plan, seed, digit, a);
    std::copy_n(bodies.begin() + static_cast<std::ptrdiff_t>(digit * b.size()), b.size(),
                b.begin());
  };
}

#define WHORL_INSTANTIATE(Word)                                                                \
  template class RnsSecret<Word>;                                                              \
  template void key_uniform(const ring::RnsPlan<Word>&, const math::Seed&, unsigned,           \
                            std::span<Word>);                                                  \
  template void ciphertext_uniform(const ring::RnsPlan<Word>&, const math::Seed&, std::size_t, \
                                   unsigned, std::span<Word>);                                 \
  template backend::RnsRowSource<Word> key_rows(const ring::RnsPlan<Word>&, const math::Seed&, \
                                                std::span<const Word>);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)

}  // namespace whorl::lattice
