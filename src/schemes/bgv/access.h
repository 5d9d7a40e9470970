// Parts of a BGV server and its arrays that circuits use, and users do not see.
#pragma once

#include <cstdint>
#include <span>

#include "lattice/rlwe/evaluator.h"
#include "lattice/rlwe/keys.h"
#include "schemes/bgv/account.h"
#include "whorl/bgv/server.h"

namespace whorl::bgv {

struct Access {
  static const run::Fleet& fleet(const Server& server);
  static const lattice::rlwe::Evaluator& evaluator(const Server& server);
  static const lattice::rlwe::Keys& keys(const Server& server);
  static const Account& account(const Server& server);

  /// DeviceError for another server's array, EncodingError for coefficients.
  static void check_slots(const Server& server, const Array& a);
  /// The g of a rotation, and of the exchange of rows. MissingKeyError names the rotation that has
  /// no key.
  static std::uint32_t rotation(const Server& server, std::int64_t columns);
  static std::uint32_t swap(const Server& server);

  static const lattice::rlwe::Array& residues(const Array& a);
  static lattice::rlwe::Array residues(const Server& server, const Plaintexts& m);
  /// With zeros behind the values of each vector: a product with ones where something else may be.
  static Array with_zeros(const Server& server, const Array& a);
  /// log2 of the canonical norm of the largest.
  static double norm(const Plaintexts& m);
  static Array put(const Server& server, CiphertextInfo info, lattice::rlwe::Array residues);
  /// N slots, over the chain and the special primes, for products only: stored by its period where
  /// the rows of N/2 slots repeat (rlwe::Evaluator::lift_by_period).
  static Plaintexts encode_factor(const Server& server, std::span<const std::int64_t> slots);
};

}  // namespace whorl::bgv
