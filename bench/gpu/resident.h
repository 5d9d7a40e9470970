// Operations on ciphertexts that are on the device, results staying there.
#pragma once

#include <memory>

#include "gpu/gpu.h"

namespace whorl::bench {

/// The same stages as a server's.
class Resident {
 public:
  Resident(const GpuOptions& options, const binfhe::EvaluationKeys& keys,
           binfhe::Transform transform);
  ~Resident();
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;

  Times nand(const GpuOptions& options, const binfhe::Ciphertexts& a,
             const binfhe::Ciphertexts& b) const;
  Times apply(const GpuOptions& options, const binfhe::Lut& lut,
              const binfhe::Ciphertexts& a) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace whorl::bench
