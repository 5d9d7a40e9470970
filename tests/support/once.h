// What is costly to make, as keys, made once for each set of parameters.
#pragma once

#include <map>
#include <memory>

#include "whorl/common.h"

namespace whorl::test {

/// What `make` gives, of the first call with these parameters and this type. Stays until the end.
template <class T, class Parameters, class Make>
const T& made_once(const Parameters& parameters, const Make& make) {
  static std::map<Digest, std::unique_ptr<const T>> made;
  auto& slot = made[parameters.digest()];
  if (!slot) slot = std::make_unique<const T>(make());
  return *slot;
}

/// A client and the keys that it has made.
template <class Client, class EvaluationKeys>
struct KeyPair {
  Client client;
  EvaluationKeys keys;
};

}  // namespace whorl::test
