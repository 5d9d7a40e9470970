// What is done value by value, between forms and between sets of primes, and products.
#pragma once

#include <algorithm>

#include "backend/contract/rns_checks.h"
#include "lattice/rlwe/word_evaluator.h"

namespace whorl::lattice::rlwe {

template <class Word>
std::vector<math::Modulus<Word>> WordEvaluator<Word>::moduli(const ring::Basis& basis,
                                                             unsigned parts) const {
  std::vector<math::Modulus<Word>> out;
  out.reserve(std::size_t{parts} * basis.size());
  const auto& all = plan_->moduli();
  for (unsigned k = 0; k < parts; ++k) {
    if (basis.is_prefix())
      out.insert(out.end(), all.begin(), all.begin() + basis.size());
    else
      basis.for_each([&](unsigned i) { out.push_back(all[i]); });
  }
  return out;
}

template <class Word>
auto WordEvaluator<Word>::repeated(const Site& site, std::size_t rows, std::size_t count,
                                   ConstSlice of, Buffer& keep) const -> ConstSlice {
  if (count == site.count) return of;
  keep = site.polynomials(rows);
  site.ring().take(rows, plan_->N(), std::vector<std::uint32_t>(site.count, 0), of, 0,
                   keep.slice());
  return std::as_const(keep).slice();
}

template <class Word>
auto WordEvaluator<Word>::over(const Site& site, const View& plain, const ring::Basis& basis,
                               Buffer& keep) const -> ConstSlice {
  const ring::Basis& has = plain.shape.basis;
  if (has == basis) return plain.all;
  const std::vector<unsigned> wanted = basis.indices();
  if (has.rank(wanted.back()) + 1 == wanted.size()) return plain.rows(0, wanted.size());
  const std::size_t row = plain.count * plain.N;
  keep = site.queue.template allocate<Word>(wanted.size() * row);
  // Rows that follow one another in both go together.
  for (std::size_t first = 0, next = 0; first < wanted.size(); first = next) {
    const unsigned from = has.rank(wanted[first]);
    for (next = first + 1; next < wanted.size() && has.rank(wanted[next]) == from + next - first;)
      ++next;
    site.queue.template copy<Word>(plain.rows(from, next - first),
                                   keep.slice().part(first * row, (next - first) * row));
  }
  return std::as_const(keep).slice();
}

template <class Word>
void WordEvaluator<Word>::check_plain(const char* what, const Array& a, const Array& m) const {
  this->check(what, a);
  this->check_own(what, m);
  if (m.parts() != 1 || m.form() != a.form())
    throw ShapeError(std::string(what) + ": the plaintexts have " + std::to_string(m.parts()) +
                     " parts or another form; they must have one part and the array's form");
  if (!m.basis().includes(a.basis()))
    throw ShapeError(std::string(what) + ": plaintexts over primes " + m.basis().describe() +
                     " do not have " + (a.basis() - m.basis()).describe());
}

template <class Word>
Array WordEvaluator<Word>::add_or_sub(const Array& a, const Array& b, bool subtract) const {
  const char* const what = subtract ? "sub" : "add";
  this->check(what, a);
  this->check(what, b);
  this->check_basis(what, b.basis(), a.basis());
  if (a.form() != b.form())
    throw ShapeError(
        std::string(what) +
        ": one array has coefficients and the other does not; both must have the same form");
  const unsigned common = std::min(a.parts(), b.parts()), most = std::max(a.parts(), b.parts());
  const Shape shape{most, a.basis(), this->common_count(what, a, b), a.form()};
  const auto both = moduli(a.basis(), common), rest = moduli(a.basis(), most - common);
  return make(
      shape,
      [&](const Site& site, Slice out, const View& first, const View& second) {
        Buffer keep_x, keep_y;
        const View x = spread(site, first, keep_x), y = spread(site, second, keep_y);
        const std::size_t part = shape.basis.size() * site.count * site.N;
        const Slice head = out.part(0, common * part);
        subtract ? site.ring().sub(both, x.parts(0, common), y.parts(0, common), head)
                 : site.ring().add(both, x.parts(0, common), y.parts(0, common), head);
        if (most == common) return;
        const bool x_longer = x.shape.parts > common;
        const ConstSlice from = (x_longer ? x : y).parts(common, most - common);
        const Slice tail = out.part(common * part, (most - common) * part);
        if (x_longer || !subtract)
          site.queue.template copy<Word>(from, tail);
        else
          site.ring().neg(rest, from, tail);
      },
      a, b);
}

template <class Word>
Array WordEvaluator<Word>::add_or_sub_plain(const Array& a, const Array& m, bool subtract) const {
  const char* const what = subtract ? "sub_plain" : "add_plain";
  this->check(what, m);
  check_plain(what, a, m);
  Shape shape = a.shape();
  shape.count = this->common_count(what, a, m);
  const auto primes = moduli(a.basis(), 1);
  return make(
      shape,
      [&](const Site& site, Slice out, const View& single, const View& plain) {
        Buffer keep_x, keep_rows, keep_y;
        const View x = spread(site, single, keep_x);
        const ConstSlice y = repeated(site, primes.size(), plain.count,
                                      over(site, plain, shape.basis, keep_rows), keep_y);
        const std::size_t part = primes.size() * site.count * site.N;
        const Slice first = out.part(0, part);
        subtract ? site.ring().sub(primes, x.parts(0, 1), y, first)
                 : site.ring().add(primes, x.parts(0, 1), y, first);
        if (shape.parts > 1)
          site.queue.template copy<Word>(x.parts(1, shape.parts - 1),
                                         out.part(part, (shape.parts - 1) * part));
      },
      a, m);
}

template <class Word>
Array WordEvaluator<Word>::negate(const Array& a) const {
  this->check("negate", a);
  const auto primes = moduli(a.basis(), a.parts());
  return make(
      a.shape(),
      [&](const Site& site, Slice out, const View& x) { site.ring().neg(primes, x.all, out); }, a);
}

template <class Word>
Array WordEvaluator<Word>::scale(const Array& a, std::int64_t by) const {
  this->check("scale", a);
  std::vector<Word> scalars;
  for (const auto& q : moduli(a.basis(), 1)) scalars.push_back(q.from_signed(by));
  return scaled(a, scalars);
}

template <class Word>
std::vector<Word> WordEvaluator<Word>::residues_of(const char* what, const ring::Basis& basis,
                                                   std::span<const std::uint64_t> residues) const {
  const auto primes = moduli(basis, 1);
  if (residues.size() != primes.size())
    throw ShapeError(std::string(what) + ": " + std::to_string(residues.size()) +
                     " residues are given for " + std::to_string(primes.size()) +
                     " primes; there must be one for each");
  for (std::size_t l = 0; l < residues.size(); ++l)
    if (residues[l] >= primes[l].value())
      throw RangeError(std::string(what) + ": residue " + std::to_string(residues[l]) +
                       " is not below its prime " + std::to_string(primes[l].value()));
  return {residues.begin(), residues.end()};
}

template <class Word>
Array WordEvaluator<Word>::scale(const Array& a, std::span<const std::uint64_t> by) const {
  this->check("scale", a);
  return scaled(a, residues_of("scale", a.basis(), by));
}

template <class Word>
Array WordEvaluator<Word>::combination(std::span<const Array> arrays,
                                       std::span<const std::vector<std::uint64_t>> weights,
                                       std::span<const std::uint64_t> constant,
                                       const ring::Basis& basis) const {
  const char* const what = "combination";
  plan_->check_basis(what, basis);
  this->check_each(what, arrays.size(), weights.size(), "lists of weights", "list");
  std::vector<std::vector<Word>> factors;
  const Array* longest = &arrays[0];
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Array& a = arrays[i];
    this->check(what, a);
    if (a.parts() != arrays[0].parts() || a.form() != arrays[0].form())
      throw ShapeError(std::string(what) + ": array " + std::to_string(i) + " has " +
                       std::to_string(a.parts()) + " parts and array 0 has " +
                       std::to_string(arrays[0].parts()) +
                       ", or their forms differ; parts and forms must be equal");
    if (!a.basis().includes(basis))
      throw ParameterError(std::string(what) + ": primes " + (basis - a.basis()).describe() +
                           " are not among those of array " + std::to_string(i) + ", " +
                           a.basis().describe());
    if (this->common_count(what, *longest, a) > longest->count()) longest = &a;
    factors.push_back(residues_of(what, basis, weights[i]));
  }
  std::vector<Word> more;
  if (!constant.empty()) {
    this->check_evaluation("combination with a constant", arrays[0]);
    more = residues_of(what, basis, constant);
  }
  const Shape shape{arrays[0].parts(), basis, longest->count(), arrays[0].form()};
  return in_pieces(shape.count, [&](Pieces pieces) {
    const auto out = draft(shape, std::move(pieces));
    std::vector<Held> operands;
    for (const Array& a : arrays) operands.push_back(aligned(a, out->pieces, shape.count));
    const auto one = [&](const Site& site) {
      std::vector<View> views;
      std::vector<backend::ScaledTerm<Word>> terms;
      for (std::size_t i = 0; i < operands.size(); ++i) {
        views.push_back(view(*operands[i], site));
        terms.push_back({views[i].all, operands[i]->shape.basis, factors[i]});
      }
      Buffer result = site.polynomials(shape.rows());
      site.rns().combine(site.tables, basis, shape.parts, terms, more, false, result.slice());
      out->buffers[site.piece] = Stored(site.lane, std::move(result));
    };
    work(std::span(&out, 1), out->pieces, std::array<Held, 0>{}, one);
    return this->wrap(out);
  });
}

template <class Word>
auto WordEvaluator<Word>::everywhere(const Array& a, std::size_t first, std::size_t count,
                                     const Pieces& pieces) const -> Everywhere {
  Everywhere out{held(a), {}};
  Pieces lanes;
  for (const run::Piece& piece : pieces)
    if (out.piece_of_lane.try_emplace(piece.lane, lanes.size()).second)
      lanes.push_back({piece.lane, {lanes.size() * count, count}});
  const Pieces& has = out.held->pieces;
  const bool is_there =
      count == a.count() && lanes.size() == 1 && has.size() == 1 && has[0].lane == lanes[0].lane;
  if (is_there) return out;
  Shape shape = a.shape();
  shape.count = lanes.size() * count;
  std::vector<Item> origins;
  origins.reserve(shape.count);
  for (std::size_t i = 0; i < shape.count; ++i)
    origins.push_back({0, static_cast<std::uint32_t>(first + i % count)});
  const Held source = out.held;
  out.held = gather(shape, std::span(&source, 1), origins, std::move(lanes));
  return out;
}

template <class Word>
Array WordEvaluator<Word>::some_weighted_sums(const Array& a, std::span<const double> weights,
                                              double scale, std::size_t inputs, std::size_t first,
                                              std::size_t count,
                                              std::span<const std::uint64_t> constants) const {
  const std::size_t B = a.count() / inputs, rows = a.basis().size(), N = plan_->N();
  const Shape shape{a.parts(), a.basis(), weights.size() / inputs * B, a.form()};
  return in_pieces(shape.count, [&](Pieces pieces) {
    const auto out = draft(shape, std::move(pieces));
    const Everywhere x = everywhere(a, first * B, count * B, out->pieces);
    const auto one = [&](const Site& site) {
      const run::Piece& piece = out->pieces[site.piece];
      const std::size_t from = piece.range.begin / B, to = (piece.range.begin + site.count - 1) / B,
                        outputs = to - from + 1;
      // The rows of the matrix that the piece needs, as polynomials of residues.
      std::vector<double> reals((outputs * count + N - 1) / N * N);
      for (std::size_t j = 0; j < outputs; ++j)
        std::copy_n(weights.data() + (from + j) * inputs + first, count, reals.data() + j * count);
      auto numbers = site.queue.template allocate<double>(reals.size());
      site.queue.template upload<double>(reals, numbers.slice());
      Buffer residues = site.queue.template allocate<Word>(rows * reals.size());
      site.rns().round(site.tables, shape.basis, scale, static_cast<std::uint32_t>(N), 1,
                       std::as_const(numbers).slice(), residues.slice());
      Buffer added;
      if (!constants.empty()) {
        std::vector<Word> words(rows * outputs);
        for (std::size_t r = 0; r < rows; ++r)
          for (std::size_t j = 0; j < outputs; ++j)
            words[r * outputs + j] = static_cast<Word>(constants[(from + j) * rows + r]);
        added = site.queue.template allocate<Word>(words.size());
        site.queue.template upload<Word>(words, added.slice());
      }
      const Buffer all = x.held->buffers[x.piece_of_lane.at(piece.lane)].on(site.lane);
      Buffer result = site.polynomials(shape.rows());
      site.rns().weighted_sums(site.tables, shape.basis, shape.parts,
                               {all.slice(), std::as_const(residues).slice(),
                                constants.empty() ? ConstSlice{} : std::as_const(added).slice(),
                                count, piece.range.begin % B},
                               result.slice());
      out->buffers[site.piece] = Stored(site.lane, std::move(result));
    };
    work(std::span(&out, 1), out->pieces, std::array<Held, 0>{}, one);
    return this->wrap(out);
  });
}

template <class Word>
Array WordEvaluator<Word>::weighted_sums(const Array& a, std::span<const double> weights,
                                         double scale, std::size_t inputs,
                                         std::span<const std::uint64_t> constants) const {
  const auto [B, M] = this->check_sums(a, weights.size(), inputs, constants.size());
  if (!constants.empty())
    for (std::size_t j = 0; j < M; ++j)
      static_cast<void>(residues_of("weighted_sums", a.basis(),
                                    constants.subspan(j * a.basis().size(), a.basis().size())));
  // No device holds more of the inputs at once than a product of a piece takes.
  const std::size_t all = this->most_ * this->product_rows_ / a.shape().rows(),
                    at_once = std::max<std::size_t>(1, all / B);
  return this->fleet().again([&] {
    Array out;
    for (std::size_t first = 0; first < inputs; first += at_once) {
      const std::size_t count = std::min(at_once, inputs - first);
      const Array some =
          some_weighted_sums(a, weights, scale, inputs, first, count,
                             first == 0 ? constants : std::span<const std::uint64_t>());
      out = first == 0 ? some : this->add(out, some);
    }
    return out;
  });
}

template <class Word>
std::vector<Array> WordEvaluator<Word>::masked_tensors(std::span<const Array> high,
                                                       std::span<const Array> low,
                                                       std::span<const std::uint16_t> masks) const {
  static_assert(Evaluator::most_masked == backend::MaskedTensors<Word>::most);
  const std::size_t results = this->check_masked(high, low, masks);
  const Shape shape{3, high[0].basis(), high[0].count()};
  return in_pieces(shape.count, [&](const Pieces& pieces) {
    std::vector<std::shared_ptr<Residues>> outs;
    for (std::size_t j = 0; j < results; ++j) outs.push_back(draft(shape, pieces));
    const auto there = [&](std::span<const Array> arrays) {
      std::vector<Held> operands;
      for (const Array& a : arrays) operands.push_back(aligned(a, pieces, shape.count));
      return operands;
    };
    const std::vector<Held> highs = there(high), lows = there(low);
    const auto one = [&](const Site& site) {
      std::vector<View> views;
      const auto slices = [&](std::span<const Held> operands) {
        std::vector<ConstSlice> all;
        for (const Held& each : operands) all.push_back(views.emplace_back(view(*each, site)).all);
        return all;
      };
      const std::vector<ConstSlice> of_high = slices(highs), of_low = slices(lows);
      std::vector<Buffer> made;
      std::vector<Slice> to;
      for (std::size_t j = 0; j < results; ++j)
        to.push_back(made.emplace_back(site.polynomials(shape.rows())).slice());
      site.rns().masked_tensors(site.tables, shape.basis, {of_high, of_low, masks}, to);
      for (std::size_t j = 0; j < results; ++j)
        outs[j]->buffers[site.piece] = Stored(site.lane, std::move(made[j]));
    };
    work(outs, pieces, std::array<Held, 0>{}, one);
    std::vector<Array> arrays;
    for (const auto& out : outs) arrays.push_back(this->wrap(out));
    return arrays;
  });
}

template <class Word>
Array WordEvaluator<Word>::scaled(const Array& a, const std::vector<Word>& each) const {
  const auto primes = moduli(a.basis(), a.parts());
  std::vector<Word> scalars;
  for (unsigned k = 0; k < a.parts(); ++k) scalars.insert(scalars.end(), each.begin(), each.end());
  return make(
      a.shape(),
      [&](const Site& site, Slice out, const View& x) {
        site.ring().mul_scalar(primes, x.all, scalars, out);
      },
      a);
}

template <class Word>
Array WordEvaluator<Word>::transform(const Array& a, Form form) const {
  this->check("transform", a);
  if (a.form() == form) return a;
  Shape shape = a.shape();
  shape.form = form;
  return make(
      shape,
      [&](const Site& site, Slice out, const View& x) {
        site.queue.template copy<Word>(x.all, out);
        if (form == Form::evaluation)
          site.rns().ntt(site.tables, shape.basis, shape.parts, out);
        else
          site.rns().intt(site.tables, shape.basis, shape.parts, out);
      },
      a);
}

template <class Word>
Array WordEvaluator<Word>::parts(const Array& a, unsigned first, unsigned count) const {
  this->check("parts", a);
  if (count == 0 || first >= a.parts() || count > a.parts() - first)
    throw ShapeError("parts: " + std::to_string(count) + " parts from part " +
                     std::to_string(first) + " on are asked for; there must be at least one, and " +
                     "the array has " + std::to_string(a.parts()));
  if (count == a.parts()) return a;
  Shape shape = a.shape();
  shape.parts = count;
  return in_pieces(shape.count, [&](Pieces pieces) {
    const auto out = draft(shape, std::move(pieces));
    work(std::span(&out, 1), out->pieces, std::array{aligned(a, out->pieces, shape.count)},
         [&](const Site& site, const View& x) {
           const auto all = std::make_shared<Buffer>(x.keep);
           const std::size_t part = shape.basis.size() * site.count * site.N;
           const Slice some = all->slice().part(first * part, count * part);
           out->buffers[site.piece] = Stored(
               site.lane, Buffer(std::shared_ptr<void>(all, some.data), some.size, some.queue));
         });
    return this->wrap(out);
  });
}

template <class Word>
Array WordEvaluator<Word>::restrict(const Array& a, const ring::Basis& basis) const {
  this->check("restrict", a);
  plan_->check_basis("restrict", basis);
  if (!a.basis().includes(basis))
    throw ParameterError("restrict: primes " + (basis - a.basis()).describe() +
                         " are not among the array's, " + a.basis().describe());
  if (a.basis() == basis) return a;
  Shape shape = a.shape(), one = shape;
  shape.basis = basis;
  one.parts = 1;
  return make(
      shape,
      [&](const Site& site, Slice out, const View& x) {
        const std::size_t part = basis.size() * site.count * site.N;
        for (unsigned k = 0; k < shape.parts; ++k) {
          Buffer keep;
          site.queue.template copy<Word>(
              over(site, {one, x.count, x.N, x.parts(k, 1)}, basis, keep),
              out.part(k * part, part));
        }
      },
      a);
}

template <class Word>
Shape WordEvaluator<Word>::shape_over(const char* what, const Array& a,
                                      const ring::Basis& to) const {
  this->check_evaluation(what, a);
  plan_->check_basis(what, to);
  Shape shape = a.shape();
  shape.basis = to;
  return shape;
}

template <class Word>
Array WordEvaluator<Word>::divide(const Array& a, const ring::Basis& to, std::uint64_t t) const {
  const Shape shape = shape_over("divide", a, to);
  return make(
      shape,
      [&](const Site& site, Slice out, const View& x) {
        site.rns().divide(site.tables, x.shape.basis, to, t, shape.parts, x.all, out);
      },
      a);
}

template <class Word>
Array WordEvaluator<Word>::extend(const Array& a, const ring::Basis& to, ring::Lift lift) const {
  const Shape shape = shape_over("extend", a, to);
  return make(
      shape,
      [&](const Site& site, Slice out, const View& x) {
        const std::size_t part = to.size() * site.count * site.N;
        for (unsigned k = 0; k < shape.parts; ++k)
          site.rns().extend(site.tables, a.basis(), std::span(&a.basis(), 1), to, lift,
                            x.parts(k, 1), out.part(k * part, part));
      },
      a);
}

template <class Word>
Array WordEvaluator<Word>::substitute(const Array& a, std::uint32_t g) const {
  this->check_evaluation("substitute", a);
  backend::check_exponent("substitute", *plan_, g);
  if (g == 1) return a;
  const auto primes = moduli(a.basis(), a.parts());
  return make(
      a.shape(),
      [&](const Site& site, Slice out, const View& x) {
        site.ring().automorphism(primes, plan_->N(), g, true, x.all, out);
      },
      a);
}

template <class Word>
Array WordEvaluator<Word>::gadget_digits(const Array& a, const ring::Gadget& gadget) const {
  const char* const what = "gadget_digits";
  this->check_evaluation(what, a);
  if (a.basis().size() != 1)
    throw ShapeError(std::string(what) + ": the array is over primes " + a.basis().describe() +
                     "; there must be one prime");
  if (const Word q = moduli(a.basis(), 1)[0].value(); q != gadget.modulus())
    throw ParameterError(std::string(what) + ": the gadget is of modulus " +
                         std::to_string(gadget.modulus()) + ", and the array over the prime " +
                         std::to_string(q) + "; both must be equal");
  Shape shape = a.shape();
  shape.parts *= gadget.digits();
  return make(
      shape,
      [&](const Site& site, Slice out, const View& x) {
        site.rns().decompose(site.tables, shape.basis, gadget, x.shape.parts, x.all, out);
      },
      a);
}

template <class Word>
void WordEvaluator<Word>::multiply(const Site& site, const ring::Basis& basis, const View& a,
                                   ConstSlice b, unsigned b_parts, std::size_t b_count,
                                   const backend::TensorEnd<Word>& end, Slice out) const {
  if (a.count >= b_count)
    site.rns().tensor(site.tables, basis, a.shape.parts, a.all, b_parts, b, end, out);
  else
    site.rns().tensor(site.tables, basis, b_parts, b, a.shape.parts, a.all, end, out);
}

template <class Word>
Array WordEvaluator<Word>::multiply_plain(const Array& a, const Array& m) const {
  this->check_evaluation("multiply_plain", a);
  check_plain("multiply_plain", a, m);
  if (m.shape().log_repeats != 0)
    return sum_of_products(std::span(&a, 1), std::span(&m, 1), a.basis());
  Shape shape = a.shape();
  shape.count = this->common_count("multiply_plain", a, m);
  return make(
      shape,
      [&](const Site& site, Slice out, const View& x, const View& plain) {
        Buffer keep;
        multiply(site, shape.basis, x, over(site, plain, shape.basis, keep), 1, plain.count, {},
                 out);
      },
      a, m);
}

template <class Word>
Array WordEvaluator<Word>::tensor(const Array& a, const Array& b, const ProductEnd& end) const {
  this->check_evaluation("tensor", a);
  this->check_evaluation("tensor", b);
  this->check_basis("tensor", b.basis(), a.basis());
  const Shape shape{a.parts() + b.parts() - 1, a.basis(), this->common_count("tensor", a, b),
                    Form::evaluation};
  std::vector<Word> residues;
  if (!end.constant.empty()) residues = residues_of("tensor", a.basis(), end.constant);
  const auto product = [&](const Site& site, Slice out, const View& x, const View& y,
                           const backend::TensorEnd<Word>& its_end) {
    multiply(site, shape.basis, x, y.all, y.shape.parts, y.count, its_end, out);
  };
  if (!end.added)
    return make(
        shape,
        [&](const Site& site, Slice out, const View& x, const View& y) {
          product(site, out, x, y, {end.doubled, residues});
        },
        a, b);
  this->check_evaluation("tensor", *end.added);
  this->check_basis("tensor", end.added->basis(), a.basis());
  if (end.added->parts() > shape.parts || end.added->count() != shape.count)
    throw ShapeError("tensor: " + std::to_string(end.added->count()) + " ciphertexts of " +
                     std::to_string(end.added->parts()) + " parts are added to " +
                     std::to_string(shape.count) + " of " + std::to_string(shape.parts));
  return make(
      shape,
      [&](const Site& site, Slice out, const View& x, const View& y, const View& z) {
        product(site, out, x, y, {end.doubled, residues, z.all, z.shape.parts});
      },
      a, b, *end.added);
}

}  // namespace whorl::lattice::rlwe
