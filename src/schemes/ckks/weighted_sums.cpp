// A matrix of numbers times ciphertexts along their batch.
#include <algorithm>
#include <cmath>

#include "math/text.h"
#include "schemes/ckks/derived.h"
#include "schemes/ckks/server_state.h"
#include "whorl/ckks/server.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace {

/// EncodingError names one that is not finite.
void check_finite(const char* name, std::span<const double> numbers) {
  const auto bad = std::ranges::find_if(numbers, [](double x) { return !std::isfinite(x); });
  if (bad != numbers.end())
    throw EncodingError(std::string(name) + ": the number at index " +
                        std::to_string(bad - numbers.begin()) + " is not finite");
}

}  // namespace

Array ServerState::weighted_sums(const Array& a, std::span<const double> weights,
                                 std::size_t inputs, std::span<const double> added,
                                 bool rescale) const {
  check(a);
  if (rescale) Account::check_level(a.info_.level);
  const std::size_t each = a.info_.each(parameters.N());
  if (inputs == 0 || a.info_.count % (inputs * each) != 0)
    throw ShapeError("weighted_sums: " + std::to_string(a.info_.count / each) +
                     " vectors are not " + std::to_string(inputs) + " inputs of equal batches");
  if (weights.empty() || weights.size() % inputs != 0)
    throw ShapeError("weighted_sums: " + std::to_string(weights.size()) +
                     " weights are not rows of a matrix with " + std::to_string(inputs) +
                     " columns, one for each input");
  const std::size_t outputs = weights.size() / inputs;
  if (!added.empty() && added.size() != outputs)
    throw ShapeError("weighted_sums: there are " + std::to_string(added.size()) +
                     " constants for " + std::to_string(outputs) + " rows of the matrix");
  check_finite("weights", weights);
  check_finite("constants", added);
  if (outputs > most_ciphertexts / (a.info_.count / inputs))
    throw ShapeError("weighted_sums: " + std::to_string(outputs) + " times " +
                     std::to_string(a.info_.count / inputs) +
                     " ciphertexts are more than a batch has, " + std::to_string(most_ciphertexts));
  const double scale = parameters.scale(a.info_.level), product = scale * scale,
               by = product / a.info_.scale;
  double most = 0;
  for (const double w : weights) most = std::max(most, std::abs(w));
  if (most * by >= 0x1p61)
    throw EncodingError("weights: the largest, " + math::text_of(most) + ", times the scale 2^" +
                        math::text_of(std::log2(by)) +
                        " is above 2^61: make them smaller, and multiply the result by an "
                        "integer, which is exact and takes no level");
  const Info sums = account.weighted_sums(a.info_, weights, inputs, added, by);
  if (rescale) static_cast<void>(account.rescale(sums));
  std::vector<std::uint64_t> residues_of_constants;
  for (const double constant : added)
    for (const std::uint64_t residue : residues_of(constant * product, a.info_.level))
      residues_of_constants.push_back(residue);
  return fleet->together([&] {
    const Array out = array(
        sums, evaluator->weighted_sums(residues(a), weights, by, inputs, residues_of_constants));
    return rescale ? rescaled(out) : out;
  });
}

Array Server::weighted_sums(const Array& a, std::span<const double> weights, std::size_t inputs,
                            std::span<const double> constants, bool rescaled) const {
  return state().weighted_sums(a, weights, inputs, constants, rescaled);
}

}  // namespace whorl::ckks
