// What OpenFHE's EvalFloor, EvalSign and EvalDecomp do to the phase of a ciphertext, in the clear:
// its functions of phases, steps and constants, with exact bootstraps. Facts of OpenFHE 1.6.1,
// binfhe-base-scheme.cpp (algorithms of Liu, Micciancio, Polyakov, ASIACRYPT 2022).
#pragma once

#include "support/test.h"

namespace whorl::test::large {

inline constexpr std::uint64_t beta = 128;

/// A phase, and the power of two that it is a residue of.
struct Phase {
  std::uint64_t value = 0, modulus = 0;
  bool operator==(const Phase&) const = default;
};

/// f of the phase modulo `small`, as a residue modulo that of `in`, is subtracted.
template <class Function>
Phase less_bootstrapped(Phase in, std::uint64_t small, const Function& f) {
  const std::uint64_t mask = in.modulus - 1;
  return {(in.value - f(in.value & (small - 1))) & mask, in.modulus};
}

/// EvalFloor with q = `small`.
inline Phase floor(Phase in, std::uint64_t small) {
  const std::uint64_t q = small;
  const Phase shifted{(in.value + beta) & (in.modulus - 1), in.modulus};
  const Phase centred = less_bootstrapped(
      shifted, q, [&](std::uint64_t x) { return x < q / 2 ? std::uint64_t{0} - q / 4 : q / 4; });
  return less_bootstrapped(centred, q, [&](std::uint64_t x) {
    if (x < q / 4) return std::uint64_t{0} - q / 2 - x;
    return x < 3 * (q / 4) ? x : q / 2 - x;
  });
}

inline Phase modulus_switch(Phase in, std::uint64_t to) {
  return {(in.value * to + in.modulus / 2) / in.modulus % to, to};
}

/// The residue, and what the loop of EvalSign and EvalDecomp leaves of it: digits modulo q in
/// front, and then the rest.
inline std::vector<Phase> decompose(Phase in, std::uint64_t q) {
  std::vector<Phase> digits;
  while (in.modulus > q) {
    digits.push_back({in.value % q, q});
    in = modulus_switch(floor(in, q), in.modulus / q * 2 * beta);
  }
  digits.push_back(in);
  return digits;
}

/// EvalSign with the last bootstrap's values at modulus q: 0, or q/2.
inline Phase sign(Phase in, std::uint64_t q) {
  const Phase rest = decompose(in, q).back();
  const std::uint64_t x = (rest.value + beta) % rest.modulus;
  const std::uint64_t found = x < rest.modulus / 2 ? q / 4 : q - q / 4;
  return {(found + q - q / 4) % q, q};
}

/// round(p·phase/modulus) modulo p.
inline std::uint32_t decrypt(Phase in, std::uint64_t p) {
  return static_cast<std::uint32_t>((in.value * p + in.modulus / 2) / in.modulus % p);
}

}  // namespace whorl::test::large
