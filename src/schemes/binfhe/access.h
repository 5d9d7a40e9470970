// What circuits use of an FHEW/TFHE server and its arrays, and users do not see.
#pragma once

#include "schemes/binfhe/server_state.h"

namespace whorl::binfhe {

struct Access {
  using State = Server::State;

  /// The server's account, evaluator and keys, and what arrays are made of.
  static const State& of(const Server& server) { return *server.state_; }
};

}  // namespace whorl::binfhe
