#include "circuits/ckks/compact_lanes.h"

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/contract/lwe.h"
#include "circuits/ckks/bootstrap.h"
#include "circuits/ckks/lane_errors.h"
#include "lattice/rlwe/uniform.h"
#include "math/memory.h"
#include "math/modulus.h"
#include "schemes/ckks/compact_bits.h"
#include "schemes/ckks/server_state.h"
#include "schemes/owner.h"
#include "whorl/circuits/ckks/lanes.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace rlwe = lattice::rlwe;

namespace {

/// c_0 as polynomials, (primes, ciphertexts, N): coefficients that hold no bits are 0. A word w
/// stands for w·Q/2^16, rounded: (w·Q - r)/2^16 for the centred rest r, and so -r/2^16 modulo each
/// prime of Q.
template <class Word>
std::vector<Word> polynomials_of(const Parameters& p, const CompactLayout& as,
                                 std::span<const std::uint16_t> words) {
  const std::size_t N = p.N(), n = as.slots, count = as.ciphertexts();
  std::vector<Word> out(as.basis.size() * count * N);
  Word* row = out.data();
  as.basis.for_each([&](unsigned l) {
    const math::Modulus<Word> q(static_cast<Word>(p.literal().chain[l]));
    const Word down = q.inverse(q.reduce(Word{1} << compact_word_bits));
    for (std::size_t u = 0; u < as.numbers; ++u)
      for (std::size_t i = 0; i < n; ++i) {
        const auto rest = static_cast<std::int16_t>(
            static_cast<std::uint16_t>(words[u * n + i] * (as.modulus & 0xffff)));
        row[u / 2 * N + as.gap * (u % 2 * n + i)] = q.mul(q.from_signed(-std::int64_t{rest}), down);
      }
    row += count * N;
  });
  return out;
}

}  // namespace

rlwe::Array compact_ciphertexts(const Server& server, const CompactBits& bits) {
  const Parameters& p = server.parameters();
  const CompactLayout as(p, bits.count, bits.length);
  if (bits.data.size() != as.numbers * as.slots || bits.data.word_bytes() != 2)
    throw ShapeError("compact bits: " + std::to_string(bits.data.size()) + " words of " +
                     std::to_string(bits.data.word_bytes()) + " bytes; " +
                     std::to_string(bits.count) + " vectors of " + std::to_string(bits.length) +
                     " bits have " + std::to_string(as.numbers * as.slots) + " of 2");
  const rlwe::Evaluator& evaluator = *Access::of(server).evaluator;
  const std::size_t count = as.ciphertexts(), part = as.basis.size() * count * p.N();
  return backend::with_word_bytes(static_cast<unsigned>(p.word_bytes()), [&]<class Word>(Word) {
    // 1. (0, c_1).
    std::vector<Word> parts(2 * part);
    rlwe::ciphertexts_uniform<Word>(p.N(), p.literal().chain, as.basis, bits.seed, count, {},
                                    std::span(parts).subspan(part));
    const rlwe::Array masks = evaluator.upload(WordArray(std::move(parts)), {2, as.basis, count});
    // 2. c_0, in evaluation form.
    const rlwe::Array polynomials =
        evaluator.upload(WordArray(polynomials_of<Word>(p, as, bits.data.as<std::uint16_t>())),
                         {1, as.basis, count, rlwe::Form::coefficient});
    return evaluator.add_plain(masks, evaluator.transform(polynomials, rlwe::Form::evaluation));
  });
}

LaneArray Lanes::take_in(const CompactBits& bits) const {
  const Parameters& p = server_.parameters();
  check_owner(bits.parameters, bits.key_id, "server", p, server_.key_id());
  const CompactLayout as(p, bits.count, bits.length);
  if (as.slots != maps_.slots())
    throw ShapeError("compact bits: vectors of " + std::to_string(bits.length) +
                     " lanes meet the maps of " + std::to_string(maps_.slots()) +
                     " slots: encrypt vectors of more than " + std::to_string(maps_.slots() / 2) +
                     " and at most " + std::to_string(maps_.slots()) + " bits");
  return math::with_memory_for("compact bits", [&] {
    const rlwe::Array coefficients = compact_ciphertexts(server_, bits);
    // 1. The bits of all numbers: of each half of each ciphertext.
    const double given = std::exp2(as.bits) * compact_error(p, gaussian_deviations),
                 error = ckks::error_of_bits(server_, maps_, as.bits, given, deviations);
    count(bits.count, 0, 0, as.slots);
    const std::vector<Array> found = bits_of_coefficients(
        server_, coefficients, bit_polynomials(as.bits), maps_, error / deviations, bits.length);
    // 2. Vector v is bit v mod `bits` of number v / bits.
    const std::uint64_t halves = 2 * as.ciphertexts();
    std::vector<std::uint32_t> indices;
    for (std::uint64_t v = 0; v < bits.count; ++v)
      indices.push_back(static_cast<std::uint32_t>(v % as.bits * halves + v / as.bits));
    return lanes_of(
        server_.take(found.size() == 1 ? found[0] : server_.concatenate(found), indices));
  });
}

}  // namespace whorl::ckks
