// LWE ciphertexts, rows (a_1 … a_n, b): sums, rounding to another modulus, key switching, and what
// becomes of them in polynomials. Words of 32 or 64 bits; keys also of 16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/contract/family.h"
#include "math/modulus.h"
#include "math/random.h"
#include "ring/gadget.h"

namespace whorl::backend {

/// Writes rows first … first + count - 1 of a key-switching key, each n words of `a` and then `b`:
/// row first + r begins at out + r·stride. Called from several threads at once.
template <class Word>
using SwitchRows =
    std::function<void(std::size_t first, std::size_t count, Word* out, std::size_t stride)>;

/// Shape of an LWE key-switching key from dimension N to n at modulus Q_ks: a power of two, or any
/// below 2^61. The digits are the signed digits of ring::Gadget over Q_ks; a coefficient has at
/// most LweOps::most_switch_rows rows.
struct SwitchShape {
  std::uint32_t N = 0;
  std::uint32_t n = 0;
  std::uint64_t Q_ks = 0;
  ring::Gadget gadget{2, 1, 1};
  bool table =
      false;  ///< rows for v·g_j, v = 1 … gadget.bound(j), looked up; else rows for g_j, multiplied
};

class SwitchKey : public PreparedKey<SwitchShape> {
  using PreparedKey::PreparedKey;
};

/// How rows become coefficients of polynomials: LweOps::to_polynomials.
struct LwePolynomials {
  std::uint64_t q = 0;                 ///< of the rows: a power of two
  std::uint64_t to = 0;                ///< what sums are rounded to: a power of two, 2 … q
  std::size_t row = 0;                 ///< n + 1
  std::uint32_t length = 1;            ///< rows of a vector, a power of two
  std::vector<std::uint64_t> weights;  ///< of the vectors of a sum, modulo q
  std::uint64_t constant = 0;          ///< is added to the last element of each sum
  std::uint32_t N = 0;                 ///< a power of two, at least 2·length
  std::vector<std::uint64_t> primes;   ///< at least `to` each

  static constexpr std::size_t most_weights = 16, most_primes = 64;
};
/// Masks of fresh ciphertexts that travel as a seed: LweOps::expand.
struct LweExpansion {
  math::Seed seed;
  std::uint64_t q = 0;      ///< 2 or more; masks modulo q depend on the size of the words, too
  std::size_t row = 0;      ///< n + 1
  std::uint64_t first = 0;  ///< the number of the first ciphertext where no numbers are given
};

/// A row of an input, and what it is multiplied by.
struct LweTerm {
  std::uint32_t input = 0, row = 0;
  std::int64_t weight = 0;
};
/// Sums of some rows each: LweOps::sums. Sum r is of terms[begin[r]] … terms[begin[r + 1] - 1].
struct LweSumsShape {
  std::uint64_t q = 0;              ///< below 2^61
  std::size_t row = 0;              ///< n + 1
  unsigned word_bytes = 4;          ///< 4 or 8: of rows
  std::vector<std::size_t> inputs;  ///< rows of each
  std::vector<std::uint32_t> begin{0};
  std::vector<LweTerm> terms;
  std::vector<std::uint64_t> constants;  ///< a sum each

  static constexpr std::size_t most_inputs = 32;
  std::size_t count() const { return constants.size(); }
};
class LweSums : public PreparedKey<LweSumsShape> {
  using PreparedKey::PreparedKey;
};

/// Words of a size known at run time.
struct ConstWords {
  const void* data;
  unsigned bytes;  ///< of a word
};
struct Words {
  void* data;
  unsigned bytes;
};
/// body(Word{}) for words of 4 or 8 bytes; with `bytes` 2 too where `narrowest` is 2.
template <unsigned narrowest = 4, class Body>
decltype(auto) with_word_bytes(unsigned bytes, const Body& body) {
  if constexpr (narrowest == 2)
    if (bytes == 2) return body(std::uint16_t{});
  return bytes == 4 ? body(std::uint32_t{}) : body(std::uint64_t{});
}

class LweOps : public Family {
 public:
  using Family::Family;

  /// Exclusive bound of the moduli in sums of products; a 64-bit word then has three spare bits.
  static constexpr std::uint64_t modulus_bound = math::max_modulus<std::uint64_t>;
  /// The most rows that a key-switching key has for a coefficient, so that indices fit 32 bits.
  static constexpr std::uint64_t most_switch_rows = UINT32_MAX / 1024;

  static constexpr unsigned most_centre = 64;

  /// Rows of `row` residues: out = round(in·to/from) mod to; `out` is `in`, where words have one
  /// size, or lies apart from it. With `centre`, 2 … most_centre, the last element of each row is
  /// corrected by the sum of the others' rounding errors over `centre`, which is the error's
  /// expected value under a key of mean p = 1/centre: its variance falls from n·p/12 to
  /// n·p·(1 - p)/12 for keys of 0 and 1, n/48 if they are binary (Bernard, Joye, Smart, Walter,
  /// 2024/1718, "drifting"). 0: none. ParameterError for another `centre`, or if their sum
  /// could reach 2^63.
  template <class In, class Out>
  void modulus_switch(std::uint64_t from, std::uint64_t to, std::size_t row, unsigned centre,
                      Slice<const In> in, Slice<Out> out) const {
    check(in, out);
    const std::size_t count = check_modulus_switch(from, to, row, centre, in.size, out.size);
    check_same_or_apart("modulus_switch: input", in, out);
    check_word<In>("modulus_switch", from - 1);
    check_word<Out>("modulus_switch", to - 1);
    if (count) run_modulus_switch({from, to, row, centre}, count, view(in), view(out));
  }

  /// Key rows are LWE encryptions modulo Q_ks, in any words that hold it (2, 4 or 8 bytes); those
  /// of word_bytes_for(Q_ks) need no conversion.
  template <class Word>
  std::unique_ptr<const SwitchKey> prepare_switch_key(const SwitchShape& shape,
                                                      const SwitchRows<Word>& rows) const {
    check_switch_shape(shape, sizeof(Word));
    return own(make_switch_key(shape, {sizeof(Word), [&rows](std::size_t first, std::size_t count,
                                                             void* out, std::size_t stride) {
                                         rows(first, count, static_cast<Word*>(out), stride);
                                       }}));
  }
  /// The same from rows made one by one (a: n words, b: one word).
  std::unique_ptr<const SwitchKey> prepare_switch_key(const SwitchShape& shape,
                                                      const RowSource<std::uint64_t>& rows) const;

  /// in (B, N+1), out (B, n+1), residues modulo Q_ks: (0, b) - sum_ij digit_j(a_i)·K_ij. Words that
  /// hold Q_ks: 32 bits where they do, for half the traffic. `out` lies apart from `in`.
  template <class Word>
  void key_switch(const SwitchKey& key, Slice<const Word> in, Slice<Word> out) const {
    check(in, out);
    check_word<Word>("key_switch", key.shape().Q_ks - 1);
    const std::size_t count = check_key_switch(key, in.size, out.size);
    check_apart("key_switch: input", in, out);
    if (count) run_key_switch(key, count, view(in), view(out));
  }

  /// out = sum_k weights[k]·in[k] + (0, …, 0, constant) modulo q, for q below 2^61. All have rows
  /// of `row` residues. `out` may be one of the inputs; it must not overlap the others.
  template <class Word>
  void linear(std::uint64_t q, std::size_t row, std::span<const std::int64_t> weights,
              std::span<const Slice<const Word>> in, std::uint64_t constant,
              Slice<Word> out) const {
    check(out);
    std::vector<ConstWords> inputs;
    for (const auto& slice : in) {
      check(slice);
      check_size("lwe_linear: input", slice.size, out.size);
      check_same_or_apart("lwe_linear: input", slice, out);
      inputs.push_back(view(slice));
    }
    const std::size_t count = check_linear(q, row, weights.size(), in.size(), out.size);
    check_word<Word>("lwe_linear", q - 1);
    if (count) run_linear(q, row, weights, inputs, constant % q, count, view(out));
  }
  /// in (G, K, B, row), out (G, R, B, row), where G is `groups`: in each group out_r = sum_k
  /// matrix[r·K + k]·in_k + (0, …, constants[r]) modulo q, below 2^61. All integers are exact.
  /// `out` lies apart from `in`.
  template <class Word>
  void matrix(std::uint64_t q, std::size_t row, std::span<const std::int64_t> matrix,
              std::span<const std::uint64_t> constants, Slice<const Word> in, Slice<Word> out,
              std::size_t groups = 1) const {
    check(in, out);
    check_apart("lwe_matrix: input", in, out);
    const Matrix shape = check_matrix(q, row, matrix, constants, groups, in.size, out.size);
    check_word<Word>("lwe_matrix", q - 1);
    if (shape.batch) run_matrix(shape, view(in), view(out));
  }
  /// Puts the terms of sums on the device, and waits. ShapeError for terms of rows that no input
  /// has.
  std::unique_ptr<const LweSums> prepare_sums(LweSumsShape shape) const;
  /// Sums first … first + count - 1 of these: out_r = sum_k weight_k·in[input_k][row_k] + (0, …, 0,
  /// constants[r]) modulo q. Inputs have the rows that the shape says. `out` lies apart from them.
  template <class Word>
  void sums(const LweSums& sums, std::size_t first, std::size_t count,
            std::span<const Slice<const Word>> in, Slice<Word> out) const {
    check(out);
    check_sums(sums, sizeof(Word), first, count, in.size(), out.size);
    std::vector<ConstWords> inputs;
    inputs.reserve(in.size());
    for (std::size_t k = 0; k < in.size(); ++k) {
      check(in[k]);
      check_size("lwe_sums: input", in[k].size, sums.shape().inputs[k] * sums.shape().row);
      check_apart("lwe_sums: input", in[k], out);
      inputs.push_back(view(in[k]));
    }
    if (count) run_sums(sums, first, count, inputs, view(out));
  }
  /// in (V, L, row), V vectors of L rows; out (columns, primes, B, N), in coefficient form. Sum u,
  /// u < 2B, is sum_m weights[m]·in[u·M + m] + (0, …, 0, constant) modulo q, where M is the number
  /// of weights, and vectors from V on are 0. Polynomial b of column c has element first + c of row
  /// bitrev(j) of sum 2b + h, times to/q, rounded (halves up) and centred, as its coefficient of
  /// X^(N/2L·(h·L + j)), h = 0 or 1; other coefficients are 0. `out` lies apart from `in`.
  template <class In, class Out>
  void to_polynomials(const LwePolynomials& rule, std::size_t first, std::size_t columns,
                      Slice<const In> in, Slice<Out> out) const {
    check(in, out);
    const Coefficients all = check_polynomials(rule, first, columns, in.size, out.size);
    check_word<In>("lwe_to_polynomials: input", rule.q - 1);
    for (const std::uint64_t prime : rule.primes)
      check_word<Out>("lwe_to_polynomials: output", prime - 1);
    check_apart("lwe_to_polynomials: input", in, out);
    if (columns && all.batch) run_to_polynomials(rule, all, view(in), view(out));
  }
  /// out (B, row): row i is (expand_uniform<Word>(seed, number, q), bodies[i]), where its number is
  /// numbers[i], or first + i if there are no numbers (math/random.h). `out` lies apart from the
  /// inputs.
  template <class Word>
  void expand(const LweExpansion& rule, Slice<const std::uint32_t> numbers,
              Slice<const Word> bodies, Slice<Word> out) const {
    check(numbers, bodies, out);
    const std::size_t count = check_expansion(rule, numbers.size, bodies.size, out.size);
    check_word<Word>("lwe_expand", rule.q - 1);
    check_apart("lwe_expand: numbers", numbers, out);
    check_apart("lwe_expand: bodies", bodies, out);
    if (count)
      run_expansion(rule, count, numbers.size == 0 ? nullptr : numbers.data, view(bodies),
                    view(out));
  }

 protected:
  struct Rounding {
    std::uint64_t from, to;
    std::size_t row;
    unsigned centre;
  };
  struct SwitchRowSource {
    unsigned word_bytes;  ///< 2, 4 or 8
    std::function<void(std::size_t first, std::size_t count, void* out, std::size_t stride)> rows;
  };
  struct Matrix {
    std::uint64_t q;
    std::size_t row, batch, groups;
    std::span<const std::int64_t> entries;     ///< (R, K)
    std::span<const std::uint64_t> constants;  ///< R
    std::size_t inputs() const { return entries.size() / constants.size(); }
    std::size_t results() const { return constants.size(); }
    /// Words of one input, or result, of a group.
    std::size_t size() const { return batch * row; }
  };
  /// Columns first … first + columns - 1 of `batch` polynomials each, of `vectors` vectors.
  struct Coefficients {
    std::size_t first, columns, vectors, batch;
  };
  virtual void run_modulus_switch(const Rounding& rounding, std::size_t count, ConstWords in,
                                  Words out) const = 0;
  virtual std::unique_ptr<SwitchKey> make_switch_key(const SwitchShape& shape,
                                                     const SwitchRowSource& source) const = 0;
  virtual void run_key_switch(const SwitchKey& key, std::size_t count, ConstWords in,
                              Words out) const = 0;
  virtual void run_linear(std::uint64_t q, std::size_t row, std::span<const std::int64_t> weights,
                          std::span<const ConstWords> in, std::uint64_t constant, std::size_t count,
                          Words out) const = 0;
  virtual void run_matrix(const Matrix& matrix, ConstWords in, Words out) const = 0;
  virtual std::unique_ptr<LweSums> make_sums(LweSumsShape shape) const = 0;
  virtual void run_sums(const LweSums& sums, std::size_t first, std::size_t count,
                        std::span<const ConstWords> in, Words out) const = 0;
  virtual void run_to_polynomials(const LwePolynomials& rule, const Coefficients& of, ConstWords in,
                                  Words out) const = 0;
  /// `numbers`: null if there are none.
  virtual void run_expansion(const LweExpansion& rule, std::size_t count,
                             const std::uint32_t* numbers, ConstWords bodies, Words out) const = 0;

 private:
  friend class RelayLwe;
  template <class T>
  static ConstWords view(const Slice<const T>& slice) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    return {slice.data, sizeof(T)};
  }
  template <class T>
  static Words view(const Slice<T>& slice) {
    return {slice.data, sizeof(T)};
  }
  static std::size_t check_modulus_switch(std::uint64_t from, std::uint64_t to, std::size_t row,
                                          unsigned centre, std::size_t in, std::size_t out);
  static void check_switch_shape(const SwitchShape& shape, std::size_t word_bytes);
  std::size_t check_key_switch(const SwitchKey& key, std::size_t in, std::size_t out) const;
  static std::size_t check_linear(std::uint64_t q, std::size_t row, std::size_t weights,
                                  std::size_t inputs, std::size_t out);
  static Matrix check_matrix(std::uint64_t q, std::size_t row, std::span<const std::int64_t> matrix,
                             std::span<const std::uint64_t> constants, std::size_t groups,
                             std::size_t in, std::size_t out);
  void check_sums(const LweSums& sums, std::size_t word_bytes, std::size_t first, std::size_t count,
                  std::size_t inputs, std::size_t out) const;
  static Coefficients check_polynomials(const LwePolynomials& rule, std::size_t first,
                                        std::size_t columns, std::size_t in, std::size_t out);
  static std::size_t check_expansion(const LweExpansion& rule, std::size_t numbers,
                                     std::size_t bodies, std::size_t out);
};

}  // namespace whorl::backend
