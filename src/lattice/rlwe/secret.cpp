#include "lattice/rlwe/secret.h"

#include <algorithm>

#include "backend/parallel.h"
#include "lattice/rlwe/phase.h"
#include "lattice/rlwe/uniform.h"
#include "math/memory.h"
#include "ring/automorphism.h"
#include "whorl/error.h"

namespace whorl::lattice::rlwe {

math::SecretVector<std::int32_t> random_ternary_secret(std::size_t N) {
  math::SecretVector<std::int32_t> out(N);
  math::PrivateStream stream("a secret key");
  math::sample_ternary(stream, out.span());
  return out;
}

math::SecretVector<std::int32_t> random_sparse_secret(std::size_t N, std::uint32_t weight) {
  math::SecretVector<std::int32_t> out(N);
  math::PrivateStream stream("a sparse secret");
  math::sample_sparse(stream, weight, out.span());
  return out;
}

math::SecretVector<std::int32_t> ternary_secret(std::size_t N,
                                                std::span<const std::int32_t> coefficients) {
  if (coefficients.size() != N)
    throw ShapeError("a secret key has " + std::to_string(coefficients.size()) +
                     " coefficients; it must have N = " + std::to_string(N));
  std::uint32_t bad = 0;
  for (const std::int32_t x : coefficients)
    bad |= static_cast<std::uint32_t>(x) + 1u > 2u ? 1u : 0u;
  if (bad != 0) throw RangeError("secret key: a coefficient is outside -1 … 1");
  math::SecretVector<std::int32_t> out(N);
  std::copy(coefficients.begin(), coefficients.end(), out.begin());
  return out;
}

template <class Word>
RnsSecret<Word>::RnsSecret(std::shared_ptr<const ring::RnsPlan<Word>> plan,
                           std::span<const std::int32_t> secret, double sigma)
    : plan_(std::move(plan)),
      ntts_(ring::host_ntts<Word>(plan_)),
      error_(sigma),
      secret_(plan_->moduli().size() * plan_->N()) {
  const std::size_t N = plan_->N();
  if (secret.size() != N)
    throw ShapeError("a ring secret has " + std::to_string(secret.size()) +
                     " coefficients; it must have N = " + std::to_string(N));
  for (std::size_t l = 0; l < plan_->moduli().size(); ++l) {
    for (std::size_t j = 0; j < N; ++j)
      secret_[l * N + j] = plan_->moduli()[l].from_signed(secret[j]);
    ntts_[l].forward(secret_.span().subspan(l * N, N));
  }
}

template <class Word>
void RnsSecret<Word>::encrypt(const ring::Basis& basis, std::uint64_t t, std::span<const Word> a,
                              std::span<const std::int64_t> m, math::PrivateStream& stream,
                              std::span<Word> b) const {
  const std::size_t N = plan_->N();
  math::WipedVector<std::int32_t> errors(N);
  error_.sample(stream, errors.span());
  std::size_t at = 0;
  for (const unsigned l : basis.indices()) {
    const math::Modulus<Word>& q = plan_->moduli()[l];
    const Word* const s = secret_.data() + l * N;
    const std::span<Word> row = b.subspan(at, N);
    for (std::size_t j = 0; j < N; ++j)
      row[j] = q.from_signed(static_cast<std::int64_t>(t) * errors[j] + (m.empty() ? 0 : m[j]));
    ntts_[l].forward(row);
    for (std::size_t j = 0; j < N; ++j) row[j] = q.sub(row[j], q.mul(a[at + j], s[j]));
    at += N;
  }
}

template <class Word>
void RnsSecret<Word>::phase(const ring::Basis& basis, std::size_t parts,
                            std::span<const Word> ciphertext, std::span<Word> out) const {
  const std::size_t N = plan_->N(), part = basis.size() * N;
  std::size_t first = 0;
  for (const unsigned l : basis.indices()) {
    const math::Modulus<Word>& q = plan_->moduli()[l];
    const Word* const s = secret_.data() + l * N;
    for (std::size_t j = 0; j < N; ++j) {
      const std::size_t at = first + j;
      Word sum = ciphertext[(parts - 1) * part + at];
      for (std::size_t k = parts - 1; k > 0; --k)
        sum = q.add(q.mul(sum, s[j]), ciphertext[(k - 1) * part + at]);
      out[at] = sum;
    }
    ntts_[l].inverse(out.subspan(first, N));
    first += N;
  }
}

template <class Word>
WordArray RnsSecret<Word>::switch_key_bodies(const ring::KeyLayout& layout, std::uint64_t t,
                                             const SwitchSource& source, const math::Seed& seed,
                                             unsigned threads, const Progress& progress,
                                             const RnsSecret* from) const {
  plan_->check_layout("a switching key", layout);
  if (!from) from = this;
  if (from->plan_ != plan_)
    throw ParameterError("the two secrets of a switching key must have the same plan");
  const ring::Basis basis = layout.rows();
  const std::size_t N = plan_->N(), row = basis.size() * N, digits = layout.digits.size();
  std::vector<std::uint32_t> places;
  if (source.g != 1) places = ring::evaluation_permutation(plan_->N(), source.g);
  // Not zeroed: every word is written.
  const auto out = std::make_shared_for_overwrite<Word[]>(digits * row);
  backend::parallel_with_progress(digits, threads, progress, [&](std::size_t digit) {
    math::PrivateStream stream("errors of a switching key");
    std::vector<Word> a(row);
    key_uniform<Word>(*plan_, layout, seed, static_cast<unsigned>(digit), a);
    const std::span<Word> b{out.get() + digit * row, row};
    encrypt(basis, t, a, {}, stream, b);
    for (const unsigned l : layout.digits[digit].indices()) {
      const math::Modulus<Word>& q = plan_->moduli()[l];
      const Word* const s = from->secret_.data() + l * N;
      Word* const to = b.data() + basis.rank(l) * N;
      Word P = 1;
      for (const unsigned k : layout.special.indices())
        P = q.mul(P, q.reduce(plan_->moduli()[k].value()));
      for (std::size_t j = 0; j < N; ++j) {
        const Word x = s[places.empty() ? j : places[j]];
        Word product = q.mul(P, x);
        for (unsigned k = 1; k < source.power; ++k) product = q.mul(product, x);
        to[j] = q.add(to[j], product);
      }
    }
  });
  return WordArray(out, out.get(), digits * row, sizeof(Word));
}

template class RnsSecret<std::uint32_t>;
template class RnsSecret<std::uint64_t>;

Secret::Any Secret::make(const AnyPlan& plan, std::span<const std::int32_t> secret, double sigma) {
  return std::visit(
      [&]<class Word>(const std::shared_ptr<const ring::RnsPlan<Word>>& p) -> Any {
        return RnsSecret<Word>(p, secret, sigma);
      },
      plan);
}

Secret::Secret(const AnyPlan& plan, std::span<const std::int32_t> secret, double sigma)
    : secret_(make(plan, secret, sigma)) {}

AnyPlan Secret::plan() const {
  return std::visit([](const auto& s) -> AnyPlan { return s.shared_plan(); }, secret_);
}

WordArray Secret::encrypt(const ring::Basis& basis, std::uint64_t t, const Seed& seed,
                          std::size_t count, const Encode& encode, const Progress& progress,
                          unsigned threads) const {
  return std::visit(
      [&]<class Word>(const RnsSecret<Word>& secret) {
        secret.plan().check_basis("fresh ciphertexts", basis);
        const std::size_t N = secret.plan().N(), rows = basis.size();
        const std::size_t size = 2 * rows * count * N;
        const auto out = math::unfilled<Word>(size);
        backend::parallel_with_progress(count, threads, progress, [&](std::size_t i) {
          math::PrivateStream stream("errors of fresh encryptions");
          math::WipedVector<std::int64_t> message(N);
          encode(i, message.span());
          // b, then a: parts 0 and 1.
          std::vector<Word> parts(2 * rows * N);
          const std::span<Word> b{parts.data(), rows * N}, a{parts.data() + rows * N, rows * N};
          ciphertext_uniform<Word>(secret.plan(), basis, seed, i, a);
          secret.encrypt(basis, t, a, message.span(), stream, b);
          for (std::size_t r = 0; r < 2 * rows; ++r)
            std::copy_n(parts.data() + r * N, N, out.get() + (r * count + i) * N);
        });
        return WordArray(out, out.get(), size, sizeof(Word));
      },
      secret_);
}

WordArray Secret::public_key_body(const ring::Basis& basis, std::uint64_t t,
                                  const Seed& seed) const {
  return std::visit(
      [&]<class Word>(const RnsSecret<Word>& secret) {
        secret.plan().check_basis("a public key", basis);
        std::vector<Word> a(basis.size() * secret.plan().N()), b(a.size());
        ciphertext_uniform<Word>(secret.plan(), basis, seed, 0, a);
        math::PrivateStream stream("errors of a public key");
        secret.encrypt(basis, t, a, {}, stream, b);
        return WordArray(std::move(b));
      },
      secret_);
}

/// prepare(reader) gives what is called with (i, phase) for each ciphertext: residues (basis, N).
template <class Prepare>
void Secret::each_phase(const HostBatch& batch, const Progress& progress, unsigned threads,
                        const Prepare& prepare) const {
  std::visit(
      [&]<class Word>(const RnsSecret<Word>& secret) {
        secret.plan().check_basis("ciphertexts", batch.basis);
        const std::size_t N = secret.plan().N(), limbs = batch.basis.size(),
                          rows = batch.parts * limbs, held = batch.held == 0 ? limbs : batch.held;
        if (batch.parts == 0 || held < limbs ||
            batch.words.size() != batch.parts * held * batch.count * N)
          throw ShapeError("ciphertexts have " + std::to_string(batch.words.size()) +
                           " words; they must have the shape (" + std::to_string(batch.parts) +
                           ", " + std::to_string(held) + ", " + std::to_string(batch.count) + ", " +
                           std::to_string(N) + ") with at least " + std::to_string(limbs) +
                           " primes");
        const std::span<const Word> words = batch.words.as<Word>();
        const PhaseReader<Word> reader(secret.plan().moduli_of(batch.basis));
        const auto body = prepare(reader);
        backend::parallel_with_progress(batch.count, threads, progress, [&](std::size_t i) {
          std::vector<Word> one(rows * N);
          for (std::size_t r = 0; r < rows; ++r)
            std::copy_n(words.data() + ((r / limbs * held + r % limbs) * batch.count + i) * N, N,
                        one.data() + r * N);
          math::WipedVector<Word> phase(batch.basis.size() * N);
          secret.phase(batch.basis, batch.parts, one, phase.span());
          body(i, std::span<const Word>(phase.span()));
        });
      },
      secret_);
}

std::vector<std::uint64_t> Secret::phases_modulo(
    const HostBatch& batch, std::uint64_t m, std::uint64_t scale,
    const std::function<void(std::size_t, std::span<std::uint64_t>)>& finish,
    const Progress& progress, unsigned threads) const {
  const std::size_t N = ring_dimension(plan());
  std::vector<std::uint64_t> out;
  math::make_room(out, batch.count * N, [&] { return progress && !progress(0, batch.count); });
  each_phase(batch, progress, threads, [&](const auto& reader) {
    return [&, reduction = reader.reduction(m)](std::size_t i, const auto& phase) {
      const std::span<std::uint64_t> to{out.data() + i * N, N};
      reader.modulo(reduction, phase, scale, to);
      finish(i, to);
    };
  });
  return out;
}

void Secret::phases(const HostBatch& batch,
                    const std::function<void(std::size_t, std::span<double>)>& finish,
                    const Progress& progress, unsigned threads) const {
  const std::size_t N = ring_dimension(plan());
  each_phase(batch, progress, threads, [&](const auto& reader) {
    return [&](std::size_t i, const auto& phase) {
      math::WipedVector<double> coefficients(N);
      reader.centred(phase, coefficients.span());
      finish(i, coefficients.span());
    };
  });
}

std::vector<double> Secret::log2_phases(const HostBatch& batch, const Progress& progress,
                                        unsigned threads) const {
  std::vector<double> out(batch.count);
  each_phase(batch, progress, threads, [&](const auto& reader) {
    return [&](std::size_t i, const auto& phase) { out[i] = reader.log2_largest(phase); };
  });
  return out;
}

std::vector<SwitchKeyData> Secret::switch_keys(std::span<const SwitchSource> sources,
                                               std::uint64_t t, unsigned threads,
                                               const Progress& progress) const {
  std::vector<SwitchKeyData> out;
  const ring::KeyLayout layout =
      std::visit([](const auto& secret) { return secret.plan().key_layout(); }, secret_);
  const std::size_t digits = layout.digits.size(), total = sources.size() * digits;
  for (const SwitchSource& source : sources) {
    Progress part;
    if (progress)
      part = [&, before = out.size() * digits](std::size_t done, std::size_t) {
        return progress(before + done, total);
      };
    out.push_back(switch_key(layout, source, t, threads, part));
  }
  if (progress) progress(total, total);
  return out;
}

SwitchKeyData Secret::switch_key(const ring::KeyLayout& layout, const SwitchSource& source,
                                 std::uint64_t t, unsigned threads, const Progress& progress,
                                 const Secret* from) const {
  return std::visit(
      [&]<class Word>(const RnsSecret<Word>& secret) -> SwitchKeyData {
        const RnsSecret<Word>* other =
            from ? std::get_if<RnsSecret<Word>>(&from->secret_) : nullptr;
        if (from && !other)
          throw ParameterError(
              "the two secrets of a switching key must have words of the same size");
        const Seed seed = math::random_seed();
        WordArray b = secret.switch_key_bodies(layout, t, source, seed, threads, progress, other);
        return {source.g, source.power, seed, std::move(b), layout};
      },
      secret_);
}

}  // namespace whorl::lattice::rlwe
