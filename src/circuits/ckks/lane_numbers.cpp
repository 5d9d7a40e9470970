// Numbers of many bits in lanes, by sums in coefficients: counts of ones, and products
// (docs/lanes.md).
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "circuits/ckks/bootstrap.h"
#include "circuits/ckks/lane_errors.h"
#include "circuits/ckks/lane_integers.h"
#include "math/text.h"
#include "schemes/ckks/derived.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace {

/// The largest error of a bit that comes out; one cleaning makes 2^-10 of it.
constexpr double most_error = 0x1p-6;
/// How often the error of clean bits bits that are counted may have.
constexpr double most_worse = 8;
/// log2 of the integers that bring sums to the level of a bootstrap, which are rounded.
constexpr double least_factor = 26;
/// Levels of operands above that of a bootstrap: one for a product, and some for scales that grow
/// by each digit.
constexpr unsigned levels_of_products = 5;

}  // namespace

/// Sums Σ_c 2^(w·c)·x_c of integers x_c, whose bits are read w at a time, from the lowest ones on:
/// a bootstrap gives the lowest w bits of t, and (t - these)/2^w goes to the next column.
struct Lanes::Numbers {
  explicit Numbers(const Lanes& of) : lanes(of) {}

  const Lanes& lanes;
  const Server& server = lanes.server_;
  const Parameters& p = server.parameters();
  const unsigned least = p.least_bootstrap_level();

  /// An integer in each lane, in 0 … most.
  struct Column {
    Array value;
    double most;
  };

  double error_of_digit(unsigned w, double most, double error) const {
    const double turned = error + error_of_maps(server, most / 2 + std::exp2(w));
    return ckks::error_of_bits(server, lanes.maps_, w, turned, deviations);
  }

  /// The largest error of a bit, of columns with such errors; infinite where it runs away.
  double worst_bit(unsigned w, std::span<const double> most, double error) const {
    const double base = std::exp2(w);
    double left = 0, carried = 0, worst = 0;
    for (std::size_t c = 0; c < most.size() || left >= 1; ++c) {
      if (c < most.size()) {
        left += most[c];
        carried += error;
      }
      const double bit = error_of_digit(w, left, carried);
      worst = std::max(worst, bit);
      if (worst > most_error) return HUGE_VAL;
      left = std::floor(left / base);
      carried = (carried + (base - 1) * bit) / base;
    }
    return worst;
  }

  /// The largest w up to `most` whose bits come out well; 0: none.
  unsigned largest_digit(unsigned most, std::span<const double> sizes, double error) const {
    for (unsigned w = most; w > 0; --w)
      if (std::isfinite(worst_bit(w, sizes, error))) return w;
    return 0;
  }
  [[noreturn]] static void refuse(const std::string& what) {
    throw NoiseError(what +
                     ": sums would be too far from integers for their bits, though operands were "
                     "refreshed: take parameters with a larger scale, or fewer bits");
  }

  /// The largest digits of w bits of a number of so many.
  static std::vector<double> digits_of(unsigned w, std::size_t bits) {
    std::vector<double> out;
    for (std::size_t first = 0; first < bits; first += w)
      out.push_back(std::exp2(std::min<std::size_t>(w, bits - first)) - 1);
    return out;
  }
  /// The largest values of columns of a product of n and m bits in digits of w bits.
  static std::vector<double> columns_of_product(unsigned w, std::size_t n, std::size_t m) {
    const std::vector<double> x = digits_of(w, n), y = digits_of(w, m);
    std::vector<double> out(x.size() + y.size() - 1);
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t j = 0; j < y.size(); ++j) out[i + j] += x[i] * y[j];
    return out;
  }
  /// The largest error of a product's bit, where bits of operands have that error.
  double worst_product(unsigned w, std::size_t n, std::size_t m, double error) const {
    const double digit = std::exp2(w) - 1, off = digit * error,
                 terms = static_cast<double>((std::min(n, m) + w - 1) / w);
    return worst_bit(w, columns_of_product(w, n, m), terms * (2 * digit * off + off * off));
  }

  /// Whether t can be brought to the level of a bootstrap after so many more bits.
  bool has_room(const Array& t, unsigned bits) const {
    const CiphertextInfo& info = t.info();
    const double factor = p.log2_Q(info.level) - p.log2_Q(least) + std::log2(p.scale(least)) +
                          input_bits - std::log2(info.scale) - bits;
    const double fits = p.log2_Q(info.level) - std::log2(info.scale) - bits - 24;
    return info.level > least && std::min(factor - least_factor, fits) > 0;
  }

  /// The same integers, whose scale is 2^bits times as large.
  Array lifted(Array x, unsigned bits) const {
    for (unsigned step = 0; bits > 0; bits -= step) {
      step = std::min(bits, 60u);
      x = Access::State::with_scale(server.multiply_integer(x, std::int64_t{1} << step),
                                    std::exp2(step));
    }
    return x;
  }

  /// ParameterError and ShapeError for what are no numbers of bits of equal counts.
  void check(const std::string& what, std::span<const std::vector<LaneArray>> numbers) const {
    if (p.literal().bootstrap->bits == 0)
      throw ParameterError(what + ": the parameters must be for bits, which these are not");
    if (numbers.empty()) throw ParameterError(what + ": no number is given");
    for (const auto& number : numbers) {
      if (number.empty())
        throw ParameterError(what + ": each number must have one bit or more, and one has none");
      for (const LaneArray& bit : number) {
        server.check(bit.held());
        Integers::check_bits(bit);
        if (bit.info().count != numbers[0][0].info().count)
          throw ShapeError(what + ": bits of " + std::to_string(numbers[0][0].info().count) +
                           " and " + std::to_string(bit.info().count) +
                           " ciphertexts; they must be equal");
      }
    }
  }
  using Values = std::vector<std::vector<Array>>;
  /// Bits as digits take them, which other threads do not change any more.
  struct Ready {
    unsigned w = 0;  ///< bits of a digit; 0: errors bear none
    unsigned level = 0;
    Values bits;
  };
  /// Brings bits to so many levels above a bootstrap's, if parameters have them, and cleans them
  /// where digits can be larger then: a digit's error is its largest value times a bit's. `worst`
  /// is the largest error of a result's bit, of digits of w bits whose bits have some error.
  template <class F>
  Ready prepared(std::span<const std::vector<LaneArray>> numbers, unsigned levels,
                 const F& worst) const {
    const auto digit = [&](double error) {
      for (unsigned w = p.literal().bootstrap->bits; w > 0; --w)
        if (std::isfinite(worst(w, error))) return w;
      return 0u;
    };
    std::vector<LaneArray> all;
    for (const auto& number : numbers) all.insert(all.end(), number.begin(), number.end());
    const auto below = [&](unsigned level) {
      std::vector<LaneArray> low;
      for (const LaneArray& bit : all)
        if (bit.info().level < std::min(level, p.depth())) low.push_back(bit);
      return low;
    };
    const auto clean = [&] {
      std::vector<LaneArray> high;
      for (const LaneArray& bit : all)
        if (bit.info().level >= least + levels + cleaning_levels) high.push_back(bit);
      lanes.clean(high);
    };
    const auto error = [&] {
      double most = 0;
      for (const LaneArray& bit : all) most = std::max(most, bit.error());
      return most;
    };
    lanes.refresh(below(least + levels));
    if (digit(error()) < digit(error() / 16)) clean();
    if (digit(error()) == 0) {
      lanes.refresh(below(p.depth()));
      clean();
    }
    Ready out;
    double most = 0;
    out.level = p.depth();
    for (const auto& number : numbers) {
      std::vector<Array>& bits = out.bits.emplace_back();
      for (const LaneArray& bit : number) {
        bits.push_back(lanes.values_of(bit));
        most = std::max(most, error_of(bits.back().info()));
        out.level = std::min(out.level, bits.back().info().level);
      }
    }
    out.w = digit(most);
    return out;
  }
  /// Digit i of w bits, at that level.
  Array digit(std::span<const Array> bits, std::size_t i, unsigned w, unsigned level) const {
    std::vector<Array> own;
    for (std::size_t j = i * w; j < std::min((i + 1) * w, bits.size()); ++j)
      own.push_back(server.lower(bits[j], level));
    return sum_of(own);
  }

  std::vector<LaneArray> as_lanes(const std::vector<Array>& bits) const {
    std::vector<LaneArray> out;
    for (const Array& bit : bits) out.push_back(lanes.lanes_of(bit));
    return out;
  }
  /// Σ_j 2^j·bit_j.
  Array sum_of(std::span<const Array> bits) const {
    Array sum = bits.back();
    for (std::size_t j = bits.size() - 1; j-- > 0;)
      sum = server.add(server.multiply_integer(sum, 2), bits[j]);
    return sum;
  }

  /// The lowest `total` bits of the sum.
  std::vector<Array> bits_of(std::span<const Column> columns, unsigned w, std::size_t total) const {
    const double base = std::exp2(w);
    lanes.count(columns[0].value.info().count * ((total + w - 1) / w), 0, 0, lanes.maps_.slots());
    std::vector<Array> out;
    std::optional<Array> t;
    double most = 0;
    unsigned lift = 0;
    for (std::size_t c = 0; out.size() < total; ++c) {
      if (c < columns.size()) {
        const auto& [value, own] = columns[c];
        // 1. Where the scale cannot grow any more, what is left is made of its bits.
        const auto rest = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(most)));
        if (t && !has_room(*t, 2 * w + rest)) {
          const Column left{*t, most};
          t.reset();
          if (rest > 0) t = sum_of(bits_of(std::span(&left, 1), w, rest));
          lift = 0;
        }
        const Array x = lifted(value, lift);
        t = t ? server.add(*t, x) : x;
        most += own;
      }
      // 2. Its lowest bits.
      const double error = error_of(t->info());
      t = server.with_bound(*t, {-error, most + error});
      const std::vector<Array> digit =
          lanes.bits_of(*t, static_cast<unsigned>(std::min<std::size_t>(w, total - out.size())));
      out.insert(out.end(), digit.begin(), digit.end());
      if (out.size() == total) break;
      // 3. The others, of which the lowest has the weight 1.
      const Array low = sum_of(digit);
      t = server.sub(*t, low.info().level == t->info().level ? lifted(low, lift) : low);
      t = Access::State::with_scale(*t, base);
      most = std::floor(most / base);
      lift += w;
    }
    return out;
  }
};

std::vector<LaneArray> Lanes::count_ones(std::span<const LaneArray> arrays) const {
  const unsigned most = server_.parameters().literal().bootstrap->bits;
  if (arrays.empty() || most == 0)
    throw ParameterError("count_ones: " + std::to_string(arrays.size()) +
                         " arrays; there must be " +
                         (most == 0 ? "parameters for bits, which these are not" : "one or more"));
  for (const LaneArray& a : arrays) {
    server_.check(a.held());
    Integers::check_bits(a);
    if (a.info().count != arrays[0].info().count)
      throw ShapeError("count_ones: arrays of " + std::to_string(arrays[0].info().count) + " and " +
                       std::to_string(a.info().count) + " ciphertexts; they must be equal");
  }
  const auto bits = static_cast<unsigned>(std::bit_width(arrays.size()));
  const double all = static_cast<double>(arrays.size());
  const Numbers of(*this);
  // 1. Errors add up. Cleaning takes as long as a bootstrap for so many bits, and is left out where
  // the bits that come out are not much worse for that.
  const auto given = [&] {
    double sum = 0;
    for (const LaneArray& a : arrays) sum += a.error();
    return sum;
  };
  const auto digit = [&](double error) {
    return of.largest_digit(std::min(most, bits), std::array{all}, error);
  };
  const auto error_left = [&](double error) {
    return of.error_of_digit(std::min(most, bits), all, error);
  };
  if (error_left(given()) > most_worse * error_left(0) || digit(given()) == 0) {
    std::vector<LaneArray> dirty, low;
    for (const LaneArray& a : arrays)
      if (a.error() > entry_ || digit(given()) == 0) dirty.push_back(a);
    clean(dirty);
    for (const LaneArray& a : dirty)
      if (a.error() > entry_) low.push_back(a);
    refresh(low);
  }
  if (bits > most) {
    std::vector<LaneArray> low;
    for (const LaneArray& a : arrays)
      if (!of.has_room(a.held(), bits)) low.push_back(a);
    refresh(low);
  }
  // 2. The sum, of what other threads do not change any more.
  std::optional<Array> sum;
  for (const LaneArray& a : arrays) sum = sum ? server_.add(*sum, values_of(a)) : values_of(a);
  const unsigned w = digit(error_of(sum->info()));
  if (w == 0 || (bits > most && !of.has_room(*sum, bits))) {
    // Of half as many errors are half as large.
    if (arrays.size() < 4) Numbers::refuse("count_ones");
    const std::size_t half = arrays.size() / 2;
    const std::array<std::vector<LaneArray>, 2> both{count_ones(arrays.first(half)),
                                                     count_ones(arrays.subspan(half))};
    std::vector<LaneArray> out = sum_numbers(both);
    out.resize(bits);
    return out;
  }
  // 3. Its bits.
  const Numbers::Column column{*sum, all};
  return of.as_lanes(of.bits_of(std::span(&column, 1), w, bits));
}

std::vector<LaneArray> Lanes::sum_numbers(std::span<const std::vector<LaneArray>> numbers) const {
  const Numbers of(*this);
  of.check("sum_numbers", numbers);
  std::size_t bits = 0;
  for (const auto& number : numbers) bits = std::max(bits, number.size());
  const auto columns_of = [&](unsigned w) {
    std::vector<double> most;
    for (const auto& number : numbers) {
      const std::vector<double> own = Numbers::digits_of(w, number.size());
      most.resize(std::max(most.size(), own.size()));
      for (std::size_t i = 0; i < own.size(); ++i) most[i] += own[i];
    }
    return most;
  };
  const Numbers::Ready ready = of.prepared(numbers, 1, [&](unsigned digit, double error) {
    const double off = static_cast<double>(numbers.size()) * (std::exp2(digit) - 1) * error;
    return of.worst_bit(digit, columns_of(digit), off);
  });
  const unsigned w = ready.w;
  const auto total = bits + static_cast<std::size_t>(std::bit_width(numbers.size() - 1));
  if (w == 0) {
    // Of half as many errors are half as large.
    if (numbers.size() < 4) Numbers::refuse("sum_numbers");
    const std::size_t half = numbers.size() / 2;
    const std::array<std::vector<LaneArray>, 2> both{sum_numbers(numbers.first(half)),
                                                     sum_numbers(numbers.subspan(half))};
    std::vector<LaneArray> sum = sum_numbers(both);
    sum.resize(std::min(sum.size(), total));
    return sum;
  }
  const std::vector<double> sizes = columns_of(w);
  std::vector<Numbers::Column> columns;
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    std::optional<Array> sum;
    for (const auto& number : ready.bits)
      if (c * w < number.size()) {
        const Array digit = of.digit(number, c, w, ready.level);
        sum = sum ? server_.add(*sum, digit) : digit;
      }
    columns.push_back({*sum, sizes[c]});
  }
  return of.as_lanes(of.bits_of(columns, w, total));
}

std::vector<LaneArray> Lanes::multiply_numbers(std::span<const LaneArray> a,
                                               std::span<const LaneArray> b) const {
  const Numbers of(*this);
  const std::array<std::vector<LaneArray>, 2> both{std::vector<LaneArray>(a.begin(), a.end()),
                                                   std::vector<LaneArray>(b.begin(), b.end())};
  of.check("multiply_numbers", both);
  const Numbers::Ready ready =
      of.prepared(both, levels_of_products, [&](unsigned digit, double error) {
        return of.worst_product(digit, a.size(), b.size(), error);
      });
  const unsigned w = ready.w;
  if (w == 0) Numbers::refuse("multiply_numbers");
  // Columns of products of digits.
  std::vector<Array> x, y;
  for (std::size_t i = 0; i * w < a.size(); ++i)
    x.push_back(of.digit(ready.bits[0], i, w, ready.level));
  for (std::size_t i = 0; i * w < b.size(); ++i)
    y.push_back(of.digit(ready.bits[1], i, w, ready.level));
  const Access::State& state = Access::of(server_);
  this->count(0, 0, x.size() * y.size() * x[0].info().count, maps_.slots());
  const std::vector<double> sizes = Numbers::columns_of_product(w, a.size(), b.size());
  std::vector<Numbers::Column> columns;
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    std::optional<Array> sum;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (i <= c && c - i < y.size())
        sum = state.product_plus(x[i], y[c - i], sum ? &*sum : nullptr);
    columns.push_back({state.relinearised_and_rescaled(*sum), sizes[c]});
  }
  return of.as_lanes(of.bits_of(columns, w, a.size() + b.size()));
}

}  // namespace whorl::ckks
