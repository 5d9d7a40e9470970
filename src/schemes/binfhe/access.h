// Parts of an FHEW/TFHE server and its arrays for circuits, which users do not see. No circuit is
// there yet: tests alone use them.
#pragma once

#include <memory>
#include <utility>

#include "schemes/binfhe/server_state.h"

namespace whorl::binfhe {

struct Access {
  static const run::Fleet& fleet(const Server& s) { return *s.state_->fleet; }
  static const lattice::lwe::Evaluator& evaluator(const Server& s) { return s.state_->evaluator; }
  static const Account& account(const Server& s) { return s.state_->account; }
  /// ParameterMismatchError or KeyMismatchError for another server's array.
  static void check(const Server& s, const Array& a) { s.state_->check(a); }

  static const lattice::lwe::Array& rows(const Array& a) { return a.state_->rows; }
  static const Origin& origin(const Array& a) { return *a.state_->origin; }
  static Array array(const Server& s, Encoding encoding, Origin origin, lattice::lwe::Array rows) {
    return s.state_->array(encoding, std::make_shared<const Origin>(std::move(origin)),
                           std::move(rows));
  }
};

}  // namespace whorl::binfhe
