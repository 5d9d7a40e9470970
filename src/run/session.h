// What a session holds: a fleet of devices, and the budget of keys on them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "run/fleet.h"
#include "run/keys.h"
#include "whorl/session.h"

namespace whorl::run {

struct SessionState {
  /// DeviceError if a named device is not there.
  explicit SessionState(const SessionOptions& options,
                        backend::BlindRotation rotation = backend::BlindRotation::automatic);

  std::shared_ptr<const Fleet> fleet;
  std::shared_ptr<KeyBudget> budget;
  std::vector<std::string> names;
  std::string name;
};

/// What a session holds.
const std::shared_ptr<const SessionState>& state_of(const Session& session);

}  // namespace whorl::run
