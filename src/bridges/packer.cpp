#include "bridges/packer.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "backend/contract/lwe.h"
#include "lattice/rlwe/uniform.h"
#include "schemes/owner.h"
#include "whorl/error.h"

namespace whorl::bridges {

namespace rlwe = lattice::rlwe;

PackingFactors packing_factors(const rlwe::Evaluator& evaluator, const PackingKeys& keys,
                               const binfhe::Parameters& lwe, const Progress& progress) {
  const std::size_t n = lwe.n(), each = keys.primes.size() * keys.dimension;
  const unsigned word_bytes = ring_word_bytes(keys.primes[0]);
  if (keys.b.size() != n * each || keys.b.word_bytes() != word_bytes)
    throw ShapeError("keys of LWE ciphertexts have " + std::to_string(keys.b.size()) +
                     " words of " + std::to_string(keys.b.word_bytes()) +
                     " bytes; they must have " + std::to_string(n * each) + " of " +
                     std::to_string(word_bytes));
  const auto report = [&](std::size_t done) {
    if (progress && !progress(done, n))
      throw InterruptedError("stopped after " + std::to_string(done) + " of " + std::to_string(n) +
                             " keys of LWE ciphertexts");
  };
  // A plaintext of (primes, dimension) values, by its period.
  const auto log_repeats = static_cast<unsigned>(std::countr_zero(evaluator.N() / keys.dimension));
  const auto uploaded = [&](const WordArray& words) {
    return evaluator.upload(words, {1, keys.basis, 1, rlwe::Form::evaluation, log_repeats});
  };
  PackingFactors factors;
  report(0);
  backend::with_word_bytes(word_bytes, [&]<class Word>(Word) {
    const ring::Basis all = ring::Basis::range(0, keys.basis.size());
    const Word* const bodies = keys.b.as<Word>().data();
    for (std::uint32_t j = 0; j < n; ++j) {
      factors[0].push_back(
          uploaded(WordArray(keys.b.owner(), bodies + j * each, each, sizeof(Word))));
      std::vector<Word> uniform(each);
      rlwe::ciphertexts_uniform<Word>(keys.dimension, keys.primes, all, keys.seed, 1,
                                      std::span(&j, 1), uniform);
      factors[1].push_back(uploaded(WordArray(std::move(uniform))));
      report(j + 1);
    }
    // The b, which belong to the first part, with the other sign. A constant has equal values.
    const std::vector<std::uint64_t> factor = packing_factor(keys.primes, packed_modulus(lwe));
    std::vector<Word> of_b;
    for (std::size_t l = 0; l < keys.primes.size(); ++l)
      of_b.insert(of_b.end(), keys.dimension, static_cast<Word>(keys.primes[l] - factor[l]));
    factors[0].push_back(uploaded(WordArray(std::move(of_b))));
    factors[1].push_back(uploaded(WordArray(std::vector<Word>(each))));
  });
  return factors;
}

std::size_t bytes_of(const PackingFactors& factors) {
  std::size_t sum = 0;
  for (const auto& part : factors)
    for (const rlwe::Array& one : part) sum += one.bytes();
  return sum;
}

rlwe::Array packed_over(const rlwe::Evaluator& evaluator, const PackingFactors& factors,
                        const binfhe::Parameters& lwe, const std::vector<std::uint64_t>& primes,
                        const ring::Basis& basis, const LweNumbers& numbers, const LweRows& rows) {
  const backend::LwePolynomials rule{lwe.q(),
                                     packed_modulus(lwe),
                                     std::size_t{lwe.n()} + 1,
                                     numbers.lanes,
                                     numbers.weights,
                                     numbers.half,
                                     evaluator.N(),
                                     primes};
  const auto writer = [&](std::span<const run::Piece> pieces) -> rlwe::Evaluator::Writer {
    // Rows of each ring ciphertext follow those of the one before.
    const std::size_t each = 2 * numbers.weights.size() * numbers.lanes,
                      first = numbers.first * numbers.lanes, all = numbers.vectors * numbers.lanes;
    std::vector<run::Piece> of_rows;
    for (const auto& [lane, range] : pieces)
      of_rows.push_back(
          {lane,
           {first + range.begin * each, std::min(range.count * each, all - range.begin * each)}});
    const auto held = std::make_shared<const std::vector<lattice::lwe::Rows>>(rows(of_rows));
    return [rule, held](std::size_t piece, const backend::Queue& queue, run::Range which,
                        const rlwe::Evaluator::Words& out) {
      std::visit(
          [&](const auto& to) {
            queue.lwe().to_polynomials(rule, which.begin, which.count,
                                       (*held)[piece].slice<std::uint32_t>(), to);
          },
          out);
    };
  };
  // sum_j A_j·K_j less b·factor; what is wanted is the negative.
  return evaluator.negate(evaluator.sums_of_made_products(numbers.rings(), basis, writer, factors));
}

Packer::Packer(const ckks::Server& server, const LweInputKeys& keys, const Progress& progress)
    : server_(server), lwe_(keys.lwe_parameters), packing_(server.parameters()) {
  check_owner(keys.parameters, keys.key_id, "server", server.parameters(), server.key_id());
  factors_ = packing_factors(
      *state().evaluator, {packing_.dimension, packing_.primes, packing_.basis, keys.seed, keys.b},
      lwe_, progress);
  out_of_subring_ = state().evaluator->prepare(
      {1, 1, keys.switch_seed, keys.switch_b, packing_.switching}, state().session->budget);
}

rlwe::Array Packer::packed(const LweNumbers& numbers, const LweRows& rows) const {
  const rlwe::Evaluator& evaluator = *state().evaluator;
  return state().fleet->together([&] {
    const rlwe::Array sums =
        packed_over(evaluator, factors_, lwe_, packing_.primes, packing_.basis, numbers, rows);
    // Divided by the special prime, and out of the subring.
    const rlwe::Array low = evaluator.divide(sums, packing_.lowest, State::no_plain_modulus);
    return evaluator.key_switch(low, *out_of_subring_, State::no_plain_modulus);
  });
}

}  // namespace whorl::bridges
