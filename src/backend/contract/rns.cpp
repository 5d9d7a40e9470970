#include "backend/contract/rns.h"

#include <bit>
#include <cmath>
#include <string>

#include "backend/contract/rns_checks.h"
#include "backend/contract/rns_fusions-inl.h"

namespace whorl::backend {

namespace {

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
void RnsOps<Word>::decompose(const Tables& tables, const ring::Basis& basis,
                             const ring::Gadget& gadget, std::size_t parts, Input in,
                             Output out) const {
  this->check(in, out);
  this->check_owner("RNS tables", tables);
  const ring::RnsPlan<Word>& plan = tables.plan();
  plan.check_basis("decompose", basis);
  if (basis.size() != 1 || plan.moduli_of(basis)[0].value() != gadget.modulus())
    throw ParameterError("decompose: a gadget of modulus " + std::to_string(gadget.modulus()) +
                         " meets the primes " + basis.describe() +
                         "; there must be one prime, and it must be that modulus");
  const std::size_t batch = batch_of("decompose", in.size, parts, plan.N());
  check_rows("decompose: output", out.size, parts * gadget.digits(), batch, plan.N());
  check_apart("decompose: input", in, out);
  if (batch) run_decomposition(tables, basis, gadget, parts, batch, in.data, out.data);
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
void RnsOps<Word>::check_key(const char* what, std::size_t term, const Key* key, const Key& first) {
  if (!key || !(key->layout() == first.layout()))
    throw ParameterError(std::string(what) + ": term " + std::to_string(term) +
                         " has a key of another layout than term 0");
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
    run_sum_of_inner_products(tables,
                              {terms, product, batch, of, first, digits.data,
                               added.size > 0 ? added.data : nullptr, onto},
                              out.data);
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
    const bool one_x = term.x.size == rows * plan.N();
    if (!one_x) check_rows("sums_of_products: x", term.x.size, rows, batch, plan.N());
    const bool one = is_one_factor("sums_of_products: m", term.m.size, term.over.size(), batch,
                                   plan.N(), term.log_repeats);
    check_apart("sums_of_products: x", term.x, out);
    check_apart("sums_of_products: m", term.m, out);
    checked.push_back({term.x.data, term.m.data, term.over, term.g, term.sum, one, term.log_repeats,
                       one_x && batch != 1});
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
void RnsOps<Word>::weighted_sums(const Tables& tables, const ring::Basis& basis, std::size_t parts,
                                 const WeightedSums<Word>& sums, Output out) const {
  constexpr const char* what = "weighted_sums";
  this->check(out);
  this->check(sums.x, sums.weights);
  this->check_owner("RNS tables", tables);
  const ring::RnsPlan<Word>& plan = tables.plan();
  plan.check_basis(what, basis);
  if (sums.inputs == 0) throw ShapeError("weighted_sums: there is no input");
  const std::size_t rows = basis.size(), K = sums.inputs;
  const std::size_t count = batch_of("weighted_sums: output", out.size, parts * rows, plan.N()),
                    B = batch_of("weighted_sums: x", sums.x.size, parts * rows * K, plan.N());
  if (sums.first >= std::max<std::size_t>(B, 1))
    throw ShapeError("weighted_sums: first = " + std::to_string(sums.first) +
                     " is not below the batch of the inputs, " + std::to_string(B));
  if (count == 0) return;
  if (B == 0) throw ShapeError("weighted_sums: the inputs are empty");
  const std::size_t M = (sums.first + count + B - 1) / B, stride = sums.weights.size / rows;
  if (sums.weights.size % rows != 0 || stride / K < M)
    throw ShapeError("weighted_sums: " + std::to_string(sums.weights.size) + " weights are not " +
                     std::to_string(rows) + " rows of " + std::to_string(M) + " times " +
                     std::to_string(K) + " or more");
  if (sums.constants.size != 0) {
    this->check(sums.constants);
    this->check_size("constants of weighted_sums", sums.constants.size, rows * M);
    check_apart("weighted_sums: constants", sums.constants, out);
  }
  check_apart("weighted_sums: x", sums.x, out);
  check_apart("weighted_sums: weights", sums.weights, out);
  run_weighted_sums(
      tables, basis, parts, count,
      {sums.x.data, sums.weights.data, sums.constants.size == 0 ? nullptr : sums.constants.data,
       stride, K, B, sums.first, M},
      out.data);
}

template <class Word>
void RnsOps<Word>::masked_tensors(const Tables& tables, const ring::Basis& basis,
                                  const MaskedTensors<Word>& of,
                                  std::span<const Output> out) const {
  constexpr const char* what = "masked_tensors";
  this->check_owner("RNS tables", tables);
  const ring::RnsPlan<Word>& plan = tables.plan();
  plan.check_basis(what, basis);
  const std::size_t H = of.high.size(), L = of.low.size(), most = MaskedTensors<Word>::most;
  if (H < 1 || H > most || L < 1 || L > most)
    throw ParameterError("masked_tensors: there are " + std::to_string(H) + " high arrays and " +
                         std::to_string(L) + " low ones; of each there must be 1 … " +
                         std::to_string(most));
  if (of.masks.size() != out.size() * H)
    throw ShapeError("masked_tensors: there are " + std::to_string(of.masks.size()) +
                     " masks for " + std::to_string(out.size()) + " outputs of " +
                     std::to_string(H) + " masks each");
  for (std::size_t i = 0; i < of.masks.size(); ++i)
    if (of.masks[i] >> L != 0)
      throw ParameterError("masked_tensors: mask " + std::to_string(i % H) + " of output " +
                           std::to_string(i / H) + " is " + std::to_string(of.masks[i]) +
                           ", and there are " + std::to_string(L) +
                           " low arrays: it must be below " + std::to_string(std::size_t{1} << L));
  const std::size_t rows = basis.size(),
                    batch = batch_of("masked_tensors: high 0", of.high[0].size, 2 * rows, plan.N());
  const auto pointers = [&](const char* name, std::span<const Input> arrays) {
    std::vector<const Word*> all;
    for (const Input& in : arrays) {
      this->check(in);
      check_rows(name, in.size, 2 * rows, batch, plan.N());
      for (const Output& to : out) check_apart(name, in, to);
      all.push_back(in.data);
    }
    return all;
  };
  std::vector<Word*> to;
  for (const Output& each : out) {
    this->check(each);
    check_rows("masked_tensors: output", each.size, 3 * rows, batch, plan.N());
    for (const Output& other : out.first(to.size()))
      check_apart("masked_tensors: output", Input(each), other);
    to.push_back(each.data);
  }
  const std::vector<const Word*> high = pointers("masked_tensors: high", of.high),
                                 low = pointers("masked_tensors: low", of.low);
  if (batch != 0 && !to.empty())
    run_masked_tensors(tables, basis, batch, {high, low, of.masks, to});
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
