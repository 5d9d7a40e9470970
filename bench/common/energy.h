// Energy that a GPU uses, by its own counter.
#pragma once

#include <functional>
#include <string>

#include "common/records.h"

namespace whorl::bench {

/// The counter of one NVIDIA GPU: nvmlDeviceGetTotalEnergyConsumption, from libnvidia-ml.so.1,
/// which the driver brings and which is loaded at run time.
class EnergyCounter {
 public:
  /// "cuda:1" is the GPU of that number in CUDA_VISIBLE_DEVICES, if that lists numbers, or in the
  /// driver's order. DeviceError says what is missing.
  explicit EnergyCounter(const std::string& device);
  ~EnergyCounter();
  EnergyCounter(const EnergyCounter&) = delete;
  EnergyCounter& operator=(const EnergyCounter&) = delete;

  /// Joules since the driver was loaded.
  double joules() const;

 private:
  void* library_ = nullptr;
  void* handle_ = nullptr;
  int (*energy_)(void*, unsigned long long*) = nullptr;
};

/// Repeats `call` for `seconds` after a quarter of a second that does not count. A record like
/// `blank`: joules of one call divided by the batch, with "watts", "calls" and "method".
void add_energy(const Records& records, const Record& blank, const std::string& device,
                double seconds, const std::function<void()>& call,
                const std::function<void()>& wait);

}  // namespace whorl::bench
