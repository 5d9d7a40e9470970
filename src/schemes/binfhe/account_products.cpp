#include "schemes/binfhe/account_products.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "math/inner_product.h"

namespace whorl::binfhe {

namespace {

std::uint64_t at(const std::vector<std::uint64_t>& marks, std::size_t i) {
  return marks[marks.size() == 1 ? 0 : i];
}

/// Finds equal marks of one group.
class MarkTable {
 public:
  explicit MarkTable(std::size_t most)
      : slots_(std::bit_ceil(2 * most + 1)), mask_(slots_.size() - 1) {}
  void begin_group() { ++group_; }
  /// The number that came with the same mark before, or this one. Marks that differ in bit 0 are of
  /// opposite errors.
  std::size_t first_with(std::uint64_t mark, std::size_t number) {
    for (std::size_t i = mix(mark | 1) & mask_;; i = (i + 1) & mask_) {
      Slot& slot = slots_[i];
      if (slot.group != group_) {
        slot = {group_, mark | 1, number};
        return number;
      }
      if (slot.mark == (mark | 1)) return slot.number;
    }
  }

 private:
  struct Slot {
    std::uint64_t group = 0, mark = 0;
    std::size_t number = 0;
  };
  std::vector<Slot> slots_;
  std::size_t mask_;
  std::uint64_t group_ = 0;
};

/// Which of the errors of a group's ciphertexts are the same. An error is one of a part of the
/// array and a column.
class Columns {
 public:
  Columns(const Origin& origin, std::size_t columns) : columns_(columns) {
    bool loaded = false, made = false;
    for (const ErrorPart& part : origin.parts) {
      loaded = loaded || (part.from & ErrorPart::loaded) != 0;
      made = made || (part.from & ErrorPart::made) != 0;
    }
    std::vector<const ErrorPart*> marked;
    for (const ErrorPart& part : origin.parts) {
      const double deviation = std::abs(part.weight) * std::sqrt(part.variance);
      const bool bootstrapped = (part.from & (ErrorPart::loaded | ErrorPart::made)) != 0;
      // What was made may be what was loaded; nothing is known where there are no marks.
      if (!part.marks || (loaded && made && bootstrapped)) {
        unknown_ += deviation;
        continue;
      }
      marked.push_back(&part);
      deviations_.push_back(deviation);
      bootstrapped_.push_back(bootstrapped);
    }
    find_classes(marked, origin.values->size());
  }

  /// The variance of a sum of a group's ciphertexts; `row` is of the weights.
  double variance(std::span<const std::int32_t> weights, const RowSums& row, double constant) {
    // Classes are independent of one another, but for what is constant under a key.
    Deviations all, made;
    if (!joined_) {
      for (std::size_t p = 0; p < deviations_.size(); ++p)
        for (Deviations* each : {&all, &made})
          if (each == &all || bootstrapped_[p])
            each->add(deviations_[p] * row.absolute(),
                      deviations_[p] * deviations_[p] * row.squares);
    } else {
      std::fill(of_class_.begin(), of_class_.end(), 0.0);
      for (std::size_t p = 0; p < deviations_.size(); ++p)
        for (std::size_t k = 0; k < columns_; ++k)
          of_class_[class_of_[p * columns_ + k]] +=
              std::abs(static_cast<double>(weights[k])) * deviations_[p];
      for (std::size_t c = 0; c < of_class_.size(); ++c)
        for (Deviations* each : {&all, &made})
          if (each == &all || bootstrapped_[c / columns_])
            each->add(of_class_[c], of_class_[c] * of_class_[c]);
    }
    const double unknown = row.absolute() * unknown_;
    return all.squares + constant * (made.sum * made.sum - made.squares) +
           unknown * (unknown + 2 * all.sum);
  }

 private:
  struct Deviations {
    double sum = 0, squares = 0;
    void add(double deviation, double square) {
      sum += deviation;
      squares += square;
    }
  };
  /// Errors that are equal in any group are of one class, whose number is that of its first error.
  /// A class of encryptions and of bootstraps counts as of bootstraps, which come first.
  void find_classes(std::vector<const ErrorPart*>& marked, std::size_t count) {
    std::vector<std::size_t> order(marked.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return bootstrapped_[a] > bootstrapped_[b];
    });
    const auto sorted = [&](const auto& of) {
      std::decay_t<decltype(of)> out;
      for (const std::size_t p : order) out.push_back(of[p]);
      return out;
    };
    marked = sorted(marked);
    deviations_ = sorted(deviations_);
    bootstrapped_ = sorted(bootstrapped_);

    const std::size_t errors = marked.size() * columns_;
    of_class_.resize(errors);
    class_of_.resize(errors);
    std::iota(class_of_.begin(), class_of_.end(), std::size_t{0});
    MarkTable table(errors);
    for (std::size_t first = 0; first < count; first += columns_) {
      table.begin_group();
      for (std::size_t p = 0; p < marked.size(); ++p)
        for (std::size_t k = 0; k < columns_; ++k) {
          const std::uint64_t mark = at(*marked[p]->marks, first + k);
          if (mark == 0) continue;  // no error
          const std::size_t number = p * columns_ + k;
          join(number, table.first_with(mark, number));
        }
    }
    for (std::size_t& each : class_of_) each = root(each);
    for (std::size_t n = 0; n < errors; ++n) joined_ = joined_ || class_of_[n] != n;
  }
  std::size_t root(std::size_t number) const {
    while (class_of_[number] != number) number = class_of_[number];
    return number;
  }
  void join(std::size_t a, std::size_t b) {
    if (a == b) return;
    const std::size_t x = root(a), y = root(b);
    class_of_[std::max(x, y)] = std::min(x, y);
  }

  std::size_t columns_;
  double unknown_ = 0;  ///< deviation of errors that may be those of any
  std::vector<double> deviations_;
  std::vector<char> bootstrapped_;  ///< each part
  std::vector<std::size_t> class_of_;
  bool joined_ = false;  ///< whether a class has several errors
  std::vector<double> of_class_;
};

}  // namespace

std::vector<RowSums> sums_of_rows(const Weights& weights) {
  std::vector<RowSums> out;
  out.reserve(weights.rows());
  for (std::size_t r = 0; r < weights.rows(); ++r) {
    // Weights of 31 bits: 64 bits hold the sums of 2^32 of them, 128 bits those of squares.
    std::int64_t sum = 0, absolute = 0;
    unsigned __int128 squares = 0;
    std::size_t terms = 0;
    for (const std::int64_t w : weights.row(r)) {
      sum += w;
      absolute += std::abs(w);
      squares += static_cast<std::uint64_t>(w * w);
      terms += w != 0;
    }
    out.push_back(
        {(absolute + sum) / 2, (sum - absolute) / 2, static_cast<double>(squares), terms});
  }
  return out;
}

ProductErrors errors_of_product(const Origin& origin, const Weights& weights,
                                std::span<const RowSums> sums,
                                std::span<const std::int32_t> constants, double constant,
                                double rounded) {
  Columns columns(origin, weights.columns);
  ProductErrors most{0, 0, 0, {}};
  const Promise& of = origin.promise;
  for (std::size_t r = 0; r < weights.rows(); ++r) {
    const double sum = sums[r].absolute();
    const bool added = !constants.empty() && constants[r] != 0;
    const double offset = sum * origin.offset + (added ? rounded : 0);
    const double variance =
        std::min(columns.variance(weights.row(r), sums[r], constant), sum * sum * origin.noise);
    most.variance = std::max(most.variance, variance);
    most.noise = std::max(most.noise, with_offset(variance, offset));
    most.offset = std::max(most.offset, offset);
    const double failure_log2 = of.failure_log2 + std::log2(static_cast<double>(sums[r].terms));
    most.promise.failure_log2 = std::max(most.promise.failure_log2, std::min(failure_log2, 0.0));
    if (of.off) most.promise.off = std::max(most.promise.most_off(), sum * *of.off);
  }
  return most;
}

Origin origin_of_product(const Origin& origin, const Weights& weights,
                         std::span<const std::int32_t> constants, const ProductErrors& errors,
                         Largest largest) {
  const std::size_t K = weights.columns, R = weights.rows();
  const std::vector<std::uint64_t>& of = *origin.values;
  std::vector<std::uint64_t> marks(of.size() / K * R);
  // As of a sum that is made alone: see mark_sum. Some rows stay in the cache for all vectors.
  constexpr std::size_t rows_at_once = 8;
  for (std::size_t first = 0; first < R; first += rows_at_once)
    for (std::size_t g = 0; g * K < of.size(); ++g)
      for (std::size_t r = first; r < std::min(first + rows_at_once, R); ++r)
        marks[g * R + r] =
            (constants.empty() ? 0 : mix(0) * std::uint64_t(std::int64_t{constants[r]})) +
            math::inner_product_masked<std::uint64_t>(std::span(of).subspan(g * K, K),
                                                      weights.row(r), ~std::uint64_t{0});
  Origin out{errors.noise,
             largest,
             std::make_shared<const std::vector<std::uint64_t>>(std::move(marks)),
             {},
             errors.offset,
             errors.promise};
  if (errors.variance > 0) out.parts.push_back({1, errors.variance, {}, ErrorPart::made});
  return out;
}

}  // namespace whorl::binfhe
