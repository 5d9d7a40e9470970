// Parts of an FHEW/TFHE server and its arrays that circuits use, and users do not see.
#pragma once

#include <memory>

#include "lattice/lwe/evaluator.h"
#include "schemes/binfhe/account.h"
#include "schemes/binfhe/origin.h"
#include "whorl/binfhe/server.h"

namespace whorl::binfhe {

struct Access {
  static const run::Fleet& fleet(const Server& server);
  static const lattice::lwe::Evaluator& evaluator(const Server& server);
  static const Account& account(const Server& server);

  /// ParameterMismatchError or KeyMismatchError for another server's array.
  static void check(const Server& server, const Array& a);

  static const lattice::lwe::Array& rows(const Array& a);
  static const Origin& origin(const Array& a);
  static Array put(const Server& server, Encoding encoding, Origin origin,
                   lattice::lwe::Array rows);
};

}  // namespace whorl::binfhe
