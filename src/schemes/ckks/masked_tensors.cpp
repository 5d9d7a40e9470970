// Products of ciphertexts with sums of others that masks choose.
#include "schemes/ckks/server_state.h"

namespace whorl::ckks {

std::vector<Array> ServerState::masked_tensors(std::span<const Array> high, double high_sum,
                                               std::span<const Array> low, double low_sum,
                                               std::span<const std::uint16_t> masks) const {
  struct Side {
    std::vector<Info> known;
    std::vector<lattice::rlwe::Array> operands;
  };
  const auto side = [&](std::span<const Array> arrays) {
    Side out;
    for (const Array& a : arrays) {
      check(a);
      out.known.push_back(a.info_);
      out.operands.push_back(residues(a));
    }
    return out;
  };
  const Side of_high = side(high), of_low = side(low);
  if (high.empty() || low.empty())
    throw ShapeError("masked_tensors: there must be a high array and a low one");
  const Info info = account.masked_tensors(of_high.known, high_sum, of_low.known, low_sum);
  std::vector<Array> out;
  for (const lattice::rlwe::Array& sum :
       evaluator->masked_tensors(of_high.operands, of_low.operands, masks))
    out.push_back(array(info, sum));
  return out;
}

}  // namespace whorl::ckks
