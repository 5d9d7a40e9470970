// Bootstrapping of CKKS ciphertexts: levels for new computations. (OpenFHE: EvalBootstrap and
// EvalBootstrapStCFirst; Lattigo: bootstrapping.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "whorl/ckks/server.h"
#include "whorl/common.h"

namespace whorl::ckks {

/// Adds to a request the keys that bootstrap() takes for vectors of so many slots, a power of two
/// up to N/2 (ShapeError): CiphertextInfo::slots(). ParameterError for parameters without
/// bootstrapping.
void request_bootstrap(KeyRequest& request, const Parameters& parameters, std::uint64_t slots);

/// The linear maps of a bootstrap, encoded on a server's devices, and its polynomial. Copies share
/// the memory.
class EncodedBootstrap {
 public:
  std::uint64_t slots() const;  ///< of vectors that it refreshes
  std::size_t bytes() const;    ///< of the plaintexts on each device

 private:
  friend struct circuits::EncodedAccess<EncodedBootstrap>;
  struct Storage;
  std::shared_ptr<const Storage> storage_;
};

/// Where EvalMod's polynomial is close to the sine: at multiples of the modulus that are likely, or
/// at all alike, for results that must not be wrong even once (Lanes). Then the usual error is some
/// two bits larger, and the largest one is smaller.
enum class Multiples { likely, all };

/// Encodes the maps for vectors of so many slots, once for many bootstraps; progress counts their
/// diagonals. Errors as of request_bootstrap. (OpenFHE: EvalBootstrapSetup; Lattigo:
/// bootstrapping.NewEvaluator.)
EncodedBootstrap encode_bootstrap(const Server& server, std::uint64_t slots,
                                  const Progress& progress = {}, Multiples of = Multiples::likely);

/// Throws what bootstrap() throws of a server without the keys to the sparse secret, and of the
/// packing, the bound and the level of x: before maps are encoded for it.
void check_bootstrap(const Server& server, const Array& x);

/// The same values at Parameters::depth(), for a batch at once. The steps are SlotsToCoeffs,
/// ModRaise, CoeffsToSlots and EvalMod, a sine (Cheon, Han, Kim, Kim, Song, EUROCRYPT 2018).
/// SlotsToCoeffs comes first, at the lowest levels, so that real values need one sine in place of
/// the two of complex ones (slim bootstrapping: Chen and Han, EUROCRYPT 2018), about three quarters
/// of the time. ModRaise is under a sparse secret (Bossuat, Troncoso-Pastoriza, Hubaux, ACNS 2022).
/// With BootstrapLiteral::coefficients_last SlotsToCoeffs comes last, at levels above those of
/// users; one sine is enough for real values there too, since half of the coefficients of their
/// message tell the others.
///
/// Values of x must be at most 1 by its bound (EncodingError; Server::with_bound states a bound
/// that the caller knows), and its level at least Parameters::least_bootstrap_level (NoiseError).
/// EncodingError for coefficients, ShapeError if its slots are not those of `with`,
/// MissingKeyError for a key that is missing. docs/ckks-noise.md has the error of the result, and
/// Parameters::log2_failure the probability of a wrong one.
///
/// With more `iterations`, 2 … 4, the difference that is left is refreshed too, magnified
/// (META-BTS: Bae, Cheon, Cho, Kim, Kim, CCS 2022). Each takes the time of a bootstrap and one
/// level, and adds bits until the error is that of a ciphertext at its scale. ParameterError for 0
/// or more than 4; NoiseError if the scale is too small to magnify.
Array bootstrap(const Server& server, const Array& x, const EncodedBootstrap& with,
                unsigned iterations = 1);

}  // namespace whorl::ckks
