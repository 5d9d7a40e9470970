#include "lattice/rlwe/dry_evaluator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "lattice/rlwe/keys.h"
#include "whorl/error.h"

namespace whorl::lattice::rlwe {

DryEvaluator::DryEvaluator(std::shared_ptr<const run::Fleet> fleet, std::uint32_t N, unsigned limbs,
                           unsigned special, unsigned word_bytes)
    : Evaluator(std::move(fleet), N, limbs, special), word_bytes_(word_bytes) {}

struct DryEvaluator::Traced final : Storage {
  using Storage::Storage;
  Trail trail;
};

const DryEvaluator::Trail& DryEvaluator::trail_of(const Array& a) {
  return static_cast<const Traced&>(*storage_of(a)).trail;
}

DryEvaluator::Trail DryEvaluator::sum_of(std::span<const Array> arrays) {
  Trail out = trail_of(arrays[0]);
  for (const Array& a : arrays.subspan(1)) {
    const Trail& next = trail_of(a);
    out.depth = std::max(out.depth, next.depth);
    out.plain_depth = std::max(out.plain_depth, next.plain_depth);
    const double more = std::max(out.sums, next.sums), less = std::min(out.sums, next.sums);
    out.sums = more + std::log2(1 + std::exp2(less - more));
  }
  return out;
}

DryEvaluator::Trail DryEvaluator::with_product(Trail trail, std::size_t plaintexts) {
  ++trail.plain_depth;
  trail.sums += std::log2(static_cast<double>(plaintexts));
  return trail;
}

Array DryEvaluator::of(const Shape& shape, const Trail& trail) const {
  auto made = std::make_shared<Traced>(shared_from_this(), shape, std::vector<run::Piece>{});
  made->bytes = shape.words(N()) * word_bytes_;
  made->trail = trail;
  const std::lock_guard lock(mutex_);
  costs_.depth = std::max(costs_.depth, trail.depth);
  costs_.plain_depth = std::max(costs_.plain_depth, trail.plain_depth);
  costs_.sums = std::max(costs_.sums, trail.sums);
  return wrap(std::move(made));
}

RingCosts DryEvaluator::costs() const {
  const std::lock_guard lock(mutex_);
  return costs_;
}

void DryEvaluator::count(std::size_t RingCosts::*what, std::size_t times) const {
  const std::lock_guard lock(mutex_);
  costs_.*what += times;
}

void DryEvaluator::turn(std::uint32_t g, const Keys& keys, std::size_t times) const {
  if (g <= 1) return;
  static_cast<void>(keys.get(g, 1));
  count(&RingCosts::rotations, times);
  count(&RingCosts::key_switches, times);
}

std::size_t DryEvaluator::count_of(const char* what, std::span<const Array> arrays,
                                   std::span<const Array> plains) {
  const Array* longest = &arrays[0];
  for (const std::span<const Array> each : {arrays, plains})
    for (const Array& a : each)
      if (common_count(what, *longest, a) > longest->count()) longest = &a;
  return longest->count();
}

// The words are not looked at.
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
                                 double, const ring::Basis& basis) const {
  return of(Shape{1, basis, values.size() / period, Form::evaluation});
}
std::vector<Array> DryEvaluator::interpolated_each(std::span<const std::complex<double>> values,
                                                   std::size_t period, double,
                                                   const ring::Basis& basis,
                                                   unsigned log_repeats) const {
  return std::vector(values.size() / period, of(Shape{1, basis, 1, Form::evaluation, log_repeats}));
}
WordArray DryEvaluator::download(const Array&) const {
  throw DeviceError("a dry run has no ciphertexts that could be copied");
}

bool DryEvaluator::is_lost(const Array&) const { return false; }

Array DryEvaluator::negate(const Array& a) const { return a; }
Array DryEvaluator::scale(const Array& a, std::span<const std::uint64_t>) const { return a; }
Array DryEvaluator::scale(const Array& a, std::int64_t by) const {
  Trail trail = trail_of(a);
  trail.sums += std::log2(std::max(1.0, std::abs(static_cast<double>(by))));
  return of(a.shape(), trail);
}
Array DryEvaluator::combination(std::span<const Array> arrays,
                                std::span<const std::vector<std::uint64_t>>,
                                std::span<const std::uint64_t> constant,
                                const ring::Basis& basis) const {
  std::vector<Array> terms(arrays.begin(), arrays.end());
  if (!constant.empty()) terms.push_back(of(Shape{1, basis, 1, Form::evaluation}));
  return of(arrays[0], arrays[0].parts(), basis, count_of("combination", arrays, {}),
            sum_of(terms));
}

Array DryEvaluator::weighted_sums(const Array& a, std::span<const double> weights, double,
                                  std::size_t inputs,
                                  std::span<const std::uint64_t> constants) const {
  const auto [B, M] = check_sums(a, weights.size(), inputs, constants.size());
  Trail trail = trail_of(a);
  trail.sums += std::log2(static_cast<double>(inputs));
  return of(a, a.parts(), a.basis(), M * B, trail);
}

Array DryEvaluator::transform(const Array& a, Form form) const {
  return of(Shape{a.parts(), a.basis(), a.count(), form}, trail_of(a));
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
  Trail longest;
  for (const Array& a : arrays) {
    const Trail& trail = trail_of(a);
    count += a.count();
    longest = {std::max(longest.depth, trail.depth),
               std::max(longest.plain_depth, trail.plain_depth),
               std::max(longest.sums, trail.sums)};
  }
  return of(arrays[0], arrays[0].parts(), arrays[0].basis(), count, longest);
}
Array DryEvaluator::interleave(std::span<const Array> arrays) const { return join(arrays); }
Array DryEvaluator::parts(const Array& a, unsigned, unsigned count) const {
  return of(a, count, a.basis(), a.count());
}
Array DryEvaluator::restrict(const Array& a, const ring::Basis& basis) const {
  return of(a, a.parts(), basis, a.count());
}
Array DryEvaluator::divide(const Array& a, const ring::Basis& to, std::uint64_t) const {
  return of(a, a.parts(), to, a.count());
}
Array DryEvaluator::extend(const Array& a, const ring::Basis& to, ring::Lift) const {
  count(&RingCosts::bootstraps, a.count());
  return of(a, a.parts(), to, a.count());
}

Array DryEvaluator::substitute(const Array& a, std::uint32_t) const { return a; }
Array DryEvaluator::gadget_digits(const Array& a, const ring::Gadget& gadget) const {
  return of(a, a.parts() * gadget.digits(), a.basis(), a.count());
}

Array DryEvaluator::add_or_sub(const Array& a, const Array& b, bool) const {
  return of(a, std::max(a.parts(), b.parts()), a.basis(), common_count("add", a, b),
            sum_of(std::array{a, b}));
}
Array DryEvaluator::add_or_sub_plain(const Array& a, const Array& m, bool) const {
  return of(a, a.parts(), a.basis(), common_count("add", a, m), sum_of(std::array{a, m}));
}
Array DryEvaluator::multiply_plain(const Array& a, const Array& m) const {
  const std::size_t times = common_count("multiply", a, m);
  count(&RingCosts::plain_products, times);
  return of(a, a.parts(), a.basis(), times, with_product(trail_of(a), 1));
}
Array DryEvaluator::sum_of_products(std::span<const Array> arrays, std::span<const Array> plains,
                                    const ring::Basis& basis) const {
  const std::size_t times = count_of("sum_of_products", arrays, plains);
  count(&RingCosts::plain_products, arrays.size() * times);
  return of(arrays[0], arrays[0].parts(), basis, times, with_product(sum_of(arrays), 1));
}
Array DryEvaluator::sums_of_made_products(std::size_t count, const ring::Basis& basis,
                                          const std::function<Writer(std::span<const run::Piece>)>&,
                                          std::span<const std::vector<Array>> plains) const {
  for (const std::vector<Array>& part : plains)
    this->count(&RingCosts::plain_products, part.size() * count);
  return of(Shape{static_cast<unsigned>(plains.size()), basis, count, Form::evaluation});
}
Array DryEvaluator::tensor(const Array& a, const Array& b, const ProductEnd&) const {
  const std::size_t times = common_count("multiply", a, b);
  count(&RingCosts::products, times);
  Trail trail = sum_of(std::array{a, b});
  ++trail.depth;
  trail.sums = 0;
  return of(a, a.parts() + b.parts() - 1, a.basis(), times, trail);
}

std::vector<Array> DryEvaluator::masked_tensors(std::span<const Array> high,
                                                std::span<const Array> low,
                                                std::span<const std::uint16_t> masks) const {
  const std::size_t results = check_masked(high, low, masks), H = high.size();
  std::vector<Array> out;
  for (std::size_t j = 0; j < results; ++j) {
    const auto products = static_cast<std::size_t>(
        std::ranges::count_if(masks.subspan(j * H, H), [](auto mask) { return mask != 0; }));
    count(&RingCosts::products, products * high[0].count());
    // As tensor() has it, whose results are added up.
    std::vector<Array> operands(high.begin(), high.end());
    operands.insert(operands.end(), low.begin(), low.end());
    Trail trail = sum_of(operands);
    ++trail.depth;
    trail.sums = std::log2(static_cast<double>(std::max<std::size_t>(products, 1)));
    out.push_back(of(high[0], 3, high[0].basis(), high[0].count(), trail));
  }
  return out;
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
  count(&RingCosts::key_switches, digits.count());
  return of(digits, 2, digits.basis(), digits.count());
}
Array DryEvaluator::key_switch(const Array& a, const Key&, std::uint64_t) const {
  count(&RingCosts::key_switches, a.count());
  return of(a, 2, a.basis(), a.count());
}
Array DryEvaluator::relinearise(const Array& a, const Keys& keys, std::uint64_t t) const {
  return relinearise(a, keys, a.basis(), t);
}
Array DryEvaluator::relinearise(const Array& a, const Keys& keys, const ring::Basis& to,
                                std::uint64_t) const {
  for (unsigned power = 2; power < a.parts(); ++power) static_cast<void>(keys.get(1, power));
  if (a.parts() > 2) count(&RingCosts::relinearisations, a.count());
  count(&RingCosts::key_switches, (a.parts() - 2) * a.count());
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
  for (const std::uint32_t g : gs) turn(g, keys, a.count());
  return std::vector<Array>(gs.size(), of(a, 2, a.basis(), a.count()));
}
std::vector<Array> DryEvaluator::linear_maps(const Array& a, std::span<const LinearMap> maps,
                                             const Keys& keys, const ring::Basis& to,
                                             std::uint64_t) const {
  std::vector<std::vector<Array>> plains(maps.size());
  std::size_t times = a.count();
  for (std::size_t m = 0; m < maps.size(); ++m) {
    for (std::size_t i = 0; i < maps[m].giants.size(); ++i)
      for (std::size_t b = 0; b < maps[m].babies.size(); ++b)
        if (Array plain = maps[m].plain(i, b)) plains[m].push_back(std::move(plain));
    times = std::max(times, count_of("linear_map", std::span(&a, 1), plains[m]));
  }
  for (const std::uint32_t g : maps[0].babies) turn(g, keys, times);
  std::vector<Array> out;
  for (std::size_t m = 0; m < maps.size(); ++m) {
    for (const std::uint32_t g : maps[m].giants) turn(g, keys, times);
    count(&RingCosts::plain_products, plains[m].size() * times);
    out.push_back(of(a, 2, to, times, with_product(trail_of(a), plains[m].size())));
  }
  return out;
}

}  // namespace whorl::lattice::rlwe
