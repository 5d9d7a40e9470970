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

namespace {

template <class Body>
decltype(auto) with_words_of(const ckks::Parameters& parameters, const Body& body) {
  return backend::with_word_bytes(static_cast<unsigned>(parameters.word_bytes()), body);
}

}  // namespace

Packer::Packer(const ckks::Server& server, const LweInputKeys& keys, const Progress& progress)
    : server_(server), lwe_(keys.lwe_parameters), packing_(server.parameters()) {
  const ckks::Parameters& p = server.parameters();
  check_owner(keys.parameters, keys.key_id, "server", p, server.key_id());
  const std::size_t words = packing_.words(keys.lwe_parameters);
  if (keys.b.size() != words || keys.b.word_bytes() != p.word_bytes())
    throw ShapeError("keys of LWE ciphertexts have " + std::to_string(keys.b.size()) +
                     " words of " + std::to_string(keys.b.word_bytes()) +
                     " bytes; they must have " + std::to_string(words) + " of " +
                     std::to_string(p.word_bytes()));
  const std::size_t n = lwe_.n();
  const auto report = [&](std::size_t done) {
    if (progress && !progress(done, n))
      throw InterruptedError("stopped after " + std::to_string(done) + " of " + std::to_string(n) +
                             " keys of LWE ciphertexts");
  };
  report(0);
  with_words_of(p, [&]<class Word>(Word) {
    const std::size_t each = packing_.primes.size() * packing_.dimension;
    const ring::Basis all = ring::Basis::range(0, packing_.basis.size());
    const Word* const bodies = keys.b.as<Word>().data();
    for (std::uint32_t j = 0; j < n; ++j) {
      factors_[0].push_back(
          uploaded(WordArray(keys.b.owner(), bodies + j * each, each, sizeof(Word))));
      std::vector<Word> uniform(each);
      rlwe::ciphertexts_uniform<Word>(packing_.dimension, packing_.primes, all, keys.seed, 1,
                                      std::span(&j, 1), uniform);
      factors_[1].push_back(uploaded(WordArray(std::move(uniform))));
      report(j + 1);
    }
    // The b, which belong to the first part, with the other sign. A constant has equal values.
    const std::vector<std::uint64_t> factor = packing_factor(packing_.primes, packed_modulus(lwe_));
    std::vector<Word> of_b;
    for (std::size_t l = 0; l < packing_.primes.size(); ++l)
      of_b.insert(of_b.end(), packing_.dimension,
                  static_cast<Word>(packing_.primes[l] - factor[l]));
    factors_[0].push_back(uploaded(WordArray(std::move(of_b))));
    factors_[1].push_back(uploaded(WordArray(std::vector<Word>(each))));
  });
  out_of_subring_ = state().evaluator->prepare(
      {1, 1, keys.switch_seed, keys.switch_b, packing_.switching}, state().session->budget);
}

std::size_t Packer::bytes() const {
  std::size_t sum = 0;
  for (const auto& part : factors_)
    for (const rlwe::Array& one : part) sum += one.bytes();
  return sum;
}

rlwe::Array Packer::uploaded(const WordArray& words) const {
  const rlwe::Evaluator& evaluator = *state().evaluator;
  const auto log_repeats =
      static_cast<unsigned>(std::countr_zero(evaluator.N() / packing_.dimension));
  return evaluator.upload(words, {1, packing_.basis, 1, rlwe::Form::evaluation, log_repeats});
}

backend::LwePolynomials Packer::rule(const LweNumbers& numbers) const {
  return {lwe_.q(),        packed_modulus(lwe_), std::size_t{lwe_.n()} + 1, numbers.lanes,
          numbers.weights, numbers.half,         state().evaluator->N(),    packing_.primes};
}

rlwe::Array Packer::packed(const LweNumbers& numbers, const LweRows& rows) const {
  const rlwe::Evaluator& evaluator = *state().evaluator;
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
    return [rule = rule(numbers), held](std::size_t piece, const backend::Queue& queue,
                                        run::Range which, const rlwe::Evaluator::Words& out) {
      std::visit(
          [&](const auto& to) {
            queue.lwe().to_polynomials(rule, which.begin, which.count,
                                       (*held)[piece].slice<std::uint32_t>(), to);
          },
          out);
    };
  };
  return state().fleet->together([&] {
    // 1. sum_j A_j·K_j less b·QP/q'; what is wanted is the negative, divided by the special prime.
    const rlwe::Array sums =
        evaluator.sums_of_made_products(numbers.rings(), packing_.basis, writer, factors_);
    const rlwe::Array low =
        evaluator.divide(evaluator.negate(sums), packing_.lowest, State::no_plain_modulus);
    // 2. Out of the subring.
    return evaluator.key_switch(low, *out_of_subring_, State::no_plain_modulus);
  });
}

}  // namespace whorl::bridges
