// The facts about batches of CKKS ciphertexts of which some are taken, several joined or added up,
// or values released.
#include <algorithm>

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

Account::Info Account::released(Info a, double error, double noise) {
  a.error = log2_sum(error, noise);
  return a;
}

}  // namespace whorl::ckks
