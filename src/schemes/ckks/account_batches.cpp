// The facts about batches of CKKS ciphertexts of which some are taken, several joined or added up,
// or values released.
#include <algorithm>
#include <cmath>
#include <limits>

#include "schemes/ckks/account.h"

namespace whorl::ckks {

Account::Info Account::join_batches(std::span<const Info> batches) {
  Info out = taken(batches[0], 0);
  for (const Info& batch : batches) {
    const Bounds a = out.bounds(), b = batch.bounds();
    out.bound = std::max(out.bound, batch.bound);
    out.low = std::min(a.low, b.low);
    out.high = std::max(a.high, b.high);
    out.error = std::max(out.error, batch.error);
    out.count += batch.count;
  }
  return out;
}

Account::Info Account::sum_of_multiples(std::span<const Info> arrays,
                                        std::span<const std::int64_t> weights,
                                        double constant) const {
  Info out = multiply_integer(arrays[0], weights[0]);
  for (std::size_t i = 1; i < arrays.size(); ++i)
    out = add(out, multiply_integer(arrays[i], weights[i])).result;
  return constant == 0 ? out : add_plain(out, this->constant(constant, out.scale, out.packing));
}

Account::Info Account::weighted_sums(const Info& a, std::span<const double> weights,
                                     std::size_t inputs, std::span<const double> constants,
                                     double by) const {
  const std::size_t outputs = weights.size() / inputs;
  const Bounds of = a.bounds();
  double row_sum = 0, constant = 0, bound = log2_negligible;
  Bounds ends{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (std::size_t j = 0; j < outputs; ++j) {
    double positive = 0, negative = 0;
    for (const double w : weights.subspan(j * inputs, inputs)) (w < 0 ? negative : positive) += w;
    const double more = constants.empty() ? 0 : constants[j], sum = positive - negative;
    row_sum = std::max(row_sum, sum);
    constant = std::max(constant, std::abs(more));
    bound = std::max(bound, log2_sum(log2_size(more), log2_size(sum) + a.bound));
    ends.low = std::min(ends.low, positive * of.low + negative * of.high + more);
    ends.high = std::max(ends.high, positive * of.high + negative * of.low + more);
  }
  // A number is off by half an integer, and so is what it is multiplied by.
  const double rounding = relative_error(a.bound, a.packing, -1 - std::log2(by)) +
                          std::log2(static_cast<double>(inputs));
  Info out = a;
  out.count = a.count / inputs * outputs;
  out.scale = parameters_.scale(a.level) * parameters_.scale(a.level);
  out.error = std::max(log2_negligible, log2_sum(log2_sum(log2_size(row_sum) + a.error, rounding),
                                                 log2_size(constant) + log2_of_rounding));
  set_bounds(out, std::max(log2_negligible, bound), ends);
  return fits("weighted sums", out);
}

Account::Info Account::masked_tensors(std::span<const Info> high, double high_sum,
                                      std::span<const Info> low, double low_sum) const {
  // One value for all: sum_h x_h·s_h of sums s_h is at most the sum of |x_h| times the largest
  // |s_h|.
  const auto one_of = [&](std::span<const Info> arrays, double sum) {
    Info out = with_log2_bound(arrays[0], std::log2(sum));
    for (const Info& a : arrays) {
      if (a.level != high[0].level || a.scale != arrays[0].scale || a.packing != high[0].packing ||
          a.length != high[0].length || a.vector != high[0].vector || a.count != high[0].count ||
          a.parts != 2)
        throw ShapeError("masked_tensors: " + std::to_string(a.count) + " ciphertexts of " +
                         std::to_string(a.parts) + " parts at level " + std::to_string(a.level) +
                         " meet " + std::to_string(high[0].count) + " at level " +
                         std::to_string(high[0].level) +
                         "; levels, scales and batches must be equal, and parts two");
      out.error = std::max(out.error, a.error);
    }
    out.error += std::log2(static_cast<double>(arrays.size()));
    return out;
  };
  return multiply(one_of(high, high_sum), one_of(low, low_sum)).result;
}

Account::Info Account::released(Info a, double error, double noise) {
  a.error = log2_sum(error, noise);
  return a;
}

}  // namespace whorl::ckks
