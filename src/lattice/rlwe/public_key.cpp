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

WordArray PublicKey::encrypt(std::uint64_t t, std::size_t count, const Encode& encode,
                             const Progress& progress, unsigned threads) const {
  return std::visit(
      [&]<class Word>(const std::shared_ptr<const ring::RnsPlan<Word>>& p) {
        const std::size_t N = p->N();
        const auto ntts = ring::host_ntts<Word>(p);
        const std::vector<unsigned> primes = basis_.indices();
        const std::span<const Word> a = a_.as<Word>(), b = b_.as<Word>();
        const auto factor = static_cast<std::int64_t>(t);
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
          math::WipedVector<Word> mask(N), first(N), second(N);
          for (std::size_t r = 0; r < primes.size(); ++r) {
            const math::Modulus<Word>& q = p->moduli()[primes[r]];
            for (std::size_t j = 0; j < N; ++j) {
              mask.span()[j] = q.from_signed(u[j]);
              first.span()[j] = q.from_signed(factor * e0[j] + message[j]);
              second.span()[j] = q.from_signed(factor * e1[j]);
            }
            for (auto* x : {&mask, &first, &second}) ntts[primes[r]].forward(x->span());
            Word* const c0 = out.get() + (r * count + i) * N;
            Word* const c1 = out.get() + ((primes.size() + r) * count + i) * N;
            for (std::size_t j = 0; j < N; ++j) {
              c0[j] = q.add(q.mul(b[r * N + j], mask[j]), first[j]);
              c1[j] = q.add(q.mul(a[r * N + j], mask[j]), second[j]);
            }
          }
        });
        return WordArray(out, out.get(), size, sizeof(Word));
      },
      plan_);
}

}  // namespace whorl::lattice::rlwe
