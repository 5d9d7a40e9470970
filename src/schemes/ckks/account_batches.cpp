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

Account::Info Account::released(Info a, double error, double noise) {
  a.error = log2_sum(error, noise);
  return a;
}

}  // namespace whorl::ckks
