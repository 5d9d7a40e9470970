// Products of integers through ring elements. In Y = X^spacing the plaintext modulus is 4 - Y, so
// that a polynomial with an integer's digits as coefficients is the integer (Chen, Laine, Player,
// Xia, CT-RSA 2018); docs/performance/products-of-integers.md says how each step works.
#include "whorl/bridges/products.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bridges/products_state.h"
#include "lattice/lwe/device_keys.h"
#include "lattice/lwe/noise.h"
#include "lattice/lwe/rotation_method.h"
#include "lattice/rlwe/uniform.h"
#include "math/memory.h"
#include "math/text.h"
#include "schemes/binfhe/derived.h"
#include "schemes/binfhe/packed.h"
#include "whorl/error.h"

namespace whorl::bridges {

namespace lwe = lattice::lwe;
namespace rlwe = lattice::rlwe;
using lwe::Form;
using rlwe::Array;

namespace {

const ring::Basis only_prime = ring::Basis::range(0, 1);

double square(double x) { return x * x; }

}  // namespace

// ---- keys

namespace {

/// Keys without words, for dry runs.
ProductKeys absent_keys(const binfhe::Access::State& server) {
  const binfhe::Parameters& p = server.parameters;
  const binfhe::Parameters second = second_rotation(p);
  const unsigned word = ring_word_bytes(p.Q());
  const std::size_t rows = product_key_rows(p);
  ProductKeys keys{p, server.key_id, {}, {}, {}, {}};
  keys.rotation_b =
      WordArray(nullptr, nullptr, second.rotation_key_rows(0) * second.rotation_row_words(), word);
  backend::with_word_bytes(
      word, [&]<class Word>(Word) { keys.ring_b = WordArray(std::vector<Word>(rows * p.N())); });
  return keys;
}

void check_words(const char* name, const WordArray& words, std::size_t due, unsigned word_bytes) {
  if (words.size() != due || words.word_bytes() != word_bytes)
    throw ShapeError(std::string(name) + " of product keys has " + std::to_string(words.size()) +
                     " words of " + std::to_string(words.word_bytes()) + " bytes; it must have " +
                     std::to_string(due) + " of " + std::to_string(word_bytes));
}

}  // namespace

Multiplier::State::State(const binfhe::Server& of, const ProductKeys& keys,
                         const Progress& progress)
    : State(binfhe::Access::of(of).shared_from_this(), keys, progress) {}

Multiplier::State::State(const binfhe::Server& dry)
    : State(binfhe::Access::of(dry).shared_from_this(), absent_keys(binfhe::Access::of(dry)), {}) {}

Multiplier::State::State(std::shared_ptr<const binfhe::Access::State> on, const ProductKeys& keys,
                         const Progress& progress)
    : server(std::move(on)), second(second_rotation(server->parameters)) {
  check_multiplies(parameters());
  if (keys.parameters != parameters())
    throw ParameterMismatchError("product keys under parameters \"" +
                                 keys.parameters.literal().name +
                                 "\" were given to a server of \"" + parameters().literal().name +
                                 "\": take those of the client of its evaluation keys");
  if (keys.key_id != server->key_id)
    throw KeyMismatchError("product keys of key " + math::short_id(keys.key_id) +
                           " were given to a server of key " + math::short_id(server->key_id) +
                           ": take those of the client of its evaluation keys");
  const binfhe::Parameters& p = parameters();
  const std::size_t N = p.N(), rows = product_key_rows(p);
  const unsigned word_bytes = ring_word_bytes(p.Q());
  check_words("rotation_b", keys.rotation_b,
              second.rotation_key_rows(0) * second.rotation_row_words(), word_bytes);
  check_words("ring_b", keys.ring_b, rows * N, word_bytes);
  // 1. The second blind-rotation key.
  const backend::RotationShape shape = binfhe::rotation_shape(second, server->transform);
  rotation = std::make_shared<const run::KeyOnDevices>(
      server->session->budget, lwe::RotationMethod::bytes(shape),
      [shape, seed = keys.rotation_seed, b = keys.rotation_b](const backend::Queue& queue) {
        return lwe::prepare_rotation(queue, shape, seed, b);
      });
  for (std::size_t l = 0; l < server->fleet->size(); ++l)
    rotation->on<backend::RotationKey>(*server->fleet->lane(l));
  // 2. Rows of key switches in the ring.
  ring = rlwe::Evaluator::make(server->fleet, binfhe::ring_plan(p));
  const std::uint64_t primes[] = {p.Q()};
  const std::size_t each = switch_gadget_of_products(p).digits();
  backend::with_word_bytes(word_bytes, [&]<class Word>(Word) {
    const std::span<const Word> bodies = keys.ring_b.as<Word>();
    for (std::uint32_t row = 0; row < rows; ++row) {
      if (progress && !progress(row, rows))
        throw InterruptedError("stopped after " + std::to_string(row) + " of " +
                               std::to_string(rows) + " rows of product keys");
      std::vector<Word> both(2 * N);
      std::copy_n(bodies.begin() + static_cast<std::ptrdiff_t>(row * N), N, both.begin());
      rlwe::ciphertexts_uniform<Word>(p.N(), primes, only_prime, keys.ring_seed, 1,
                                      std::span(&row, 1), std::span(both).subspan(N));
      if (row % each == 0) switches.emplace_back();
      switches.back().push_back(
          ring->upload(WordArray(std::move(both)), {2, only_prime, 1, rlwe::Form::evaluation}));
    }
    std::vector<Word> secret(2 * N);
    std::fill_n(secret.begin() + static_cast<std::ptrdiff_t>(N), N, Word{1});
    s = ring->upload(WordArray(std::move(secret)), {2, only_prime, 1, rlwe::Form::evaluation});
  });
  if (progress) progress(rows, rows);
}

std::size_t Multiplier::State::bytes() const {
  std::size_t sum = lwe::RotationMethod::bytes(binfhe::rotation_shape(second, server->transform));
  for (const auto& rows_of : switches)
    for (const Array& row : rows_of) sum += row.bytes();
  return sum;
}

// ---- whole products

lwe::Array Multiplier::State::multiplied(std::span<const Held> factors,
                                         std::span<const std::int64_t> known, const ProductRing& of,
                                         std::uint32_t digits, std::size_t B) const {
  const std::size_t others = factors.size() * B;
  // 1. Digits as (width, factors, B).
  std::vector<lwe::Array> all;
  std::vector<std::size_t> widths, starts;
  std::size_t start = 0, width = 0;
  for (const Held& factor : factors) {
    all.push_back(factor.rows);
    widths.push_back(std::min<std::size_t>(factor.rows.count() / B, of.digits));
    starts.push_back(start);
    start += factor.rows.count();
    width = std::max(width, widths.back());
  }
  // A factor of fewer digits has zeros, which are rotated like the others.
  const Form form = ring_form(parameters());
  const std::vector<std::uint64_t> zero(form.row());
  all.push_back(rows().upload(form, 1, zero.data()));
  std::vector<std::uint32_t> index;
  std::vector<std::int32_t> lows;
  for (std::size_t i = 0; i < width; ++i)
    for (std::size_t f = 0; f < factors.size(); ++f)
      for (std::size_t b = 0; b < B; ++b) {
        const bool held = i < widths[f];
        index.push_back(static_cast<std::uint32_t>(held ? starts[f] + i * B + b : start));
        lows.push_back(held && !factors[f].lows.empty() ? factors[f].lows[i] : 0);
      }
  // 2. Into the ring, with zeros behind the last digit.
  Array made = lifted(looked_up(rows().take(rows().join(all), index), lows));
  if (const std::size_t missing = (of.digits - width) * others * slots; missing > 0) {
    const Array none = ring->take(ring->scale(made, 0), std::vector<std::uint32_t>(missing, 0));
    const Array both[] = {made, none};
    made = ring->join(both);
  }
  made = packed(std::move(made), of, others * slots);
  // 3. The product, and out of the ring.
  return read(factors.size() == 2 ? product(made, of, B) : product_by(made, known, of, B), of,
              digits, B);
}

namespace {

void check_factor(const char* name, const Multiplier::Factor& factor, std::size_t integers) {
  const auto& state = binfhe::Access::of(factor.digits);
  const binfhe::Encoding encoding = state.encoding;
  if (encoding != digits_encoding)
    throw EncodingError(std::string("multiply: the digits of ") + name +
                        " must be messages of p = 32 without padding, but have p = " +
                        std::to_string(encoding.p) + (encoding.padding ? " with padding" : ""));
  if (state.under() != binfhe::Under::ring)
    throw KeyMismatchError(std::string("multiply: the digits of ") + name +
                           " must be under the ring key, but are under the LWE key");
  const std::size_t count = state.rows.count();
  if (integers == 0 || count == 0 || count % integers != 0)
    throw ShapeError(std::string("multiply: ") + name + " has " + std::to_string(count) +
                     " ciphertexts, which are not the digits of " + std::to_string(integers) +
                     " integers");
  if (!factor.lows.empty() && factor.lows.size() != count / integers)
    throw ShapeError(std::string("multiply: ") + name + " has " +
                     std::to_string(factor.lows.size()) + " lows; it must have one for each of " +
                     std::to_string(count / integers) + " digits");
  for (const std::int32_t low : factor.lows)
    if (low < -3 || low > 0)
      throw RangeError(std::string("multiply: a low of ") + name + " is " + std::to_string(low) +
                       ", and must be -3 … 0");
  const binfhe::Largest& largest = state.origin->largest;
  const bool fits =
      largest.range ? largest.range->low >= 0 && largest.range->high <= 3 : largest.any <= 3;
  if (!fits)
    throw EncodingError(std::string("multiply: the digits of ") + name +
                        " must be 0 … 3, but may be larger or negative: look them up in a table, "
                        "or say with_range(0, 3) of those that are known to be");
}

/// The known factor over 4 - Y, times Q: its value modulo 4^(k + 1), as a part of 4^(k + 1).
std::vector<std::int64_t> over_four_minus_y(std::span<const std::uint32_t> digits,
                                            const ProductRing& of, std::uint64_t Q) {
  std::vector<std::int64_t> out;
  for (std::uint32_t k = 0; k < of.places; ++k) {
    // sum_i digit_i·Q/4^(k + 1 - i), of which 24 digits matter.
    std::uint64_t sum = 0;
    for (std::uint32_t back = 0; back < 31 && back <= k; ++back)
      if (k - back < digits.size()) sum += digits[k - back] * (Q >> 2 * (back + 1));
    const std::uint64_t reduced = sum % Q;
    out.push_back(static_cast<std::int64_t>(reduced) -
                  (reduced > Q / 2 ? static_cast<std::int64_t>(Q) : 0));
  }
  return out;
}

/// A number for all digits of each integer: products of equal ones have equal errors.
binfhe::Marks marks_of(std::span<const Multiplier::Factor> factors,
                       std::span<const std::uint32_t> known, std::uint32_t digits, std::size_t B) {
  std::vector<std::uint64_t> numbers(B, binfhe::mix(digits, 0x70726f64));
  for (std::size_t f = 0; f < factors.size(); ++f) {
    const auto& state = binfhe::Access::of(factors[f].digits);
    const std::vector<std::uint64_t>& marks = *state.origin->values;
    for (std::uint64_t& number : numbers)
      for (const std::int32_t low : factors[f].lows)
        number = binfhe::mix(number, static_cast<std::uint64_t>(low + 4));
    for (std::size_t i = 0; i < state.rows.count(); ++i)
      numbers[i % B] = binfhe::mix(numbers[i % B], marks[marks.size() == 1 ? 0 : i] + f);
  }
  for (std::uint64_t& number : numbers)
    for (const std::uint32_t digit : known) number = binfhe::mix(number, digit);
  std::vector<std::uint64_t> out;
  for (std::uint32_t k = 0; k < digits; ++k)
    for (const std::uint64_t number : numbers) out.push_back(binfhe::mix(number, k));
  return std::make_shared<const std::vector<std::uint64_t>>(std::move(out));
}

}  // namespace

binfhe::Array Multiplier::State::multiply(std::span<const Factor> factors,
                                          std::span<const std::uint32_t> known,
                                          std::size_t integers, std::uint32_t digits) const {
  const binfhe::Access::State& on = *server;
  const binfhe::Parameters& p = parameters();
  if (digits == 0 || digits > most_digits)
    throw ShapeError("multiply: " + std::to_string(digits) +
                     " digits are asked for; there may be 1 … " + std::to_string(most_digits));
  // Results are modulo 4^digits, and so is what is known.
  known = known.first(std::min<std::size_t>(known.size(), digits));
  // 1. What is known of the factors, and whether the operation is allowed.
  double decided = -HUGE_VAL;
  std::vector<binfhe::Term> terms;
  std::vector<Held> held;
  std::size_t width = 0;
  for (std::size_t f = 0; f < factors.size(); ++f) {
    on.check(factors[f].digits);
    check_factor(f == 0 ? "x" : "y", factors[f], integers);
    const auto& state = binfhe::Access::of(factors[f].digits);
    held.push_back({state.rows, factors[f].lows});
    width = std::max(width, state.rows.count() / integers);
    terms.push_back({1, state.origin.get()});
    const double noise = state.origin->noise;
    if (noise > 0)
      decided = std::max(
          decided, digit_failure_log2(
                       p, on.account.switched(square(weight_of_digits) * std::max(noise, 1.0))));
  }
  const ProductRing of(p, static_cast<std::uint32_t>(std::min<std::size_t>(
                              std::max<std::size_t>(width, digits), most_digits)));
  const std::vector<std::int64_t> over =
      factors.size() == 2 ? std::vector<std::int64_t>() : over_four_minus_y(known, of, p.Q());
  const auto first = static_cast<std::uint32_t>(held[0].rows.count() / integers);
  const double found = reading_failure_log2(
      p, factors.size() == 2 ? errors_of_product(p, of, first) : errors_of_known(p, first));
  const double worst = std::max(decided, found);
  if (worst > std::log2(on.account.allow_failure()))
    throw NoiseError("multiply: a digit of a product of " + std::to_string(of.digits) +
                     " digits fails with a probability of " + math::power_of_two_above(worst) +
                     " under " + binfhe::named(p) + ", above the " +
                     math::text_of(on.account.allow_failure()) +
                     " that the server allows: bootstrap the factors first, or take W128_P128_M3");
  const double log2_digits = std::log2(static_cast<double>(digits)),
               log2_inputs = std::log2(static_cast<double>(factors.size() * width));
  const double failure_log2 = lattice::sum_log2(found + log2_digits, decided + log2_inputs);
  if (on.failures && integers > 0) on.failures->add(failure_log2, integers);
  // 2. What is known of the results: each is the sum of two rotations' results.
  binfhe::Promise promise = binfhe::promise_of(terms, failure_log2, 0);
  const binfhe::Marks marks = marks_of(factors, known, digits, integers);
  const double offset = on.table_offset(digits_encoding, binfhe::Under::ring);
  const std::uint64_t tags[] = {binfhe::mix(1), binfhe::mix(2)};
  const auto half = [&](std::size_t k) {
    return binfhe::origin_of_bootstrapped(marks, std::span(tags).subspan(k, 1), {},
                                          on.account.bootstrapped(), {1, 1}, {}, offset);
  };
  binfhe::Origin origin = binfhe::origin_of_mux(marks, half(0), half(1), promise);
  origin.largest = binfhe::largest_within("multiply", digits_encoding, {-2, 2});
  // 3. The work, some integers at once.
  const std::size_t rows_of_ring = of.digits * factors.size() * slots * 32,
                    most = std::max<std::size_t>(1, ring->most(rows_of_ring));
  const lwe::Array made = math::with_memory_for("products", [&] {
    if (integers <= most) return multiplied(held, over, of, digits, integers);
    std::vector<lwe::Array> parts;
    std::vector<std::uint32_t> index(digits * integers);
    std::size_t done = 0;
    for (std::size_t first = 0; first < integers; first += most) {
      const std::size_t some = std::min(most, integers - first);
      std::vector<Held> taken;
      for (const Held& factor : held) {
        std::vector<std::uint32_t> of_some;
        for (std::size_t i = 0; i < factor.rows.count() / integers; ++i)
          for (std::size_t b = 0; b < some; ++b)
            of_some.push_back(static_cast<std::uint32_t>(i * integers + first + b));
        taken.push_back({rows().take(factor.rows, of_some), factor.lows});
      }
      parts.push_back(multiplied(taken, over, of, digits, some));
      for (std::uint32_t k = 0; k < digits; ++k)
        for (std::size_t b = 0; b < some; ++b)
          index[k * integers + first + b] = static_cast<std::uint32_t>(done + k * some + b);
      done += digits * some;
    }
    return rows().take(rows().join(parts), index);
  });
  return on.array(digits_encoding, std::make_shared<const binfhe::Origin>(std::move(origin)), made);
}

Multiplier::Multiplier(const binfhe::Server& server, const ProductKeys& keys,
                       const Progress& progress)
    : state_(math::with_memory_for(
          "product keys", [&] { return std::make_shared<const State>(server, keys, progress); })) {}

Multiplier::Multiplier(const binfhe::Server& dry) : state_(std::make_shared<const State>(dry)) {}

binfhe::Array Multiplier::multiply(const Factor& x, const Factor& y, std::size_t integers,
                                   std::uint32_t digits) const {
  const Factor factors[] = {x, y};
  return state_->multiply(factors, {}, integers, digits);
}

binfhe::Array Multiplier::multiply(const Factor& x, std::span<const std::uint32_t> known,
                                   std::size_t integers, std::uint32_t digits) const {
  const Factor factors[] = {x};
  for (const std::uint32_t digit : known)
    if (digit > 3)
      throw EncodingError("multiply: a known digit is " + std::to_string(digit) +
                          ", and must be 0 … 3");
  return state_->multiply(factors, known, integers, digits);
}

double Multiplier::failure_log2(double noise, std::uint32_t first, std::uint32_t digits) const {
  if (digits == 0 || std::max(first, digits) > most_digits) return 0;
  const binfhe::Parameters& p = state_->parameters();
  const binfhe::Account& account = state_->server->account;
  return std::max(
      digit_failure_log2(p, account.switched(square(weight_of_digits) * std::max(noise, 1.0))),
      reading_failure_log2(
          p, first == 0 ? errors_of_known(p, digits)
                        : errors_of_product(p, ProductRing(p, std::max(first, digits)), first)));
}

std::size_t Multiplier::bytes() const { return state_->bytes(); }

}  // namespace whorl::bridges
