// The entries of RnsOps that a device may fuse: their checks, and the bodies for devices that do
// not. rns.cpp includes this.
#pragma once

#include <optional>
#include <string>

#include "backend/contract/rns.h"
#include "backend/contract/rns_checks.h"

namespace whorl::backend {

template <class Word>
void RnsOps<Word>::inner_product(const Key& key, const Tables& tables, const ring::Basis& basis,
                                 Input digits, const ScaledTerm<Word>& added, bool onto,
                                 Output out) const {
  this->check(digits, out);
  const InnerProduct product = product_of("inner_product", key, tables, basis, added.g);
  const std::size_t batch = inner_batch(product, tables, 1, digits, out);
  std::size_t parts = 0;
  const CheckedScaling<Word> term = checked_addend(tables, product, batch, added, out, parts);
  if (batch)
    run_inner_product_with(key, tables, product, batch, digits.data, parts, term, onto, out.data);
}

template <class Word>
CheckedScaling<Word> RnsOps<Word>::checked_addend(const Tables& tables, const InnerProduct& product,
                                                  std::size_t batch, const ScaledTerm<Word>& added,
                                                  Output out, std::size_t& parts) const {
  constexpr const char* what = "inner_product: what is added";
  tables.plan().check_basis(what, added.over);
  parts = added.x.size == added.over.size() * batch * tables.plan().N() ? 1 : 2;
  check_rows(what, added.x.size, parts * added.over.size(), batch, tables.plan().N());
  return checked(what, tables, product.rows, parts, batch, added, out);
}

template <class Word>
void RnsOps<Word>::run_inner_product_with(const Key& key, const Tables& tables,
                                          const InnerProduct& product, std::size_t batch,
                                          const Word* digits, std::size_t parts,
                                          const CheckedScaling<Word>& added, bool onto,
                                          Word* out) const {
  if (fused() &&
      fused()->inner_product_with(key, tables, product, batch, digits, parts, added, onto, out))
    return;
  const ring::Basis& rows = product.rows;
  if (onto) {
    auto inner = this->queue().template allocate<Word>(2 * rows.size() * batch * tables.plan().N());
    run_inner_product(key, tables, product, batch, digits, inner.slice().data);
    const CheckedScaling<Word> term = {inner.slice().data, rows, std::vector<Word>(rows.size(), 1),
                                       1};
    run_combination(tables, rows, 2, batch, std::span(&term, 1), {}, true, out);
  } else {
    run_inner_product(key, tables, product, batch, digits, out);
  }
  run_combination(tables, rows, parts, batch, std::span(&added, 1), {}, true, out);
}

template <class Word>
void RnsOps<Word>::extended_product(const Key& key, const Tables& tables, const ring::Basis& basis,
                                    Input in, const ScaledTerm<Word>& added, bool onto,
                                    Output out) const {
  constexpr const char* what = "extended_product";
  this->check(in, out);
  const InnerProduct product = product_of(what, key, tables, basis, added.g);
  const std::uint32_t N = tables.plan().N();
  const std::size_t batch = batch_of(what, in.size, basis.size(), N);
  check_rows("extended_product: output", out.size, 2 * product.rows.size(), batch, N);
  check_apart("extended_product: input", in, out);
  std::size_t parts = 0;
  std::optional<CheckedScaling<Word>> addend;
  if (added.x.size > 0) addend = checked_addend(tables, product, batch, added, out, parts);
  if (onto && !addend)
    throw ParameterError(std::string(what) + ": a sum is continued without anything that is added");
  if (batch)
    run_extended_product(key, tables, extension_of(key, basis, product), product, batch, in.data,
                         parts, addend ? &*addend : nullptr, onto, out.data);
}

template <class Word>
Extension RnsOps<Word>::extension_of(const Key& key, const ring::Basis& basis,
                                     const InnerProduct& product) {
  Extension extension{basis, product.rows, {}, ring::Lift::exact};
  for (const unsigned d : product.digits)
    extension.digits.push_back(key.layout().digits[d] & basis);
  return extension;
}

template <class Word>
void RnsOps<Word>::run_extended_product(const Key& key, const Tables& tables,
                                        const Extension& extension, const InnerProduct& product,
                                        std::size_t batch, const Word* in, std::size_t parts,
                                        const CheckedScaling<Word>* added, bool onto,
                                        Word* out) const {
  if (fused() && fused()->extended_product(key, tables, extension, product, batch, in, parts, added,
                                           onto, out))
    return;
  auto digits = this->queue().template allocate<Word>(product.digits.size() * product.rows.size() *
                                                      batch * tables.plan().N());
  run_extension(tables, extension, batch, in, digits.slice().data);
  if (added)
    run_inner_product_with(key, tables, product, batch, digits.slice().data, parts, *added, onto,
                           out);
  else
    run_inner_product(key, tables, product, batch, digits.slice().data, out);
}

template <class Word>
void RnsOps<Word>::switched_product(const Key& key, const Tables& tables, const ring::Basis& basis,
                                    const FactorsOf<Word>& factors, Output out) const {
  this->check(factors.a, factors.b, out);
  const InnerProduct product = product_of("switched_product", key, tables, basis, 1);
  const std::size_t limbs = basis.size(), N = tables.plan().N();
  const std::size_t batch =
      batch_of("switched_product: a", factors.a.size, 2 * limbs, tables.plan().N());
  const bool one = factors.b.size == 2 * limbs * N && batch != 1;
  if (!one) check_rows("switched_product: b", factors.b.size, 2 * limbs, batch, tables.plan().N());
  check_rows("switched_product: output", out.size, 2 * product.rows.size(), batch,
             tables.plan().N());
  check_apart("switched_product: a", factors.a, out);
  check_apart("switched_product: b", factors.b, out);
  CheckedFactors<Word> checked = {factors.a.data, factors.b.data, one, factors.doubled, {}, {}};
  if (!factors.constant.empty())
    checked.constant = reduced("residues of a constant", tables, basis, factors.constant);
  checked.weights = reduced("weights of a product", tables, product.rows, factors.weights);
  if (batch)
    run_switched_product(key, tables, extension_of(key, basis, product), product, batch, checked,
                         out.data);
}

template <class Word>
void RnsOps<Word>::run_switched_product(const Key& key, const Tables& tables,
                                        const Extension& extension, const InnerProduct& product,
                                        std::size_t batch, const CheckedFactors<Word>& factors,
                                        Word* out) const {
  if (fused() && fused()->switched_product(key, tables, extension, product, batch, factors, out))
    return;
  const std::size_t part = extension.from.size() * batch * tables.plan().N();
  auto c = this->queue().template allocate<Word>(3 * part);
  run_tensor(tables, extension.from, 2, 2, batch, factors.one, factors.a, factors.b,
             {factors.doubled, factors.constant}, c.slice().data);
  const CheckedScaling<Word> added = {c.slice().data, extension.from, factors.weights, 1};
  run_extended_product(key, tables, extension, product, batch, c.slice().data + 2 * part, 2, &added,
                       false, out);
}

template <class Word>
void RnsOps<Word>::inner_products(std::span<const TurnedKey<Word>> terms, const Tables& tables,
                                  const ring::Basis& basis, Input digits,
                                  const ScaledTerm<Word>& added, Output out) const {
  constexpr const char* what = "inner_products";
  this->check(digits, out);
  if (terms.empty() || !terms[0].key) throw ShapeError(std::string(what) + ": there is no term");
  const InnerProduct product = product_of(what, *terms[0].key, tables, basis, 1);
  const std::size_t batch = inner_batch(product, tables, terms.size(), digits, out);
  for (const TurnedKey<Word>& term : terms) {
    check_key(what, static_cast<std::size_t>(&term - terms.data()), term.key, *terms[0].key);
    product_of(what, *term.key, tables, basis, term.g);
  }
  if (added.g != 1)
    throw ParameterError(std::string(what) + ": what is added has g = " + std::to_string(added.g) +
                         "; it must be 1, since every term has its own");
  std::size_t parts = 0;
  std::optional<CheckedScaling<Word>> addend;
  if (added.x.size > 0) addend = checked_addend(tables, product, batch, added, out, parts);
  if (batch)
    run_inner_products(terms, tables, product, batch, digits.data, parts,
                       addend ? &*addend : nullptr, out.data);
}

template <class Word>
void RnsOps<Word>::run_inner_products(std::span<const TurnedKey<Word>> terms, const Tables& tables,
                                      const InnerProduct& product, std::size_t batch,
                                      const Word* digits, std::size_t parts,
                                      const CheckedScaling<Word>* added, Word* out) const {
  if (fused() && fused()->inner_products(terms, tables, product, batch, digits, parts, added, out))
    return;
  InnerProduct each = product;
  CheckedScaling<Word> turned = added ? *added : CheckedScaling<Word>();
  for (const TurnedKey<Word>& term : terms) {
    each.g = turned.g = term.g;
    if (added)
      run_inner_product_with(*term.key, tables, each, batch, digits, parts, turned, false, out);
    else
      run_inner_product(*term.key, tables, each, batch, digits, out);
    out += 2 * product.rows.size() * batch * tables.plan().N();
  }
}

template <class Word>
void RnsOps<Word>::sums_of_turned_products(const ring::KeyLayout& layout, const Tables& tables,
                                           const ring::Basis& basis, const SumLayout& sums,
                                           std::span<const TurnedProduct<Word>> terms, Input digits,
                                           const ScaledTerm<Word>& added, bool onto,
                                           Output out) const {
  const std::string what = "sums_of_turned_products";
  this->check(digits, out);
  this->check_owner("RNS tables", tables);
  const ring::RnsPlan<Word>& plan = tables.plan();
  plan.check_layout(what.c_str(), layout);
  check_part(what.c_str(), basis, "the keys' chain", layout.chain);
  if (sums.parts != 2 || sums.sums == 0 || sums.batched > sums.sums || terms.empty())
    throw ShapeError(
        what + ": " + std::to_string(sums.sums) + " sums of " + std::to_string(sums.parts) +
        " parts, of which " + std::to_string(sums.batched) + " lie as a batch, have " +
        std::to_string(terms.size()) + " terms; there must be a sum of 2 parts, and a term");
  InnerProduct product{basis | layout.special, {}, 1};
  for (unsigned d = 0; d < layout.digits.size(); ++d)
    if (!(layout.digits[d] & basis).empty()) product.digits.push_back(d);
  const std::size_t rows = product.rows.size();
  const std::size_t batch = batch_of(what.c_str(), out.size, sums.sums * 2 * rows, plan.N());
  bool switches = false;
  const auto in_term = [&](const TurnedProduct<Word>& term, const std::string& wrong) {
    return what + ": term " + std::to_string(&term - terms.data()) + " has " + wrong;
  };
  for (const TurnedProduct<Word>& term : terms) {
    if (term.key) {
      switches = true;
      product_of(what.c_str(), *term.key, tables, basis, term.g);
      if (!(term.key->layout() == layout))
        throw ParameterError(in_term(term, "a key of another layout"));
    } else if (term.g != 1) {
      throw ParameterError(in_term(term, "g = " + std::to_string(term.g) + " and no key"));
    }
    std::vector<bool> has(sums.sums);
    for (const auto& factor : term.factors) {
      this->check(factor.m);
      if (factor.sum >= sums.sums || has[factor.sum])
        throw ShapeError(in_term(term, "a factor for sum " + std::to_string(factor.sum) +
                                           "; there are " + std::to_string(sums.sums) +
                                           ", with a factor each"));
      has[factor.sum] = true;
      plan.check_basis(what.c_str(), factor.over);
      check_part(what.c_str(), product.rows, "a factor's", factor.over);
      is_one_factor("sums_of_turned_products: m", factor.m.size, factor.over.size(), batch,
                    plan.N(), factor.log_repeats);
      check_apart("sums_of_turned_products: m", factor.m, out);
    }
  }
  if (switches)
    check_rows("sums_of_turned_products: digits", digits.size, product.digits.size() * rows, batch,
               plan.N());
  check_apart("sums_of_turned_products: digits", digits, out);
  if (added.g != 1)
    throw ParameterError(what + ": what is added has g = " + std::to_string(added.g) +
                         "; it must be 1, since every term has its own");
  check_rows("sums_of_turned_products: what is added", added.x.size, 2 * added.over.size(), batch,
             plan.N());
  const CheckedScaling<Word> addend =
      checked(what.c_str(), tables, product.rows, 2, batch, added, out);
  if (batch)
    run_turned_products(terms, tables, product, sums, batch, digits.data, addend, onto, out.data);
}

template <class Word>
void RnsOps<Word>::run_turned_products(std::span<const TurnedProduct<Word>> terms,
                                       const Tables& tables, const InnerProduct& product,
                                       const SumLayout& sums, std::size_t batch, const Word* digits,
                                       const CheckedScaling<Word>& added, bool onto,
                                       Word* out) const {
  if (fused() &&
      fused()->turned_products(terms, tables, product, sums, batch, digits, added, onto, out))
    return;
  const std::size_t N = tables.plan().N(), part = product.rows.size() * batch * N;
  auto turned = this->queue().template allocate<Word>(2 * part);
  InnerProduct each = product;
  CheckedScaling<Word> addend = added;
  bool begun = onto;
  for (const TurnedProduct<Word>& term : terms) {
    Word* const y = turned.slice().data;
    each.g = addend.g = term.g;
    if (term.key)
      run_inner_product_with(*term.key, tables, each, batch, digits, 1, addend, false, y);
    else
      run_combination(tables, product.rows, 2, batch, std::span(&addend, 1), {}, false, y);
    std::vector<CheckedProduct<Word>> products;
    for (const auto& factor : term.factors)
      products.push_back({y, factor.m.data, factor.over, 1, factor.sum,
                          batch != 1 && factor.is_one(N), factor.log_repeats});
    if (products.empty() && begun) continue;
    run_products(tables, product.rows, sums, batch, products, begun, out);
    begun = true;
  }
}

}  // namespace whorl::backend
