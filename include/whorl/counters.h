// The counters of devices that count their work.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace whorl {

/// These counters are those of a device's last run of a kind.
struct RunCounters {
  std::string run;  ///< "rotate" (blind rotation and extraction), "key_switch", "bootstrap" (both)
  /// Counters have names, and are in the order of rtl/README.md, section 6, which says what they
  /// count.
  std::vector<std::pair<std::string, std::uint64_t>> values;
};

}  // namespace whorl
