// Devices that count their work: the FPGA accelerator. Others do not derive from this.
#pragma once

#include <vector>

#include "whorl/counters.h"

namespace whorl::backend {

class Counting {
 public:
  virtual ~Counting() = default;
  /// Of the last run of each kind; waits for a run that is under way.
  virtual std::vector<RunCounters> counters() const = 0;
};

}  // namespace whorl::backend
