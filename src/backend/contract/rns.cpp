#include "backend/contract/rns.h"

#include <bit>
#include <cmath>
#include <optional>
#include <string>

#include "ring/automorphism.h"

namespace whorl::backend {

namespace {

/// B for an array of (rows, B, N).
std::size_t batch_of(const char* what, std::size_t size, std::size_t rows, std::uint32_t N) {
  if (rows == 0) throw ShapeError(std::string(what) + ": there is no part");
  if (size % (rows * N) != 0)
    throw ShapeError(std::string(what) + ": " + std::to_string(size) + " residues are not " +
                     std::to_string(rows) + " rows of a batch of polynomials of " +
                     std::to_string(N));
  return size / (rows * N);
}

void check_rows(const char* what, std::size_t size, std::size_t rows, std::size_t batch,
                std::uint32_t N) {
  if (size != rows * batch * N)
    throw ShapeError(std::string(what) + " has " + std::to_string(size) +
                     " residues; it must have " + std::to_string(rows) + " rows of " +
                     std::to_string(batch) + " polynomials of " + std::to_string(N));
}

/// Whether a factor is one polynomial for all of a batch. ParameterError for a period that it
/// cannot have; ShapeError unless it is one, or one for each.
bool is_one_factor(const char* what, std::size_t size, std::size_t rows, std::size_t batch,
                   std::uint32_t N, unsigned log_repeats) {
  const auto log_N = static_cast<unsigned>(std::bit_width(N) - 1);
  if (log_repeats == 1 || log_repeats > log_N)
    throw ParameterError(std::string(what) + ": log_repeats = " + std::to_string(log_repeats) +
                         " is neither 0 nor in 2 … log2(N) = " + std::to_string(log_N));
  const std::uint32_t stored = N >> log_repeats;
  if (size == rows * stored) return true;
  check_rows(what, size, rows, batch, stored);
  return false;
}

template <class Word>
void check_exponent(const char* what, const ring::RnsPlan<Word>& plan, std::uint32_t g) {
  if (g % 2 == 0 || g >= 2 * plan.N())
    throw ParameterError(std::string(what) + ": g = " + std::to_string(g) +
                         " is not odd and below 2N = " + std::to_string(2 * plan.N()));
}

/// ParameterError unless `part` is a part of `whole`.
void check_part(const char* what, const ring::Basis& part, const char* of,
                const ring::Basis& whole) {
  if (!whole.includes(part))
    throw ParameterError(std::string(what) + ": primes " + (part - whole).describe() +
                         " are not of " + of + ", " + whole.describe());
}

/// What is to be added to a division's output must lie apart from it, or where it is added.
template <class Word>
void check_added(std::size_t parts, std::size_t part, std::span<const Word> added, std::uint32_t g,
                 std::span<const Word> out) {
  if (added.size() > out.size() || (part > 0 && added.size() % part != 0))
    throw ShapeError("divide: " + std::to_string(added.size()) +
                     " residues are to be added; they must be whole parts of " +
                     std::to_string(part) + " residues, at most " + std::to_string(parts) +
                     " of them");
  if (!apart(added.data(), added.size_bytes(), out.data(), out.size_bytes()) &&
      (g != 1 || added.data() != out.data()))
    throw ShapeError(
        "divide: what is to be added lies in the output, but " +
        (g == 1 ? std::string("not where it is added") : "g = " + std::to_string(g) + " is not 1"));
}

}  // namespace

template <class Word>
std::unique_ptr<const RnsTables<Word>> RnsOps<Word>::prepare(
    std::shared_ptr<const ring::RnsPlan<Word>> plan) const {
  if (!plan) throw ParameterError("prepare: there is no plan");
  return this->own(make_tables(std::move(plan)));
}

template <class Word>
std::unique_ptr<const Conversion<Word>> RnsOps<Word>::prepare_conversion(
    const ring::BaseConversion<Word>& rule) const {
  if (rule.from().size() > ring::Basis::most)
    throw ParameterError("base conversion is from " + std::to_string(rule.from().size()) +
                         " primes; it may be from at most " + std::to_string(ring::Basis::most));
  return this->own(make_conversion(rule));
}

template <class Word>
std::unique_ptr<const RnsSwitchKey<Word>> RnsOps<Word>::prepare_key(
    const Tables& tables, const ring::KeyLayout& layout, const RnsRowSource<Word>& rows) const {
  this->check_owner("RNS tables", tables);
  tables.plan().check_layout("prepare_key", layout);
  return this->own(make_key(tables, layout, rows));
}

template <class Word>
void RnsOps<Word>::transform_checked(const Tables& tables, const ring::Basis& basis, bool forward,
                                     std::size_t parts, Output data) const {
  this->check(data);
  this->check_owner("RNS tables", tables);
  tables.plan().check_basis("rns_ntt", basis);
  const std::size_t batch = batch_of("rns_ntt", data.size, parts * basis.size(), tables.plan().N());
  if (batch) transform(tables, basis, forward, parts, batch, data.data);
}

template <class Word>
void RnsOps<Word>::convert(const Conversion<Word>& conversion, std::uint32_t N, Input in,
                           Output out) const {
  this->check(in, out);
  this->check_owner("conversions", conversion);
  ring::check_ring_dimension(N);
  const ring::BaseConversion<Word>& rule = conversion.rule();
  const std::size_t batch = batch_of("convert", in.size, rule.from().size(), N);
  check_rows("convert: output", out.size, rule.to().size(), batch, N);
  check_apart("convert: input", in, out);
  if (batch && !rule.to().empty()) run_conversion(conversion, N, batch, in.data, out.data);
}

template <class Word>
void RnsOps<Word>::extend(const Tables& tables, const ring::Basis& from,
                          std::span<const ring::Basis> digits, const ring::Basis& to,
                          ring::Lift lift, Input in, Output out) const {
  this->check(in, out);
  this->check_owner("RNS tables", tables);
  const ring::RnsPlan<Word>& plan = tables.plan();
  plan.check_basis("extend", from);
  plan.check_basis("extend", to);
  check_part("extend", from, "what it is extended to", to);
  Extension extension{from, to, {}, lift};
  extension.digits.reserve(digits.size());
  ring::Basis seen;
  for (const ring::Basis& digit : digits) {
    const ring::Basis own = digit & from;
    if (own.empty()) continue;
    if (!(seen & own).empty())
      throw ParameterError("extend: digits share primes " + (seen & own).describe());
    seen = seen | own;
    extension.digits.push_back(own);
  }
  check_part("extend", from, "the digits", seen);
  const std::size_t batch = batch_of("extend", in.size, from.size(), plan.N());
  check_rows("extend: output", out.size, extension.digits.size() * to.size(), batch, plan.N());
  check_apart("extend: input", in, out);
  if (batch) run_extension(tables, extension, batch, in.data, out.data);
}

template <class Word>
InnerProduct RnsOps<Word>::product_of(const char* what, const Key& key, const Tables& tables,
                                      const ring::Basis& basis, std::uint32_t g) const {
  this->check_owner("switching keys", key);
  this->check_owner("RNS tables", tables);
  const ring::RnsPlan<Word>& plan = tables.plan();
  if (&key.plan() != &plan)
    throw ParameterError(std::string(what) + ": the key was prepared with another plan's tables");
  plan.check_basis(what, basis);
  check_part(what, basis, "the key's chain", key.layout().chain);
  check_exponent(what, plan, g);
  InnerProduct product{basis | key.layout().special, {}, g};
  product.digits.reserve(key.layout().digits.size());
  for (unsigned d = 0; d < key.layout().digits.size(); ++d)
    if (!(key.layout().digits[d] & basis).empty()) product.digits.push_back(d);
  return product;
}

template <class Word>
std::size_t RnsOps<Word>::inner_batch(const InnerProduct& product, const Tables& tables,
                                      std::size_t terms, Input digits, Output out) const {
  const std::uint32_t N = tables.plan().N();
  const std::size_t rows = product.rows.size();
  const std::size_t batch = batch_of("inner_product", digits.size, product.digits.size() * rows, N);
  check_rows("inner_product: output", out.size, terms * 2 * rows, batch, N);
  check_apart("inner_product: digits", digits, out);
  return batch;
}

template <class Word>
void RnsOps<Word>::inner_product(const Key& key, const Tables& tables, const ring::Basis& basis,
                                 std::uint32_t g, Input digits, Output out) const {
  this->check(digits, out);
  const InnerProduct product = product_of("inner_product", key, tables, basis, g);
  const std::size_t batch = inner_batch(product, tables, 1, digits, out);
  if (batch) run_inner_product(key, tables, product, batch, digits.data, out.data);
}

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
  const std::size_t part = extension.from.size() * batch * tables.plan().N();
  auto c = this->queue().template allocate<Word>(3 * part);
  run_tensor(tables, extension.from, 2, 2, batch, factors.one, factors.a, factors.b,
             {factors.doubled, factors.constant}, c.slice().data);
  const CheckedScaling<Word> added = {c.slice().data, extension.from, factors.weights, 1};
  run_extended_product(key, tables, extension, product, batch, c.slice().data + 2 * part, 2, &added,
                       false, out);
}

template <class Word>
void RnsOps<Word>::check_key(const char* what, std::size_t term, const Key* key, const Key& first) {
  if (!key || !(key->layout() == first.layout()))
    throw ParameterError(std::string(what) + ": term " + std::to_string(term) +
                         " has a key of another layout than term 0");
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

template <class Word>
void RnsOps<Word>::sum_of_inner_products(std::span<const TurnedKey<Word>> terms,
                                         const Tables& tables, const ring::Basis& basis,
                                         Input digits, Input added, std::size_t first, bool onto,
                                         Output out) const {
  constexpr const char* what = "sum_of_inner_products";
  this->check(digits, added, out);
  if (terms.empty() || !terms[0].key) throw ShapeError(std::string(what) + ": there is no term");
  const InnerProduct product = product_of(what, *terms[0].key, tables, basis, 1);
  for (const TurnedKey<Word>& term : terms) {
    check_key(what, static_cast<std::size_t>(&term - terms.data()), term.key, *terms[0].key);
    product_of(what, *term.key, tables, basis, term.g);
  }
  const std::uint32_t N = tables.plan().N();
  const std::size_t rows = product.rows.size();
  const std::size_t batch = batch_of(what, out.size, 2 * rows, N);
  const std::size_t all = batch_of(what, digits.size, product.digits.size() * rows, N),
                    of = batch == 0 ? 0 : all / batch;
  if (all != of * batch || first > of || terms.size() > of - first)
    throw ShapeError(std::string(what) + ": " + std::to_string(terms.size()) +
                     " terms from array " + std::to_string(first) + " on meet digits of " +
                     std::to_string(all) + " polynomials, in batches of " + std::to_string(batch) +
                     "; each term needs a batch");
  if (added.size > 0) check_rows("sum_of_inner_products: what is added", added.size, rows, all, N);
  check_apart("sum_of_inner_products: digits", digits, out);
  check_apart("sum_of_inner_products: what is added", added, out);
  if (batch)
    run_sum_of_inner_products(terms, tables, product, batch, of, first, digits.data,
                              added.size > 0 ? added.data : nullptr, onto, out.data);
}

template <class Word>
void RnsOps<Word>::weighted_inner_products(std::span<const WeightedKey<Word>> terms,
                                           const Tables& tables, const ring::Basis& basis,
                                           Input digits, bool onto, Output out) const {
  constexpr const char* what = "weighted_inner_products";
  this->check(digits, out);
  if (terms.empty() || !terms[0].key) throw ShapeError(std::string(what) + ": there is no term");
  const InnerProduct product = product_of(what, *terms[0].key, tables, basis, terms[0].g);
  const std::uint32_t N = tables.plan().N();
  const std::size_t rows = product.rows.size();
  const std::size_t batch = batch_of(what, digits.size, product.digits.size() * rows, N);
  check_rows("weighted_inner_products: output", out.size, 2 * rows, batch, N);
  check_apart("weighted_inner_products: digits", digits, out);
  std::vector<WeightedTerm> checked;
  checked.reserve(terms.size());
  for (const WeightedKey<Word>& term : terms) {
    this->check(term.weight);
    check_key(what, checked.size(), term.key, *terms[0].key);
    product_of(what, *term.key, tables, basis, term.g);
    const bool one = is_one_factor("weighted_inner_products: weight", term.weight.size, rows, batch,
                                   N, term.log_repeats);
    check_apart("weighted_inner_products: weight", term.weight, out);
    checked.push_back({term.key, term.g, one && batch != 1, term.weight.data, term.log_repeats});
  }
  if (batch) run_weighted(checked, tables, product, batch, digits.data, onto, out.data);
}

template <class Word>
void RnsOps<Word>::run_weighted(std::span<const WeightedTerm> terms, const Tables& tables,
                                const InnerProduct& product, std::size_t batch, const Word* digits,
                                bool onto, Word* out) const {
  const std::size_t part = product.rows.size() * batch * tables.plan().N();
  auto inner = this->queue().template allocate<Word>(2 * part);
  InnerProduct each = product;
  for (const WeightedTerm& term : terms) {
    each.g = term.g;
    run_inner_product(*term.key, tables, each, batch, digits, inner.slice().data);
    const CheckedProduct<Word> weighted = {inner.slice().data, term.weight,     product.rows, 1, 0,
                                           term.one,           term.log_repeats};
    run_products(tables, product.rows, {1, 2, 0}, batch, std::span(&weighted, 1),
                 onto || &term != terms.data(), out);
  }
}

template <class Word>
void RnsOps<Word>::divide(const Tables& tables, const ring::Basis& from, const ring::Basis& to,
                          std::uint64_t t, std::size_t parts, Input in, Input added,
                          std::uint32_t g, Output out) const {
  this->check(in, added, out);
  this->check_owner("RNS tables", tables);
  const ring::RnsPlan<Word>& plan = tables.plan();
  plan.check_basis("divide", from);
  plan.check_basis("divide", to);
  check_exponent("divide", plan, g);
  const Division division{from, to, t};
  if (division.dropped().empty())
    throw ParameterError("divide: from " + from.describe() + " to " + to.describe() +
                         " no prime is dropped");
  division.dropped().for_each([&](unsigned i) {
    if (t % plan.moduli()[i].value() == 0)
      throw ParameterError("divide: t = " + std::to_string(t) + " is a multiple of prime " +
                           std::to_string(plan.moduli()[i].value()));
  });
  const std::size_t batch = batch_of("divide", in.size, parts * from.size(), plan.N());
  check_rows("divide: output", out.size, parts * to.size(), batch, plan.N());
  check_apart("divide: input", in, out);
  check_added<Word>(parts, to.size() * batch * plan.N(), {added.data, added.size}, g,
                    {out.data, out.size});
  if (batch)
    run_division(tables, division, parts, batch, in.data, {added.data, added.size}, g, out.data);
}

template <class Word>
void RnsOps<Word>::tensor(const Tables& tables, const ring::Basis& basis, std::size_t a_parts,
                          Input a, std::size_t b_parts, Input b, const TensorEnd<Word>& end,
                          Output out) const {
  this->check(a, b, out);
  this->check_owner("RNS tables", tables);
  const ring::RnsPlan<Word>& plan = tables.plan();
  plan.check_basis("tensor", basis);
  const std::size_t limbs = basis.size(), N = plan.N();
  const std::size_t batch = batch_of("tensor: a", a.size, a_parts * limbs, plan.N());
  if (b_parts == 0) throw ShapeError("tensor: there is no part");
  if (b.size != b_parts * limbs * N)
    check_rows("tensor: b", b.size, b_parts * limbs, batch, plan.N());
  check_rows("tensor: output", out.size, (a_parts + b_parts - 1) * limbs, batch, plan.N());
  const bool one_b = b.size < b_parts * limbs * batch * N;
  check_apart("tensor: a", a, out);
  check_apart("tensor: b", b, out);
  TensorEnd<Word> checked = end;
  std::vector<Word> constant;
  if (!end.constant.empty())
    checked.constant = constant = reduced("residues of a constant", tables, basis, end.constant);
  if (end.added_parts > 0) {
    this->check(end.added);
    if (end.added_parts > a_parts + b_parts - 1)
      throw ShapeError("tensor: " + std::to_string(end.added_parts) +
                       " parts are added to a product of " + std::to_string(a_parts + b_parts - 1));
    check_rows("tensor: what is added", end.added.size, end.added_parts * limbs, batch, plan.N());
    check_apart("tensor: what is added", end.added, out);
  }
  if (batch)
    run_tensor(tables, basis, a_parts, b_parts, batch, one_b, a.data, b.data, checked, out.data);
}

template <class Word>
void RnsOps<Word>::sums_of_products(const Tables& tables, const ring::Basis& basis,
                                    const SumLayout& sums, std::span<const ProductTerm<Word>> terms,
                                    bool onto, Output out) const {
  constexpr const char* what = "sums_of_products";
  this->check(out);
  this->check_owner("RNS tables", tables);
  const ring::RnsPlan<Word>& plan = tables.plan();
  plan.check_basis(what, basis);
  if (terms.empty()) throw ShapeError(std::string(what) + ": there is no term");
  if (sums.batched > sums.sums)
    throw ShapeError(std::string(what) + ": " + std::to_string(sums.batched) +
                     " sums lie as a batch; there are " + std::to_string(sums.sums));
  const std::size_t rows = sums.parts * basis.size();
  const std::size_t batch = batch_of(what, out.size, sums.sums * rows, plan.N());
  std::vector<CheckedProduct<Word>> checked;
  checked.reserve(terms.size());
  for (const ProductTerm<Word>& term : terms) {
    this->check(term.x, term.m);
    if (term.sum >= sums.sums)
      throw ShapeError(std::string(what) + ": a term belongs to sum " + std::to_string(term.sum) +
                       "; there are " + std::to_string(sums.sums));
    check_exponent(what, plan, term.g);
    plan.check_basis(what, term.over);
    check_part(what, basis, "a factor's", term.over);
    check_rows("sums_of_products: x", term.x.size, rows, batch, plan.N());
    const bool one = is_one_factor("sums_of_products: m", term.m.size, term.over.size(), batch,
                                   plan.N(), term.log_repeats);
    check_apart("sums_of_products: x", term.x, out);
    check_apart("sums_of_products: m", term.m, out);
    checked.push_back(
        {term.x.data, term.m.data, term.over, term.g, term.sum, one, term.log_repeats});
  }
  if (batch) run_products(tables, basis, sums, batch, checked, onto, out.data);
}

template <class Word>
void RnsOps<Word>::combine(const Tables& tables, const ring::Basis& basis, std::size_t parts,
                           std::span<const ScaledTerm<Word>> terms, std::span<const Word> constant,
                           bool onto, Output out) const {
  constexpr const char* what = "combine";
  this->check(out);
  this->check_owner("RNS tables", tables);
  const ring::RnsPlan<Word>& plan = tables.plan();
  plan.check_basis(what, basis);
  if (terms.empty()) throw ShapeError(std::string(what) + ": there is no term");
  const std::size_t batch = batch_of(what, out.size, parts * basis.size(), plan.N());
  std::vector<CheckedScaling<Word>> all;
  all.reserve(terms.size());
  for (const ScaledTerm<Word>& term : terms)
    all.push_back(checked(what, tables, basis, parts, batch, term, out));
  std::vector<Word> more;
  if (!constant.empty()) more = reduced("residues of a constant", tables, basis, constant);
  if (batch) run_combination(tables, basis, parts, batch, all, more, onto, out.data);
}

template <class Word>
void RnsOps<Word>::round(const Tables& tables, const ring::Basis& basis, double scale,
                         std::uint32_t n, std::uint32_t step, Slice<const double> in,
                         Output out) const {
  this->check(in);
  this->check(out);
  this->check_owner("RNS tables", tables);
  const ring::RnsPlan<Word>& plan = tables.plan();
  plan.check_basis("round", basis);
  if (!(scale > 0 && std::isfinite(scale)))
    throw ParameterError("round: scale = " + std::to_string(scale) + " is not positive and finite");
  if (!std::has_single_bit(n) || n > plan.N())
    throw ParameterError(
        "round: polynomials of n = " + std::to_string(n) +
        " coefficients; n must be a power of two up to N = " + std::to_string(plan.N()));
  if (!std::has_single_bit(step) || step < plan.N() / n || step > plan.N())
    throw ParameterError("round: step = " + std::to_string(step) +
                         " is not a power of two in N/n = " + std::to_string(plan.N() / n) +
                         " … N = " + std::to_string(plan.N()));
  const std::size_t batch = this->rows_of("round", in.size, n);
  check_rows("round: output", out.size, basis.size(), batch, plan.N());
  check_apart("round: input", in, out);
  if (batch) run_rounding(tables, basis, scale, n, step, batch, in.data, out.data);
}

template <class Word>
CheckedScaling<Word> RnsOps<Word>::checked(const char* what, const Tables& tables,
                                           const ring::Basis& basis, std::size_t parts,
                                           std::size_t batch, const ScaledTerm<Word>& term,
                                           Output out) const {
  const ring::RnsPlan<Word>& plan = tables.plan();
  this->check(term.x);
  check_exponent(what, plan, term.g);
  plan.check_basis(what, term.over);
  const bool one = term.x.size == parts * term.over.size() * plan.N();
  if (!one) check_rows(what, term.x.size, parts * term.over.size(), batch, plan.N());
  check_apart(what, term.x, out);
  std::vector<Word> weights(basis.size(), 1);
  if (!term.weights.empty()) weights = reduced("weights of a term", tables, basis, term.weights);
  return {term.x.data, term.over, std::move(weights), term.g, one && batch != 1};
}

template <class Word>
std::vector<Word> RnsOps<Word>::reduced(const char* what, const Tables& tables,
                                        const ring::Basis& basis,
                                        std::span<const Word> residues) const {
  const auto moduli = tables.plan().moduli_of(basis);
  this->check_size(what, residues.size(), moduli.size());
  std::vector<Word> out;
  for (std::size_t l = 0; l < moduli.size(); ++l) out.push_back(moduli[l].reduce(residues[l]));
  return out;
}

template class RnsOps<std::uint32_t>;
template class RnsOps<std::uint64_t>;

}  // namespace whorl::backend
