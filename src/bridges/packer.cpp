#include "bridges/packer.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <utility>

#include "backend/contract/lwe.h"
#include "lattice/rlwe/uniform.h"
#include "schemes/owner.h"
#include "whorl/error.h"

namespace whorl::bridges {

namespace rlwe = lattice::rlwe;

namespace {

/// Coefficients of the LWE key whose products are made at once.
constexpr std::size_t at_once = 32;

template <class Body>
decltype(auto) with_words_of(const ckks::Parameters& parameters, const Body& body) {
  return backend::with_word_bytes(static_cast<unsigned>(parameters.word_bytes()), body);
}

}  // namespace

Packer::Packer(const ckks::Server& server, const LweInputKeys& keys, const Progress& progress)
    : server_(server),
      n_(keys.lwe_parameters.n()),
      modulus_(packed_modulus(keys.lwe_parameters)),
      packing_(server.parameters()) {
  const ckks::Parameters& p = server.parameters();
  check_owner(keys.parameters, keys.key_id, "server", p, server.key_id());
  const std::size_t words = packing_.words(keys.lwe_parameters);
  if (keys.b.size() != words || keys.b.word_bytes() != p.word_bytes())
    throw ShapeError("keys of LWE ciphertexts have " + std::to_string(keys.b.size()) +
                     " words of " + std::to_string(keys.b.word_bytes()) +
                     " bytes; they must have " + std::to_string(words) + " of " +
                     std::to_string(p.word_bytes()));
  const auto report = [&](std::size_t done) {
    if (progress && !progress(done, n_))
      throw InterruptedError("stopped after " + std::to_string(done) + " of " + std::to_string(n_) +
                             " keys of LWE ciphertexts");
  };
  report(0);
  with_words_of(p, [&]<class Word>(Word) {
    const std::size_t each = packing_.primes.size() * packing_.dimension;
    const ring::Basis all = ring::Basis::range(0, packing_.basis.size());
    const Word* const bodies = keys.b.as<Word>().data();
    for (std::uint32_t j = 0; j < n_; ++j) {
      keys_[0].push_back(
          uploaded(WordArray(keys.b.owner(), bodies + j * each, each, sizeof(Word))));
      std::vector<Word> uniform(each);
      rlwe::ciphertexts_uniform<Word>(packing_.dimension, packing_.primes, all, keys.seed, 1,
                                      std::span(&j, 1), uniform);
      keys_[1].push_back(uploaded(WordArray(std::move(uniform))));
      report(j + 1);
    }
  });
  out_of_subring_ = state().evaluator->prepare(
      {1, 1, keys.switch_seed, keys.switch_b, packing_.switching}, state().session->budget);
}

std::size_t Packer::bytes() const {
  std::size_t sum = 0;
  for (const auto& part : keys_)
    for (const rlwe::Array& one : part) sum += one.bytes();
  return sum;
}

rlwe::Array Packer::uploaded(const WordArray& words) const {
  const rlwe::Evaluator& evaluator = *state().evaluator;
  const auto log_repeats =
      static_cast<unsigned>(std::countr_zero(evaluator.N() / packing_.dimension));
  return evaluator.upload(words, {1, packing_.basis, 1, rlwe::Form::evaluation, log_repeats});
}

rlwe::Array Packer::column(const LweColumns& columns, std::size_t each, std::size_t j) const {
  const rlwe::Evaluator& evaluator = *state().evaluator;
  const std::size_t N = evaluator.N(), gap = N / each, count = columns.count / each;
  const std::uint32_t* const in = columns.words.data() + j * columns.count;
  // Centred, modulo one prime; its other residues are made on the device.
  const WordArray words = with_words_of(server_.parameters(), [&]<class Word>(Word) {
    // Ciphertext i belongs to X^(gap·(i mod each)) of polynomial i / each, which is word gap·i.
    std::vector<Word> out(count * N);
    const auto half = static_cast<Word>(modulus_ / 2),
               negative = static_cast<Word>(packing_.primes[0] - modulus_);
    for (std::size_t i = 0; i < count * each; ++i) {
      const Word x = in[i];
      out[i * gap] = x < half ? x : x + negative;
    }
    return WordArray(std::move(out));
  });
  const rlwe::Array one =
      evaluator.upload(words, {1, {packing_.lowest.indices()[0]}, count, rlwe::Form::coefficient});
  return evaluator.extend(evaluator.transform(one, rlwe::Form::evaluation), packing_.basis,
                          ring::Lift::exact);
}

rlwe::Array Packer::packed(const LweColumns& all, std::size_t each) const {
  const rlwe::Evaluator& evaluator = *state().evaluator;
  const auto down = [&](const rlwe::Array& x) {
    return evaluator.divide(x, packing_.lowest, State::no_plain_modulus);
  };
  return state().fleet->together([&] {
    // 1. sum_j A_j·K_j, of both parts of the K_j.
    std::array<rlwe::Array, 2> sums;
    for (std::size_t first = 0; first < n_; first += at_once) {
      state().fleet->stop_if_asked(first, n_, "coefficients of LWE ciphertexts");
      const std::size_t some = std::min(at_once, n_ - first);
      std::vector<rlwe::Array> columns;
      for (std::size_t j = first; j < first + some; ++j) columns.push_back(column(all, each, j));
      for (std::size_t k = 0; k < 2; ++k) {
        const rlwe::Array sum = evaluator.sum_of_products(
            columns, std::span(keys_[k]).subspan(first, some), packing_.basis);
        sums[k] = first == 0 ? sum : evaluator.add(sums[k], sum);
      }
    }
    // 2. b·QP/q' less that, divided by the special prime.
    const rlwe::Array b =
        evaluator.scale(column(all, each, n_), packing_factor(packing_.primes, modulus_));
    const rlwe::Array c0 = down(evaluator.sub(b, sums[0])), c1 = down(evaluator.negate(sums[1]));
    // 3. Out of the subring.
    const rlwe::Array digits = evaluator.digits(c1, 0, out_of_subring_->layout());
    return evaluator.add_plain(down(evaluator.inner_product(digits, *out_of_subring_, 1)), c0);
  });
}

}  // namespace whorl::bridges
