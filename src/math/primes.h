// Primes with the roots of unity that negacyclic transforms of length N need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace whorl::math {

/// Whether n is prime; never wrong (Miller-Rabin with a set of bases proven for 64 bits).
bool is_prime(uint64_t n);

/// The largest prime q < bound with q = 1 mod 2N, so that Z_q has primitive 2N-th roots of unity.
/// N: a power of two, 2 .. 2^24 (the transforms use 2^8 .. 2^17). bound: at most 2^61.
/// Throws ParameterError when N or bound is outside its range or there is no such prime.
uint64_t ntt_prime_below(uint64_t bound, uint64_t N);

/// The count largest primes of exactly `bits` bits with q = 1 mod 2N, descending. bits <= 61.
/// Throws ParameterError when there are fewer.
std::vector<uint64_t> ntt_primes(unsigned bits, uint64_t N, size_t count);

/// The count largest primes q < 2^log2_bound with q = 1 mod 2N that are not among `taken`,
/// descending. log2_bound <= 61. Throws ParameterError when there are fewer.
std::vector<uint64_t> ntt_primes_below(double log2_bound, uint64_t N, size_t count,
                                       std::span<const uint64_t> taken = {});

/// log2 of the product of numbers.
double log2_of_product(std::span<const uint64_t> numbers);

/// A root of unity mod the prime q of exactly this order, a power of two dividing q - 1. Always the
/// same one: g^((q-1)/order) for the smallest g >= 2 that gives that order. (Files and test vectors
/// may depend on it.) Throws ParameterError when q is not a prime below 2^61 or order does not fit.
uint64_t primitive_root_of_unity(uint64_t q, uint64_t order);

}  // namespace whorl::math
