// Puts LWE ciphertexts into the coefficients of ring ciphertexts on a server's devices.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bridges/packing.h"
#include "lattice/rlwe/keys.h"
#include "schemes/ckks/server_state.h"
#include "whorl/bridges/lanes.h"
#include "whorl/ckks/server.h"

namespace whorl::bridges {

/// LWE ciphertexts (a_1 … a_n, b) modulo packed_modulus(), by columns: all a_1, all a_2, …, all b.
struct LweColumns {
  std::size_t count = 0;  ///< ciphertexts
  std::vector<std::uint32_t> words;
};

class Packer {
 public:
  /// Errors as of LweInput.
  Packer(const ckks::Server& server, const LweInputKeys& keys, const Progress& progress);

  const Packing& packing() const { return packing_; }
  std::size_t bytes() const;

  /// Ring ciphertexts of level 0, of `each` LWE ciphertexts each: number i mod `each` is the
  /// coefficient of X^(N/each·i), as a part of the modulus.
  lattice::rlwe::Array packed(const LweColumns& all, std::size_t each) const;

 private:
  using State = ckks::Access::State;

  const State& state() const { return ckks::Access::of(server_); }
  /// A plaintext of (primes, dimension) values, by its period.
  lattice::rlwe::Array uploaded(const WordArray& words) const;
  /// Column j as plaintexts of `each` coefficients.
  lattice::rlwe::Array column(const LweColumns& columns, std::size_t each, std::size_t j) const;

  ckks::Server server_;
  std::size_t n_;  ///< coefficients of the LWE key
  std::uint64_t modulus_;
  Packing packing_;
  std::array<std::vector<lattice::rlwe::Array>, 2> keys_;  ///< both parts, of each coefficient
  std::shared_ptr<const lattice::rlwe::Key> out_of_subring_;
};

}  // namespace whorl::bridges
