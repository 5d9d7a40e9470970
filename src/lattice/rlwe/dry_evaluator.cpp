#include "lattice/rlwe/dry_evaluator.h"

#include <algorithm>
#include <utility>

#include "lattice/rlwe/keys.h"
#include "whorl/error.h"

namespace whorl::lattice::rlwe {

DryEvaluator::DryEvaluator(std::shared_ptr<const run::Fleet> fleet, std::uint32_t N, unsigned limbs,
                           unsigned special, unsigned word_bytes)
    : Evaluator(std::move(fleet), N, limbs, special), word_bytes_(word_bytes) {}

Array DryEvaluator::of(const Shape& shape) const {
  auto made = std::make_shared<Storage>(shared_from_this(), shape, std::vector<run::Piece>{});
  made->bytes = shape.words(N()) * word_bytes_;
  return wrap(std::move(made));
}

std::size_t DryEvaluator::count_of(const char* what, std::span<const Array> arrays,
                                   std::span<const Array> plains) {
  const Array* longest = &arrays[0];
  for (const std::span<const Array> each : {arrays, plains})
    for (const Array& a : each)
      if (common_count(what, *longest, a) > longest->count()) longest = &a;
  return longest->count();
}

Array DryEvaluator::upload(const WordArray&, const Shape& shape) const { return of(shape); }
Array DryEvaluator::lifted(std::span<const std::int64_t> polynomials, const ring::Basis& basis,
                           unsigned log_repeats) const {
  return of(Shape{1, basis, polynomials.size() / N(), Form::evaluation, log_repeats});
}
Array DryEvaluator::rounded(std::span<const double> polynomials, double,
                            const ring::Basis& basis) const {
  return of(Shape{1, basis, polynomials.size() / N(), Form::evaluation});
}
Array DryEvaluator::interpolated(std::span<const std::complex<double>> values, std::size_t period,
                                 double, const ring::Basis& basis, unsigned log_repeats) const {
  return of(Shape{1, basis, values.size() / period, Form::evaluation, log_repeats});
}
WordArray DryEvaluator::download(const Array&) const {
  throw DeviceError("a dry run has no ciphertexts that could be copied");
}

Array DryEvaluator::scale(const Array& a, std::int64_t) const { return a; }
Array DryEvaluator::scale(const Array& a, std::span<const std::uint64_t>) const { return a; }
Array DryEvaluator::combination(std::span<const Array> arrays,
                                std::span<const std::vector<std::uint64_t>>,
                                std::span<const std::uint64_t>, const ring::Basis& basis) const {
  return of(arrays[0], arrays[0].parts(), basis, count_of("combination", arrays, {}));
}

Array DryEvaluator::transform(const Array& a, Form form) const {
  return of(Shape{a.parts(), a.basis(), a.count(), form});
}
Array DryEvaluator::take(const Array& a, std::span<const std::uint32_t> indices) const {
  for (const std::uint32_t index : indices)
    if (index >= a.count())
      throw ShapeError("take: index " + std::to_string(index) + " is not below the count, " +
                       std::to_string(a.count()));
  if (indices.empty()) throw ShapeError("take: there is no index");
  return of(a, a.parts(), a.basis(), indices.size());
}
Array DryEvaluator::join(std::span<const Array> arrays) const {
  std::size_t count = 0;
  for (const Array& a : arrays) count += a.count();
  return of(arrays[0], arrays[0].parts(), arrays[0].basis(), count);
}
Array DryEvaluator::restrict(const Array& a, const ring::Basis& basis) const {
  return of(a, a.parts(), basis, a.count());
}
Array DryEvaluator::divide(const Array& a, const ring::Basis& to, std::uint64_t) const {
  return of(a, a.parts(), to, a.count());
}
Array DryEvaluator::extend(const Array& a, const ring::Basis& to, ring::Lift) const {
  return of(a, a.parts(), to, a.count());
}

Array DryEvaluator::combine(const Array& a, const Array& b, bool) const {
  return of(a, std::max(a.parts(), b.parts()), a.basis(), common_count("add", a, b));
}
Array DryEvaluator::combine_plain(const Array& a, const Array& m, bool) const {
  return of(a, a.parts(), a.basis(), common_count("add", a, m));
}
Array DryEvaluator::multiply_plain(const Array& a, const Array& m) const {
  return of(a, a.parts(), a.basis(), common_count("multiply", a, m));
}
Array DryEvaluator::sum_of_products(std::span<const Array> arrays, std::span<const Array> plains,
                                    const ring::Basis& basis) const {
  return of(arrays[0], arrays[0].parts(), basis, count_of("sum_of_products", arrays, plains));
}
Array DryEvaluator::tensor(const Array& a, const Array& b, const ProductEnd&) const {
  return of(a, a.parts() + b.parts() - 1, a.basis(), common_count("multiply", a, b));
}

std::shared_ptr<const Key> DryEvaluator::prepare(const SwitchKeyData& data,
                                                 std::shared_ptr<run::KeyBudget> budget) const {
  return std::make_shared<const Key>(
      data.g, data.power, data.layout, 0, std::move(budget),
      [](const backend::Queue&) -> run::SizedKey { throw DeviceError("a dry run uses no key"); });
}
Array DryEvaluator::digits(const Array& a, unsigned, const ring::KeyLayout& layout) const {
  const auto used = std::ranges::count_if(
      layout.digits, [&](const ring::Basis& digit) { return !(digit & a.basis()).empty(); });
  return of(a, static_cast<unsigned>(used), a.basis() | layout.special, a.count());
}
Array DryEvaluator::inner_product(const Array& digits, const Key&, std::uint32_t) const {
  return of(digits, 2, digits.basis(), digits.count());
}
Array DryEvaluator::key_switch(const Array& a, const Key&, std::uint64_t) const {
  return of(a, 2, a.basis(), a.count());
}
Array DryEvaluator::relinearise(const Array& a, const Keys& keys, std::uint64_t t) const {
  return relinearise(a, keys, a.basis(), t);
}
Array DryEvaluator::relinearise(const Array& a, const Keys& keys, const ring::Basis& to,
                                std::uint64_t) const {
  for (unsigned power = 2; power < a.parts(); ++power) static_cast<void>(keys.get(1, power));
  return of(a, 2, to, a.count());
}
Array DryEvaluator::relinearised_product(const Array& a, const Array& b, const ProductEnd& end,
                                         const Keys& keys, const ring::Basis& to,
                                         std::uint64_t t) const {
  return to == a.basis() ? relinearise(tensor(a, b, end), keys, t)
                         : relinearise(tensor(a, b, end), keys, to, t);
}
std::vector<Array> DryEvaluator::automorphisms(const Array& a, std::span<const std::uint32_t> gs,
                                               const Keys& keys, std::uint64_t) const {
  for (const std::uint32_t g : gs)
    if (g != 1) static_cast<void>(keys.get(g, 1));
  return std::vector<Array>(gs.size(), of(a, 2, a.basis(), a.count()));
}
Array DryEvaluator::weighted_sum(const Array& a, std::span<const Term> terms, const Keys& keys,
                                 std::uint64_t) const {
  std::vector<Array> plains;
  for (const Term& term : terms) {
    if (term.g != 1) static_cast<void>(keys.get(term.g, 1));
    plains.push_back(term.plain);
  }
  return of(a, 2, a.basis(), count_of("weighted_sum", std::span(&a, 1), plains));
}
std::vector<Array> DryEvaluator::linear_maps(const Array& a, std::span<const LinearMap> maps,
                                             const Keys& keys, const ring::Basis& to,
                                             std::uint64_t) const {
  std::vector<Array> plains;
  for (const LinearMap& map : maps) {
    for (const std::uint32_t g : map.babies)
      if (g > 1) static_cast<void>(keys.get(g, 1));
    for (const std::uint32_t g : map.giants)
      if (g > 1) static_cast<void>(keys.get(g, 1));
    for (std::size_t i = 0; i < map.giants.size(); ++i)
      for (std::size_t b = 0; b < map.babies.size(); ++b)
        if (Array plain = map.plain(i, b)) plains.push_back(std::move(plain));
  }
  const std::size_t count = count_of("linear_map", std::span(&a, 1), plains);
  return std::vector<Array>(maps.size(), of(a, 2, to, count));
}

}  // namespace whorl::lattice::rlwe
