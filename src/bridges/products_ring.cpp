// The steps of a product of integers through ring elements: digits into the ring, the product, and
// digits out of the ring.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <variant>

#include "backend/contract/ring.h"
#include "bridges/products_state.h"
#include "lattice/lwe/stages.h"
#include "math/modulus.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/steps.h"
#include "schemes/binfhe/table_steps.h"

namespace whorl::bridges {

namespace lwe = lattice::lwe;
namespace rlwe = lattice::rlwe;
using lwe::Form;
using lwe::Rows;
using lwe::Stages;
using lwe::Tables;
using rlwe::Array;

namespace {

const ring::Basis only_prime = ring::Basis::range(0, 1);

/// first, first + step, ….
std::vector<std::uint32_t> every(std::size_t first, std::size_t count, std::size_t step = 1) {
  std::vector<std::uint32_t> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::uint32_t>(first + i * step);
  return out;
}

/// Rows of ring ciphertexts (a, b), of 2N words each.
Form accumulator_form(const binfhe::Parameters& p) {
  return {p.Q(), 2 * p.N() - 1, lwe::Under::ring, ring_word_bytes(p.Q())};
}

}  // namespace

Form ring_form(const binfhe::Parameters& p) {
  return {p.Q(), p.N(), lwe::Under::ring, ring_word_bytes(p.Q())};
}

// ---- into the ring

Array Multiplier::State::plain(std::span<const std::int64_t> polynomial) const {
  return ring->lift_by_period(polynomial, only_prime);
}

Array Multiplier::State::monomial(std::uint32_t power, std::int64_t times) const {
  const std::uint32_t N = parameters().N(), place = power % (2 * N);  // X^N = -1
  std::vector<std::int64_t> polynomial(N);
  polynomial[place % N] = place < N ? times : -times;
  return plain(polynomial);
}

lwe::Array Multiplier::State::looked_up(const lwe::Array& digits,
                                        std::span<const std::int32_t> lows) const {
  const binfhe::Parameters& p = parameters();
  const ring::Gadget gadget = row_gadget(p);
  // A table for each low, of digits that stand for -low less.
  std::vector<std::uint32_t> index;
  for (const std::int32_t low : lows) index.push_back(static_cast<std::uint32_t>(-low));
  const auto tables = std::make_shared<const Tables>(
      p.N(), p.Q(), 4, index, [&](std::size_t less, std::uint64_t j) {
        const std::uint64_t place = std::uint64_t{1} << gadget.shift(j % slots),
                            digit = j / (p.N() / slots);
        return digit >= less ? (digit - less) * place : p.Q() - (less - digit) * place;
      });
  const lwe::Array* in[] = {&digits};
  const Form out[] = {accumulator_form(p)};
  return rows().map(
      in, out, true,
      [&](const Stages& stages, std::span<const Rows* const> operands, run::Range range) {
        const run::Fleet& fleet = *server->fleet;
        std::size_t lane = 0;
        while (&fleet.lane(lane)->device() != &stages.queue().device()) ++lane;
        const Stages with(stages.queue(), {rotation->on<backend::RotationKey>(*fleet.lane(lane)),
                                           stages.keys().key_switch});
        // Four times a digit is a message of 8 sectors, and half a sector is added.
        const std::int64_t weights[] = {weight_of_digits};
        Rows at_q = binfhe::to_rotate(p, stages, stages.linear(weights, operands, 0));
        stages.add_constant(at_q, p.q() / (4 * slots));
        at_q = binfhe::to_multiples(second, with, std::move(at_q), 2ULL * p.N(), slots);
        return binfhe::one(with.accumulate(at_q, *tables, range));
      })[0];
}

Array Multiplier::State::lifted(const lwe::Array& accumulators) const {
  const std::uint32_t N = parameters().N();
  const std::uint64_t Q = parameters().Q();
  const auto writer = [&](std::span<const run::Piece> pieces) -> rlwe::Evaluator::Writer {
    const auto held =
        std::make_shared<const std::vector<Rows>>(rows().placed(accumulators, pieces));
    return [held, N](std::size_t piece, const backend::Queue& queue, run::Range which,
                     const rlwe::Evaluator::Words& out) {
      const Rows& from = (*held)[piece];
      std::visit(
          [&]<class Word>(const backend::Slice<Word>& to) {
            // Polynomial 0 is b, and 1 is a, of each ciphertext.
            for (std::size_t k = 0; k < which.count; ++k)
              queue.ring<Word>().take(1, N, every(1 - (which.begin + k), from.count(), 2),
                                      from.slice<Word>(), 0,
                                      to.part(k * from.count() * N, from.count() * N));
          },
          out);
    };
  };
  // The phase b - a·s, over N, and once for each slot at coefficient 0.
  const auto inverse = static_cast<std::int64_t>(math::Modulus<std::uint64_t>(Q).inverse(N));
  const Array none = plain(std::vector<std::int64_t>(N));
  std::vector<Array> each;
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    const std::vector<Array> parts[] = {{monomial(2 * N - slot, inverse), none},
                                        {none, monomial(2 * N - slot, -inverse)}};
    each.push_back(ring->sums_of_made_products(accumulators.count(), only_prime, writer, parts));
  }
  return ring->interleave(each);
}

Array Multiplier::State::switched(const Array& x, std::span<const Array> rows,
                                  const std::optional<Array>& other) const {
  const Array digits = ring->gadget_digits(x, switch_gadget_of_products(parameters()));
  std::vector<Array> factors(rows.begin(), rows.end()), parts;
  for (unsigned j = 0; j < rows.size(); ++j) parts.push_back(ring->parts(digits, j, 1));
  if (other) {
    factors.push_back(s);
    parts.push_back(*other);
  }
  return ring->sum_of_products(factors, parts, only_prime);
}

Array Multiplier::State::folded(const Array& x, unsigned step) const {
  const Array turned = ring->substitute(x, (1U << step) + 1);
  return ring->add(switched(ring->parts(turned, 1, 1), switches[step - 1]),
                   ring->parts(turned, 0, 1));
}

Array Multiplier::State::packed(Array x, const ProductRing& of, std::size_t others) const {
  const std::uint32_t N = parameters().N();
  const auto steps = static_cast<unsigned>(std::countr_zero(N));
  std::size_t width = of.digits;
  for (unsigned step = 1; step <= steps; ++step) {
    if (step <= 2 || width == 1) {
      x = ring->add(x, folded(x, step));
      continue;
    }
    width /= 2;
    const Array even = ring->take(x, every(0, width * others)),
                odd = ring->multiply_plain(ring->take(x, every(width * others, width * others)),
                                           monomial(N >> step));
    x = ring->add(ring->add(even, odd), folded(ring->sub(even, odd), step));
  }
  return x;
}

// ---- the product

namespace {

/// A polynomial in Y.
std::vector<std::int64_t> in_ring(std::span<const std::int64_t> coefficients,
                                  const ProductRing& of) {
  std::vector<std::int64_t> out(std::size_t{of.places} * of.spacing);
  for (std::size_t k = 0; k < coefficients.size(); ++k) out[k * of.spacing] = coefficients[k];
  return out;
}

}  // namespace

Array Multiplier::State::product_by(const Array& packed, std::span<const std::int64_t> known,
                                    const ProductRing& of, std::size_t B) const {
  const ring::Gadget gadget = row_gadget(parameters());
  std::vector<Array> rows_of, digits;
  for (unsigned j = 0; j < slots; ++j) {
    std::vector<std::int64_t> digit(known.begin(), known.end());
    for (std::int64_t& number : digit) number = gadget.digit(number, j);
    digits.push_back(plain(in_ring(digit, of)));
    rows_of.push_back(ring->take(packed, every(j, B, slots)));
  }
  return ring->sum_of_products(rows_of, digits, only_prime);
}

Array Multiplier::State::product(const Array& packed, const ProductRing& of, std::size_t B) const {
  // 1. The second factor over 4 - Y.
  const std::size_t each = B * slots;
  const Array element = product_by(ring->take(packed, every(each, each)), of.fractions, of, B);
  // 2. The first factor's rows, for b as they are, for a times the secret (Wang et al., EUROCRYPT
  //    2024).
  const Array first = ring->take(packed, every(0, each)),
              times_s =
                  switched(ring->parts(first, 1, 1), switches.back(), ring->parts(first, 0, 1));
  // 3. Their external product.
  const Array digits = ring->gadget_digits(element, row_gadget(parameters()));
  std::vector<Array> rows_of, parts;
  for (const Array* of_part : {&first, &times_s})
    for (unsigned j = 0; j < slots; ++j)
      rows_of.push_back(ring->take(*of_part, every(j, B, slots)));
  for (unsigned j = 0; j < 2 * slots; ++j) parts.push_back(ring->parts(digits, j, 1));
  return ring->sum_of_products(rows_of, parts, only_prime);
}

// ---- out of the ring

lwe::Array Multiplier::State::read(const Array& products, const ProductRing& of,
                                   std::uint32_t digits, std::size_t B) const {
  const binfhe::Parameters& p = parameters();
  const std::uint32_t N = p.N();
  const std::uint64_t Q = p.Q();
  const Form form = ring_form(p);
  const auto zeros = [&](std::size_t count) {
    const std::vector<std::uint64_t> words(count * form.row());
    return rows().upload(form, count, words.data());
  };
  // 1. The coefficients of Y^0, Y^1, … as LWE ciphertexts.
  const WordArray words = ring->download(ring->transform(products, rlwe::Form::coefficient));
  std::vector<std::uint32_t> places;
  for (std::uint32_t k = 0; k < digits; ++k) places.push_back(k * of.spacing);
  const lwe::Array turned =
      backend::with_word_bytes(static_cast<unsigned>(words.word_bytes()), [&]<class Word>(Word) {
        const std::span<const Word> all = words.as<Word>();
        std::vector<Word> made(2 * B * N);
        for (std::size_t b = 0; b < B; ++b)
          for (std::size_t i = 0; i < N; ++i) {
            const Word c1 = all[(B + b) * N + i];
            made[2 * b * N + i] = c1 == 0 ? 0 : static_cast<Word>(Q - c1);
            made[(2 * b + 1) * N + i] = all[b * N + i];
          }
        return rows().upload(accumulator_form(p), B, made.data());
      });
  const lwe::Array* from[] = {&turned};
  const std::vector<Form> of_each(digits, form);
  const std::vector<lwe::Array> extracted =
      rows().map(from, of_each, false,
                 [&](const Stages& stages, std::span<const Rows* const> in, run::Range range) {
                   Rows out(stages.queue(), form, range.count * digits);
                   lwe::with_words(form, [&]<class Word>(Word) {
                     stages.queue().rotation<Word>().extract(Q, N, places, 0, in[0]->slice<Word>(),
                                                             out.slice<Word>());
                   });
                   return binfhe::slots_of(stages, out, digits);
                 });
  const lwe::Array phases = rows().join(extracted);
  // 2. Signs: in which half of the turn a phase is. A sign stands for a quarter of a turn, for a
  //    sixteenth at the next place, and for 1 of the digit.
  const std::array<std::uint64_t, slots> sizes{Q / 4, Q / 16, binfhe::encode(1, digits_encoding, Q),
                                               0};
  const auto of_signs = std::make_shared<const Tables>(
      p.N(), Q, 1, std::span<const std::uint32_t>(),
      [&](std::size_t, std::uint64_t j) { return sizes[j % slots]; });
  const lwe::Array* in[] = {&phases};
  const std::vector<Form> three(3, form);
  const std::uint32_t first_slots[] = {0, 1, 2};
  const std::vector<lwe::Array> signs = rows().map(
      in, three, true,
      [&](const Stages& stages, std::span<const Rows* const> operands, run::Range range) {
        const std::int64_t one[] = {1};
        Rows at_q = binfhe::to_rotate(p, stages, stages.linear(one, operands, 0));
        at_q = binfhe::to_multiples(p, stages, std::move(at_q), 2ULL * N, slots);
        return binfhe::slots_of(stages, stages.rotate(at_q, *of_signs, range, first_slots, 0), 3);
      });
  // 3. What is left is a quarter of a turn, none, or minus a quarter.
  const lwe::Array below[] = {zeros(B), signs[1]};
  const lwe::Array carried = rows().take(rows().join(below), every(0, digits * B));
  const auto quarters = std::make_shared<const Tables>(
      N, Q, 1, std::span<const std::uint32_t>(), [&](std::size_t, std::uint64_t j) {
        return j >= N / 4 && j < 3 * (N / 4) ? sizes[2] : std::uint64_t{0};
      });
  const lwe::Array* parts[] = {&phases, &signs[0], &carried, &signs[2]};
  const Form out[] = {form};
  return rows().map(
      parts, out, true,
      [&](const Stages& stages, std::span<const Rows* const> operands, run::Range range) {
        const std::int64_t weights[] = {1, -1, -1}, ones[] = {1, 1};
        Rows at_q = binfhe::to_rotate(p, stages, stages.linear(weights, operands.first(3), 0));
        const Rows found = stages.rotate(
            binfhe::to_exponents(p, stages, std::move(at_q), 2ULL * N, 0), *quarters, range, 0);
        const Rows* both[] = {&found, operands[3]};
        return binfhe::one(stages.linear(ones, both, 0));
      })[0];
}

}  // namespace whorl::bridges
