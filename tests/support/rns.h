// Random RNS plans and what goes with them.
#pragma once

#include "ring/rns_plan.h"
#include "support/test.h"

namespace whorl::test {

/// Different NTT primes of mixed sizes: 26 to 31 bits in 32-bit words, 46 to 61 in 64-bit ones; no
/// larger than `most_bits`.
template <class Word>
std::vector<Word> random_rns_primes(std::uint32_t N, std::size_t count, Random& random,
                                    unsigned most_bits = 64) {
  const unsigned least = sizeof(Word) == 4 ? 26 : 46;
  const unsigned most = std::min(most_bits, sizeof(Word) == 4 ? 31u : 61u);
  // Few of 26 bits are = 1 modulo a large 2N.
  const std::size_t each = N > 4096 ? 4 : count + 4;
  std::map<unsigned, std::vector<std::uint64_t>> of_bits;
  std::vector<Word> out;
  while (out.size() < count) {
    const auto bits = static_cast<unsigned>(least + random.below(most - least + 1));
    auto& primes = of_bits[bits];
    if (primes.empty()) primes = math::ntt_primes(bits, N, each);
    const auto q = static_cast<Word>(primes[random.below(primes.size())]);
    if (std::find(out.begin(), out.end(), q) == out.end()) out.push_back(q);
  }
  return out;
}

template <class Word>
std::shared_ptr<const ring::RnsPlan<Word>> random_rns_plan(std::uint32_t N, unsigned limbs,
                                                           unsigned special, unsigned digit_limbs,
                                                           Random& random,
                                                           unsigned most_bits = 64) {
  const auto primes = random_rns_primes<Word>(N, limbs + special, random, most_bits);
  const std::span<const Word> all = primes;
  return std::make_shared<ring::RnsPlan<Word>>(N, all.first(limbs), all.subspan(limbs),
                                               digit_limbs);
}

template <class Word>
std::string describe(const ring::RnsPlan<Word>& plan) {
  std::string out = "N = " + std::to_string(plan.N()) + ", " + std::to_string(plan.limbs()) +
                    " limbs, " + std::to_string(plan.special()) + " special, " +
                    std::to_string(plan.digit_limbs()) + " limbs a digit, primes";
  for (const auto& q : plan.moduli()) out.append(" ").append(std::to_string(q.value()));
  return out;
}

/// The first limbs of the chain and, if asked for, the special primes.
template <class Word>
ring::Basis basis_of(const ring::RnsPlan<Word>& plan, unsigned limbs, bool with_special) {
  return with_special ? plan.level(limbs) | plan.special_basis() : plan.level(limbs);
}

// The entries as chains use them.
template <class Word>
void mod_up(const backend::Queue& queue, const backend::RnsTables<Word>& tables, unsigned limbs,
            std::type_identity_t<backend::Slice<const Word>> in,
            std::type_identity_t<backend::Slice<Word>> out) {
  const ring::RnsPlan<Word>& plan = tables.plan();
  queue.rns<Word>().extend(tables, plan.level(limbs), plan.key_layout().digits,
                           basis_of(plan, limbs, true), ring::Lift::exact, in, out);
}
template <class Word>
void mod_down(const backend::Queue& queue, const backend::RnsTables<Word>& tables, std::uint64_t t,
              unsigned limbs, std::size_t parts,
              std::type_identity_t<backend::Slice<const Word>> in,
              std::type_identity_t<backend::Slice<const Word>> added, std::uint32_t g,
              std::type_identity_t<backend::Slice<Word>> out) {
  const ring::RnsPlan<Word>& plan = tables.plan();
  queue.rns<Word>().divide(tables, basis_of(plan, limbs, true), plan.level(limbs), t, parts, in,
                           added, g, out);
}
template <class Word>
void rescale(const backend::Queue& queue, const backend::RnsTables<Word>& tables, std::uint64_t t,
             unsigned limbs, std::size_t parts, std::type_identity_t<backend::Slice<const Word>> in,
             std::type_identity_t<backend::Slice<Word>> out) {
  const ring::RnsPlan<Word>& plan = tables.plan();
  queue.rns<Word>().divide(tables, plan.level(limbs), plan.level(limbs - 1), t, parts, in, out);
}

/// (parts, basis, batch, N) residues.
template <class Word>
std::vector<Word> random_rows(const ring::RnsPlan<Word>& plan, const ring::Basis& basis,
                              std::size_t parts, std::size_t batch, Random& random) {
  std::vector<Word> out;
  for (std::size_t part = 0; part < parts; ++part)
    for (const auto& q : plan.moduli_of(basis)) {
      const auto row = random.residues<Word>(batch * plan.N(), q.value());
      out.insert(out.end(), row.begin(), row.end());
    }
  return out;
}

/// Some primes of a basis, at least one.
inline ring::Basis random_part(const ring::Basis& whole, Random& random) {
  ring::Basis out;
  while (out.empty())
    for (const unsigned i : whole.indices())
      if (random.below(2) == 0) out.insert(i);
  return out;
}

/// Rows of a switching key, which all devices are given: (digits, 2, rows, N), a first.
template <class Word>
struct RnsKeyRows {
  std::size_t row;  ///< words of one component
  std::vector<Word> words;

  RnsKeyRows(const ring::RnsPlan<Word>& plan, const ring::KeyLayout& layout, Random& random)
      : row(std::size_t{layout.rows().size()} * plan.N()),
        words(random_rows(plan, layout.rows(), 2 * layout.digits.size(), 1, random)) {}
  RnsKeyRows(const ring::RnsPlan<Word>& plan, Random& random)
      : RnsKeyRows(plan, plan.key_layout(), random) {}
  backend::RnsRowSource<Word> source() const {
    return [this](unsigned digit, std::span<Word> a, std::span<Word> b) {
      const Word* const from = words.data() + 2 * digit * row;
      std::copy_n(from, row, a.data());
      std::copy_n(from + row, row, b.data());
    };
  }
};

}  // namespace whorl::test
