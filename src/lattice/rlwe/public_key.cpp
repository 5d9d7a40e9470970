#include "lattice/rlwe/public_key.h"

#include "backend/parallel.h"
#include "lattice/rlwe/uniform.h"
#include "math/memory.h"
#include "whorl/error.h"

namespace whorl::lattice::rlwe {

PublicKey::PublicKey(AnyPlan plan, const ring::Basis& basis, const Seed& seed, WordArray b,
                     double sigma)
    : plan_(std::move(plan)), basis_(basis), b_(std::move(b)), error_(sigma) {
  a_ = std::visit(
      [&]<class Word>(const std::shared_ptr<const ring::RnsPlan<Word>>& p) {
        p->check_basis("a public key", basis_);
        std::vector<Word> a(basis_.size() * p->N());
        if (b_.size() != a.size() || b_.word_bytes() != sizeof(Word))
          throw ShapeError("a public key has " + std::to_string(b_.size()) + " words of " +
                           std::to_string(b_.word_bytes()) + " bytes; it must have " +
                           std::to_string(a.size()) + " of " + std::to_string(sizeof(Word)));
        ciphertext_uniform<Word>(*p, basis_, seed, 0, a);
        return WordArray(std::move(a));
      },
      plan_);
}

namespace {

/// One encryption, written to rows `stride` words apart: part 0, then part 1.
template <class Word>
struct PublicEncryption {
  const ring::RnsPlan<Word>& plan;
  const std::vector<ring::HostNtt<Word>>& ntts;
  const std::vector<unsigned> primes;
  std::span<const Word> a, b;

  void run(std::int64_t t, std::span<const std::int32_t> u, std::span<const std::int32_t> e0,
           std::span<const std::int32_t> e1, std::span<const std::int64_t> message, Word* out,
           std::size_t stride) const {
    const std::size_t N = plan.N();
    math::WipedVector<Word> mask(N), first(N), second(N);
    for (std::size_t r = 0; r < primes.size(); ++r) {
      const math::Modulus<Word>& q = plan.moduli()[primes[r]];
      for (std::size_t j = 0; j < N; ++j) {
        mask.span()[j] = q.from_signed(u[j]);
        first.span()[j] = q.from_signed(t * e0[j] + message[j]);
        second.span()[j] = q.from_signed(t * e1[j]);
      }
      for (auto* x : {&mask, &first, &second}) ntts[primes[r]].forward(x->span());
      Word* const c0 = out + r * stride;
      Word* const c1 = out + (primes.size() + r) * stride;
      for (std::size_t j = 0; j < N; ++j) {
        c0[j] = q.add(q.mul(b[r * N + j], mask[j]), first[j]);
        c1[j] = q.add(q.mul(a[r * N + j], mask[j]), second[j]);
      }
    }
  }
};

}  // namespace

WordArray PublicKey::encrypt(std::uint64_t t, std::size_t count, const Encode& encode,
                             const Progress& progress, unsigned threads) const {
  return std::visit(
      [&]<class Word>(const std::shared_ptr<const ring::RnsPlan<Word>>& p) {
        const std::size_t N = p->N();
        const auto ntts = ring::host_ntts<Word>(p);
        const PublicEncryption<Word> encryption{*p, ntts, basis_.indices(), a_.as<Word>(),
                                                b_.as<Word>()};
        const std::size_t size = 2 * basis_.size() * count * N;
        const auto out = math::unfilled<Word>(size);
        backend::parallel_with_progress(count, threads, progress, [&](std::size_t i) {
          math::PrivateStream stream("encryption under a public key");
          math::WipedVector<std::int32_t> u(N), e0(N), e1(N);
          math::WipedVector<std::int64_t> message(N);
          math::sample_ternary(stream, u.span());
          error_.sample(stream, e0.span());
          error_.sample(stream, e1.span());
          encode(i, message.span());
          encryption.run(static_cast<std::int64_t>(t), u.span(), e0.span(), e1.span(),
                         message.span(), out.get() + i * N, count * N);
        });
        return WordArray(out, out.get(), size, sizeof(Word));
      },
      plan_);
}

}  // namespace whorl::lattice::rlwe
