// Arrays over a basis of RNS primes: conversion between bases, key switching, products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/contract/family.h"
#include "backend/contract/fused_rns.h"
#include "backend/contract/rns_operands.h"

namespace whorl::backend {

/// All arrays are in evaluation form, except in `convert` and `round`. The rows of an
/// array over a basis come in the order of the basis's indices. Outputs must not overlap inputs
/// (ShapeError where an input word would be overwritten). In shapes, B is the size of the batch.
template <class Word>
class RnsOps : public Family {
 public:
  using Family::Family;
  using Tables = RnsTables<Word>;
  using Key = RnsSwitchKey<Word>;
  using Input = Slice<const Word>;
  using Output = Slice<Word>;

  /// Returns what the device fuses of the entries below, so that callers cut their work
  /// accordingly.
  RnsFusions fusions() const { return fused() ? fused()->fusions() : RnsFusions(); }

  std::unique_ptr<const Tables> prepare(std::shared_ptr<const ring::RnsPlan<Word>> plan) const;
  /// Prepares a conversion from at most ring::Basis::most primes.
  std::unique_ptr<const Conversion<Word>> prepare_conversion(
      const ring::BaseConversion<Word>& rule) const;
  std::unique_ptr<const Key> prepare_key(const Tables& tables, const ring::KeyLayout& layout,
                                         const RnsRowSource<Word>& rows) const;
  /// Prepares a key with the plan's usual layout.
  std::unique_ptr<const Key> prepare_key(const Tables& tables,
                                         const RnsRowSource<Word>& rows) const {
    return prepare_key(tables, tables.plan().key_layout(), rows);
  }

  /// Transforms of data (parts, basis, B, N), as RingOps::ntt and intt.
  void ntt(const Tables& tables, const ring::Basis& basis, std::size_t parts, Output data) const {
    transform_checked(tables, basis, true, parts, data);
  }
  void intt(const Tables& tables, const ring::Basis& basis, std::size_t parts, Output data) const {
    transform_checked(tables, basis, false, parts, data);
  }
  /// in (L, B, N), coefficient form modulo from(); out (K, B, N) modulo to(): what
  /// ring::BaseConversion says.
  void convert(const Conversion<Word>& conversion, std::uint32_t N, Input in, Output out) const;

  /// in (from, B, N); out (D, to, B, N): each of the D digits that `from` has of `digits`, a base
  /// conversion of its own limbs to the rest of `to`, which contains `from`. ModRaise is the case
  /// of one digit, all of `from`.
  void extend(const Tables& tables, const ring::Basis& from, std::span<const ring::Basis> digits,
              const ring::Basis& to, ring::Lift lift, Input in, Output out) const;
  /// in (parts, 1, B, N), out (parts, digits, 1, B, N) modulo the only prime of `basis`: the digits
  /// of each polynomial, whose coefficients are those digits of its coefficients, as ring::Gadget
  /// says. ParameterError unless the prime is the gadget's modulus.
  void decompose(const Tables& tables, const ring::Basis& basis, const ring::Gadget& gadget,
                 std::size_t parts, Input in, Output out) const;
  /// digits (D, rows, B, N), out (2, rows, B, N); the rows are `basis` and the key's special
  /// primes. out = sum_d digits_d(X^g)·key_d over the D digits of `basis`, which is a part of the
  /// key's chain. Part 0 uses the key's b, part 1 its a.
  void inner_product(const Key& key, const Tables& tables, const ring::Basis& basis,
                     std::uint32_t g, Input digits, Output out) const;
  /// The same with g = added.g, and weights·x(X^g) added to the first parts: x has one part or two,
  /// the batch of the digits, and rows as in `combine`. With `onto` all is added to the contents of
  /// `out`.
  void inner_product(const Key& key, const Tables& tables, const ring::Basis& basis, Input digits,
                     const ScaledTerm<Word>& added, bool onto, Output out) const;
  /// out = the inner product of what `extend` makes of `in`, (basis, B, N), with the digits of the
  /// key's layout and Lift::exact. A device may do without all digits in memory.
  void extended_product(const Key& key, const Tables& tables, const ring::Basis& basis,
                        std::uint32_t g, Input in, Output out) const {
    extended_product(key, tables, basis, in, {.x = {}, .over = {}, .g = g}, false, out);
  }
  /// The same with what inner_product adds. If added.x is empty, nothing is.
  void extended_product(const Key& key, const Tables& tables, const ring::Basis& basis, Input in,
                        const ScaledTerm<Word>& added, bool onto, Output out) const;
  /// Switches c = tensor(a, b), doubled or not, and with the constant in c_0: the result is
  /// extended_product of c_2, to which weights·(c_0, c_1) is added. out (2, rows, B, N). A device
  /// may do without c in memory.
  void switched_product(const Key& key, const Tables& tables, const ring::Basis& basis,
                        const FactorsOf<Word>& factors, Output out) const;
  /// out (terms, 2, rows, B, N): for each term inner_product(key_i, tables, basis, digits, added at
  /// X^(g_i), false, out_i). All keys have one layout, and added.g is 1. If added.x is empty,
  /// nothing is added.
  void inner_products(std::span<const TurnedKey<Word>> terms, const Tables& tables,
                      const ring::Basis& basis, Input digits, const ScaledTerm<Word>& added,
                      Output out) const;
  /// Makes sums over `basis` and the special primes of `layout`; out lies as `sums`, of two parts,
  /// says. A sum is that of y_i·m over the terms that have a factor m for it. y_i is
  /// inner_product(key_i, tables, basis, digits, added at X^(g_i)), or, for a term without a key,
  /// what is added alone. `added` has two parts, of which a key uses the first, and g = 1. All keys
  /// have `layout`; digits may be empty if there is none. With `onto` the sums are added to the
  /// contents of `out`.
  void sums_of_turned_products(const ring::KeyLayout& layout, const Tables& tables,
                               const ring::Basis& basis, const SumLayout& sums,
                               std::span<const TurnedProduct<Word>> terms, Input digits,
                               const ScaledTerm<Word>& added, bool onto, Output out) const;
  /// Adds up inner products of several polynomials, each at an X^g of its own. digits (D, rows, T,
  /// B, N) of T arrays, added (rows, T, B, N) or empty, out (2, rows, B, N). Term i takes array
  /// first + i: out = sum_i (inner_product(key_i, tables, basis, g_i, digits of it) + (added of it
  /// at X^(g_i), 0)) over one term or more. All keys have one layout. With `onto` the sum is added
  /// to the contents of `out`.
  void sum_of_inner_products(std::span<const TurnedKey<Word>> terms, const Tables& tables,
                             const ring::Basis& basis, Input digits, Input added, std::size_t first,
                             bool onto, Output out) const;
  /// in (parts, from, B, N), out (parts, to, B, N). D is the product of the primes that `to` lacks,
  /// and E that of the primes that only `to` has. y = (E·x - delta)/D, where delta = E·x mod D and
  /// delta = 0 mod t. |delta| is at most t·D/2, or (1 + 3·L·2^-F) times that, by the rounding of
  /// ring::BaseConversion from L primes with F fraction bits. If `to` has no new prime, this is
  /// mod_down or rescaling; otherwise it is rational rescaling (Cheddar: Choi, Kim, Ahn, ASPLOS
  /// 2026). `added` (k, to, B, N), 0 <= k <= parts, is then added at X^g to the first k parts; if
  /// g = 1 it may be the first parts of `out` themselves.
  void divide(const Tables& tables, const ring::Basis& from, const ring::Basis& to, std::uint64_t t,
              std::size_t parts, Input in, Input added, std::uint32_t g, Output out) const;
  void divide(const Tables& tables, const ring::Basis& from, const ring::Basis& to, std::uint64_t t,
              std::size_t parts, Input in, Output out) const {
    divide(tables, from, to, t, parts, in, {}, 1, out);
  }
  /// Ciphertexts as polynomials in the secret: a (m, basis, B, N), b (n, basis, B or 1, N),
  /// out (m + n - 1, basis, B, N): out_k = sum_i a_i·b_(k-i); one b is multiplied with every a.
  /// `a` may be `b`. With an end, all is doubled, and a constant is added to part 0.
  void tensor(const Tables& tables, const ring::Basis& basis, std::size_t a_parts, Input a,
              std::size_t b_parts, Input b, const TensorEnd<Word>& end, Output out) const;
  void tensor(const Tables& tables, const ring::Basis& basis, std::size_t a_parts, Input a,
              std::size_t b_parts, Input b, Output out) const {
    tensor(tables, basis, a_parts, a, b_parts, b, {}, out);
  }
  /// Makes sums of x_i(X^(g_i))·m_i over the terms of each; out lies as `sums` says, and there is
  /// at least one term. With `onto` the sums are added to the contents of `out`. A device may read
  /// an x that several sums share once for some of them.
  void sums_of_products(const Tables& tables, const ring::Basis& basis, const SumLayout& sums,
                        std::span<const ProductTerm<Word>> terms, bool onto, Output out) const;
  /// The same to one place after another, out (sums, parts, basis, B, N).
  void sums_of_products(const Tables& tables, const ring::Basis& basis, std::size_t sums,
                        std::size_t parts, std::span<const ProductTerm<Word>> terms, bool onto,
                        Output out) const {
    sums_of_products(tables, basis, {sums, parts, 0}, terms, onto, out);
  }
  /// out (parts, basis, B, N): sum_i weights_i·x_i(X^(g_i)) over one term or more. With `onto` the
  /// sum is added to the contents of `out`. `constant`, if there is one, is added to part 0: a
  /// residue modulo each prime of `basis`, reduced or not.
  void combine(const Tables& tables, const ring::Basis& basis, std::size_t parts,
               std::span<const ScaledTerm<Word>> terms, std::span<const Word> constant, bool onto,
               Output out) const;
  void combine(const Tables& tables, const ring::Basis& basis, std::size_t parts,
               std::span<const ScaledTerm<Word>> terms, bool onto, Output out) const {
    combine(tables, basis, parts, terms, {}, onto, out);
  }

  /// out (parts, basis, count, N): of y_j = sum_k W_jk·x_k, polynomials (parts, basis, M, B, N),
  /// those from `first` on of each row; the constant of row j is added to part 0 of y_j. M is the
  /// number of rows of W that they need. Weights and constants must be below their primes: `round`
  /// makes them so, with n = N and step 1.
  void weighted_sums(const Tables& tables, const ring::Basis& basis, std::size_t parts,
                     const WeightedSums<Word>& sums, Output out) const;

  /// Products of ciphertexts of two parts with sums of others, in evaluation form, added up: with
  /// arrays (2, basis, B, N) out_j (3, basis, B, N) = sum_h tensor(high_h, the sum of those low_l
  /// whose bit l is set in mask (j, h)). ParameterError for more than MaskedTensors::most arrays,
  /// and for a bit that stands for none.
  void masked_tensors(const Tables& tables, const ring::Basis& basis, const MaskedTensors<Word>& of,
                      std::span<const Output> out) const;

  /// in (B, n) reals, the coefficients of 1, Y, …, Y^(n-1), Y = X^(N/n); out (basis, B, N),
  /// coefficient form: for the powers of X that `step` divides, the integer next to scale·x modulo
  /// each prime, and 0 for the others. n and step are powers of two, N/n <= step <= N. scale·x is
  /// first rounded to a double; of two integers that are as near, the even one is taken. scale·x
  /// must be in [-2^63, 2^63): other numbers become some residues, which devices do not have in
  /// common. ParameterError unless the scale is positive and finite.
  void round(const Tables& tables, const ring::Basis& basis, double scale, std::uint32_t n,
             std::uint32_t step, Slice<const double> in, Output out) const;

 protected:
  /// What the device fuses; null: nothing.
  virtual const FusedRns<Word>* fused() const { return nullptr; }
  virtual std::unique_ptr<Tables> make_tables(
      std::shared_ptr<const ring::RnsPlan<Word>> plan) const = 0;
  virtual std::unique_ptr<Conversion<Word>> make_conversion(
      const ring::BaseConversion<Word>& rule) const = 0;
  virtual std::unique_ptr<Key> make_key(const Tables& tables, const ring::KeyLayout& layout,
                                        const RnsRowSource<Word>& rows) const = 0;
  virtual void transform(const Tables& tables, const ring::Basis& basis, bool forward,
                         std::size_t parts, std::size_t batch, Word* data) const = 0;
  virtual void run_conversion(const Conversion<Word>& conversion, std::uint32_t N,
                              std::size_t batch, const Word* in, Word* out) const = 0;
  virtual void run_extension(const Tables& tables, const Extension& extension, std::size_t batch,
                             const Word* in, Word* out) const = 0;
  /// `basis` has one prime.
  virtual void run_decomposition(const Tables& tables, const ring::Basis& basis,
                                 const ring::Gadget& gadget, std::size_t parts, std::size_t batch,
                                 const Word* in, Word* out) const = 0;
  virtual void run_inner_product(const Key& key, const Tables& tables, const InnerProduct& product,
                                 std::size_t batch, const Word* digits, Word* out) const = 0;
  virtual void run_sum_of_inner_products(const Tables& tables, const SumOfInnerProducts<Word>& sum,
                                         Word* out) const = 0;
  virtual void run_division(const Tables& tables, const Division& division, std::size_t parts,
                            std::size_t batch, const Word* in, std::span<const Word> added,
                            std::uint32_t g, Word* out) const = 0;
  /// `one_b`: b has a batch of 1. The end's constant is empty, or reduced.
  virtual void run_tensor(const Tables& tables, const ring::Basis& basis, std::size_t a_parts,
                          std::size_t b_parts, std::size_t batch, bool one_b, const Word* a,
                          const Word* b, const TensorEnd<Word>& end, Word* out) const = 0;
  virtual void run_products(const Tables& tables, const ring::Basis& basis, const SumLayout& sums,
                            std::size_t batch, std::span<const CheckedProduct<Word>> terms,
                            bool onto, Word* out) const = 0;
  /// `constant`: empty, or reduced residues.
  virtual void run_combination(const Tables& tables, const ring::Basis& basis, std::size_t parts,
                               std::size_t batch, std::span<const CheckedScaling<Word>> terms,
                               std::span<const Word> constant, bool onto, Word* out) const = 0;
  virtual void run_weighted_sums(const Tables& tables, const ring::Basis& basis, std::size_t parts,
                                 std::size_t count, const CheckedSums<Word>& sums,
                                 Word* out) const = 0;
  virtual void run_masked_tensors(const Tables& tables, const ring::Basis& basis, std::size_t batch,
                                  const CheckedMasks<Word>& of) const = 0;
  virtual void run_rounding(const Tables& tables, const ring::Basis& basis, double scale,
                            std::uint32_t n, std::uint32_t step, std::size_t batch,
                            const double* in, Word* out) const = 0;

 private:
  template <class>
  friend class RelayRns;

  // What FusedRns says: by the device's fused entry, or by the entries above.
  void run_inner_product_with(const Key& key, const Tables& tables, const InnerProduct& product,
                              std::size_t batch, const Word* digits, std::size_t parts,
                              const CheckedScaling<Word>& added, bool onto, Word* out) const;
  void run_extended_product(const Key& key, const Tables& tables, const Extension& extension,
                            const InnerProduct& product, std::size_t batch, const Word* in,
                            std::size_t parts, const CheckedScaling<Word>* added, bool onto,
                            Word* out) const;
  void run_switched_product(const Key& key, const Tables& tables, const Extension& extension,
                            const InnerProduct& product, std::size_t batch,
                            const CheckedFactors<Word>& factors, Word* out) const;
  void run_inner_products(std::span<const TurnedKey<Word>> terms, const Tables& tables,
                          const InnerProduct& product, std::size_t batch, const Word* digits,
                          std::size_t parts, const CheckedScaling<Word>* added, Word* out) const;
  void run_turned_products(std::span<const TurnedProduct<Word>> terms, const Tables& tables,
                           const InnerProduct& product, const SumLayout& sums, std::size_t batch,
                           const Word* digits, const CheckedScaling<Word>& added, bool onto,
                           Word* out) const;

  void transform_checked(const Tables& tables, const ring::Basis& basis, bool forward,
                         std::size_t parts, Output data) const;
  /// The part of the key that is used with `basis`; `what` names the entry in error texts.
  InnerProduct product_of(const char* what, const Key& key, const Tables& tables,
                          const ring::Basis& basis, std::uint32_t g) const;
  /// How an array over `basis` is decomposed for it.
  static Extension extension_of(const Key& key, const ring::Basis& basis,
                                const InnerProduct& product);
  /// The batch of `terms` inner products. ShapeError unless digits and output have it, apart.
  std::size_t inner_batch(const InnerProduct& product, const Tables& tables, std::size_t terms,
                          Input digits, Output out) const;
  /// What is added to the first parts of an inner product; sets their number.
  CheckedScaling<Word> checked_addend(const Tables& tables, const InnerProduct& product,
                                      std::size_t batch, const ScaledTerm<Word>& added, Output out,
                                      std::size_t& parts) const;
  /// ParameterError unless key number `term` of some is one, and has the layout of the first.
  static void check_key(const char* what, std::size_t term, const Key* key, const Key& first);
  CheckedScaling<Word> checked(const char* what, const Tables& tables, const ring::Basis& basis,
                               std::size_t parts, std::size_t batch, const ScaledTerm<Word>& term,
                               Output out) const;
  /// One residue for each prime of `basis`, reduced.
  std::vector<Word> reduced(const char* what, const Tables& tables, const ring::Basis& basis,
                            std::span<const Word> residues) const;
};

}  // namespace whorl::backend
