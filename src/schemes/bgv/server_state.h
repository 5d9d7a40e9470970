// What a BGV server is made of, for its methods and for circuits' access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lattice/rlwe/evaluator.h"
#include "lattice/rlwe/keys.h"
#include "schemes/bgv/account.h"
#include "schemes/bgv/encoder.h"
#include "schemes/ring/server_state.h"
#include "whorl/bgv/server.h"

namespace whorl::bgv {

struct Plaintexts::Storage {
  lattice::rlwe::Array residues;
  Packing packing = Packing::slots;
  std::uint64_t length = 0;                ///< as CiphertextInfo's
  std::vector<std::int64_t> coefficients;  ///< (count, N), centred
  double norm = 0;                         ///< log2, of the largest
  bool any = false;                        ///< in a dry run: the values are not known

  Account::Plain known() const { return {residues.count(), norm, length}; }
};

/// The account says what is to be done, the evaluator does it.
struct ServerState : RingServerState<Parameters>, std::enable_shared_from_this<ServerState> {
  using Info = CiphertextInfo;
  using Coefficients = std::vector<std::int64_t>;

  ServerState(const EvaluationKeys& data, std::shared_ptr<const run::SessionState> on);
  /// Makes the state of a dry run, for which plaintexts in slots may have any values.
  explicit ServerState(const Parameters& of);

  lattice::rlwe::Keys keys;
  std::span<const lattice::rlwe::Keys> all_keys() const { return {&keys, 1}; }
  Account account;
  Encoder encoder;

  // A rotation by k is X -> X^(generator^k); `inverse` asks for X -> X^-1.
  static constexpr std::uint64_t generator = 3;
  static constexpr bool KeyRequest::*inverse = &KeyRequest::swap_rows;

  // ---- arrays

  Array array(Info info, lattice::rlwe::Array residues) const;
  static const lattice::rlwe::Array& residues(const Array& a) { return *a.residues_; }
  static const Plaintexts::Storage& storage(const Plaintexts& m) { return *m.storage_; }

  static void check_packing(Packing a, Packing b);
  void check(const Array& a) const { check_residues(a.residues_.get()); }
  void check(const Plaintexts& a) const {
    check_residues(a.storage_ ? &a.storage_->residues : nullptr);
  }
  /// Checks sums, which have one ciphertext each, beside vectors of `each` ciphertexts: which sum
  /// meets which vector is clear only for a single one, and where each comes `each` times.
  void check_repeats(const Array& a, std::size_t each) const;
  void check_pair(const Array& a, const Array& b) const;
  void check_pair(const Array& a, const Plaintexts& b) const;
  void check_slots(const Array& a) const;

  // ---- keys of rotations, named as users ask for them

  std::string rotations_held() const;
  /// MissingKeyError names the rotation that was asked for, and those that there are.
  std::uint32_t rotation(std::int64_t columns) const;

  /// An operand, brought to what its account asks for.
  lattice::rlwe::Array prepared(const Array& a, const Preparation& by) const;

  // ---- vectors

  /// Puts zeros behind the values where operations left something else, by a product with ones.
  Array with_zeros(const Array& a) const;
  /// Makes `a` an operand beside `b`: longer vectors would take what is behind its values for
  /// values.
  template <class Known>
  Array beside(const Array& a, const Known& b) const {
    return account.needs_zeros(a.info_, b) ? with_zeros(a) : a;
  }

  Array add(const Array& first, const Array& second, bool subtract) const;
  Array relinearised(const Info& info, const lattice::rlwe::Array& a) const {
    return array(account.relinearise(info), evaluator->relinearise(a, keys, account.divisor()));
  }
  std::vector<Array> automorphisms(const Array& x, std::span<const std::uint32_t> gs) const;
  Array automorphism(const Array& a, std::uint32_t g) const {
    return automorphisms(a, std::span(&g, 1))[0];
  }
  Array brought_to(const Array& a, const Account::One& to) const;

  // ---- plaintexts

  /// Polynomials (count, N), and the values of the vectors that they hold.
  struct Encoded {
    Coefficients coefficients;
    std::uint64_t length = 0;
    bool any = false;  ///< as Plaintexts::Storage's
  };
  Encoded encode(std::span<const std::int64_t> values, const Rows& rows, Packing packing) const;
  Plaintexts plaintexts(lattice::rlwe::Array residues, Encoded encoded, Packing packing) const;
  Plaintexts plaintexts(Encoded m, Packing packing, const ring::Basis& basis) const;
  /// N slots, over the chain and the special primes, for products only: stored by its period where
  /// the rows of N/2 slots repeat (rlwe::Evaluator::lift_by_period).
  Plaintexts factor(std::span<const std::int64_t> slots) const;
  /// Plaintexts for `a` alone have no more limbs than it, and its factor if they are to be added.
  Plaintexts plaintexts_for(const Array& a, Encoded m, std::uint64_t factor) const;
  Plaintexts encoded_for(const Array& a, std::span<const std::int64_t> values, std::size_t length,
                         std::uint64_t factor) const;

  /// Returns the residues, and makes them of the values that the host keeps if they are lost with a
  /// device.
  lattice::rlwe::Array residues(const Plaintexts& m) const;
  /// The plaintexts have the factor of `a`.
  Array add_encoded(const Array& x, const Plaintexts& m, bool subtract) const;
  Array add(const Array& a, const Plaintexts& m, bool subtract) const;
  Array add(const Array& a, std::span<const std::int64_t> values, std::size_t length,
            bool subtract) const;
  /// The sum with an integer that is reduced modulo t. It goes to all slots, as a constant
  /// polynomial, or where zeros are behind the values to the values alone.
  Array add_scalar(const Array& a, std::int64_t value) const;
  /// An integer as a plaintext of the values alone, zeros behind them.
  Encoded beside_zeros(const Array& a, std::int64_t value) const;
  Array multiply_plain(const Array& x, const Plaintexts& m) const;
};

/// What circuits see of a server and its arrays, and users do not.
using Access = RingAccess<ServerState>;

}  // namespace whorl::bgv
