#include "lattice/rlwe/evaluator.h"

#include <algorithm>
#include <bit>

#include "lattice/rlwe/word_evaluator.h"
#include "whorl/error.h"

namespace whorl::lattice::rlwe {

std::shared_ptr<const Evaluator> Evaluator::make(std::shared_ptr<const run::Fleet> fleet,
                                                 const AnyPlan& plan, std::size_t key_bytes,
                                                 const std::optional<Owner>& owner) {
  return std::visit(
      [&]<class Word>(const std::shared_ptr<const ring::RnsPlan<Word>>& typed)
          -> std::shared_ptr<const Evaluator> {
        return std::make_shared<const WordEvaluator<Word>>(std::move(fleet), typed, key_bytes,
                                                           owner);
      },
      plan);
}

ring::Basis Evaluator::level(unsigned limbs) const {
  if (limbs < 1 || limbs > limbs_)
    throw ParameterError("limbs is " + std::to_string(limbs) + "; it must be in 1 … " +
                         std::to_string(limbs_));
  return ring::Basis::range(0, limbs);
}

Array Evaluator::lift_by_period(std::span<const std::int64_t> polynomial,
                                const ring::Basis& basis) const {
  if (polynomial.size() != N_)
    throw ShapeError("lift_by_period: " + std::to_string(polynomial.size()) +
                     " integers are not a polynomial of N = " + std::to_string(N_));
  std::size_t places = N_;  // of coefficients, in one number: 2^k divides it if it divides each
  for (std::size_t j = 1; j < polynomial.size(); ++j)
    if (polynomial[j] != 0) places |= j;
  const auto log_repeats = static_cast<unsigned>(std::countr_zero(places));
  return lifted(polynomial, basis, log_repeats == 1 ? 0 : log_repeats);
}

namespace {

/// ShapeError unless there are rows of `period` values, a power of two up to `most`.
void check_rows(const char* what, std::size_t values, std::size_t period, std::size_t most) {
  if (!std::has_single_bit(period) || period > most)
    throw ShapeError(std::string(what) + ": a period of " + std::to_string(period) +
                     " values is not a power of two up to N/2 = " + std::to_string(most));
  if (values == 0 || values % period != 0)
    throw ShapeError(std::string(what) + ": " + std::to_string(values) +
                     " values are not a whole number of rows of " + std::to_string(period));
}

}  // namespace

Array Evaluator::interpolate(std::span<const std::complex<double>> values, std::size_t period,
                             double scale, const ring::Basis& basis) const {
  check_rows("interpolate", values.size(), period, N_ / 2);
  return interpolated(values, period, scale, basis);
}

std::vector<Array> Evaluator::interpolate_by_period(std::span<const std::complex<double>> values,
                                                    std::size_t period, double scale,
                                                    const ring::Basis& basis) const {
  const std::size_t most = N_ / 2;
  check_rows("interpolate_by_period", values.size(), period, most);
  const std::size_t count = values.size() / period;
  std::size_t least = period;
  const auto repeat = [&](std::size_t half) {
    for (std::size_t i = 0; i < count; ++i)
      if (!std::ranges::equal(values.subspan(i * period, half),
                              values.subspan(i * period + half, half)))
        return false;
    return true;
  };
  while (least > 1 && repeat(least / 2)) least /= 2;
  std::vector<std::complex<double>> some;
  if (least != period) {
    some.reserve(count * least);
    for (std::size_t i = 0; i < count; ++i)
      std::ranges::copy(values.subspan(i * period, least), std::back_inserter(some));
    values = some;
  }
  const auto log_repeats = static_cast<unsigned>(std::countr_zero(most / least));
  // All primes of some polynomials are there at once, before each gets its own.
  constexpr std::size_t most_bytes = std::size_t{1} << 29;
  const std::size_t each = sizeof(std::uint64_t) * (N_ >> (log_repeats == 1 ? 0 : log_repeats));
  const std::size_t at_once = std::max<std::size_t>(1, most_bytes / (each * basis.size()));
  std::vector<Array> out;
  for (std::size_t begin = 0; begin < count; begin += at_once) {
    const std::size_t rows = std::min(at_once, count - begin);
    std::ranges::move(interpolated_each(values.subspan(begin * least, rows * least), least, scale,
                                        basis, log_repeats == 1 ? 0 : log_repeats),
                      std::back_inserter(out));
  }
  return out;
}

void Evaluator::check(const char* what, const Array& a) const {
  check_own(what, a);
  if (a.shape().log_repeats != 0)
    throw ShapeError(
        std::string(what) + ": a plaintext that is stored by its period, with one of " +
        std::to_string(std::size_t{1} << a.shape().log_repeats) + " values, can only be a factor");
}

void Evaluator::check_own(const char* what, const Array& a) const {
  if (!a) throw ShapeError(std::string(what) + ": the array is empty");
  if (!takes(a))
    throw DeviceError(std::string(what) + ": an array of another server was given to " +
                      fleet_->name());
}

void Evaluator::check_each(const char* what, std::size_t arrays, std::size_t others,
                           const char* name_of_others, const char* name_of_one) {
  if (arrays == 0 || others != arrays)
    throw ShapeError(std::string(what) + ": " + std::to_string(arrays) + " arrays and " +
                     std::to_string(others) + " " + name_of_others +
                     " are given; there must be at least one array, and a " + name_of_one +
                     " for each");
}

void Evaluator::check_evaluation(const char* what, const Array& a) const {
  check(what, a);
  if (a.form() != Form::evaluation)
    throw ShapeError(std::string(what) + ": the array has coefficients; transform it first");
}

std::pair<std::size_t, std::size_t> Evaluator::check_sums(const Array& a, std::size_t weights,
                                                          std::size_t inputs,
                                                          std::size_t constants) const {
  check("weighted_sums", a);
  if (constants != 0) check_evaluation("weighted_sums with constants", a);
  if (inputs == 0 || a.count() % inputs != 0)
    throw ShapeError("weighted_sums: " + std::to_string(a.count()) + " ciphertexts are not " +
                     std::to_string(inputs) + " inputs of equal batches");
  if (weights == 0 || weights % inputs != 0)
    throw ShapeError("weighted_sums: " + std::to_string(weights) +
                     " weights are not rows of a matrix with " + std::to_string(inputs) +
                     " columns");
  const std::size_t outputs = weights / inputs;
  if (constants != 0 && constants != outputs * a.basis().size())
    throw ShapeError("weighted_sums: there are " + std::to_string(constants) + " residues for " +
                     std::to_string(outputs) + " constants; there must be " +
                     std::to_string(a.basis().size()) + " for each");
  return {a.count() / inputs, outputs};
}

std::size_t Evaluator::check_masked(std::span<const Array> high, std::span<const Array> low,
                                    std::span<const std::uint16_t> masks) const {
  const char* const what = "masked_tensors";
  const std::size_t H = high.size(), L = low.size();
  if (H < 1 || H > most_masked || L < 1 || L > most_masked)
    throw ParameterError("masked_tensors: there are " + std::to_string(H) + " high arrays and " +
                         std::to_string(L) + " low ones; of each there must be 1 … " +
                         std::to_string(most_masked));
  if (masks.size() % H != 0)
    throw ShapeError("masked_tensors: " + std::to_string(masks.size()) +
                     " masks are not rows of one for each of " + std::to_string(H) +
                     " high arrays");
  for (const std::uint16_t& mask : masks)
    if (mask >> L != 0)
      throw ParameterError("masked_tensors: the mask at index " +
                           std::to_string(&mask - masks.data()) + " is " + std::to_string(mask) +
                           ", and there are " + std::to_string(L) +
                           " low arrays: it must be below " + std::to_string(1u << L));
  for (const std::span<const Array> arrays : {high, low})
    for (const Array& a : arrays) {
      check_evaluation(what, a);
      check_basis(what, a.basis(), high[0].basis());
      if (a.parts() != 2 || a.count() != high[0].count())
        throw ShapeError("masked_tensors: an array of " + std::to_string(a.count()) +
                         " ciphertexts of " + std::to_string(a.parts()) +
                         " parts is given; all must have two parts, and " +
                         std::to_string(high[0].count()) + " ciphertexts as the first one has");
    }
  return masks.size() / H;
}

void Evaluator::check_basis(const char* what, const ring::Basis& got, const ring::Basis& want) {
  if (got != want)
    throw ShapeError(std::string(what) + ": both arrays must have the same primes, but one has " +
                     want.describe() + " and the other " + got.describe());
}

std::size_t Evaluator::common_count(const char* what, const Array& a, const Array& b) {
  if (a.count() != b.count() && a.count() != 1 && b.count() != 1)
    throw ShapeError(std::string(what) + ": the batches have " + std::to_string(a.count()) +
                     " and " + std::to_string(b.count()) +
                     " ciphertexts; the counts must be equal, or one of them must be 1");
  return std::max(a.count(), b.count());
}

}  // namespace whorl::lattice::rlwe
