// The shape of the key switch that gives lanes out, and its errors: clients and servers need them.
#include "bridges/output.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <optional>

#include "lattice/lwe/noise.h"
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/derived.h"

namespace whorl::bridges {

namespace {

/// The part of a bootstrapped ciphertext's variance that a key switch may have.
constexpr double part_of_switch = 0.5;

/// Tables have 2^(log_base - 1) rows a digit.
constexpr unsigned most_log_base = 5;

double square(double x) { return x * x; }

double switch_variance(const backend::SwitchShape& shape, const binfhe::Parameters& to) {
  const double q = static_cast<double>(to.q()), Q = static_cast<double>(shape.Q_ks);
  return square(q / Q) * (lattice::key_switch_variance(
                              shape.gadget, shape.N, to.literal().sigma_lwe, shape.table, ternary) +
                          lattice::modulus_switch_variance(shape.N, ternary));
}

}  // namespace

backend::SwitchShape output_switch(const Packing& packing, const binfhe::Parameters& to) {
  const auto bits = static_cast<unsigned>(std::bit_width(to.Q_ks() - 1));
  const bool table = to.literal().key_switch == binfhe::KeySwitch::table;
  const double most = part_of_switch * binfhe::unit_of_noise(to);
  std::optional<backend::SwitchShape> best;
  const auto fits = [&] { return best && switch_variance(*best, to) <= most; };
  for (unsigned digits = 1; digits <= 32 && !fits(); ++digits)
    for (unsigned log_base = 1; log_base <= most_log_base && log_base * (digits - 1) < bits;
         ++log_base) {
      const backend::SwitchShape shape{packing.dimension, to.n(), to.Q_ks(),
                                       ring::Gadget(to.Q_ks(), log_base, digits), table};
      if (!best || switch_variance(shape, to) < switch_variance(*best, to)) best = shape;
    }
  return *best;
}

std::size_t output_rows(const backend::SwitchShape& shape) {
  std::size_t rows = 0;
  for (unsigned j = 0; j < shape.gadget.digits(); ++j)
    rows += shape.table ? shape.gadget.bound(j) : 1;
  return shape.N * rows;
}

double output_variance(const ckks::Parameters& parameters, const binfhe::Parameters& to) {
  const Packing packing(parameters);
  const ckks::ParameterLiteral& p = parameters.literal();
  const double N = p.N, q = static_cast<double>(to.q()),
               log2_P = std::log2(static_cast<double>(packing.primes.back()));
  // 1. Into the subring.
  const double into = N / 12 * square(p.sigma) * std::exp2(-2 * log2_P) +
                      (1 + ternary * packing.dimension) / 12 * std::exp2(-2 * parameters.log2_Q(0));
  // 2. To the LWE key, and to q.
  return square(q) * into + switch_variance(output_switch(packing, to), to) +
         binfhe::rounding_variance(to.literal(), to.Q_ks(), to.q());
}

}  // namespace whorl::bridges
