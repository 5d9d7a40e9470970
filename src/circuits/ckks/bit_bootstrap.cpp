// Bootstrapping of bits: several in each coefficient, and all come out clean (docs/lanes.md).
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "circuits/ckks/bit_fit.h"
#include "circuits/ckks/bootstrap.h"
#include "circuits/ckks/harmonics.h"
#include "schemes/ckks/derived.h"
#include "schemes/ckks/server_state.h"
#include "whorl/error.h"

namespace whorl::ckks {

namespace rlwe = lattice::rlwe;

Array BootstrapSteps::imaginary_angles(const rlwe::Array& slots, const CiphertextInfo& info) const {
  const auto parts = [&](std::size_t count, rlwe::Array t) {
    return State::array(account_.coeffs_to_slots(info, count), std::move(t));
  };
  const rlwe::Array conjugate = image(slots, conjugation_exponent(p_));
  const Array real = server_.multiply_by_i(parts(info.count, evaluator_.add(slots, conjugate)));
  if (info.packing == Packing::real) return real;
  // z - conj(z) is 2i times the imaginary part.
  const std::array<rlwe::Array, 2> both{State::residues(real), evaluator_.sub(slots, conjugate)};
  return parts(2 * info.count, evaluator_.interleave(both));
}

Array BootstrapSteps::exponential(const Array& angles) const {
  Array z = server_.with_bound(evaluate_imaginary(server_, angles, with_.exponential), 1);
  z = server_.lower(z, doubled_level(p_) + shape_.doublings);
  for (unsigned d = 0; d < shape_.doublings; ++d) z = server_.with_bound(server_.square(z), 1);
  return z;
}

// -2·Im p = i·(p - conj(p)), of half the polynomial.
std::vector<Array> BootstrapSteps::bits(const Array& exponential, const CiphertextInfo& numbers,
                                        BitPolynomials polynomials, double error) const {
  for (auto& polynomial : polynomials)
    for (double& c : polynomial) c /= 2;
  std::vector<Array> out;
  for (const Array& each : evaluate_harmonics(server_, exponential, polynomials)) {
    const Array p = server_.lower(each, p_.depth());
    const rlwe::Array& x = State::residues(p);
    const rlwe::Array twice = evaluator_.sub(x, image(x, conjugation_exponent(p_)));
    const Array imaginary = server_.multiply_by_i(State::array(p.info(), twice));
    out.push_back(server_.add_scalar(
        State::array(account_.refreshed_bit(numbers, error), State::residues(imaginary)), 0.5));
  }
  return out;
}

namespace {

using Next = std::function<void()>;

/// The bits of coefficients that are in slots; `values` and `numbers` say what is known of these,
/// and of the numbers that they are.
std::vector<Array> bits_in_slots(const BootstrapSteps& steps, const Server& server,
                                 const rlwe::Array& slots, const CiphertextInfo& values,
                                 const CiphertextInfo& numbers, BitPolynomials polynomials,
                                 double error, const Next& next) {
  // 5. EvalMod of the real and the imaginary parts.
  const Array z = steps.exponential(steps.imaginary_angles(slots, values));
  next();
  // 6. Polynomials for the bits.
  return steps.bits(z, numbers, std::move(polynomials), error);
}

Next asking(const Access::State& state) {
  return [&state, done = std::size_t{0}]() mutable {
    state.fleet->stop_if_asked(++done, 6, "steps of a bootstrap");
  };
}

/// The bits of numbers, all of them alone or all in pairs; `numbers` says what is known of them.
std::vector<Array> refreshed_bits(const Server& server, const Array& x,
                                  const CiphertextInfo& numbers, unsigned bits, double error,
                                  const EncodedBootstrapAccess::Storage& of) {
  const BootstrapSteps steps(server, of, BootstrapSteps::Parts::apart);
  const Next next = asking(Access::of(server));
  const Array lowest = steps.scale_down(x);
  next();
  const rlwe::Array slots = steps.raise(lowest, x.info(), next);
  return bits_in_slots(steps, server, slots, x.info(), numbers, bit_polynomials(bits), error, next);
}

/// ParameterError for more bits than the parameters are made for.
void check_bits(const Server& server, unsigned bits) {
  const unsigned most = server.parameters().literal().bootstrap->bits;
  if (bits < 1 || bits > most)
    throw ParameterError("bootstrap of bits: " + std::to_string(bits) +
                         " in a coefficient, and the parameters are made for " +
                         (most == 0 ? "real numbers" : "1 … " + std::to_string(most)));
}

}  // namespace

std::vector<Array> bootstrap_bits(const Server& server, const Array& numbers, unsigned bits,
                                  const EncodedBootstrap& with, double deviations) {
  const auto& of = EncodedBootstrapAccess::storage(with);
  check_refresh(server, numbers);
  const CiphertextInfo& info = numbers.info();
  check_bits(server, bits);
  if (info.packing != Packing::real || info.slots() != of.slots)
    throw ShapeError("bootstrap of bits: vectors of " + std::to_string(info.slots()) +
                     " slots are no real ones of " + std::to_string(of.slots));
  const double given = deviations * std::exp2(info.error + bits),
               error = error_of_bits(server, with, bits, given, deviations) / deviations;
  return Access::of(server).fleet->together([&] {
    // Two vectors in each ciphertext; the last one alone if their number is odd.
    const std::size_t pairs = info.count / 2 * 2;
    std::vector<Array> out;
    for (const auto& [first, end] :
         {std::pair<std::size_t, std::size_t>{0, pairs}, {pairs, info.count}}) {
      if (first == end) continue;
      std::vector<std::uint32_t> indices(end - first);
      std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(first));
      const Array part = end - first == info.count ? numbers : server.take(numbers, indices);
      const std::vector<Array> bit_arrays = refreshed_bits(
          server, first < pairs ? paired(server, part) : part, part.info(), bits, error, of);
      for (std::size_t j = 0; j < bits; ++j) {
        if (first == 0)
          out.push_back(bit_arrays[j]);
        else
          out[j] = server.concatenate(std::array{out[j], bit_arrays[j]});
      }
    }
    return out;
  });
}

std::vector<Array> bits_of_coefficients(const Server& server, const rlwe::Array& coefficients,
                                        const BitPolynomials& polynomials,
                                        const EncodedBootstrap& with, double error,
                                        std::uint64_t length) {
  const auto& of = EncodedBootstrapAccess::storage(with);
  const Account& account = Access::of(server).account;
  const std::size_t count = coefficients.count();
  const CiphertextInfo values = account.fresh(Packing::complex, count, of.slots, 1, false),
                       numbers = account.fresh(Packing::real, 2 * count, length, 1, false);
  const BootstrapSteps steps(server, of, BootstrapSteps::Parts::apart);
  return Access::of(server).fleet->together([&] {
    const Next next = asking(Access::of(server));
    const rlwe::Array raised = steps.mod_raise(coefficients);
    next();
    const rlwe::Array slots = steps.coeffs_to_slots(raised, values);
    next();
    return bits_in_slots(steps, server, slots, values, numbers, polynomials, error, next);
  });
}

namespace {

/// A bound of what roundings add to bits by polynomials with these slopes.
struct BitRoundings {
  BitRoundings(const Server& server, const EncodedBootstrap& with, unsigned bits,
               const BitSlopes& slopes, double deviations) {
    const Account::BitNoise noise =
        Access::of(server).account.bit_noise(bits, slopes.root, slopes.sum);
    const double points = std::exp2(bits),
                 root = EncodedBootstrapAccess::storage(with).exponential_error +
                        deviations * std::exp2(noise.root);
    turn = deviations * std::exp2(noise.turn);
    rest = slopes.root * root * std::pow(1 + root, points) + deviations * std::exp2(noise.bit);
  }

  double turn;  ///< of the coefficient, as a part of the modulus
  double rest;  ///< of the bit, besides
};

}  // namespace

double error_of_bits(const Server& server, const EncodedBootstrap& with, unsigned bits,
                     double given, double deviations) {
  const BitSlopes& slopes = slopes_of_bits(bits);
  const BitRoundings roundings(server, with, bits, slopes, deviations);
  const double turn = given + std::exp2(bits) * roundings.turn;
  return slopes.curvature * turn * turn + roundings.rest;
}

double error_of_step(const Server& server, const EncodedBootstrap& with, double given,
                     double deviations) {
  const unsigned bits = server.parameters().literal().bootstrap->bits;
  const BitRoundings roundings(server, with, bits, slopes_of_step(bits), deviations);
  return error_of_step(bits, given + 2 * roundings.turn) + roundings.rest;
}

}  // namespace whorl::ckks
