// What circuits use of a BGV server and its arrays, and users do not see.
#pragma once

#include "schemes/bgv/server_state.h"

namespace whorl::bgv {

struct Access {
  using State = Server::State;

  /// The server's operations, its account, evaluator and keys, and what arrays are made of.
  static const State& of(const Server& server) { return *server.state_; }
};

}  // namespace whorl::bgv
