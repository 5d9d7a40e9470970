// Noise variances of the lattice layer's operations as functions of the parameters: mean squares
// over keys and ciphertexts. Under one key a small part of each is a constant; docs/noise.md
// derives both.
#pragma once

#include <cstdint>

#include "lattice/security.h"
#include "ring/gadget.h"

namespace whorl::lattice {

/// E[s^2] of a coefficient: 1/2 binary, 2/3 ternary, sigma^2 Gaussian, 1/(block + 1) block-binary.
double secret_mean_square(SecretKind kind, double sigma, unsigned block = 1);
/// The reciprocal of E[s], as LweOps::modulus_switch takes it: 2 binary, block + 1 block-binary; 0
/// where the mean is 0.
unsigned secret_centre(SecretKind kind, unsigned block = 1);

/// Extra variance of each coefficient of a key row when its spectrum is kept as integers of `bits`
/// bits that the largest value of each LWE coefficient fills, about 4.2·Q·sqrt(N/24): rounding
/// errors of variance 1/12 in each of N real components, divided by M = N/2 by the inverse
/// transform.
double key_spectrum_variance(std::uint64_t Q, std::uint32_t N, unsigned bits);

/// One step of blind rotation, D ⊡ K for each of `keys` keys (Chillotti et al. 2020, Theorem 4.2
/// for binary keys): keys·2·N·sum_j E[d_j^2]·sigma^2, plus what the dropped bits of the decomposed
/// value (error uniform over 2^dropped integers, in both components) leave where the secret is not
/// 0: E[s_lwe^2]·(4^dropped + 2)/12·(1 + N·E[s_ring^2]). Half of Micciancio and Polyakov 2021, eq.
/// (3), since X^a - 1 is applied before decomposing.
double external_product_variance(const ring::Gadget& gadget, std::uint32_t N, double keys,
                                 double row_variance, double lwe_mean_square,
                                 double ring_mean_square);

/// Rounding in the FFT of one step in doubles: relative error `constant`·2^-53 of the product's
/// size, for the phase b - a·s. The size is that of sum_rows D·K: digits of mean square E[d^2],
/// keys uniform modulo Q.
double fft_rounding_variance(const ring::Gadget& gadget, std::uint64_t Q, std::uint32_t N,
                             double keys, double ring_mean_square);
/// The same for digits whose mean squares add up to `digit_squares`. With a modulus raised to P·Q
/// this is what is left after the division by P.
double fft_rounding_variance(double digit_squares, std::uint64_t Q, std::uint32_t N, double keys,
                             double ring_mean_square);

/// One step on a GPU, for Q < 2^31: digits' spectra are integers too, 1,024 real components at
/// a time multiplied by the power of two that brings their largest to between 2^30 and 2^31
/// (docs/fft-error.md). Rounding errors of variance 1/12 meet keys uniform modulo Q.
double digit_spectrum_variance(const ring::Gadget& gadget, std::uint64_t Q, std::uint32_t N,
                               unsigned keys, double ring_mean_square);

/// Rounding n coefficients and b to another modulus: (1 + n·E[s^2])/12 (Ducas and Micciancio 2015,
/// Lemma 5). Centred, for secrets of 0 and 1 of mean p = 1/centre: (1 + n·p·(1 - p))/12, the
/// variance of s around p: (1 + n/4)/12 for binary ones. Keys of B blocks of l differ in n·p·(1 -
/// p), by a standard deviation of (1 - 2p)·sqrt(B·l)/(l + 1). Between powers of two `step` =
/// to/from makes errors multiples of it, ties included: (1 + 2·step^2)/12 each.
double modulus_switch_variance(std::uint32_t n, double mean_square, double step = 0);
double centred_modulus_switch_variance(std::uint32_t n, unsigned centre, double step = 0);

/// LWE key switching over `gadget` of Q_ks. Table: a fresh error for each digit that is not 0,
/// N·sigma^2·sum_j (1 - 1/B_j). Product: N·sigma^2·sum_j E[d_j^2]. Dropped bits add
/// N·E[s_ring^2]·(4^dropped + 2)/12.
double key_switch_variance(const ring::Gadget& gadget, std::uint32_t N, double sigma, bool table,
                           double ring_mean_square);

// A part of these is the same in all results under one key: mean squares over keys of the constants
// in the table of docs/noise.md, where low digits and dropped bits have a mean of -1/2.

/// The constant part of what `steps` external products add to the variance.
double external_product_constant(const ring::Gadget& gadget, double steps, std::uint32_t N,
                                 double row_variance, double lwe_mean_square,
                                 double ring_mean_square);
double key_switch_constant(const ring::Gadget& gadget, std::uint32_t N, double sigma, bool table,
                           double ring_mean_square);
/// Ties of a rounding between powers of two, `step` = to/from.
double modulus_switch_constant(std::uint32_t n, double mean_square, double step);

/// log2 of the probability that a centred Gaussian of this variance exceeds `margin` in absolute
/// value: log2 erfc(margin/sqrt(2·variance)).
double failure_log2(double margin, double variance);
/// log2(2^a + 2^b): of the probability that one of two things happens at most.
double sum_log2(double a, double b);

}  // namespace whorl::lattice
