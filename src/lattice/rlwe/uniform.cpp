#include "lattice/rlwe/uniform.h"

#include <algorithm>

#include "whorl/error.h"

namespace whorl::lattice::rlwe {

template <class Word>
void key_uniform(const ring::RnsPlan<Word>& plan, const ring::KeyLayout& layout,
                 const math::Seed& seed, unsigned digit, std::span<Word> a) {
  const std::vector<unsigned> primes = layout.rows().indices();
  for (std::size_t r = 0; r < primes.size(); ++r)
    math::expand_uniform<Word>(seed, digit * primes.size() + r, plan.moduli()[primes[r]].value(),
                               a.subspan(r * plan.N(), plan.N()));
}

namespace {

void check_basis(const ring::Basis& basis, std::size_t limbs) {
  if (!ring::Basis::range(0, static_cast<unsigned>(limbs)).includes(basis))
    throw ParameterError("fresh ciphertexts have the primes " + basis.describe() +
                         "; they must be of the chain, which has " + std::to_string(limbs));
}

}  // namespace

template <class Word>
void ciphertext_uniform(const ring::RnsPlan<Word>& plan, const ring::Basis& basis,
                        const math::Seed& seed, std::size_t index, std::span<Word> a) {
  check_basis(basis, plan.limbs());
  std::size_t r = 0;
  for (const unsigned l : basis.indices())
    math::expand_uniform<Word>(seed, index * plan.limbs() + l, plan.moduli()[l].value(),
                               a.subspan(r++ * plan.N(), plan.N()));
}

template <class Word>
void ciphertexts_uniform(std::uint32_t N, std::span<const std::uint64_t> chain,
                         const ring::Basis& basis, const math::Seed& seed, std::size_t count,
                         std::span<const std::uint32_t> numbers, std::span<Word> a,
                         std::size_t first) {
  check_basis(basis, chain.size());
  const std::vector<unsigned> primes = basis.indices();
  for (std::size_t row = 0; row < a.size() / N; ++row) {
    const unsigned l = primes[(first + row) / count];
    const std::size_t i = (first + row) % count;
    math::expand_uniform<Word>(seed, (numbers.empty() ? i : numbers[i]) * chain.size() + l,
                               chain[l], a.subspan(row * N, N));
  }
}

template <class Word>
KeyRows<Word> key_rows(std::shared_ptr<const ring::RnsPlan<Word>> plan,
                       const ring::KeyLayout& layout, const math::Seed& seed,
                       const WordArray& bodies) {
  const std::size_t row = std::size_t{layout.rows().size()} * plan->N();
  if (bodies.size() != layout.digits.size() * row)
    throw ShapeError("the bodies of a switching key have " + std::to_string(bodies.size()) +
                     " words; they must have " + std::to_string(layout.digits.size()) +
                     " digits of " + std::to_string(row));
  return [plan = std::move(plan), layout, seed, bodies, words = bodies.as<Word>(), row](
             unsigned digit, std::span<Word> a, std::span<Word> b) {
    key_uniform<Word>(*plan, layout, seed, digit, a);
    std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(digit * row), row, b.begin());
  };
}

#define WHORL_INSTANTIATE(Word)                                                                    \
  template void key_uniform(const ring::RnsPlan<Word>&, const ring::KeyLayout&, const math::Seed&, \
                            unsigned, std::span<Word>);                                            \
  template void ciphertext_uniform(const ring::RnsPlan<Word>&, const ring::Basis&,                 \
                                   const math::Seed&, std::size_t, std::span<Word>);               \
  template void ciphertexts_uniform(std::uint32_t, std::span<const std::uint64_t>,                 \
                                    const ring::Basis&, const math::Seed&, std::size_t,            \
                                    std::span<const std::uint32_t>, std::span<Word>, std::size_t); \
  template KeyRows<Word> key_rows(std::shared_ptr<const ring::RnsPlan<Word>>,                      \
                                  const ring::KeyLayout&, const math::Seed&, const WordArray&);
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)

}  // namespace whorl::lattice::rlwe
