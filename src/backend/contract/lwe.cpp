#include "backend/contract/lwe.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "whorl/word_array.h"

namespace whorl::backend {

namespace {

void check_sum_modulus(const char* what, std::uint64_t q) {
  if (q < 2 || q >= LweOps::modulus_bound)
    throw ParameterError(std::string(what) + ": modulus " + std::to_string(q) + " is outside [2, " +
                         std::to_string(LweOps::modulus_bound) + ")");
}

}  // namespace

std::unique_ptr<const SwitchKey> LweOps::prepare_switch_key(
    const SwitchShape& shape, const RowSource<std::uint64_t>& rows) const {
  return prepare_switch_key(
      shape, SwitchRows<std::uint64_t>(
                 [&](std::size_t first, std::size_t count, std::uint64_t* out, std::size_t stride) {
                   for (std::size_t r = 0; r < count; ++r, out += stride)
                     rows(first + r, {out, shape.n}, {out + shape.n, 1});
                 }));
}

/// Moduli of two or more; centred, sums of `row` rounding errors of up to from/2 must fit 63 bits.
std::size_t LweOps::check_modulus_switch(std::uint64_t from, std::uint64_t to, std::size_t row,
                                         unsigned centre, std::size_t in, std::size_t out) {
  check_size("modulus_switch: output", out, in);
  if (from < 2 || to < 2)
    throw ParameterError("modulus_switch: moduli " + std::to_string(from) + " and " +
                         std::to_string(to) + " must be at least 2");
  if (centre == 1 || centre > most_centre)
    throw ParameterError("modulus_switch: the centre 1/" + std::to_string(centre) +
                         " is not in 1/2 … 1/" + std::to_string(most_centre));
  if (centre != 0 && row > 1 && from / 2 > (UINT64_MAX >> 1) / (row - 1))
    throw ParameterError("modulus_switch, centred: rounding errors of " + std::to_string(row - 1) +
                         " elements modulo " + std::to_string(from) +
                         " may add up to 2^63 or more");
  return rows_of("modulus_switch", in, row);
}

void LweOps::check_switch_shape(const SwitchShape& shape, std::size_t word_bytes) {
  if (shape.N == 0 || shape.n == 0)
    throw ParameterError("key-switching key: N = " + std::to_string(shape.N) +
                         " and n = " + std::to_string(shape.n) + " must both be at least 1");
  if (shape.Q_ks < 2)
    throw ParameterError("key-switching key: Q_ks = " + std::to_string(shape.Q_ks) + " is below 2");
  if (shape.gadget.modulus() != shape.Q_ks)
    throw ParameterError("key-switching key: its gadget is for " +
                         std::to_string(shape.gadget.modulus()) + ", but Q_ks is " +
                         std::to_string(shape.Q_ks));
  if (word_bytes < word_bytes_for(shape.Q_ks))
    refuse_word("key-switching key", shape.Q_ks - 1, 8 * word_bytes);
  if (!std::has_single_bit(shape.Q_ks) && shape.Q_ks >= modulus_bound)
    throw ParameterError("key-switching key: Q_ks = " + std::to_string(shape.Q_ks) +
                         " is no power of two and not below " + std::to_string(modulus_bound));
  std::uint64_t rows = 0;
  for (unsigned j = 0; j < shape.gadget.digits(); ++j)
    rows += shape.table ? shape.gadget.bound(j) : 1;
  if (rows > most_switch_rows)
    throw ParameterError("key-switching key: a coefficient has " + std::to_string(rows) +
                         " rows; it may have at most " + std::to_string(most_switch_rows));
}

std::size_t LweOps::check_key_switch(const SwitchKey& key, std::size_t in, std::size_t out) const {
  check_owner("key-switching keys", key);
  const std::size_t count = rows_of("key_switch", in, std::size_t{key.shape().N} + 1);
  check_size("key_switch: output", out, count * (std::size_t{key.shape().n} + 1));
  return count;
}

std::size_t LweOps::check_linear(std::uint64_t q, std::size_t row, std::size_t weights,
                                 std::size_t inputs, std::size_t out) {
  check_size("lwe_linear: weights", weights, inputs);
  check_sum_modulus("lwe_linear", q);
  return rows_of("lwe_linear", out, row);
}

LweOps::Matrix LweOps::check_matrix(std::uint64_t q, std::size_t row,
                                    std::span<const std::int64_t> matrix,
                                    std::span<const std::uint64_t> constants, std::size_t groups,
                                    std::size_t in, std::size_t out) {
  check_sum_modulus("lwe_matrix", q);
  if (constants.empty() || matrix.empty() || matrix.size() % constants.size() != 0)
    throw ShapeError("lwe_matrix: the matrix has " + std::to_string(matrix.size()) +
                     " entries, which are not a whole number of rows for " +
                     std::to_string(constants.size()) + " results");
  const std::size_t inputs = matrix.size() / constants.size();
  const std::size_t rows = rows_of("lwe_matrix", in, inputs * row);
  if (groups == 0 || rows % groups != 0)
    throw ShapeError("lwe_matrix: " + std::to_string(rows) + " times " + std::to_string(inputs) +
                     " inputs are no whole number of each for " + std::to_string(groups) +
                     " groups");
  check_size("lwe_matrix: output", out, constants.size() * rows * row);
  return {q, row, rows / groups, groups, matrix, constants};
}

std::unique_ptr<const LweSums> LweOps::prepare_sums(LweSumsShape shape) const {
  check_sum_modulus("lwe_sums", shape.q);
  if (shape.word_bytes != 4 && shape.word_bytes != 8)
    throw ParameterError("lwe_sums: words of " + std::to_string(shape.word_bytes) +
                         " bytes; they must have 4 or 8");
  if (shape.word_bytes == 4) check_word<std::uint32_t>("lwe_sums", shape.q - 1);
  if (shape.row == 0) throw ShapeError("lwe_sums: rows have no elements");
  if (shape.inputs.size() > shape.most_inputs)
    throw ShapeError("lwe_sums: " + std::to_string(shape.inputs.size()) + " inputs; there may be " +
                     std::to_string(shape.most_inputs));
  const std::vector<std::uint32_t>& begin = shape.begin;
  check_size("lwe_sums: beginnings", begin.size(), shape.count() + 1);
  if (begin.front() != 0 || begin.back() != shape.terms.size() || !std::ranges::is_sorted(begin))
    throw ShapeError("lwe_sums: the sums' beginnings, " + std::to_string(begin.front()) + " … " +
                     std::to_string(begin.back()) + ", do not divide " +
                     std::to_string(shape.terms.size()) + " terms in their order");
  for (const LweTerm& term : shape.terms)
    if (term.input >= shape.inputs.size() || term.row >= shape.inputs[term.input])
      throw ShapeError("lwe_sums: a term takes row " + std::to_string(term.row) + " of input " +
                       std::to_string(term.input) + ", which is not there");
  for (std::uint64_t& constant : shape.constants) constant %= shape.q;
  return own(make_sums(std::move(shape)));
}

void LweOps::check_sums(const LweSums& sums, std::size_t word_bytes, std::size_t first,
                        std::size_t count, std::size_t inputs, std::size_t out) const {
  check_owner("sums of rows", sums);
  const LweSumsShape& shape = sums.shape();
  check_size("lwe_sums: bytes of a word", word_bytes, shape.word_bytes);
  check_size("lwe_sums: inputs", inputs, shape.inputs.size());
  if (first > shape.count() || count > shape.count() - first)
    throw ShapeError("lwe_sums: sums " + std::to_string(first) + " … " +
                     std::to_string(first + count) + " of " + std::to_string(shape.count()));
  check_size("lwe_sums: output", out, count * shape.row);
}

LweOps::Coefficients LweOps::check_polynomials(const LwePolynomials& rule, std::size_t first,
                                               std::size_t columns, std::size_t in,
                                               std::size_t out) {
  constexpr const char* what = "lwe_to_polynomials";
  const auto refuse = [](const std::string& why) {
    throw ParameterError("lwe_to_polynomials: " + why);
  };
  if (!std::has_single_bit(rule.q) || !std::has_single_bit(rule.to) || rule.to < 2 ||
      rule.to > rule.q)
    refuse("moduli " + std::to_string(rule.q) + " and " + std::to_string(rule.to) +
           " are no powers of two, of which the second is in 2 … the first");
  if (!std::has_single_bit(rule.length) || !std::has_single_bit(rule.N) || rule.N / 2 < rule.length)
    refuse("vectors of " + std::to_string(rule.length) +
           " rows and polynomials of N = " + std::to_string(rule.N) +
           " coefficients; both must be powers of two, and N at least twice as many");
  if (rule.weights.empty() || rule.weights.size() > rule.most_weights)
    refuse(std::to_string(rule.weights.size()) + " weights; there must be 1 … " +
           std::to_string(rule.most_weights));
  if (rule.primes.empty() || rule.primes.size() > rule.most_primes)
    refuse(std::to_string(rule.primes.size()) + " primes; there must be 1 … " +
           std::to_string(rule.most_primes));
  for (const std::uint64_t prime : rule.primes)
    if (prime < rule.to)
      refuse("a prime of " + std::to_string(prime) + " is below " + std::to_string(rule.to));
  if (first > rule.row || columns > rule.row - first)
    throw ShapeError("lwe_to_polynomials: columns " + std::to_string(first) + " … " +
                     std::to_string(first + columns) + " of rows of " + std::to_string(rule.row));
  const std::size_t vectors = rows_of(what, in, rule.row * rule.length);
  if (columns == 0) {
    check_size("lwe_to_polynomials: output", out, 0);
    return {first, 0, vectors, 0};
  }
  const std::size_t batch =
      rows_of("lwe_to_polynomials: output", out, columns * rule.primes.size() * rule.N);
  if (vectors > 2 * batch * rule.weights.size())
    throw ShapeError("lwe_to_polynomials: " + std::to_string(vectors) + " vectors do not fit " +
                     std::to_string(batch) + " polynomials, which take " +
                     std::to_string(2 * rule.weights.size()) + " each");
  return {first, columns, vectors, batch};
}

std::size_t LweOps::check_expansion(const LweExpansion& rule, std::size_t numbers,
                                    std::size_t bodies, std::size_t out) {
  if (rule.q < 2)
    throw ParameterError("lwe_expand: modulus " + std::to_string(rule.q) + " is below 2");
  const std::size_t count = rows_of("lwe_expand: output", out, rule.row);
  check_size("lwe_expand: bodies", bodies, count);
  if (numbers != 0) check_size("lwe_expand: numbers", numbers, count);
  return count;
}

}  // namespace whorl::backend
