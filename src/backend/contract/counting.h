// Devices that count their work: the FPGA accelerator. Others do not derive from this.
#pragma once

#include <cstddef>
#include <vector>

#include "whorl/counters.h"

namespace whorl::backend {

class Counting {
 public:
  virtual ~Counting() = default;
  /// Returns what the last run of each kind counted; waits for a run that is under way.
  virtual std::vector<RunCounters> counters() const = 0;
  /// Keys that it was given and runs itself. Others went to the device behind it.
  virtual std::size_t keys() const = 0;
};

}  // namespace whorl::backend
