// A server on devices that the caller made: any number, of any kind.
#pragma once

#include <memory>
#include <vector>

#include "backend/ops.h"
#include "schemes/binfhe/scheduler.h"
#include "whorl/binfhe/server.h"

namespace whorl::binfhe {

struct ServerOnDevices {
  /// `options.device` and `threads` are not looked at; `options.interrupt` and those of the devices
  /// come from scheduled().
  static Server make(const EvaluationKeys& keys,
                     std::vector<std::unique_ptr<backend::Device>> devices,
                     const ServerOptions& options,
                     std::size_t least_share = Scheduler::usual_share);
};

}  // namespace whorl::binfhe
