// Sums of automorphisms, each times a plaintext: linear maps of slots.
#pragma once

#include <algorithm>
#include <iterator>

#include "lattice/rlwe/word_evaluator.h"

namespace whorl::lattice::rlwe {

template <class Word>
std::size_t WordEvaluator<Word>::count_with(const char* what, const Array& a,
                                            std::span<const Array> plains) const {
  std::size_t count = a.count();
  for (const Array& plain : plains) {
    check_plain(what, a, plain);
    count = std::max(count, plain.count());
  }
  const auto check = [&](std::size_t each, const char* of_what) {
    if (each != 1 && each != count)
      throw ShapeError(std::string(what) + ": " + std::to_string(each) + of_what +
                       " meet a batch of " + std::to_string(count) +
                       "; the numbers must be equal, or one of them must be 1");
  };
  check(a.count(), " ciphertexts");
  for (const Array& plain : plains) check(plain.count(), " plaintexts");
  return count;
}

/// Products that add up on one device to one sum or several, which lie as backend::SumLayout says.
/// Terms wait, with their plaintexts, for as many as are added at once, or as fit the device.
template <class Word>
struct WordEvaluator<Word>::Sum {
  static constexpr std::size_t at_once = 128;
  const WordEvaluator& of;
  const Site& site;
  ring::Basis basis;
  unsigned parts;
  std::size_t sums = 1, batched = 0;
  Buffer buffer = {};
  unsigned filled = 0;   ///< the first parts have something
  unsigned waiting = 0;  ///< parts of the terms; all, of several sums
  std::vector<backend::ProductTerm<Word>> terms = {};
  std::vector<View> plains = {};

  /// x(X^g), x (x_parts, basis, B or 1, N), times plaintexts over `basis` and perhaps more. What is
  /// given must stay until finish().
  void add(unsigned x_parts, ConstSlice x, std::uint32_t g, const Residues& plain,
           std::uint32_t sum = 0) {
    if (x_parts != waiting || terms.size() == at_once) finish();
    waiting = x_parts;
    try {
      plains.push_back(of.view(plain, site));
    } catch (const OutOfMemoryError&) {
      if (terms.empty()) throw;
      finish();
      plains.push_back(of.view(plain, site));
    }
    terms.push_back({x, plains.back().all, plain.shape.basis, g, sum, plain.shape.log_repeats});
  }
  void finish() {
    if (terms.empty()) return;
    if (filled == 0) buffer = site.polynomials(sums * parts * basis.size());
    const std::size_t part = basis.size() * site.count * site.N;
    site.rns().sums_of_products(site.tables, basis, {sums, waiting, batched}, terms, filled > 0,
                                buffer.slice().part(0, sums * waiting * part));
    filled = std::max(filled, waiting);
    terms.clear();
    plains.clear();
  }
};

template <class Word>
Array WordEvaluator<Word>::sum_of_products(std::span<const Array> arrays,
                                           std::span<const Array> plains,
                                           const ring::Basis& basis) const {
  const char* const what = "sum_of_products";
  plan_->check_basis(what, basis);
  this->check_each(what, arrays.size(), plains.size(), "plaintexts", "plaintext");
  return this->fleet().again([&] {
    std::vector<Array> factors;
    std::size_t count = 1;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      this->check_evaluation(what, arrays[i]);
      if (arrays[i].parts() != arrays[0].parts())
        throw ShapeError(std::string(what) + ": array " + std::to_string(i) + " has " +
                         std::to_string(arrays[i].parts()) + " parts and array 0 has " +
                         std::to_string(arrays[0].parts()) + "; they must be equal");
      factors.push_back(arrays[i].basis() == basis ? arrays[i] : restrict(arrays[i], basis));
      check_plain(what, factors[i], plains[i]);
      for (const std::size_t each : {arrays[i].count(), plains[i].count()}) {
        if (each != 1 && count != 1 && each != count)
          throw ShapeError(std::string(what) + ": batches of " + std::to_string(count) + " and " +
                           std::to_string(each) +
                           " meet; the numbers must be equal, or one of them must be 1");
        count = std::max(count, each);
      }
    }
    const Shape shape{arrays[0].parts(), basis, count, Form::evaluation};
    return in_pieces(count, [&](Pieces pieces) {
      const auto out = draft(shape, std::move(pieces));
      std::vector<Held> xs, ms;
      for (std::size_t i = 0; i < factors.size(); ++i) {
        xs.push_back(aligned(factors[i], out->pieces, count));
        ms.push_back(aligned(plains[i], out->pieces, count));
      }
      const auto one = [&](const Site& site) {
        std::vector<View> views;
        Sum sum{*this, site, basis, shape.parts};
        for (std::size_t i = 0; i < xs.size(); ++i) {
          views.push_back(view(*xs[i], site));
          sum.add(shape.parts, views[i].all, 1, *ms[i]);
        }
        sum.finish();
        out->buffers[site.piece] = Stored(site.lane, std::move(sum.buffer));
      };
      work(std::span(&out, 1), out->pieces, std::array<Held, 0>{}, one);
      return this->wrap(out);
    });
  });
}

template <class Word>
Array WordEvaluator<Word>::sums_of_made_products(
    std::size_t count, const ring::Basis& basis,
    const std::function<Writer(std::span<const run::Piece>)>& writer,
    std::span<const std::vector<Array>> plains) const {
  const char* const what = "sums_of_made_products";
  constexpr std::size_t most_made = 32;  // enough for a launch, and their words in a cache
  plan_->check_basis(what, basis);
  if (plains.empty() || plains[0].empty() || count == 0)
    throw ShapeError(std::string(what) + ": there is nothing to add up");
  const std::size_t all = plains[0].size(), rows = basis.size(),
                    at_once = std::clamp<std::size_t>(this->product_rows_ / rows, 1, most_made);
  for (const std::vector<Array>& part : plains) {
    this->check_each(what, all, part.size(), "plaintexts", "plaintext");
    for (const Array& m : part) {
      this->check_own(what, m);
      if (m.parts() != 1 || m.count() != 1 || m.form() != Form::evaluation ||
          !m.basis().includes(basis))
        throw ShapeError(std::string(what) + ": a plaintext of " + std::to_string(m.count()) +
                         " polynomials over primes " + m.basis().describe() +
                         "; there must be one, in evaluation form, over " + basis.describe());
    }
  }
  const Shape shape{static_cast<unsigned>(plains.size()), basis, count, Form::evaluation};
  return in_pieces(count, [&](Pieces pieces) {
    const auto out = draft(shape, std::move(pieces));
    const Writer write = writer(out->pieces);
    std::vector<std::vector<Held>> factors;
    for (const std::vector<Array>& part : plains) {
      auto& held = factors.emplace_back();
      for (const Array& m : part) held.push_back(aligned(m, out->pieces, count));
    }
    work(std::span(&out, 1), out->pieces, std::array<Held, 0>{}, [&](const Site& site) {
      const std::size_t polynomial = rows * site.count * site.N;
      Buffer made = site.polynomials(std::min(at_once, all) * rows);
      Sum sum{*this, site, basis, 1, plains.size()};
      for (std::size_t first = 0; first < all; first += at_once) {
        this->fleet().stop_if_asked(first, all, "polynomials of a sum");
        const std::size_t some = std::min(at_once, all - first);
        const Slice xs = made.slice().part(0, some * polynomial);
        write(site.piece, site.queue, {first, some}, xs);
        site.rns().ntt(site.tables, basis, some, xs);
        for (std::uint32_t p = 0; p < plains.size(); ++p)
          for (std::size_t k = 0; k < some; ++k)
            sum.add(1, xs.part(k * polynomial, polynomial), 1, *factors[p][first + k], p);
        sum.finish();
      }
      out->buffers[site.piece] = Stored(site.lane, std::move(sum.buffer));
    });
    return this->wrap(out);
  });
}

// ---- in baby and giant steps (Halevi, Shoup, CRYPTO 2018, §4), hoisted twice (Bossuat, Mouchet,
// Troncoso-Pastoriza, Hubaux, EUROCRYPT 2021, algorithm 6)

/// What a linear map does on one device. All sums are over `rows`: the primes of the operand and
/// the special ones, so that they are P times what they stand for.
template <class Word>
struct WordEvaluator<Word>::HoistedSteps {
  const WordEvaluator& of;
  const Site& site;
  const ring::KeyLayout& layout;
  ring::Basis basis, rows;
  std::uint64_t t;
  std::vector<Word> P;  ///< the product of the special primes, modulo each of `rows`

  std::size_t part() const { return rows.size() * site.count * site.N; }

  /// P·x(X^g) under s for each baby step, all in one buffer.
  struct Babies {
    Buffer all;
    std::vector<ConstSlice> each;  ///< empty where the map uses none
  };
  Babies baby_steps(std::span<const std::uint32_t> gs, const View& x, const Keys& keys) const {
    // 1. Room for all images; those that turn come first.
    std::vector<std::uint32_t> turning;
    std::ranges::copy_if(gs, std::back_inserter(turning), [](auto g) { return g > 1; });
    const auto others = static_cast<std::size_t>(std::ranges::count(gs, 1u));
    Babies out{site.polynomials((turning.size() + others) * 2 * rows.size()), {}};
    std::size_t next = 0, other = turning.size();
    for (const std::uint32_t g : gs) {
      std::size_t place = 0;  // of an empty slice, where the map uses none
      if (g > 1) place = next++;
      if (g == 1) place = other++;
      const Slice own = out.all.slice().part(place * 2 * part(), g == 0 ? 0 : 2 * part());
      out.each.push_back(own);
      if (g != 1) continue;
      // 2. Without a turn it is P·x.
      const backend::ScaledTerm<Word> raised{x.all, basis, P};
      site.rns().combine(site.tables, rows, 2, std::span(&raised, 1), false, own);
    }
    // 3. ModUp of c_1, once; then for each X^g the inner product with its key, and P·c_0 added.
    if (!turning.empty()) {
      const Buffer digits = of.digits_of(site, basis, layout, x.parts(1, 1));
      const Slice all = out.all.slice();
      with_keys(
          turning, keys, site.rns().fusions().inner_products, [&](auto terms, std::size_t first) {
            site.rns().inner_products(terms, site.tables, basis, digits.slice(),
                                      {x.parts(0, 1), basis, P},
                                      all.part(first * 2 * part(), terms.size() * 2 * part()));
          });
    }
    return out;
  }
  /// All sums over the baby steps, of x times plaintexts, which lie as the layout says. `products`
  /// has for each sum its pairs of a baby step's number and a plaintext. Nothing else is kept.
  Buffer sums_over_babies(std::span<const std::uint32_t> gs, const View& x, const Keys& keys,
                          std::span<const std::vector<std::pair<std::size_t, Held>>> products,
                          const backend::SumLayout& lie) const {
    // 1. ModUp of c_1, once.
    Buffer out = site.polynomials(lie.sums * 2 * rows.size()), digits;
    if (std::ranges::any_of(gs, [](std::uint32_t g) { return g > 1; }))
      digits = of.digits_of(site, basis, layout, x.parts(1, 1));
    // 2. For each baby step the inner product with its key, with P·c_0 added, times its plaintexts.
    // Steps wait for as many as the device has room for.
    std::vector<backend::TurnedProduct<Word>> terms;
    std::vector<std::shared_ptr<const PreparedKey>> with;
    std::vector<View> views;
    bool begun = false;
    const auto finish = [&] {
      site.rns().sums_of_turned_products(layout, site.tables, basis, lie, terms,
                                         std::as_const(digits).slice(), {x.all, basis, P}, begun,
                                         out.slice());
      begun = true;
      terms.clear();
      with.clear();
      views.clear();
    };
    const auto wait_for = [&](std::size_t baby) {
      // A term has one factor for a sum, so a baby step that meets a sum again has another term.
      std::vector<backend::TurnedProduct<Word>> own;
      std::vector<View> its;
      for (std::size_t sum = 0; sum < products.size(); ++sum) {
        std::size_t next = 0;
        for (const auto& [of_baby, plain] : products[sum]) {
          if (of_baby != baby) continue;
          its.push_back(of.view(*plain, site));
          if (next == own.size()) own.emplace_back();
          own[next++].factors.push_back({its.back().all, plain->shape.basis,
                                         static_cast<std::uint32_t>(sum),
                                         plain->shape.log_repeats});
        }
      }
      if (own.empty()) return;
      std::shared_ptr<const PreparedKey> key;
      if (gs[baby] > 1) key = key_on(site, keys.get(gs[baby], 1));
      for (backend::TurnedProduct<Word>& term : own) {
        term.key = key.get();
        term.g = gs[baby];
        terms.push_back(std::move(term));
      }
      with.push_back(std::move(key));
      std::ranges::move(its, std::back_inserter(views));
    };
    for (std::size_t baby = 0; baby < gs.size(); ++baby) {
      try {
        wait_for(baby);
      } catch (const OutOfMemoryError&) {
        if (terms.empty()) throw;
        finish();
        wait_for(baby);
      }
    }
    finish();
    return out;
  }
  /// sum_i sums_i(X^(g_i)) under s, added to `to`, of sums (2, rows, gs, B, N). Only the parts that
  /// the secret multiplies are divided and taken apart again, all at once.
  void giant_steps(std::span<const std::uint32_t> gs, ConstSlice sums, const Keys& keys,
                   Slice to) const {
    // 1. ModDown of part 1 of each sum.
    const std::size_t all = gs.size() * part();
    Buffer low = site.polynomials(gs.size() * basis.size());
    site.rns().divide(site.tables, rows, basis, t, 1, sums.part(all, all), low.slice());
    // 2. ModUp of these, the inner product with each step's key at its X^g, and part 0 added at
    // X^g.
    if (gs.size() == 1)
      return site.rns().extended_product(*key_on(site, keys.get(gs[0], 1)), site.tables, basis,
                                         std::as_const(low).slice(),
                                         {sums.part(0, all), rows, {}, gs[0]}, true, to);
    const Buffer digits = of.digits_of(site, basis, layout, std::as_const(low).slice(), gs.size());
    with_keys(gs, keys, gs.size(), [&](auto terms, std::size_t first) {
      site.rns().sum_of_inner_products(terms, site.tables, basis, digits.slice(), sums.part(0, all),
                                       first, true, to);
    });
  }

 private:
  /// body(terms, number of the first) for all g, `at_once` of them, or as many as there is room for
  /// keys.
  template <class Body>
  void with_keys(std::span<const std::uint32_t> gs, const Keys& keys, std::size_t at_once,
                 const Body& body) const {
    std::vector<backend::TurnedKey<Word>> terms;
    std::vector<std::shared_ptr<const PreparedKey>> with;
    std::size_t done = 0;
    const auto finish = [&] {
      body(std::span<const backend::TurnedKey<Word>>(terms), done);
      done += terms.size();
      terms.clear();
      with.clear();
    };
    for (const std::uint32_t g : gs) {
      const Key& key = keys.get(g, 1);
      try {
        with.push_back(key_on(site, key));
      } catch (const OutOfMemoryError&) {
        if (terms.empty()) throw;
        finish();
        with.push_back(key_on(site, key));
      }
      terms.push_back({with.back().get(), g});
      if (terms.size() == at_once) finish();
    }
    if (!terms.empty()) finish();
  }
};

template <class Word>
std::vector<Array> WordEvaluator<Word>::linear_maps(const Array& a, std::span<const LinearMap> maps,
                                                    const Keys& keys, const ring::Basis& to,
                                                    std::uint64_t t) const {
  const char* const what = "linear_map";
  this->check_evaluation(what, a);
  plan_->check_basis(what, to);
  if (maps.empty()) throw ShapeError(std::string(what) + ": there is no map");
  // 1. Whether all steps have keys, of one layout.
  const std::vector<std::uint32_t>& babies = maps[0].babies;
  const ring::KeyLayout* layout = nullptr;
  const auto check_key = [&](std::uint32_t g) {
    const Key& key = keys.get(g, 1);
    check_switch(what, a, key);
    if (!layout) layout = &key.layout();
    if (!(*layout == key.layout()))
      throw ParameterError(std::string(what) + ": the keys of the steps have different digits");
  };
  for (const LinearMap& map : maps) {
    if (a.parts() != 2 || map.giants.empty() || map.babies.empty())
      throw ShapeError(std::string(what) + ": " + std::to_string(map.babies.size()) + " and " +
                       std::to_string(map.giants.size()) + " steps of a ciphertext of " +
                       std::to_string(a.parts()) +
                       " parts are given; there must be steps of both kinds, and 2 parts");
    if (map.babies != babies)
      throw ShapeError(std::string(what) + ": map " + std::to_string(&map - maps.data()) +
                       " has other baby steps than map 0");
    if (&map == maps.data())
      for (const std::uint32_t g : babies)
        if (g > 1) check_key(g);
    for (const std::uint32_t g : map.giants)
      if (g > 1) check_key(g);
  }
  if (!layout) layout = &plan_->key_layout();
  const ring::Basis rows = a.basis() | layout->special;

  // 2. Which products of a baby step and a plaintext each giant step turns.
  struct Product {
    std::size_t baby;
    Array plain;
  };
  /// Sums of products: of what stays, and of the giant steps that have any.
  struct Sums {
    std::vector<std::uint32_t> gs;  ///< of all but the first
    std::vector<std::vector<Product>> each = {{}};
  };
  std::vector<Sums> sums(maps.size());
  std::vector<Array> all;
  for (std::size_t m = 0; m < maps.size(); ++m) {
    const std::size_t before = all.size();
    for (std::size_t i = 0; i < maps[m].giants.size(); ++i) {
      const std::uint32_t g = maps[m].giants[i];
      std::vector<Product> products;
      for (std::size_t b = 0; b < babies.size(); ++b) {
        Array plain = maps[m].plain(i, b);
        if (!plain) continue;
        this->check_basis(what, plain.basis() & rows, rows);
        if (babies[b] == 0 || g == 0)
          throw ShapeError(std::string(what) +
                           ": a plaintext is given for a step that is left out");
        all.push_back(plain);
        products.push_back({b, std::move(plain)});
      }
      if (g == 1) {
        std::ranges::move(products, std::back_inserter(sums[m].each[0]));
      } else if (!products.empty()) {
        sums[m].gs.push_back(g);
        sums[m].each.push_back(std::move(products));
      }
    }
    if (all.size() == before) throw ShapeError(std::string(what) + ": there is no plaintext");
  }
  const std::size_t count = count_with(what, a, all);
  // One sum is made in one go, and a few are where the devices fuse that. For more, or several
  // maps, the images of baby steps are kept.
  const bool in_one_go =
      maps.size() == 1 && sums[0].each.size() <= std::max<std::size_t>(1, turned_sums_);
  // Giant steps that are made at once, if the device does so: each takes room for its digits. As
  // many as leave the batch whole, and a batch that one of them cuts is cut.
  std::size_t most_at_once = 7;
  const auto most = [&] {
    return this->most(
        this->rows_of_map(*layout, a.basis(), in_one_go ? 0 : babies.size(), most_at_once));
  };
  const std::size_t whole = std::min(this->most(), (count - 1) / this->fleet().size() + 1);
  while (most_at_once > 1 && most() < whole) --most_at_once;

  return in_pieces(count, most(), [&](Pieces pieces) {
    std::vector<std::shared_ptr<Residues>> outs;
    for (std::size_t m = 0; m < maps.size(); ++m)
      outs.push_back(draft({2, to, count, Form::evaluation}, pieces));
    const Pieces& cut = outs[0]->pieces;
    std::vector<std::vector<std::vector<std::pair<std::size_t, Held>>>> products(maps.size());
    for (std::size_t m = 0; m < maps.size(); ++m)
      for (const auto& each : sums[m].each) {
        products[m].emplace_back();
        for (const Product& term : each)
          products[m].back().emplace_back(term.baby, aligned(term.plain, cut, count));
      }
    const auto one = [&](const Site& site, const View& operand) {
      Buffer keep;
      const View x = spread(site, operand, keep);
      const HoistedSteps steps{
          *this, site, *layout, a.basis(), rows, t, product_modulo(layout->special, rows)};
      // 3. Baby steps.
      typename HoistedSteps::Babies turned;
      if (!in_one_go) turned = steps.baby_steps(babies, x, keys);
      for (std::size_t m = 0; m < maps.size(); ++m) {
        // The first sum lies by itself, what the giant steps turn is added to it. Sums of some
        // steps are made at once: the baby steps are read once for them.
        const auto& each = products[m];
        const std::span<const std::uint32_t> gs = sums[m].gs;
        const std::size_t at_once = std::min(most_at_once, site.rns().fusions().inner_products);
        Buffer first;
        Slice sum;
        for (std::size_t begin = 0, end = 0; begin < each.size(); begin = end) {
          const std::size_t alone = begin == 0;
          end = std::min(each.size(), begin + at_once + alone);
          // 4. Sums of baby steps times plaintexts.
          Sum made{*this, site, rows, 2, end - begin, end - begin - alone};
          if (in_one_go) {
            made.buffer =
                steps.sums_over_babies(babies, x, keys, std::span(each).subspan(begin, end - begin),
                                       {made.sums, 2, made.batched});
          } else {
            for (std::size_t i = begin; i < end; ++i)
              for (const auto& [baby, plain] : each[i])
                made.add(2, turned.each[baby], 1, *plain, static_cast<std::uint32_t>(i - begin));
            made.finish();
          }
          if (m + 1 == maps.size() && end == each.size()) turned = {};
          // 5. Giant steps of these sums, all but the first, to which they are added.
          const Slice lies = made.buffer.slice();
          if (alone) sum = lies.part(0, 2 * steps.part());
          const std::size_t others = 2 * steps.part() * made.batched;
          if (others > 0)
            steps.giant_steps(gs.subspan(begin + alone - 1, made.batched),
                              lies.part(2 * steps.part() * alone, others), keys, sum);
          if (alone) first = std::move(made.buffer);
        }
        // 6. ModDown by P, and by the primes that a rescaling drops.
        Buffer result = site.polynomials(2 * to.size());
        site.rns().divide(site.tables, rows, to, t, 2, sum, result.slice());
        outs[m]->buffers[site.piece] = Stored(site.lane, std::move(result));
      }
    };
    work(outs, cut, std::array{aligned(a, cut, count)}, one);
    std::vector<Array> results;
    for (const auto& out : outs) results.push_back(this->wrap(out));
    return results;
  });
}

}  // namespace whorl::lattice::rlwe
