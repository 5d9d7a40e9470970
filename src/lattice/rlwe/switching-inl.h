// Switching from one secret, or a power or image of it, to another: hybrid key switching, with P
// the product of the special primes (Gentry, Halevi, Smart, CRYPTO 2012, §3.1) and digits of
// several primes (Han, Ki, CT-RSA 2020). ModUp takes a part apart into digits, each extended to all
// primes and the special ones; the inner product with the key is P times what it stands for;
// ModDown divides by P.
#pragma once

#include <algorithm>
#include <optional>

#include "lattice/rlwe/uniform.h"
#include "lattice/rlwe/word_evaluator.h"

namespace whorl::lattice::rlwe {

template <class Word>
std::shared_ptr<const Key> WordEvaluator<Word>::prepare(
    const SwitchKeyData& data, std::shared_ptr<run::KeyBudget> budget) const {
  const ring::KeyLayout layout = data.layout.digits.empty() ? plan_->key_layout() : data.layout;
  plan_->check_layout("evaluation key", layout);
  const std::size_t N = plan_->N(), words = layout.digits.size() * layout.rows().size() * N;
  if (data.b.size() != words || data.b.word_bytes() != sizeof(Word))
    throw ShapeError("an evaluation key has " + std::to_string(data.b.size()) +
                     " words; it must have " + std::to_string(words) + " of " +
                     std::to_string(sizeof(Word)) + " bytes");
  if (data.g % 2 == 0 || data.g >= 2 * N || data.power < 1)
    throw ParameterError("an evaluation key is for s(X^" + std::to_string(data.g) + ")^" +
                         std::to_string(data.power) +
                         "; the first exponent must be odd and below 2N, the second at least 1");
  const auto self = std::static_pointer_cast<const WordEvaluator>(this->shared_from_this());
  const auto put_on = [self, layout, rows = key_rows<Word>(plan_, layout, data.seed, data.b)](
                          const backend::Queue& queue) {
    std::size_t lane = 0;
    while (&self->fleet().lane(lane)->device() != &queue.device()) ++lane;
    return run::sized(queue.rns<Word>().prepare_key(*self->tables_[lane], layout, rows));
  };
  return std::make_shared<const Key>(data.g, data.power, layout, 2 * words * sizeof(Word),
                                     std::move(budget), put_on);
}

template <class Word>
std::size_t WordEvaluator<Word>::digits_over(const ring::Basis& basis,
                                             const ring::KeyLayout& layout) {
  return static_cast<std::size_t>(std::ranges::count_if(
      layout.digits, [&](const ring::Basis& digit) { return !(digit & basis).empty(); }));
}

template <class Word>
auto WordEvaluator<Word>::digits_of(const Site& site, const ring::Basis& basis,
                                    const ring::KeyLayout& layout, ConstSlice part,
                                    std::size_t many) const -> Buffer {
  const ring::Basis rows = basis | layout.special;
  Buffer digits = site.polynomials(digits_over(basis, layout) * rows.size() * many);
  site.rns().extend(site.tables, basis, layout.digits, rows, ring::Lift::exact, part,
                    digits.slice());
  return digits;
}

template <class Word>
auto WordEvaluator<Word>::product_of(const Site& site, const PreparedKey& key,
                                     const ring::Basis& basis, std::uint32_t g,
                                     const Buffer& digits) const -> Buffer {
  Buffer out = site.polynomials(2 * (basis | key.layout().special).size());
  site.rns().inner_product(key, site.tables, basis, g, digits.slice(), out.slice());
  return out;
}

template <class Word>
auto WordEvaluator<Word>::product_of(const Site& site, const PreparedKey& key,
                                     const ring::Basis& basis, ConstSlice part,
                                     const backend::ScaledTerm<Word>& added) const -> Buffer {
  Buffer out = site.polynomials(2 * (basis | key.layout().special).size());
  site.rns().extended_product(key, site.tables, basis, part, added, false, out.slice());
  return out;
}

template <class Word>
void WordEvaluator<Word>::switched(const Site& site, const Key& key, const ring::Basis& basis,
                                   std::uint32_t g, const Buffer& digits, ConstSlice added,
                                   std::uint64_t t, Slice out) const {
  const Buffer product = product_of(site, *key_on(site, key), basis, g, digits);
  site.rns().divide(site.tables, basis | key.layout().special, basis, t, 2, product.slice(), added,
                    g, out);
}

template <class Word>
void WordEvaluator<Word>::switched(const Site& site, const Key& key, const ring::Basis& basis,
                                   std::uint32_t g, ConstSlice part, ConstSlice added,
                                   std::uint64_t t, Slice out) const {
  const Buffer product = product_of(site, *key_on(site, key), basis, part, {{}, {}, {}, g});
  site.rns().divide(site.tables, basis | key.layout().special, basis, t, 2, product.slice(), added,
                    g, out);
}

template <class Word>
void WordEvaluator<Word>::check_switch(const char* what, const Array& a, const Key& key) const {
  this->check_evaluation(what, a);
  if (!key.layout().chain.includes(a.basis()))
    throw ParameterError(std::string(what) + ": primes " +
                         (a.basis() - key.layout().chain).describe() +
                         " are not among the key's, " + key.layout().chain.describe());
}

template <class Word>
Array WordEvaluator<Word>::digits(const Array& a, unsigned part,
                                  const ring::KeyLayout& layout) const {
  this->check_evaluation("digits", a);
  plan_->check_layout("digits", layout);
  if (part >= a.parts() || !layout.chain.includes(a.basis()))
    throw ShapeError("digits: part " + std::to_string(part) + " over primes " +
                     a.basis().describe() + " is asked for; the array has " +
                     std::to_string(a.parts()) + " parts, and the key has the primes " +
                     layout.chain.describe());
  const ring::Basis rows = a.basis() | layout.special;
  const Shape shape{static_cast<unsigned>(digits_over(a.basis(), layout)), rows, a.count(),
                    Form::evaluation};
  return make(
      shape,
      [&](const Site& site, Slice out, const View& x) {
        site.rns().extend(site.tables, a.basis(), layout.digits, rows, ring::Lift::exact,
                          x.parts(part, 1), out);
      },
      a);
}

template <class Word>
Array WordEvaluator<Word>::inner_product(const Array& digits, const Key& key,
                                         std::uint32_t g) const {
  this->check_evaluation("inner_product", digits);
  const ring::Basis basis = digits.basis() - key.layout().special;
  Shape shape = digits.shape();
  shape.parts = 2;
  return make(
      shape,
      [&](const Site& site, Slice out, const View& x) {
        const auto with = key_on(site, key);
        site.rns().inner_product(*with, site.tables, basis, g, x.all, out);
      },
      digits);
}

template <class Word>
Array WordEvaluator<Word>::key_switch(const Array& a, const Key& key, std::uint64_t t) const {
  check_switch("key_switch", a, key);
  if (a.parts() != 2)
    throw ShapeError("key_switch: " + std::to_string(a.parts()) +
                     " parts are given; there must be 2");
  return make(
      a.shape(),
      [&](const Site& site, Slice out, const View& x) {
        switched(site, key, a.basis(), key.g(), x.parts(1, 1), x.parts(0, 1), t, out);
      },
      a);
}

template <class Word>
Array WordEvaluator<Word>::relinearise(const Array& a, const Keys& keys, std::uint64_t t) const {
  this->check_evaluation("relinearise", a);
  if (a.parts() <= 2) return a;
  for (unsigned power = 2; power < a.parts(); ++power)
    check_switch("relinearise", a, keys.get(1, power));
  Shape shape = a.shape();
  shape.parts = 2;
  return make(
      shape,
      [&](const Site& site, Slice out, const View& x) {
        ConstSlice sum = x.parts(0, 2);
        for (unsigned power = 2; power < a.parts(); ++power) {
          const Key& key = keys.get(1, power);
          switched(site, key, a.basis(), 1, x.parts(power, 1), sum, t, out);
          sum = out;
        }
      },
      a);
}

template <class Word>
std::vector<Word> WordEvaluator<Word>::product_modulo(const ring::Basis& special,
                                                      const ring::Basis& rows) const {
  const auto factors = moduli(special, 1);
  std::vector<Word> out;
  for (const auto& q : moduli(rows, 1)) {
    Word product = 1;
    for (const auto& p : factors) product = q.mul(product, q.reduce(p.value()));
    out.push_back(product);
  }
  return out;
}

template <class Word>
Array WordEvaluator<Word>::relinearise(const Array& a, const Keys& keys, const ring::Basis& to,
                                       std::uint64_t t) const {
  const char* const what = "relinearise";
  Shape shape = shape_over(what, a, to);
  const bool drops = to != a.basis();
  if (a.parts() <= 2) return drops ? divide(a, to, t) : a;
  shape.parts = 2;
  const ring::KeyLayout& layout = keys.get(1, 2).layout();
  for (unsigned power = 2; power < a.parts(); ++power) {
    check_switch(what, a, keys.get(1, power));
    if (!(keys.get(1, power).layout() == layout))
      throw ParameterError(std::string(what) + ": the keys of s^2 and s^" + std::to_string(power) +
                           " have different digits");
  }
  const ring::Basis rows = a.basis() | layout.special;
  const std::vector<Word> P = product_modulo(layout.special, rows);
  return make(
      shape,
      [&](const Site& site, Slice out, const View& x) {
        // 1. ModUp of each part c_k from c_2 on, and its inner product with the key of s^k. A
        // rescaling divides c_0 and c_1 too: then P·(c_0, c_1) is added to the first one.
        std::vector<Buffer> products;
        std::vector<backend::ScaledTerm<Word>> others;
        for (unsigned power = 2; power < a.parts(); ++power) {
          const auto key = key_on(site, keys.get(1, power));
          using Added = backend::ScaledTerm<Word>;
          products.push_back(
              product_of(site, *key, a.basis(), x.parts(power, 1),
                         power == 2 && drops ? Added{x.parts(0, 2), a.basis(), P, 1} : Added{}));
          if (power > 2) others.push_back({std::as_const(products.back()).slice(), rows});
        }
        // 2. The sum of all.
        if (!others.empty())
          site.rns().combine(site.tables, rows, 2, others, true, products[0].slice());
        // 3. ModDown by P, and by the primes that a rescaling drops; or (c_0, c_1) is added here.
        site.rns().divide(site.tables, rows, to, t, 2, std::as_const(products[0]).slice(),
                          drops ? ConstSlice() : x.parts(0, 2), 1, out);
      },
      a);
}

template <class Word>
Array WordEvaluator<Word>::relinearised_product(const Array& a, const Array& b,
                                                const ProductEnd& end, const Keys& keys,
                                                const ring::Basis& to, std::uint64_t t) const {
  const char* const what = "multiply";
  if (a.parts() != 2 || b.parts() != 2 || end.added)
    return to == a.basis() ? relinearise(tensor(a, b, end), keys, t)
                           : relinearise(tensor(a, b, end), keys, to, t);
  Shape shape = shape_over(what, a, to);
  shape.count = this->common_count(what, a, b);
  this->check_evaluation(what, b);
  this->check_basis(what, b.basis(), a.basis());
  const Key& key = keys.get(1, 2);
  check_switch(what, a, key);
  const ring::Basis rows = a.basis() | key.layout().special;
  const std::vector<Word> P = product_modulo(key.layout().special, rows);
  const bool drops = to != a.basis();
  std::vector<Word> constant;
  if (!end.constant.empty()) constant = residues_of(what, a.basis(), end.constant);
  return make(
      shape,
      [&](const Site& site, Slice out, const View& x, const View& y) {
        // Where no prime is dropped, and the device does not fuse these steps: the product c, then
        // the switch of c_2.
        if (!drops && !site.rns().fusions().switched_products) {
          Buffer c = site.polynomials(3 * std::size_t{a.basis().size()});
          multiply(site, a.basis(), x, y.all, 2, y.count, {end.doubled, constant}, c.slice());
          const std::size_t part = c.size() / 3;
          const ConstSlice made = std::as_const(c).slice();
          switched(site, key, to, 1, made.part(2 * part, part), made.part(0, 2 * part), t, out);
          return;
        }
        // 1. The product c = (c_0, c_1, c_2), ModUp of c_2, its inner product with the key of s^2,
        // and P·(c_0, c_1) added.
        const bool in_order = x.count >= y.count;
        Buffer product = site.polynomials(2 * rows.size());
        site.rns().switched_product(
            *key_on(site, key), site.tables, a.basis(),
            {in_order ? x.all : y.all, in_order ? y.all : x.all, end.doubled, constant, P},
            product.slice());
        // 2. ModDown by P, and by the primes that a rescaling drops.
        site.rns().divide(site.tables, rows, to, t, 2, std::as_const(product).slice(), out);
      },
      a, b);
}

template <class Word>
std::vector<Array> WordEvaluator<Word>::automorphisms(const Array& a,
                                                      std::span<const std::uint32_t> gs,
                                                      const Keys& keys, std::uint64_t t) const {
  this->check_evaluation("automorphisms", a);
  if (a.parts() != 2)
    throw ShapeError("automorphisms: " + std::to_string(a.parts()) +
                     " parts are given; there must be 2");
  for (const std::uint32_t g : gs)
    if (g != 1) check_switch("automorphisms", a, keys.get(g, 1));
  return in_pieces(a.count(), [&](const Pieces& pieces) { return turned(pieces, a, gs, keys, t); });
}

template <class Word>
std::vector<Array> WordEvaluator<Word>::turned(const Pieces& pieces, const Array& a,
                                               std::span<const std::uint32_t> gs, const Keys& keys,
                                               std::uint64_t t) const {
  std::vector<std::shared_ptr<Residues>> outs;  // but for g = 1
  outs.reserve(gs.size());
  for (const std::uint32_t g : gs)
    if (g != 1) outs.push_back(draft(a.shape(), pieces));
  const auto one = [&](const Site& site, const View& x) {
    // 1. ModUp of c_1, once for all images with keys of one layout (hoisting). 2. For each X^g the
    // inner product with its key, ModDown, and c_0 added, all at X^g.
    std::optional<Buffer> digits;
    const ring::KeyLayout* of = nullptr;
    auto image = outs.begin();
    for (const std::uint32_t g : gs) {
      if (g == 1) continue;
      const Key& key = keys.get(g, 1);
      Buffer out = site.polynomials(a.shape().rows());
      if (outs.size() == 1) {
        switched(site, key, a.basis(), g, x.parts(1, 1), x.parts(0, 1), t, out.slice());
        outs[0]->buffers[site.piece] = Stored(site.lane, std::move(out));
        continue;
      }
      if (!digits || !(*of == key.layout())) {
        of = &key.layout();
        digits = digits_of(site, a.basis(), *of, x.parts(1, 1));
      }
      switched(site, key, a.basis(), g, *digits, x.parts(0, 1), t, out.slice());
      (*image++)->buffers[site.piece] = Stored(site.lane, std::move(out));
    }
  };
  work(outs, pieces, std::array{aligned(a, pieces, a.count())}, one);
  std::vector<Array> arrays;
  arrays.reserve(gs.size());
  auto image = outs.begin();
  for (const std::uint32_t g : gs) arrays.push_back(g == 1 ? a : this->wrap(*image++));
  return arrays;
}

}  // namespace whorl::lattice::rlwe
