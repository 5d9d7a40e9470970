// Switching from one secret, or a power or image of it, to another.
#include <algorithm>
#include <optional>

#include "lattice/rlwe/typed.h"
#include "lattice/rlwe/uniform.h"

namespace whorl::lattice::rlwe {

template <class Word>
std::shared_ptr<const Key> Typed<Word>::prepare(const SwitchKeyData& data,
                                                std::shared_ptr<run::KeyBudget> budget) const {
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
  const auto self = std::static_pointer_cast<const Typed>(this->shared_from_this());
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
std::size_t Typed<Word>::digits_over(const ring::Basis& basis, const ring::KeyLayout& layout) {
  return static_cast<std::size_t>(std::ranges::count_if(
      layout.digits, [&](const ring::Basis& digit) { return !(digit & basis).empty(); }));
}

template <class Word>
auto Typed<Word>::digits_of(const Site& site, const ring::Basis& basis,
                            const ring::KeyLayout& layout, ConstSlice part) const -> Buffer {
  const ring::Basis rows = basis | layout.special;
  Buffer digits = site.polynomials(digits_over(basis, layout) * rows.size());
  site.rns().extend(site.tables, basis, layout.digits, rows, ring::Lift::exact, part,
                    digits.slice());
  return digits;
}

template <class Word>
auto Typed<Word>::product_of(const Site& site, const PreparedKey& key, const ring::Basis& basis,
                             std::uint32_t g, const Buffer& digits) const -> Buffer {
  Buffer out = site.polynomials(2 * (basis | key.layout().special).size());
  site.rns().inner_product(key, site.tables, basis, g, digits.slice(), out.slice());
  return out;
}

template <class Word>
void Typed<Word>::switched(const Site& site, const Key& key, const ring::Basis& basis,
                           std::uint32_t g, const Buffer& digits, ConstSlice added, std::uint64_t t,
                           Slice out) const {
  const auto with = key_on(site, key);
  const Buffer product = product_of(site, *with, basis, g, digits);
  site.rns().divide(site.tables, basis | key.layout().special, basis, t, 2, product.slice(), added,
                    g, out);
}

template <class Word>
void Typed<Word>::check_switch(const char* what, const Array& a, const Key& key) const {
  this->check_evaluation(what, a);
  if (!key.layout().chain.includes(a.basis()))
    throw ParameterError(std::string(what) + ": primes " +
                         (a.basis() - key.layout().chain).describe() + " are not of the key's, " +
                         key.layout().chain.describe());
}

template <class Word>
Array Typed<Word>::digits(const Array& a, unsigned part, const ring::KeyLayout& layout) const {
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
Array Typed<Word>::inner_product(const Array& digits, const Key& key, std::uint32_t g) const {
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
Array Typed<Word>::key_switch(const Array& a, const Key& key, std::uint64_t t) const {
  check_switch("key_switch", a, key);
  if (a.parts() != 2)
    throw ShapeError("key_switch: " + std::to_string(a.parts()) +
                     " parts are given; there must be 2");
  return make(
      a.shape(),
      [&](const Site& site, Slice out, const View& x) {
        const Buffer digits = digits_of(site, a.basis(), key.layout(), x.parts(1, 1));
        switched(site, key, a.basis(), key.g(), digits, x.parts(0, 1), t, out);
      },
      a);
}

template <class Word>
Array Typed<Word>::relinearise(const Array& a, const Keys& keys, std::uint64_t t) const {
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
          const Buffer digits = digits_of(site, a.basis(), key.layout(), x.parts(power, 1));
          switched(site, key, a.basis(), 1, digits, sum, t, out);
          sum = out;
        }
      },
      a);
}

template <class Word>
std::vector<Array> Typed<Word>::automorphisms(const Array& a, std::span<const std::uint32_t> gs,
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
std::vector<Array> Typed<Word>::turned(const Pieces& pieces, const Array& a,
                                       std::span<const std::uint32_t> gs, const Keys& keys,
                                       std::uint64_t t) const {
  std::vector<std::shared_ptr<Residues>> outs;  // but for g = 1
  outs.reserve(gs.size());
  for (const std::uint32_t g : gs)
    if (g != 1) outs.push_back(draft(a.shape(), pieces));
  const auto one = [&](const Site& site, const View& x) {
    std::optional<Buffer> digits;
    const ring::KeyLayout* of = nullptr;
    auto image = outs.begin();
    for (const std::uint32_t g : gs) {
      if (g == 1) continue;
      const Key& key = keys.get(g, 1);
      if (!digits || !(*of == key.layout())) {
        of = &key.layout();
        digits = digits_of(site, a.basis(), *of, x.parts(1, 1));
      }
      Buffer out = site.polynomials(a.shape().rows());
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

// ---- sums of automorphisms, each times a plaintext

template <class Word>
bool Typed<Word>::hoists_twice(const Array& a, std::span<const Term> terms,
                               const Keys& keys) const {
  const ring::KeyLayout* layout = nullptr;
  for (const Term& term : terms) {
    if (term.g == 1) continue;
    const Key& key = keys.get(term.g, 1);
    if (!layout) layout = &key.layout();
    if (!(*layout == key.layout()) || !term.plain.basis().includes(a.basis() | layout->special))
      return false;
  }
  return true;
}

template <class Word>
Array Typed<Word>::weighted_sum(const Array& a, std::span<const Term> terms, const Keys& keys,
                                std::uint64_t t) const {
  this->check_evaluation("weighted_sum", a);
  if (a.parts() != 2 || terms.empty())
    throw ShapeError("weighted_sum: " + std::to_string(terms.size()) + " terms of " +
                     std::to_string(a.parts()) +
                     " parts are given; there must be at least one term, and 2 parts");
  std::size_t count = a.count();
  for (const Term& term : terms) {
    check_plain("weighted_sum", a, term.plain);
    if (term.g != 1) check_switch("weighted_sum", a, keys.get(term.g, 1));
    if (term.plain.count() != 1 && term.plain.count() != count && count != 1)
      this->common_count("weighted_sum", a, term.plain);
    count = std::max(count, term.plain.count());
  }
  for (const Term& term : terms)
    if (term.plain.count() != 1 && term.plain.count() != count)
      throw ShapeError("weighted_sum: a batch of " + std::to_string(count) + " meets " +
                       std::to_string(term.plain.count()) +
                       " plaintexts; the numbers must be equal, or one of them must be 1");
  if (hoists_twice(a, terms, keys))
    return in_pieces(count, [&](Pieces pieces) {
      return added_up(std::move(pieces), a, count, terms, keys, t);
    });
  std::vector<std::uint32_t> gs;
  for (const Term& term : terms) gs.push_back(term.g);
  return this->fleet().again([&] {
    const std::vector<Array> images = automorphisms(a, gs, keys, t);
    Array sum = multiply_plain(images[0], terms[0].plain);
    for (std::size_t i = 1; i < terms.size(); ++i)
      sum = this->add(sum, multiply_plain(images[i], terms[i].plain));
    return sum;
  });
}

/// Products that add up on one device, (parts, basis, B, N).
template <class Word>
struct Typed<Word>::Sum {
  const Typed& of;
  const Site& site;
  ring::Basis basis;
  unsigned parts;
  Buffer buffer = {};
  unsigned filled = 0;  ///< the first parts have something

  /// x (x_parts, basis, B, N), times plaintexts over `basis` and perhaps more.
  void add(unsigned x_parts, ConstSlice x, const View& plain) {
    Buffer keep;
    const ConstSlice m = of.over(site, plain, basis, keep);
    const std::size_t part = basis.size() * site.count * site.N;
    if (filled == 0) {
      buffer = site.polynomials(parts * basis.size());
      site.rns().tensor(site.tables, basis, x_parts, x, 1, m,
                        buffer.slice().part(0, x_parts * part));
      filled = x_parts;
      return;
    }
    if (plain.count == site.count) {
      const auto primes = of.moduli(basis, 1);
      for (unsigned k = 0; k < x_parts; ++k)
        site.ring().mul_add(primes, x.part(k * part, part), m, buffer.slice().part(k * part, part));
      return;
    }
    Buffer product = site.polynomials(x_parts * basis.size());
    site.rns().tensor(site.tables, basis, x_parts, x, 1, m, product.slice());
    const Slice sum = buffer.slice().part(0, x_parts * part);
    site.ring().add(of.moduli(basis, x_parts), sum, product.slice(), sum);
  }
};

/// Weighted inner products that add up on one device, (2, basis and special, B, N). Terms wait,
/// with their keys and weights, for as many as the device takes at once, or as fit it.
template <class Word>
struct Typed<Word>::SwitchedSum {
  const Typed& of;
  const Site& site;
  ring::Basis basis;
  ring::Basis rows;
  Buffer digits, buffer;
  bool begun = false;
  std::vector<backend::WeightedKey<Word>> terms = {};
  std::vector<std::shared_ptr<const PreparedKey>> keys = {};
  std::vector<View> plains = {};
  std::vector<Buffer> weights = {};

  void add(const Key& key, const Residues& plain) {
    try {
      wait_for(key, plain);
    } catch (const OutOfMemoryError&) {
      if (terms.empty()) throw;
      finish();
      wait_for(key, plain);
    }
    if (terms.size() >= site.rns().weighted_at_once()) finish();
  }
  void finish() {
    if (terms.empty()) return;
    const bool onto = std::exchange(begun, true);
    site.rns().weighted_inner_products(terms, site.tables, basis, std::as_const(digits).slice(),
                                       onto, buffer.slice());
    terms.clear();
    keys.clear();
    plains.clear();
    weights.clear();
  }

 private:
  void wait_for(const Key& key, const Residues& plain) {
    auto with = key_on(site, key);
    View m = of.view(plain, site);
    Buffer keep;
    terms.push_back({with.get(), key.g(), of.over(site, m, rows, keep)});
    keys.push_back(std::move(with));
    plains.push_back(std::move(m));
    weights.push_back(std::move(keep));
  }
};

template <class Word>
Array Typed<Word>::added_up(Pieces pieces, const Array& a, std::size_t count,
                            std::span<const Term> terms, const Keys& keys, std::uint64_t t) const {
  const ring::Basis& basis = a.basis();
  Shape shape = a.shape();
  shape.count = count;
  const auto out = draft(shape, std::move(pieces));
  // Those that need no key come first: they fill both parts of what is not divided.
  std::vector<const Term*> order;
  for (const bool switches : {false, true})
    for (const Term& term : terms)
      if ((term.g != 1) == switches) order.push_back(&term);
  const bool some_stay = order.front()->g == 1;
  std::vector<Held> plains;
  plains.reserve(order.size());
  for (const Term* term : order) plains.push_back(aligned(term->plain, out->pieces, count));

  const auto one = [&](const Site& site, const View& operand) {
    Buffer keep;
    const View x = spread(site, operand, keep);
    Sum low{*this, site, basis, some_stay ? 2u : 1u};
    std::optional<SwitchedSum> high;
    const auto primes = moduli(basis, 1);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint32_t g = order[i]->g;
      if (g == 1) {
        low.add(2, x.all, view(*plains[i], site));
        continue;
      }
      Buffer image = site.polynomials(basis.size());
      site.ring().automorphism(primes, plan_->N(), g, true, x.parts(0, 1), image.slice());
      low.add(1, std::as_const(image).slice(), view(*plains[i], site));
      const Key& key = keys.get(g, 1);
      if (!high) {
        const ring::Basis rows = basis | key.layout().special;
        high.emplace(SwitchedSum{*this, site, basis, rows,
                                 digits_of(site, basis, key.layout(), x.parts(1, 1)),
                                 site.polynomials(2 * rows.size())});
      }
      high->add(key, *plains[i]);
    }
    if (high) high->finish();
    Buffer result;
    if (high) {
      result = site.polynomials(shape.rows());
      site.rns().divide(site.tables, high->rows, basis, t, 2, std::as_const(high->buffer).slice(),
                        std::as_const(low.buffer).slice(), 1, result.slice());
    } else {
      result = std::move(low.buffer);
    }
    out->buffers[site.piece] = Stored(site.lane, std::move(result));
  };
  work(std::span(&out, 1), out->pieces, std::array{aligned(a, out->pieces, count)}, one);
  return this->wrap(out);
}

#define WHORL_INSTANTIATE(Word)                                                                    \
  template std::shared_ptr<const Key> Typed<Word>::prepare(const SwitchKeyData&,                   \
                                                           std::shared_ptr<run::KeyBudget>) const; \
  template Array Typed<Word>::digits(const Array&, unsigned, const ring::KeyLayout&) const;        \
  template Array Typed<Word>::inner_product(const Array&, const Key&, std::uint32_t) const;        \
  template Array Typed<Word>::key_switch(const Array&, const Key&, std::uint64_t) const;           \
  template Array Typed<Word>::relinearise(const Array&, const Keys&, std::uint64_t) const;         \
  template std::vector<Array> Typed<Word>::automorphisms(                                          \
      const Array&, std::span<const std::uint32_t>, const Keys&, std::uint64_t) const;             \
  template Array Typed<Word>::weighted_sum(const Array&, std::span<const Evaluator::Term>,         \
                                           const Keys&, std::uint64_t) const;
WHORL_INSTANTIATE(std::uint32_t)
WHORL_INSTANTIATE(std::uint64_t)

}  // namespace whorl::lattice::rlwe
