// What is costly to make, as keys, made once for each set of parameters.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "whorl/common.h"

namespace whorl::test {

/// What `make` gives, of the first call with these parameters and this type. Stays until the end.
/// Names tell parameters apart that a file does not: of one chain, rated for several depths.
template <class T, class Parameters, class Make>
const T& made_once(const Parameters& parameters, const Make& make) {
  static std::map<std::pair<Digest, std::string>, std::unique_ptr<const T>> made;
  auto& slot = made[{parameters.digest(), parameters.literal().name}];
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
